"""Releases: one for each upload, alone and in a mixed group, however that is cut."""

from collections.abc import Iterator

from tests.quality.data import MixedGroup, Post, QualityData
from tests.quality.files import SPANS
from tests.quality.passes import index_spans, index_whole, message_ids, not_exact
from tests.quality.report import Result, share


def results(data: QualityData) -> Iterator[Result]:
    """Yields the share of uploads that are exactly one release."""
    posts = list(data.posts())
    yield _posts("releases of single posts", posts)
    groups = list(data.mixed_groups())
    yield _groups("releases of mixed groups", groups, size=None)
    for size in SPANS:
        # What cannot be seen in a span cannot be joined in it: sets that only their neighbours
        # link need longer ones, as real spans are.
        bar = 1.0 if size >= 5_000 else None
        yield _groups(f"releases of mixed groups, in spans of {size:,}", groups, size=size, bar=bar)


def _posts(name: str, posts: list[Post]) -> Result:
    failing = []
    for post in posts:
        releases = index_whole(post.text, post.group).releases
        files = releases["files"].to_list()
        if files != [len(post.truth["files"])]:
            wanted = len(post.truth["files"])
            failing.append(f"{post.name}: {wanted} files came out as releases of {files}")
    return share(name, failing, len(posts), bar=1.0)


def _groups(
    name: str, groups: list[MixedGroup], *, size: int | None, bar: float | None = 1.0
) -> Result:
    failing, counted = [], 0
    for group in groups:
        ids = message_ids(group.text.splitlines())
        expected = {ids[number]: row[0] for number, row in group.truth.items() if row[3] == "ok"}
        if size is None:
            indexed = index_whole(group.text, group.group)
        else:
            indexed = index_spans(group.text, group.group, size, seed=size)
        found = {id_: place[2] for id_, place in indexed.place_of().items()}
        failing += [f"{group.name}: {each}" for each in not_exact(expected, found)]
        counted += len(set(expected.values()))
    return share(name, failing, counted, bar=bar)
