"""What a rule set aside while cut files were put together: kept, since no span shows it alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from voyager_core.catalog.built import FragmentIn, RuleCountIn
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.parts import unsigned
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.writing import add_counts, note_drops
from voyager_core.domain.ranges import Span


@dataclass(frozen=True, slots=True)
class Remnant:
    """A file that was set aside: its number in the catalog, and the columns of its row."""

    remnant_id: int
    file: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MergedRange:
    """What was merged of a range.

    Attributes:
        range_id: its number in the catalog.
        segments: segments of the fragments that are gone.
        low: the first article number of these.
        high: the last one.
    """

    range_id: int
    segments: int
    low: int
    high: int


def set_aside(
    conn: Connection,
    group: str,
    remnants: Sequence[FragmentIn],
    *,
    rule: str,
    merged: Sequence[MergedRange],
    versions: Versions,
) -> None:
    """Keeps remnants and counts them as dropped, inside the transaction that merges.

    Args:
        conn: the catalog.
        group: the newsgroup.
        remnants: the files.
        rule: what set them aside.
        merged: the ranges of the merged fragments; the segments were theirs.
        versions: the rule set that decided, and the parser in use.
    """
    placed: dict[int, list[FragmentIn]] = {}
    for one in sorted(remnants, key=lambda each: (each.first_number, each.file_key)):
        inside = (each for each in merged if each.low <= one.first_number <= each.high)
        placed.setdefault(next(inside, merged[0]).range_id, []).append(one)
    for range_id, mine in sorted(placed.items()):
        segments = keep(conn, group, range_id, mine, rule=rule, versions=versions)
        _take_from_fragments(conn, range_id, segments, merged)


def keep(
    conn: Connection,
    group: str,
    range_id: int,
    remnants: Sequence[FragmentIn],
    *,
    rule: str,
    versions: Versions,
) -> int:
    """Keeps remnants of one range and counts them as dropped there; returns their segments."""
    segments = sum(one.segments for one in remnants)
    counts = [RuleCountIn(rule, "", "", segments, len(remnants))]
    low = min(one.first_number for one in remnants)
    high = max(one.last_number for one in remnants)
    span = Span(group, max(low, 1), max(high, low, 1))
    number = note_drops(conn, range_id, span, counts, versions, set_aside=True)
    add_counts(conn, range_id, counts)
    _write(conn, number, remnants)
    conn.execute(
        "update range set dropped = dropped + %(segments)s where range_id = %(range_id)s",
        {"segments": segments, "range_id": range_id},
    )
    return segments


def remnants_of(conn: Connection, span_drop_id: int) -> list[Remnant]:
    """Returns what is still set aside of a merge, in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading what was set aside"):
        rows = (
            conn.cursor(row_factory=dict_row)
            .execute(
                "select remnant_id, file_key, base_key, release_key, reach_low, reach_high, file,"
                " payload from remnant where span_drop_id = %s order by remnant_id limit 1000000",
                [span_drop_id],
            )
            .fetchall()
        )
    return [_remnant(row) for row in rows]


def take_back(conn: Connection, remnant_ids: Sequence[int]) -> None:
    """Deletes remnants that are files of the catalog from now on, inside that transaction."""
    if remnant_ids:
        conn.execute("delete from remnant where remnant_id = any (%s)", [list(remnant_ids)])


def _take_from_fragments(
    conn: Connection, range_id: int, segments: int, merged: Sequence[MergedRange]
) -> None:
    """Takes dropped segments out of the merged fragments.

    Where the pieces lay in several ranges, the lines of all of them count as the one range's.
    """
    rest = segments
    for each in sorted(merged, key=lambda one: (one.range_id != range_id, one.range_id)):
        row = conn.execute(
            "select least(merged_segments, %s) from range where range_id = %s for update",
            [rest, each.range_id],
        ).fetchone()
        share = int(row[0]) if row is not None else 0
        rest -= share
        conn.execute(
            "update range set fragment_segments = fragment_segments - %(share)s,"
            " merged_segments = merged_segments - %(share)s, lines = lines - %(moved)s"
            " where range_id = %(range_id)s",
            {
                "share": share,
                "moved": share if each.range_id != range_id else 0,
                "range_id": each.range_id,
            },
        )
        if each.range_id != range_id and share:
            conn.execute(
                "update range set lines = lines + %s where range_id = %s", [share, range_id]
            )
        if not rest:
            return


def _write(conn: Connection, span_drop_id: int, remnants: Sequence[FragmentIn]) -> None:
    conn.cursor().executemany(
        "insert into remnant (span_drop_id, file_key, base_key, release_key, reach_low, reach_high,"
        " first_number, last_number, segments, file, payload)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            (
                span_drop_id,
                one.file_key,
                one.base_key,
                one.release_key,
                one.reach_low,
                one.reach_high,
                one.first_number,
                one.last_number,
                one.segments,
                Jsonb(one.file),
                one.payload,
            )
            for one in remnants
        ],
    )


def _remnant(row: Mapping[str, Any]) -> Remnant:
    release_key = None if row["release_key"] is None else unsigned(row["release_key"])
    keys = {
        "file_key": unsigned(row["file_key"]),
        "base_key": unsigned(row["base_key"]),
        "release_key": release_key,
        "reach_low": row["reach_low"],
        "reach_high": row["reach_high"],
    }
    return Remnant(row["remnant_id"], {**row["file"], **keys, "payload": bytes(row["payload"])})
