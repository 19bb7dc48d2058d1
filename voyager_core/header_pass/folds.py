"""The passes that fold releases of the catalog: read what each holds, decide, enter it."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import polars as pl

import voyager_native
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.folds import FoldCandidate, apply_fold, fold_candidates
from voyager_core.catalog.parts import unsigned
from voyager_core.catalog.releases import chunks
from voyager_core.domain.folds import FOLD_VERSIONS, Member, find_folds
from voyager_core.domain.posting_tools import tool_of
from voyager_core.header_pass import stems

logger = logging.getLogger(__name__)

WINDOW = timedelta(days=2)
"""Posting time that is looked at at once, and as much before it: no fold reaches further."""


@dataclass(slots=True)
class FoldReport:
    """What the folds brought: folds and releases that ended, by rule."""

    folds: dict[str, int] = field(default_factory=dict)
    folded: dict[str, int] = field(default_factory=dict)


def fold_releases(conn: Connection, *, first: datetime, last: datetime) -> FoldReport:
    """Folds the finished releases posted between two times, by each rule in turn.

    Args:
        conn: the catalog, outside any transaction.
        first: the first posting time.
        last: the last one.

    Raises:
        CatalogUnavailable: the database does not answer; what was folded stays folded.
    """
    report = FoldReport(dict.fromkeys(FOLD_VERSIONS, 0), dict.fromkeys(FOLD_VERSIONS, 0))
    for begin, end in _windows(first, last):
        members = [
            member
            for candidate in fold_candidates(conn, begin, end)
            if (member := read_member(conn, candidate)) is not None
        ]
        changed: set[int] = set()
        for rule in FOLD_VERSIONS:
            left = [each for each in members if each.release_id not in changed]
            for fold in find_folds(left, rule):
                losers = [each.release_id for each in fold.losers]
                if apply_fold(conn, rule, fold.winner.release_id, losers):
                    changed.update((fold.winner.release_id, *losers))
                    report.folds[rule] += 1
                    report.folded[rule] += len(losers)
                    logger.info(
                        "%s fold: %d releases into %d", rule, len(losers), fold.winner.release_id
                    )
    return report


def read_member(conn: Connection, candidate: FoldCandidate) -> Member | None:
    """Returns what the chunks of a release say about its counters; None when they are unusable."""
    decoded = [
        pl.DataFrame(voyager_native.decode_chunk(payload).files).select(
            "name", "file_index", "file_total", "parts_total", "first_message_id"
        )
        for payload in chunks(conn, candidate.release_id)
        if payload
    ]
    if not decoded:
        return None
    files = pl.concat(decoded)
    if files["file_index"].has_nulls() or set(files["file_total"]) != {candidate.files_expected}:
        return None
    return Member(
        release_id=candidate.release_id,
        release_key=unsigned(candidate.release_key),
        group=candidate.group,
        total=candidate.files_expected,
        indexes=frozenset(files["file_index"].to_list()),
        files=files.height,
        stems=frozenset(stems.key_form(stems.display_stem(files["name"])).to_list()),
        is_readable=candidate.is_readable,
        since=candidate.posted_at,
        until=candidate.last_posted_at,
        tool=tool_of(files["first_message_id"][0]),
        volume=volume_of(files["parts_total"]),
        poster=candidate.poster,
    )


def volume_of(parts: pl.Series) -> int:
    """Returns how many segments most files have; of equally many the most segments."""
    return int(parts.mode().max() or 0)  # type: ignore[arg-type]


def _windows(first: datetime, last: datetime) -> Iterator[tuple[datetime, datetime]]:
    begin = first - WINDOW
    while begin <= last:
        yield begin, min(begin + 2 * WINDOW, last + WINDOW)
        begin += WINDOW
