"""Files: every post and every mixed group, whole and in spans, must come out exactly."""

from collections import Counter
from collections.abc import Iterator

from tests.quality.data import MixedGroup, Post, QualityData
from tests.quality.passes import Indexed, index_spans, index_whole, message_ids, not_exact
from tests.quality.report import Result, share

SPANS = (5_000, 700, 97)
"""Numbers in a span; real ones are far longer, and cut files less often."""


def results(data: QualityData) -> Iterator[Result]:
    """Yields the share of files that are exactly right."""
    posts = list(data.posts())
    yield _posts("files of single posts", posts, size=None)
    for size in SPANS[:2]:
        yield _posts(f"files of single posts, in spans of {size:,} sent twice", posts, size=size)
    groups = list(data.mixed_groups())
    yield _groups("files of mixed groups", groups, size=None)
    for size in SPANS:
        yield _groups(f"files of mixed groups, in spans of {size:,} sent twice", groups, size=size)


def _posts(name: str, posts: list[Post], *, size: int | None) -> Result:
    failing, counted = [], 0
    for post in posts:
        indexed = _indexed(post, size)
        wanted = Counter(
            (each["name"], each["parts_total"], each["parts_present"], each["bytes"])
            for each in post.truth["files"]
        )
        columns = ["name", "parts_total", "parts_found", "size_bytes"]
        found = Counter(indexed.files.select(columns).iter_rows())
        counted += wanted.total()
        failing += [f"{post.name}: expected {file}" for file in (wanted - found).elements()]
        failing += [f"{post.name}: nobody posted {file}" for file in (found - wanted).elements()]
    return share(name, failing, counted, bar=1.0)


def _groups(name: str, groups: list[MixedGroup], *, size: int | None) -> Result:
    failing, counted = [], 0
    for group in groups:
        ids = message_ids(group.text.splitlines())
        kept = {ids[number]: row for number, row in group.truth.items() if row[3] == "ok"}
        expected = {id_: f"{row[0]} file {row[1]}" for id_, row in kept.items()}
        places = _indexed(group, size).place_of()
        found = {id_: place[0] for id_, place in places.items()}
        failing += not_exact(expected, found)
        failing += [
            f"{expected[id_]}: part {row[2]} is called {places[id_][1]}"
            for id_, row in kept.items()
            if id_ in places and places[id_][1] != row[2]
        ]
        counted += len(set(expected.values()))
    return share(name, failing, counted, bar=1.0)


def _indexed(what: Post | MixedGroup, size: int | None) -> Indexed:
    if size is None:
        return index_whole(what.text, what.group)
    return index_spans(what.text, what.group, size, seed=size)
