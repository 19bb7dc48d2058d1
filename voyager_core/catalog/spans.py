"""Storing what one span holds: all of it in exactly one transaction, exactly once.

The ledger's `resume_at` guards it. Its update comes first, so that whoever sends the same
span at the same moment waits for the range's row and is then refused without having written
anything. Any failure, the death of the client or of the server leaves nothing behind.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl
import psycopg
from psycopg import errors as pg
from psycopg.pq import TransactionStatus

from voyager_core.catalog.built import (
    Built,
    candidates_of,
    fragments_of,
    group_names,
    parts_of,
    posting_period,
    rule_counts_of,
    rule_samples_of,
)
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError, catalog_errors
from voyager_core.catalog.months import ensure_months, posting_month
from voyager_core.catalog.placing import Placed
from voyager_core.catalog.ranges import RangeRow, Versions, get_range
from voyager_core.catalog.repost_keys import reposts_of
from voyager_core.catalog.writing import (
    Contents,
    add_counts,
    add_rejects,
    newsgroup_of,
    note_drops,
    note_versions,
    write,
)
from voyager_core.domain.ranges import Span

logger = logging.getLogger(__name__)

DEADLOCK_TRIES = 5
LOCK_TIMEOUT = "10min"


@dataclass(frozen=True, slots=True)
class Stored:
    """What a span brought.

    Attributes:
        stored: False when somebody had stored it already; nothing was changed then.
        releases_added: releases that are new.
        releases_updated: releases that grew.
        releases_merged: releases that became part of another one because a gap closed.
        chunks: chunks written.
        chunk_bytes: their size.
        segments: segments in them.
        fragments: files cut by the span's edges.
        candidates: articles put in the probe queue.
        state: the range's state afterwards.
        resume_at: the next number to index.
    """

    stored: bool
    releases_added: int = 0
    releases_updated: int = 0
    releases_merged: int = 0
    chunks: int = 0
    chunk_bytes: int = 0
    segments: int = 0
    fragments: int = 0
    candidates: int = 0
    state: str = ""
    resume_at: int = 0


def store_span(
    conn: Connection,
    span: Span,
    built: Built,
    *,
    range_id: int,
    read_lines: int,
    versions: Versions,
    rejects: Mapping[str, int] | None = None,
    holes: Sequence[tuple[int, int]] = (),
    ask_again_at: datetime | None = None,
) -> Stored:
    """Stores what the header pass built of one span.

    Args:
        conn: a connection outside any transaction.
        span: the numbers read; it begins at the range's resume point.
        built: the frames.
        range_id: the range that holds the span.
        read_lines: overview lines read, whatever became of them.
        versions: of the parser, the rule set and the codec.
        rejects: lines that are in no file, by reason.
        holes: numbers without a line that may still get one, as `(first, last)` in order.
        ask_again_at: when to ask for them again.

    Returns:
        `stored=False` when the range's resume point is not the span's first number.

    Raises:
        SpanError: the span is not of this range, or the frames contradict each other.
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    rejected = {
        reason.replace("\0", ""): count for reason, count in (rejects or {}).items() if count
    }
    with catalog_errors(f"storing {span}"):
        require_idle(conn)
        ledger = range_of(conn, span, range_id)
        if ledger.resume_at != span.low:
            return Stored(stored=False, state=ledger.state, resume_at=ledger.resume_at)
        contents = read_contents(conn, built, newsgroup_of(conn, range_id))
        period = posting_period(built)
        numbers = {
            "range_id": range_id,
            "low": span.low,
            "next": span.high + 1,
            "lines": read_lines,
            "rejected": sum(rejected.values()),
            "dropped": contents.dropped,
            "chunked": contents.segments,
            "cut": sum(fragment.segments for fragment in contents.fragments),
            "posted_from": None if period is None else period[0],
            "posted_to": None if period is None else period[1],
            "parser": versions.parser,
            "rules": versions.rules,
            "codec": versions.codec,
        }

        def work() -> Stored:
            row = conn.execute(_ADVANCE, numbers).fetchone()
            if row is None:
                return Stored(stored=False)
            placed = write(conn, contents, range_id=range_id, span=span, origin="span")
            add_counts(conn, range_id, contents.counts)
            note_versions(conn, range_id, span.low, versions)
            note_drops(conn, range_id, span, contents.counts, versions)
            add_rejects(conn, range_id, rejected)
            if holes and ask_again_at is not None:
                _add_hole(conn, range_id, holes, ask_again_at)
            return summary(contents, placed, state=row[0], resume_at=row[1])

        return in_transaction(conn, work)


_ADVANCE = """
    update range
       set resume_at = %(next)s,
           state = case when %(next)s > high then 'done' else 'partial' end,
           done_at = case when %(next)s > high then now() end,
           lines = lines + %(lines)s, rejected = rejected + %(rejected)s,
           dropped = dropped + %(dropped)s,
           chunked_segments = chunked_segments + %(chunked)s,
           fragment_segments = fragment_segments + %(cut)s,
           posted_from = least(posted_from, %(posted_from)s),
           posted_to = greatest(posted_to, %(posted_to)s),
           parser_version = least(parser_version, %(parser)s),
           rules_version = least(rules_version, %(rules)s),
           codec_version = least(codec_version, %(codec)s),
           attempts = 0, error = null, stored_at = now()
     where range_id = %(range_id)s and resume_at = %(low)s
    returning state, resume_at
"""


def require_idle(conn: Connection) -> None:
    """Returns when the connection is outside any transaction.

    Raises:
        SpanError: it is inside one, so that the catalog could not commit.
    """
    if conn.info.transaction_status != TransactionStatus.IDLE:
        msg = "storing needs a connection outside any transaction"
        raise SpanError(msg)


def in_transaction(conn: Connection, work: Callable[[], Stored]) -> Stored:
    """Runs the work in a transaction; again when Postgres chose it to break a deadlock."""
    for attempt in range(1, DEADLOCK_TRIES + 1):
        try:
            outcome = _attempt(conn, work)
        except (pg.DeadlockDetected, pg.SerializationFailure) as error:
            if attempt == DEADLOCK_TRIES:
                raise
            logger.info("deadlock %s of %s, again: %s", attempt, DEADLOCK_TRIES, error)
        else:
            return outcome
    raise AssertionError


def _attempt(conn: Connection, work: Callable[[], Stored]) -> Stored:
    with conn.transaction():
        # Each statement must see what the one whose lock it waited for has committed.
        conn.execute("set transaction isolation level read committed")
        conn.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
        outcome = work()
        if not outcome.stored:
            raise psycopg.Rollback
    return outcome


def read_contents(
    conn: Connection, built: Built, newsgroup_id: int, *, beside: Sequence[pl.DataFrame] = ()
) -> Contents:
    """Returns the frames as rows; prepares partitions and names, which harm nobody if unused.

    Args:
        conn: the catalog.
        built: the frames.
        newsgroup_id: the newsgroup that they were read in.
        beside: files that are not stored, but tell of which post others are.

    Raises:
        SpanError: the frames contradict each other.
    """
    group_ids = name_groups(conn, group_names(built))
    parts = parts_of(built, newsgroup_id=newsgroup_id, group_ids=group_ids)
    ensure_months(conn, {posting_month(part.facts.posted_at) for part in parts})
    return Contents(
        parts=parts,
        fragments=fragments_of(built),
        candidates=candidates_of(built),
        counts=rule_counts_of(built),
        samples=rule_samples_of(built),
        reposts=reposts_of(built.files, *beside),
    )


def name_groups(conn: Connection, names: Sequence[str]) -> dict[str, int]:
    """Returns the number of each newsgroup name, new ones included, in a transaction of its own."""
    if not names:
        return {}
    select = "select name, group_name_id from group_name where name = any (%s)"
    known: dict[str, int] = dict(conn.execute(select, [names]).fetchall())
    missing = sorted(set(names) - set(known))
    if missing:
        conn.execute(
            "insert into group_name (name) select name from unnest(%s::text[]) as new (name)"
            " order by name on conflict (name) do nothing",
            [missing],
        )
        known.update(conn.execute(select, [missing]).fetchall())
    return known


def summary(contents: Contents, placed: Placed, *, state: str, resume_at: int) -> Stored:
    """Returns what was written."""
    return Stored(
        stored=True,
        releases_added=placed.added,
        releases_updated=placed.updated,
        releases_merged=placed.merged,
        chunks=len(contents.parts),
        chunk_bytes=sum(len(part.payload) for part in contents.parts),
        segments=contents.segments,
        fragments=len(contents.fragments),
        candidates=len(contents.candidates),
        state=state,
        resume_at=resume_at,
    )


def range_of(conn: Connection, span: Span, range_id: int) -> RangeRow:
    """Returns the range that a span is of.

    Raises:
        SpanError: it is no part of it.
    """
    row = get_range(conn, range_id)
    if row is None:
        msg = f"no range has the number {range_id}"
        raise SpanError(msg)
    if row.group != span.group or span.low < row.low or span.high > row.high:
        msg = f"{span} is not part of range {range_id} ({row.group} {row.low}-{row.high})"
        raise SpanError(msg)
    return row


def _add_hole(
    conn: Connection, range_id: int, holes: Sequence[tuple[int, int]], ask_again_at: datetime
) -> None:
    conn.execute(
        "insert into hole (range_id, low, high, missing, missing_count, next_at)"
        " values (%s, %s, %s, %s::int8multirange, %s, %s)",
        [
            range_id,
            holes[0][0],
            holes[-1][1],
            "{" + ",".join(f"[{low},{high}]" for low, high in holes) + "}",
            sum(high - low + 1 for low, high in holes),
            ask_again_at,
        ],
    )
