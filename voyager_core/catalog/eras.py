"""When articles were posted, at some numbers of each newsgroup."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors


@dataclass(frozen=True, slots=True)
class DatedGroup:
    """A newsgroup with history to index, and what is known of its dates.

    Attributes:
        newsgroup_id: its number in the catalog.
        group: its name.
        first: the first number that is not indexed.
        high: the newest number that the server has.
        dates: `(number, posting time)` in order of the numbers.
    """

    newsgroup_id: int
    group: str
    first: int
    high: int
    dates: tuple[tuple[int, datetime], ...]


def dated_groups(conn: Connection) -> list[DatedGroup]:
    """Returns the newsgroups with history left to index, by priority.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the dates of the newsgroups"):
        rows = conn.execute(
            "select n.newsgroup_id, n.name, min(r.resume_at), n.high,"
            " (select array_agg(d.number order by d.number) from group_date d"
            "   where d.newsgroup_id = n.newsgroup_id),"
            " (select array_agg(d.posted_at order by d.number) from group_date d"
            "   where d.newsgroup_id = n.newsgroup_id)"
            " from newsgroup n join range r using (newsgroup_id)"
            " where n.active and n.state = 'ok' and r.state in ('planned', 'partial')"
            " and r.resume_at <= least(r.high, n.high)"
            " and (n.wanted_from is null or r.high >= n.wanted_from)"
            " group by n.newsgroup_id order by n.priority limit 100000"
        ).fetchall()
    return [
        DatedGroup(number, name, first, high, tuple(zip(numbers or (), times or (), strict=True)))
        for number, name, first, high, numbers, times in rows
    ]


def record_dates(conn: Connection, dates: Iterable[tuple[int, int, datetime]]) -> None:
    """Notes when articles were posted: `(newsgroup_id, number, time)`.

    A newsgroup that waits meanwhile, since its numbers began again, gets none.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    rows = list(dates)
    if not rows:
        return
    with catalog_errors("noting the dates of articles"):
        conn.execute(
            "insert into group_date (newsgroup_id, number, posted_at)"
            " select d.* from unnest(%s::integer[], %s::bigint[], %s::timestamptz[])"
            " as d (newsgroup_id, number, posted_at)"
            " join newsgroup n using (newsgroup_id) where n.state <> 'restarted'"
            " on conflict (newsgroup_id, number) do update set posted_at = excluded.posted_at",
            [[row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]],
        )


def forget_dates(conn: Connection, newsgroup_id: int) -> int:
    """Forgets when the articles of a newsgroup were posted; returns how many dates were known.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("forgetting the dates of a newsgroup"):
        return conn.execute(
            "delete from group_date where newsgroup_id = %s", [newsgroup_id]
        ).rowcount
