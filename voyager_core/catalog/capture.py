"""Which ranges are marked for the corpus, and which should be marked next."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors


@dataclass(frozen=True, slots=True)
class MarkedRange:
    """A range that is marked for the corpus.

    Attributes:
        range_id: its number in the catalog.
        group: the newsgroup.
        low: its first number.
        high: its last.
        resume_at: the next number to index; what lies before it can be captured.
    """

    range_id: int
    group: str
    low: int
    high: int
    resume_at: int


def mark_ranges(
    conn: Connection, group: str, numbers: Sequence[int] | None = None, *, capture: bool = True
) -> int:
    """Marks ranges of a newsgroup, or takes the marks away; returns how many were changed.

    Args:
        conn: the catalog.
        group: the newsgroup.
        numbers: article numbers whose ranges are meant; None: every range.
        capture: whether to mark.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"marking ranges of {group}"):
        return conn.execute(
            "update range r set capture = %(capture)s from newsgroup n"
            " where n.newsgroup_id = r.newsgroup_id and n.name = %(group)s"
            " and r.capture <> %(capture)s and (%(numbers)s::bigint[] is null or exists ("
            "  select 1 from unnest(%(numbers)s::bigint[]) as at (number)"
            "   where at.number between r.low and r.high))",
            {
                "group": group,
                "capture": capture,
                "numbers": None if numbers is None else list(numbers),
            },
        ).rowcount


def marked_ranges(conn: Connection) -> list[MarkedRange]:
    """Returns the marked ranges of which something is indexed, by group and number.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the ranges of the corpus"):
        return (
            conn.cursor(row_factory=class_row(MarkedRange))
            .execute(
                'select r.range_id, n.name as "group", r.low, r.high, r.resume_at'
                " from range r join newsgroup n using (newsgroup_id)"
                " where r.capture and r.resume_at > r.low and n.active and n.state = 'ok'"
                " order by n.name, r.low limit 100000"
            )
            .fetchall()
        )


def sweep(conn: Connection, want: int) -> list[MarkedRange]:
    """Marks so many more ranges, spread over groups and eras; returns them.

    Groups with the fewest marks come first; within a group, each mark lies as far as can be
    from those before it (van der Corput's sequence over the group's history). Only ranges that
    are indexed are taken, so that the corpus grows at once.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("choosing ranges for the corpus"), conn.transaction():
        rows = (
            conn.cursor(row_factory=class_row(_Row))
            .execute(
                'select r.range_id, n.name as "group", r.low, r.high, r.resume_at, r.capture'
                " from range r join newsgroup n using (newsgroup_id)"
                " where n.active and n.state = 'ok' and r.state = 'done'"
                " order by n.priority, r.low limit 1000000"
            )
            .fetchall()
        )
        chosen = choose_spread(rows, want)
        conn.execute(
            "update range set capture = true where range_id = any(%s)",
            [[each.range_id for each in chosen]],
        )
    return [
        MarkedRange(each.range_id, each.group, each.low, each.high, each.resume_at)
        for each in chosen
    ]


@dataclass(frozen=True, slots=True)
class _Row(MarkedRange):
    capture: bool


def choose_spread(rows: Sequence[_Row], want: int) -> list[_Row]:
    """Returns so many unmarked ranges, spread over groups and within each over its history."""
    groups: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    marks = {group: sum(row.capture for row in found) for group, found in groups.items()}
    free = {group: [row for row in found if not row.capture] for group, found in groups.items()}
    chosen: list[_Row] = []
    while len(chosen) < want and any(free.values()):
        group = min((name for name in free if free[name]), key=lambda name: marks[name])
        place = groups[group][0].low + _van_der_corput(marks[group] + 1) * (
            groups[group][-1].high - groups[group][0].low
        )
        nearest = min(free[group], key=lambda row: abs((row.low + row.high) / 2 - place))
        free[group].remove(nearest)
        marks[group] += 1
        chosen.append(nearest)
    return chosen


def _van_der_corput(number: int) -> float:
    """Returns the number's binary digits mirrored behind the point: 1/2, 1/4, 3/4, 1/8."""
    place, share = 0.5, 0.0
    while number:
        share += place * (number & 1)
        number >>= 1
        place /= 2
    return share
