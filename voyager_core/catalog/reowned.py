"""Crossposts that were left to a newsgroup which has been removed since, and never read there.

A crosspost belongs to the indexed group with the lowest priority number; the other groups only
count it, as `crosspost:<owner>`. When the owner is removed before it read its article, another
group has to take it. Nothing else is read again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.stored_settings import cut_of_history

PREFIX = "crosspost:"


@dataclass(frozen=True, slots=True)
class RemovedOwner:
    """A removed newsgroup that did not read everything it owned.

    Attributes:
        name: the newsgroup.
        removal: a number of this removal; a later one has another.
        priority: the priority number that it had.
        read: what it read, as `(first number, next number)` of each range, in order.
    """

    name: str
    removal: int
    priority: int
    read: Sequence[tuple[int, int]]


# A removal is told from a later one of the same group by its second.
_REMOVAL = "extract(epoch from g.removed_at)::integer"

_LEFT = f"""
      from newsgroup g
      join reject_count c on c.reason = 'crosspost:' || g.name and c.articles > 0
      join range r using (range_id)
      join newsgroup n on n.newsgroup_id = r.newsgroup_id
     where not g.active and g.removed_at is not null
       and n.active and n.state = 'ok' and r.resume_at > r.low
       and (exists (select from range p where p.newsgroup_id = g.newsgroup_id
                       and p.resume_at <= p.high)
            or not exists (select from range p where p.newsgroup_id = g.newsgroup_id))
       and not exists (select from range_recovery y where y.range_id = r.range_id
                          and y.rule = c.reason and y.version = {_REMOVAL})
"""


def removed_owners(conn: Connection) -> list[str]:
    """Returns removed newsgroups for which other groups have to read ranges again, by priority.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for crossposts of removed newsgroups"):
        rows = conn.execute(
            f"select g.name {_LEFT} group by g.name, g.priority order by g.priority limit 1000"
        ).fetchall()
    return [name for (name,) in rows]


def orphaned_stretches(conn: Connection, owner: str, *, limit: int) -> list[tuple[str, int, int]]:
    """Returns stretches to read again for a removed owner: `(group, index, ranges)`, in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    size, per_partition = cut_of_history(conn)
    with catalog_errors(f"looking for crossposts of {owner}"):
        return conn.execute(
            f"select n.name, (r.low - 1) / %(numbers)s as stretch, count(*) {_LEFT}"
            " and g.name = %(owner)s"
            " group by n.priority, n.name, stretch order by n.priority, stretch limit %(limit)s",
            {"numbers": size * per_partition, "owner": owner, "limit": limit},
        ).fetchall()


def orphaned_ranges(conn: Connection, owner: str, range_ids: Sequence[int]) -> list[int]:
    """Returns those of the ranges that are to be read again for a removed owner.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"looking for crossposts of {owner}"):
        rows = conn.execute(
            f"select r.range_id {_LEFT} and g.name = %(owner)s and r.range_id = any(%(ids)s)"
            " order by r.low",
            {"owner": owner, "ids": list(range_ids)},
        ).fetchall()
    return [range_id for (range_id,) in rows]


def removed_owner(conn: Connection, name: str) -> RemovedOwner | None:
    """Returns a removed newsgroup with what it has read; None when it is not removed.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading what {name} has read"):
        row = conn.execute(
            f"select g.name, {_REMOVAL}, g.priority from newsgroup g"
            " where g.name = %s and not g.active and g.removed_at is not null",
            [name],
        ).fetchone()
        if row is None:
            return None
        read = conn.execute(
            "select r.low, r.resume_at from range r join newsgroup n using (newsgroup_id)"
            " where n.name = %s and r.resume_at > r.low order by r.low limit 1000000",
            [name],
        ).fetchall()
    return RemovedOwner(str(row[0]), int(row[1]), int(row[2]), read)


def owners_of_range(conn: Connection, range_id: int) -> Mapping[str, int]:
    """Returns the groups that crossposts of a range can have been left to, with priorities.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the owners of range {range_id}"):
        return dict(
            conn.execute(
                "select g.name, g.priority from newsgroup g where g.active or exists"
                " (select from reject_count c where c.range_id = %s"
                "   and c.reason = 'crosspost:' || g.name) limit 1000000",
                [range_id],
            ).fetchall()
        )
