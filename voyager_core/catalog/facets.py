"""What the matches of a search are made of: counts by category, newsgroup, state, age and so on."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.search import SearchQuery, find_hits
from voyager_core.domain.completeness import Counted, completeness_of

AGES = (("day", 1), ("week", 7), ("month", 30), ("year", 365))
"""Ages by name with their longest days; what is older is `older`."""

_AGE_NAMES = (*(name for name, _ in AGES), "older")
_AGE_DAYS = tuple(days for _, days in AGES)

Value = TypeVar("Value", int, str)

_COLUMNS = (
    "files, files_expected, segments, segments_expected, size_bytes, content_missing,"
    " recovery_blocks, recovery_bytes, largest_file"
)


@dataclass(frozen=True, slots=True)
class Facets:
    """Counts of the newest matches, at most 5,000 of them.

    Attributes:
        total: matches that were counted.
        is_least: whether there may be more.
        categories: by category number, largest first.
        groups: by newsgroup; a crosspost counts in each of its groups.
        states: `open` and `settled`.
        ages: by the names of `AGES` and `older`.
        completeness: by `Completeness`.
    """

    total: int
    is_least: bool
    categories: Mapping[int, int]
    groups: Mapping[str, int]
    states: Mapping[str, int]
    ages: Mapping[str, int]
    completeness: Mapping[str, int]


def facets_of(conn: Connection, query: SearchQuery) -> Facets:
    """Returns what a search finds, counted; its page is not looked at.

    Raises:
        StatementTimeout: the search took longer than it may.
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("counting facets"), conn.transaction():
        found = find_hits(conn, query)
        if not found.ids:
            return Facets(0, is_least=False, categories={}, groups={}, states={}, ages={},
                          completeness={})  # fmt: skip
        rows = (
            conn.cursor(binary=True)
            .execute(
                "select category, group_ids, settled_at is null,"
                " extract(epoch from now() - posted_at)::float8 / 86400,"
                f" {_COLUMNS} from release where release_id = any (%s) limit %s",
                [found.ids, len(found.ids)],
            )
            .fetchall()
        )
        numbers = Counter(number for row in rows for number in set(row[1]))
        names = dict(
            conn.execute(
                "select group_name_id, name from group_name where group_name_id = any (%s)"
                " limit 10000",
                [[number for number, _ in numbers.most_common(10_000)]],
            ).fetchall()
        )
    return Facets(
        total=len(rows),
        is_least=found.is_least,
        categories=_counted(row[0] for row in rows),
        groups=_counted(names[number] for number in numbers.elements() if number in names),
        states=_counted("open" if row[2] else "settled" for row in rows),
        ages=_counted(_age(row[3]) for row in rows),
        completeness=_counted(map(completeness_of, (Counted(*row[4:]) for row in rows))),
    )


def _counted(values: Iterable[Value]) -> dict[Value, int]:
    """Returns how often each value occurs, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], str(pair[0]))))


def _age(days: float) -> str:
    return _AGE_NAMES[bisect_left(_AGE_DAYS, days)]
