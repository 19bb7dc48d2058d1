"""The files of a release as its page lists them."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from voyager_api.web.pages import counted, number_text
from voyager_core.catalog.releases import Release
from voyager_core.nzb.files import (
    MOST_LISTED_SEGMENTS,
    CorruptChunkError,
    NzbFile,
    Report,
    files_of,
)

logger = logging.getLogger(__name__)
MAX_FILES: Final = 200
MAX_ALL_FILES: Final = 20_000


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of a release.

    Attributes:
        name: of the file, or the subject where it has none.
        size_bytes: of the articles found, encoded.
        found: segments found.
        expected: segments announced; those found where the subject announces none.
        is_known: whether the subject announces a number.
    """

    name: str
    size_bytes: int
    found: int
    expected: int
    is_known: bool

    @property
    def is_whole(self) -> bool:
        """Whether all announced segments were found."""
        return self.found >= self.expected

    @property
    def percent(self) -> int:
        """Percent found, rounded down; 100 only when all are."""
        return 100 if self.is_whole else min(99, self.found * 100 // self.expected)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a release, or why they are not shown.

    Attributes:
        files: those that are shown.
        total: files there are.
        summary: how many of how many files are there, and whether articles are missing.
        problem: why there are none, "" = they are shown.
    """

    files: tuple[FileRow, ...]
    total: int
    summary: str
    problem: str = ""


def files_of_release(release: Release, chunks: Sequence[bytes], *, is_whole: bool) -> Listing:
    """Returns a release's files, the first of many unless the whole list is asked for."""
    if release.segments > MOST_LISTED_SEGMENTS:
        return Listing((), release.files, "", "It has too many articles to list its files here.")
    # It loads polars, which the API starts without.
    from voyager_native import decode_chunk  # noqa: PLC0415

    try:
        files = files_of(chunks, decode_chunk, Report())
    except CorruptChunkError as error:
        logger.error("release %s: %s", release.public_id, error)  # noqa: TRY400 - told whole
        return Listing((), release.files, "", "What is stored of it is damaged.")
    rows = [_row_of(file) for file in files]
    shown = rows[: MAX_ALL_FILES if is_whole else MAX_FILES]
    problem = "" if rows else "Its first files are still being put together."
    return Listing(tuple(shown), len(rows), _summary(release, rows), problem)


def _summary(release: Release, rows: Sequence[FileRow]) -> str:
    # Of a release without a count, or whose count was too low, all files are there.
    expected = max(len(rows), release.files_expected or 0)
    are_all = len(rows) == expected
    files = counted(len(rows), "file") if are_all else f"{len(rows)} of {counted(expected, 'file')}"
    incomplete = sum(not row.is_whole for row in rows)
    if incomplete:
        return f"{files}, {number_text(incomplete)} of them with missing articles"
    return f"{files}, no article missing" + ("" if are_all else " in them")


def _row_of(file: NzbFile) -> FileRow:
    found = len(file.segments)
    return FileRow(
        name=file.name or file.subject,
        size_bytes=file.size_bytes,
        found=found,
        expected=found if file.expected is None else file.expected,
        is_known=file.expected is not None,
    )
