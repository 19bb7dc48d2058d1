"""The files of a release, put together from its chunks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from voyager_core.errors import PermanentError

MAX_PART = 200_000
"""The largest segment number: NZBGet sizes an array by it."""

MAX_SEGMENT_BYTES = (1 << 23) - 1
"""The largest size that SABnzbd takes; it ignores segments of none or more."""

MOST_LISTED_SEGMENTS = 1_000_000
"""Listing the files of a larger release takes seconds; its NZB still holds everything."""

_VOLUME = re.compile(r"\.vol\d+[+-]\d+\.par2$", re.IGNORECASE)
_DIGITS = re.compile(r"(\d{1,18})")
_BAD_ID = re.compile("[^!-~\u00a1-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CorruptChunkError(PermanentError):
    """A chunk of the release cannot be decoded."""


class Decoded(Protocol):
    """What `voyager_native.decode_chunk` returns: two Arrow streams."""

    @property
    def files(self) -> Any:
        """One row a file."""
        ...

    @property
    def segments(self) -> Any:
        """One row a segment; `file` is the row of its file."""
        ...


Decode = Callable[[bytes], Decoded]


@dataclass(frozen=True, slots=True)
class Segment:
    """One article: its message-id without angle brackets, and its size."""

    message_id: str
    size_bytes: int


@dataclass(slots=True)
class Report:
    """What an NZB holds, and what was left out of it.

    Attributes:
        files: files in the NZB.
        segments: segments in it.
        omitted: segments that are not in it, by reason.
        changed: segments in it whose size had to be brought into the allowed range.
        empty_files: files that are not in it because no segment is left.
    """

    files: int = 0
    segments: int = 0
    omitted: dict[str, int] = field(default_factory=dict)
    changed: int = 0
    empty_files: int = 0

    def omit(self, reason: str, number: int = 1) -> None:
        """Counts segments that are left out."""
        if number:
            self.omitted[reason] = self.omitted.get(reason, 0) + number


@dataclass(frozen=True, slots=True)
class NzbFile:
    """A file of a release.

    Attributes:
        key: identifies every posting of it.
        subject: of its lowest part, as posted.
        name: its file name, empty when unknown.
        poster: the From.
        groups: newsgroups, the owner group first.
        posted_at: posting time of its first segment in epoch seconds, None when undated.
        file_index: its number in the release, None when not announced.
        file_total: files announced, likewise.
        parts_total: segments announced, 0 when unknown.
        segments: by part number.
    """

    key: int
    subject: str
    name: str
    poster: str
    groups: tuple[str, ...]
    posted_at: int | None
    file_index: int | None
    file_total: int | None
    parts_total: int
    segments: dict[int, Segment]

    @property
    def size_bytes(self) -> int:
        """Sum of the articles' sizes."""
        return sum(segment.size_bytes for segment in self.segments.values())

    @property
    def expected(self) -> int | None:
        """Segments announced, or found when those are more; None when the subject does not say."""
        return max(self.parts_total, len(self.segments)) if self.parts_total else None

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts the files of a release: nfo, sfv, data, par2 index, par2 volumes."""
        name = (self.name or self.subject).lower()
        if name.endswith(".nfo"):
            kind = 0
        elif name.endswith(".sfv"):
            kind = 1
        elif name.endswith(".par2"):
            kind = 4 if _VOLUME.search(name) else 3
        else:
            kind = 2
        return (kind, _natural(name), self.file_index or 0, self.key)


def files_of(chunks: Iterable[bytes], decode: Decode, report: Report) -> list[NzbFile]:
    """Returns the files of a release in the order of an NZB.

    A file of which several chunks hold parts is put together. Of a file that was posted more
    than once the most complete posting is taken; its segments are never mixed.

    Raises:
        CorruptChunkError: a chunk cannot be decoded.
    """
    postings: dict[int, list[NzbFile]] = {}
    for chunk in chunks:
        if not chunk:
            continue
        for record in _records(chunk, decode, report):
            _join(postings.setdefault(record.key, []), record)
    files: list[NzbFile] = []
    for several in postings.values():
        best = max(several, key=lambda one: len(one.segments))
        report.omit(
            "another posting of the file",
            sum(len(one.segments) for one in several if one is not best),
        )
        if best.segments:
            files.append(best)
        else:
            report.empty_files += 1
    files.sort(key=lambda one: one.order)
    report.files = len(files)
    report.segments = sum(len(one.segments) for one in files)
    return files


def _records(chunk: bytes, decode: Decode, report: Report) -> Iterator[NzbFile]:
    # The API starts without polars; only an NZB needs it.
    import polars as pl  # noqa: PLC0415

    try:
        decoded = decode(chunk)
        rows = pl.DataFrame(decoded.files)
        segments = pl.DataFrame(decoded.segments)
    except ValueError as error:
        msg = f"a chunk of {len(chunk)} bytes is corrupt: {error}"
        raise CorruptChunkError(msg) from error
    held: dict[int, list[tuple[int, str, int]]] = {}
    columns = ("file", "part", "message_id", "size_bytes")
    for at, part, message_id, size in zip(*(segments[name] for name in columns), strict=True):
        held.setdefault(at, []).append((part, message_id, size))
    for at, row in enumerate(rows.iter_rows(named=True)):
        moment = row["first_posted_at"]
        yield NzbFile(
            key=row.get("base_key", row["file_key"]),
            subject=row["subject"] or "",
            name=row["name"] or "",
            poster=row["poster"] or "",
            groups=tuple(dict.fromkeys((row["groups"] or row.get("group") or "").split())),
            posted_at=None if moment is None else int(moment.timestamp()),
            file_index=row["file_index"],
            file_total=row["file_total"],
            parts_total=row["parts_total"] or 0,
            segments=_usable(held.get(at, ()), report),
        )


def _usable(found: Sequence[tuple[int, str, int]], report: Report) -> dict[int, Segment]:
    """Returns the segments by part number; what no downloader takes is counted, not kept."""
    usable: dict[int, Segment] = {}
    for part, text, size in found:
        message_id = (text or "").removeprefix("<").removesuffix(">")
        if not message_id or _BAD_ID.search(message_id):
            report.omit("message-id that XML cannot hold")
        elif not 1 <= part <= MAX_PART:
            report.omit("segment number out of range")
        elif part in usable:
            report.omit("second segment of a number")
        else:
            allowed = max(1, min(size or 0, MAX_SEGMENT_BYTES))
            report.changed += allowed != size
            usable[part] = Segment(message_id, allowed)
    return usable


def _join(postings: list[NzbFile], record: NzbFile) -> None:
    """Adds a chunk's part of a file to the posting that it does not contradict."""
    for at, posting in enumerate(postings):
        if all(
            posting.segments.get(part, segment).message_id == segment.message_id
            for part, segment in record.segments.items()
        ):
            postings[at] = _joined(posting, record)
            return
    postings.append(record)


def _joined(one: NzbFile, other: NzbFile) -> NzbFile:
    lowest = min(one, other, key=lambda file: min(file.segments, default=MAX_PART + 1))
    dates = [file.posted_at for file in (one, other) if file.posted_at is not None]
    return replace(
        lowest,
        posted_at=min(dates, default=None),
        parts_total=max(one.parts_total, other.parts_total),
        segments=other.segments | one.segments,
    )


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a sort key in which part 2 comes before part 10."""
    pieces = _DIGITS.split(name)
    return tuple(
        (0, int(piece), "") if at % 2 else (1, 0, piece) for at, piece in enumerate(pieces)
    )
