"""The ledger of ranges: what is planned, how far each was indexed, and with which versions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError, catalog_errors
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.domain.ranges import Span, range_bounds

MAX_ATTEMPTS = 5
"""Failures in a row after which a range is parked until a person looks at it."""

_ERROR_CHARACTERS = 2000
_PLANNED_AT_A_TIME = 50_000


@dataclass(frozen=True, slots=True)
class Versions:
    """What a range was indexed with."""

    parser: int
    rules: int
    codec: int


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A range of the ledger.

    Attributes:
        range_id: its number in the catalog.
        group: the newsgroup's name.
        low: its first article number.
        high: its last.
        resume_at: the next number to index; `high + 1` when it is done.
        state: `planned`, `partial`, `done` or `parked` (failed too often).
        capture: whether its overview blocks are kept in the corpus.
        attempts: failures since the last success.
        error: the last failure's words.
        lines: overview lines read so far.
        rejected: of them, lines that are in no file (see `reject_count`).
        dropped: of them, articles of files that a rule dropped.
        chunked_segments: of them, segments that were stored in chunks.
        fragment_segments: of them, segments of files that an edge cut.
        merged_segments: of the fragments, segments that were merged into chunks since.
        recovered_segments: of the lines, segments that a changed rule brought back.
        posted_from: posting time of the oldest article seen.
        posted_to: posting time of the newest article seen.
        parser_version: the oldest parser that read a part of it (`range_version` has each).
        rules_version: the oldest rule set that decided on a part of it.
        codec_version: the oldest version of the chunk codec in it.
        stored_at: when the last span was stored.
        done_at: when the range became done.
    """

    range_id: int
    group: str
    low: int
    high: int
    resume_at: int
    state: str
    capture: bool
    attempts: int
    error: str | None
    lines: int
    rejected: int
    dropped: int
    chunked_segments: int
    fragment_segments: int
    merged_segments: int
    recovered_segments: int
    posted_from: datetime | None
    posted_to: datetime | None
    parser_version: int | None
    rules_version: int | None
    codec_version: int | None
    stored_at: datetime | None
    done_at: datetime | None


_SELECT = """
    select r.range_id, n.name as "group", r.low, r.high, r.resume_at, r.state, r.capture,
           r.attempts, r.error, r.lines, r.rejected, r.dropped, r.chunked_segments,
           r.fragment_segments, r.merged_segments, r.recovered_segments, r.posted_from,
           r.posted_to, r.parser_version, r.rules_version, r.codec_version, r.stored_at, r.done_at
      from range r join newsgroup n using (newsgroup_id)
"""


def plan(conn: Connection, newsgroup_id: int, spans: Iterable[Span | tuple[int, int]]) -> int:
    """Adds ranges to the ledger, given as spans or `(low, high)`; returns how many are new.

    Ranges that are there already stay as they are.

    Raises:
        SpanError: no such newsgroup.
        CatalogUnavailable: the database does not answer.
    """
    pairs = [(s.low, s.high) if isinstance(s, Span) else (s[0], s[1]) for s in spans]
    if not pairs:
        return 0
    with catalog_errors(f"planning {len(pairs)} ranges"):
        if not conn.execute(
            "select 1 from newsgroup where newsgroup_id = %s", [newsgroup_id]
        ).fetchone():
            msg = f"no newsgroup has the number {newsgroup_id}"
            raise SpanError(msg)
        return conn.execute(
            "insert into range (newsgroup_id, low, high, resume_at)"
            " select %(newsgroup_id)s, low, high, low"
            " from unnest(%(lows)s::bigint[], %(highs)s::bigint[]) as planned (low, high)"
            " order by low on conflict (newsgroup_id, low) do nothing",
            {
                "newsgroup_id": newsgroup_id,
                "lows": [low for low, _ in pairs],
                "highs": [high for _, high in pairs],
            },
        ).rowcount


def plan_many(conn: Connection, planned: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """Adds ranges of many newsgroups, `(newsgroup_id, low, high)`; returns how many are new.

    Returns:
        New ranges by newsgroup.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    added: dict[int, int] = {}
    rows = iter(planned)
    while batch := list(islice(rows, _PLANNED_AT_A_TIME)):
        with catalog_errors(f"planning {len(batch)} ranges"):
            counted = conn.execute(
                "with new as (insert into range (newsgroup_id, low, high, resume_at)"
                " select id, low, high, low"
                " from unnest(%s::integer[], %s::bigint[], %s::bigint[]) as p (id, low, high)"
                " order by id, low on conflict (newsgroup_id, low) do nothing"
                " returning newsgroup_id) select newsgroup_id, count(*) from new group by 1",
                [[row[0] for row in batch], [row[1] for row in batch], [row[2] for row in batch]],
            ).fetchall()
        for newsgroup_id, count in counted:
            added[newsgroup_id] = added.get(newsgroup_id, 0) + count
    return added


def ranges_of(conn: Connection, group: str, stretch: int | None = None) -> list[RangeRow]:
    """Returns a newsgroup's ranges in order: all of them, or those of one stretch (partition).

    Raises:
        SettingMismatch: a stretch is asked for, and the catalog has no stored cut of history.
        CatalogUnavailable: the database does not answer.
    """
    low, high = 1, (1 << 63) - 1
    if stretch is not None:
        size, per_partition = cut_of_history(conn)
        low = range_bounds(stretch * per_partition, size=size)[0]
        high = range_bounds((stretch + 1) * per_partition - 1, size=size)[1]
    with catalog_errors(f"reading the ranges of {group}"):
        return (
            conn.cursor(row_factory=class_row(RangeRow))
            .execute(
                f"{_SELECT} where n.name = %(group)s and r.low between %(low)s and %(high)s"
                " order by r.low limit 1000000",
                {"group": group, "low": low, "high": high},
            )
            .fetchall()
        )


def ranges_before(
    conn: Connection, group: str, *, before: int | None = None, limit: int = 100
) -> list[RangeRow]:
    """Returns ranges of a newsgroup, the newest first, at most 1,000.

    Args:
        conn: the catalog.
        group: the newsgroup.
        before: only ranges that begin below this number.
        limit: how many.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading ranges of {group}"):
        return (
            conn.cursor(row_factory=class_row(RangeRow))
            .execute(
                f"{_SELECT} where n.name = %(group)s"
                " and (%(before)s::bigint is null or r.low < %(before)s)"
                " order by r.low desc limit %(limit)s",
                {
                    "group": group.replace("\0", ""),
                    "before": before,
                    "limit": max(0, min(limit, 1000)),
                },
            )
            .fetchall()
        )


def get_range(conn: Connection, range_id: int) -> RangeRow | None:
    """Returns a range, or None.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading range {range_id}"):
        return (
            conn.cursor(row_factory=class_row(RangeRow))
            .execute(f"{_SELECT} where r.range_id = %s limit 1", [range_id])
            .fetchone()
        )


def mark_failed(
    conn: Connection, range_id: int, error: str, *, max_attempts: int = MAX_ATTEMPTS
) -> str:
    """Notes a failure of a range and returns its state: `parked` after too many in a row.

    Raises:
        SpanError: no such range.
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"noting the failure of range {range_id}"):
        row = conn.execute(
            "update range set attempts = attempts + 1, error = %(error)s,"
            " state = case when state in ('planned', 'partial')"
            "  and attempts + 1 >= %(most)s then 'parked' else state end"
            " where range_id = %(range_id)s returning state",
            {
                "range_id": range_id,
                "error": error.replace("\0", "")[:_ERROR_CHARACTERS],
                "most": max_attempts,
            },
        ).fetchone()
    if row is None:
        msg = f"no range has the number {range_id}"
        raise SpanError(msg)
    return str(row[0])


def unpark(conn: Connection, group: str | None = None, *, error: str | None = None) -> int:
    """Gives parked ranges, of one newsgroup or of all, another chance; returns how many.

    Args:
        conn: the catalog.
        group: None for all.
        error: only ranges that were parked with these words.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("unparking ranges"):
        return conn.execute(
            "update range set attempts = 0,"
            " state = case when resume_at > low then 'partial' else 'planned' end"
            " where state = 'parked' and (%(group)s::text is null or newsgroup_id ="
            " (select newsgroup_id from newsgroup where name = %(group)s))"
            " and (%(error)s::text is null or error = %(error)s)",
            {"group": group, "error": error},
        ).rowcount
