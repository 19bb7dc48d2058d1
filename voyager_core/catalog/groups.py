"""Newsgroups: which are indexed, in which order of priority, and their water marks."""

import re
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import GroupError, catalog_errors

MAX_NAME_BYTES = 255

# A partition key is `group/000012`, and the spool has a folder of the group's name.
_NAME = re.compile(r"[^\s/\\\x00-\x1f\x7f.,*?!\[\]:][^\s/\\\x00-\x1f\x7f,*?!\[\]:]*")


@dataclass(frozen=True, slots=True)
class Newsgroup:
    """A newsgroup that is or was indexed.

    Attributes:
        newsgroup_id: its number in the catalog.
        name: as the server spells it.
        priority: of the indexed groups of a crosspost the lowest number owns it.
        low: the server's low water mark when last asked, None when never.
        high: the server's high water mark, likewise.
        active: False once removed.
        added_at: when it was (last) added.
        checked_at: when the water marks were recorded.
        state: `new`, `ok`, `gone` (the server does not know it) or `removed`.
        note: a person's or the last error's words.
    """

    newsgroup_id: int
    name: str
    priority: int
    low: int | None
    high: int | None
    active: bool
    added_at: datetime
    checked_at: datetime | None
    state: str
    note: str | None


_COLUMNS = "newsgroup_id, name, priority, low, high, active, added_at, checked_at, state, note"


def add_group(conn: Connection, name: str, *, priority: int | None = None) -> Newsgroup:
    """Adds a newsgroup, or brings a removed one back; an active one is returned as it is.

    Without a priority it comes after all others, so that it takes no article from a group
    that was indexed before it.

    Raises:
        GroupError: no newsgroup can have this name, or the priority is another group's.
        CatalogUnavailable: the database does not answer.
    """
    check_name(name)
    with catalog_errors(f"adding {name}"), conn.transaction():
        # Two processes that add groups must not both take the next number.
        conn.execute("lock table newsgroup in share row exclusive mode")
        known = get_group(conn, name)
        if known is not None and known.active and priority in (None, known.priority):
            return known
        try:
            row = (
                conn.cursor(row_factory=class_row(Newsgroup))
                .execute(
                    "insert into newsgroup (name, priority) values (%(name)s, coalesce("
                    " %(priority)s, (select coalesce(max(priority), 0) + 1 from newsgroup)))"
                    " on conflict (name) do update set active = true, added_at = now(),"
                    " priority = excluded.priority, state = 'new', note = null"
                    f" returning {_COLUMNS}",
                    {"name": name, "priority": priority},
                )
                .fetchone()
            )
        except psycopg.errors.UniqueViolation as error:
            msg = f"priority {priority} belongs to another newsgroup; {name} was not added"
            raise GroupError(msg) from error
        except psycopg.errors.NumericValueOutOfRange as error:
            msg = f"priority {priority} of {name} is no 32-bit number"
            raise GroupError(msg) from error
    if row is None:
        msg = f"adding {name} returned no row"
        raise GroupError(msg)
    return row


def check_name(name: str) -> None:
    """Returns when a newsgroup can have this name.

    Raises:
        GroupError: it is empty, too long, or holds blanks, slashes, wildcards or controls.
    """
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES or not _NAME.fullmatch(name):
        msg = f"{name[:80]!r} is no newsgroup name (such as alt.binaries.test)"
        raise GroupError(msg)


def remove_group(conn: Connection, name: str) -> bool:
    """Stops indexing a newsgroup and keeps what was found; False when it is not active.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"removing {name}"):
        done = conn.execute(
            "update newsgroup set active = false, state = 'removed' where name = %s and active",
            [name],
        )
        return done.rowcount == 1


def get_group(conn: Connection, name: str) -> Newsgroup | None:
    """Returns a newsgroup, removed ones included, or None.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if "\0" in name:
        return None
    with catalog_errors(f"reading {name}"):
        return (
            conn.cursor(row_factory=class_row(Newsgroup))
            .execute(f"select {_COLUMNS} from newsgroup where name = %s limit 1", [name])
            .fetchone()
        )


def list_groups(conn: Connection, *, active: bool | None = True) -> list[Newsgroup]:
    """Returns the newsgroups by priority: the active ones, the removed ones, or all (None).

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("listing the newsgroups"):
        return (
            conn.cursor(row_factory=class_row(Newsgroup))
            .execute(
                f"select {_COLUMNS} from newsgroup"
                " where %(active)s::boolean is null or active = %(active)s"
                " order by priority limit 100000",
                {"active": active},
            )
            .fetchall()
        )


def record_water_marks(conn: Connection, name: str, low: int, high: int, at: datetime) -> bool:
    """Stores what the server says about a newsgroup; False when it is not known.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"recording the water marks of {name}"):
        done = conn.execute(
            "update newsgroup set low = %(low)s, high = %(high)s, checked_at = %(at)s,"
            " state = case when active then 'ok' else state end, note = null"
            " where name = %(name)s",
            {"name": name, "low": low, "high": high, "at": at},
        )
        return done.rowcount == 1


def record_gone(conn: Connection, name: str, note: str, at: datetime) -> bool:
    """Notes that the server does not carry a newsgroup; False when it is not known.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"recording that {name} is gone"):
        done = conn.execute(
            "update newsgroup set state = 'gone', note = %(note)s, checked_at = %(at)s"
            " where name = %(name)s and active",
            {"name": name, "note": note.replace("\0", ""), "at": at},
        )
        return done.rowcount == 1


def priorities(conn: Connection) -> dict[str, int]:
    """Returns the priority number of each active newsgroup by name, for the owner rule.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return {group.name: group.priority for group in list_groups(conn)}
