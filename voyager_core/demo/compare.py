"""Compares what an indexer offers with what was posted, article by article."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from voyager_core.demo.truth import ExpectedFile, ExpectedRelease, Segment, Truth

_LISTED = 5


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of an NZB."""

    subject: str
    groups: tuple[str, ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class FoundRelease:
    """A release of the API with the files of its NZB; sizes in bytes, counts as the API tells."""

    public_id: str
    title: str
    category: str
    group: str
    size_bytes: int
    file_count: int
    completion: int | None
    files: tuple[FoundFile, ...]


def match(truth: Truth, found: Sequence[FoundRelease]) -> dict[str, list[FoundRelease]]:
    """Returns which found releases hold an article of each expected one, by slug."""
    home = _homes(truth)
    matched: dict[str, list[FoundRelease]] = {release.slug: [] for release in truth.releases}
    for one in found:
        for slug in {home[segment.message_id] for segment in _segments(one)} & matched.keys():
            matched[slug].append(one)
    return matched


def differences(truth: Truth, found: Sequence[FoundRelease]) -> list[str]:
    """Returns every way in which the found releases are not those expected; [] when all is well."""
    home = _homes(truth)
    matched = match(truth, found)
    problems: list[str] = []
    for release in truth.releases:
        problems += _compare_release(release, matched[release.slug])
    for one in found:
        origins = Counter(home[segment.message_id] for segment in _segments(one))
        for what, count in sorted(origins.items()):
            if what == _STRANGE:
                problems.append(f"{one.title}: holds {count} articles that belong to no file")
        slugs = sorted(origins.keys() - {_STRANGE})
        if len(slugs) > 1:
            problems.append(f"{one.title}: mixes the uploads {', '.join(slugs)}")
        if not origins:
            problems.append(f"{one.title}: its NZB is empty")
    return problems


_STRANGE = ""


class _Homes(dict[str, str]):
    """The upload of each message-id; `_STRANGE` for one that is in no file."""

    def __missing__(self, key: str) -> str:
        return _STRANGE


def _homes(truth: Truth) -> Mapping[str, str]:
    return _Homes(
        (segment.message_id, release.slug)
        for release in truth.releases
        for segment in release.segments
    )


def _segments(release: FoundRelease) -> Iterator[Segment]:
    for file in release.files:
        yield from file.segments


def _compare_release(release: ExpectedRelease, found: Sequence[FoundRelease]) -> list[str]:
    label = release.title or release.slug
    if not found:
        return [f"{label}: not found"]
    if len(found) > 1:
        titles = ", ".join(one.title for one in found[:_LISTED])
        return [f"{label}: found in {len(found)} releases: {titles}"]
    one = found[0]
    problems = []
    if release.title is not None and _plain(one.title) != _plain(release.title):
        problems.append(f"{label}: is called {one.title!r}")
    if one.group != release.groups[0]:
        problems.append(f"{label}: is filed in {one.group}, not in {release.groups[0]}")
    if one.file_count != len(release.files):
        problems.append(f"{label}: states {one.file_count} files, not {len(release.files)}")
    size = sum(segment.size_bytes for segment in release.segments)
    if one.size_bytes != size:
        problems.append(f"{label}: states {one.size_bytes} bytes, not {size}")
    if one.completion is not None and (one.completion == 100) != (not release.missing):
        problems.append(f"{label}: is {one.completion} % complete, {release.missing} are missing")
    if len(one.files) != len(release.files):
        problems.append(f"{label}: its NZB has {len(one.files)} files, not {len(release.files)}")
    for file in release.files:
        problems += (f"{label}: {text}" for text in _compare_file(file, release, one.files))
    return problems


def _compare_file(
    file: ExpectedFile, release: ExpectedRelease, candidates: Iterable[FoundFile]
) -> list[str]:
    ids = {segment.message_id for segment in file.segments}
    holding = [one for one in candidates if any(s.message_id in ids for s in one.segments)]
    if not holding:
        return [f"{file.name} is not in the NZB"]
    if len(holding) > 1:
        return [f"{file.name} is {len(holding)} files in the NZB"]
    one = holding[0]
    problems = []
    if file.name not in one.subject:
        problems.append(f"{file.name} has the subject {one.subject!r}")
    if set(one.groups) != set(release.groups):
        problems.append(f"{file.name} is in {' '.join(one.groups)}, not {' '.join(release.groups)}")
    wanted, got = Counter(file.segments), Counter(one.segments)
    if wanted != got:
        problems.append(
            f"{file.name} has {len(one.segments)} segments where {len(file.segments)} are expected"
            f"; missing {_some(wanted - got)}; wrong {_some(got - wanted)}"
        )
    return problems


def _some(segments: "Counter[Segment]") -> str:
    listed = sorted(segments.elements(), key=lambda segment: segment.part)
    texts = [f"{one.part}:<{one.message_id}>:{one.size_bytes}" for one in listed[:_LISTED]]
    more = ["…"] if len(listed) > _LISTED else []
    return " ".join(texts + more) or "none"


def _plain(title: str) -> str:
    """Returns a title without case and separators, which naming rules may change."""
    return " ".join(re.findall(r"[^\W_]+", title.casefold()))
