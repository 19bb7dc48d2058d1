"""Files cut by a span's edge: kept by article number until both sides are there, then merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
from psycopg.rows import dict_row

from voyager_core.catalog.built import Built, fragments_in
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError, catalog_errors
from voyager_core.catalog.parts import unsigned
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.remnants import MergedRange, set_aside
from voyager_core.catalog.spans import (
    Stored,
    in_transaction,
    read_contents,
    require_idle,
    summary,
)
from voyager_core.catalog.writing import write
from voyager_core.domain.ranges import Span

PATIENCE_SECONDS = 86_400
"""How long a fragment waits for numbers that no range covers yet."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A file of which a span held only a part.

    Attributes:
        fragment_id: its number in the catalog.
        group: the newsgroup.
        range_id: the range it was found in.
        file_key: unsigned, as the engine wrote it.
        base_key: unsigned; the same for every posting of the file.
        release_key: unsigned, None when no release was found for it.
        reach_low: the lowest article number at which a missing segment can be.
        reach_high: the highest one.
        stored_at: when it was found.
        file: the row of the engine's `files` table, with the payload.
    """

    fragment_id: int
    group: str
    range_id: int
    file_key: int
    base_key: int
    release_key: int | None
    reach_low: int
    reach_high: int
    stored_at: datetime
    file: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetAside:
    """Merged files that a rule keeps out: all columns of the files, and `fullest`."""

    files: pl.DataFrame
    rule: str
    versions: Versions


# A fragment waits while a number in its reach will still be read: numbers of planned ranges
# that are not indexed, and numbers beyond the last range for as long as they may be posted.
_WAITS = """
    exists (select from range r where r.newsgroup_id = f.newsgroup_id
             and r.state in ('planned', 'partial')
             -- No range is longer: the index on `low` then finds the few in reach.
             and r.low between f.reach_low - longest.numbers and f.reach_high
             and r.high >= f.reach_low and r.resume_at <= f.reach_high
             and (r.resume_at <= coalesce(n.high, r.high) or f.stored_at > %(waited)s))
    or (f.stored_at > %(waited)s and f.reach_high > coalesce(
        (select max(r.high) from range r where r.newsgroup_id = f.newsgroup_id), 0))
    -- Missing numbers that are asked for again.
    or exists (select from hole h join range r using (range_id)
                where h.next_at is not null and r.newsgroup_id = f.newsgroup_id
                  and h.low <= f.reach_high and h.high >= f.reach_low)
"""


def ready_fragments(
    conn: Connection,
    group: str,
    *,
    limit: int = 10_000,
    patience_seconds: float = PATIENCE_SECONDS,
    now: datetime | None = None,
) -> list[list[Fragment]]:
    """Returns fragments whose other parts can no longer come, one list for each file.

    A file is ready when no range that could hold a missing segment is left to be indexed.
    Ranges that are parked, expired or not planned are not waited for; numbers that are not
    posted yet are waited for `patience_seconds` after the fragment was found.

    Args:
        conn: the catalog.
        group: the newsgroup's name.
        limit: fragments to return at most; a file's fragments are not torn apart.
        patience_seconds: see above.
        now: the time, the database's when absent.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the fragments of {group}"):
        rows = (
            conn.cursor(row_factory=dict_row)
            .execute(
                "with longest as materialized (select coalesce(max(high - low + 1), 0) as numbers"
                "  from range where newsgroup_id ="
                "   (select newsgroup_id from newsgroup where name = %(group)s)),"
                " mine as (select f.*, n.name, (" + _WAITS + ") as waits"
                "  from fragment f join newsgroup n using (newsgroup_id), longest"
                "  where n.name = %(group)s),"
                " ready as (select base_key from mine group by base_key having not bool_or(waits)"
                "  order by min(fragment_id) limit %(limit)s)"
                " select m.fragment_id, m.name, m.range_id, m.file_key, m.base_key,"
                " m.release_key, m.reach_low, m.reach_high, m.stored_at, m.file, m.payload"
                " from mine m join ready using (base_key)"
                " order by m.base_key, m.first_number, m.fragment_id limit %(limit)s",
                {
                    "group": group,
                    "limit": limit + 1,
                    "waited": _waited(conn, now, patience_seconds),
                },
            )
            .fetchall()
        )
    sets: dict[int, list[Fragment]] = {}
    for row in rows[:limit]:
        sets.setdefault(row["base_key"], []).append(_fragment(row))
    if len(rows) > limit and len(sets) > 1:
        # The last file may be cut by the limit; it comes next time.
        sets.popitem()
    return list(sets.values())


def groups_with_fragments(conn: Connection) -> list[str]:
    """Returns the newsgroups in which fragments wait, removed ones included, by priority.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for fragments"):
        # One step through the index for each newsgroup, however many fragments there are.
        rows = conn.execute(
            "select n.name from newsgroup n where exists (select from fragment f"
            " where f.newsgroup_id = n.newsgroup_id) order by n.priority limit 1000000"
        ).fetchall()
    return [name for (name,) in rows]


def count_fragments(conn: Connection, group: str | None = None) -> int:
    """Returns how many fragments wait, in one newsgroup or in all.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("counting fragments"):
        row = conn.execute(
            "select count(*) from fragment f join newsgroup n using (newsgroup_id)"
            " where %(group)s::text is null or n.name = %(group)s",
            {"group": group},
        ).fetchone()
    return int(row[0]) if row is not None else 0


def store_merged(
    conn: Connection,
    group: str,
    fragment_ids: Sequence[int],
    built: Built,
    *,
    aside: SetAside | None = None,
) -> Stored:
    """Replaces fragments by the chunks that were made of them, in one transaction.

    Args:
        conn: a connection outside any transaction.
        group: the newsgroup of all of them.
        fragment_ids: the fragments that went in; they are deleted.
        built: releases, chunks and candidates of the merged files; `fragments` must be empty.
        aside: files that a rule keeps out.

    Returns:
        `stored=False` when any of the fragments is gone already; nothing was changed then.

    Raises:
        SpanError: there are no fragments, or the frames contradict each other.
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    wanted = sorted(set(fragment_ids))
    if not wanted:
        msg = "no fragments to merge"
        raise SpanError(msg)
    with catalog_errors(f"merging {len(wanted)} fragments of {group}"):
        require_idle(conn)
        row = conn.execute("select newsgroup_id from newsgroup where name = %s", [group]).fetchone()
        if row is None:
            msg = f"no newsgroup is called {group}"
            raise SpanError(msg)
        beside = [] if aside is None else [aside.files]
        contents = read_contents(conn, built, row[0], beside=beside)
        if contents.fragments:
            msg = "merged fragments must not bring new fragments"
            raise SpanError(msg)

        def work() -> Stored:
            gone = conn.execute(
                "with gone as (delete from fragment where fragment_id in ("
                "   select fragment_id from fragment where fragment_id = any (%s)"
                "   and newsgroup_id = %s order by fragment_id for update)"
                "  returning range_id, segments, first_number, last_number)"
                " select range_id, sum(segments)::bigint, min(first_number), max(last_number),"
                "  count(*) from gone group by range_id order by range_id",
                [wanted, row[0]],
            ).fetchall()
            if sum(count for *_, count in gone) != len(wanted):
                return Stored(stored=False)
            for range_id, segments, *_ in gone:
                conn.execute(
                    "update range set merged_segments = merged_segments + %s where range_id = %s",
                    [segments, range_id],
                )
            low = min(first for _, _, first, _, _ in gone)
            span = Span(group, max(low, 1), max(last for _, _, _, last, _ in gone))
            range_id = next(entry[0] for entry in gone if entry[2] == low)
            if aside is not None and not aside.files.is_empty():
                set_aside(
                    conn,
                    group,
                    fragments_in(aside.files),
                    rule=aside.rule,
                    merged=[MergedRange(*entry[:4]) for entry in gone],
                    versions=aside.versions,
                )
            placed = write(conn, contents, range_id=range_id, span=span, origin="fragments")
            return summary(contents, placed, state="", resume_at=0)

        return in_transaction(conn, work)


def _waited(conn: Connection, now: datetime | None, patience_seconds: float) -> datetime:
    row = conn.execute(
        "select coalesce(%s, now()) - make_interval(secs => %s)", [now, patience_seconds]
    ).fetchone()
    moment: datetime = row[0] if row is not None else datetime.fromtimestamp(0, UTC)
    return moment


def _fragment(row: Mapping[str, Any]) -> Fragment:
    file: dict[str, Any] = dict(row["file"])
    for name in ("first_posted_at", "last_posted_at"):
        if isinstance(file.get(name), int):
            file[name] = datetime.fromtimestamp(file[name], UTC)
    release_key = None if row["release_key"] is None else unsigned(row["release_key"])
    keys = {
        "file_key": unsigned(row["file_key"]),
        "base_key": unsigned(row["base_key"]),
        "release_key": release_key,
        "reach_low": row["reach_low"],
        "reach_high": row["reach_high"],
    }
    return Fragment(
        fragment_id=row["fragment_id"],
        group=row["name"],
        range_id=row["range_id"],
        stored_at=row["stored_at"],
        file={**file, **keys, "payload": bytes(row["payload"])},
        **keys,
    )
