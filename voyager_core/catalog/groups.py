"""Newsgroups: which are indexed, in which order of priority, and their water marks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import GroupError, catalog_errors
from voyager_core.domain.newsgroups import name_problem

MOST_DAYS = 100_000


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
        state: `new`, `ok`, `gone` (the server does not know it), `restarted` (its article
            numbers began again) or `removed`.
        note: a person's or the last error's words.
        backfill_days: history wanted, in days; None: see `backfill_since`.
        backfill_since: history wanted, as a date; None of both: what the settings say.
        wanted_from: the article number from which history is wanted, None when not known yet.
        wanted_for: what `wanted_from` was found for.
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
    backfill_days: int | None = None
    backfill_since: datetime | None = None
    wanted_from: int | None = None
    wanted_for: str | None = None


_COLUMNS = (
    "newsgroup_id, name, priority, low, high, active, added_at, checked_at, state, note,"
    " backfill_days, backfill_since, wanted_from, wanted_for"
)


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
                    " priority = excluded.priority, state = 'new', note = null,"
                    " removed_at = null"
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


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        added: newsgroups that were not known.
        returned: removed ones that are indexed again.
        kept: active ones, which stay as they are.
    """

    added: int
    returned: int
    kept: int


def import_groups(conn: Connection, names: Sequence[str]) -> Imported:
    """Adds many newsgroups in one go, after all others, by their order.

    Raises:
        GroupError: no newsgroup can have one of the names; nothing is added then.
        CatalogUnavailable: the database does not answer.
    """
    for name in names:
        check_name(name)
    wanted = list(dict.fromkeys(names))
    with catalog_errors(f"adding {len(wanted)} newsgroups"), conn.transaction():
        conn.execute("lock table newsgroup in share row exclusive mode")
        known: dict[str, bool] = dict(
            conn.execute(
                "select name, active from newsgroup where name = any(%s)", [wanted]
            ).fetchall()
        )
        conn.execute(
            "insert into newsgroup (name, priority)"
            " select name, place + (select coalesce(max(priority), 0) from newsgroup)"
            " from unnest(%s::text[]) with ordinality as listed (name, place)"
            " on conflict (name) do update set active = true, added_at = now(),"
            " priority = excluded.priority, state = 'new', note = null, removed_at = null",
            [[name for name in wanted if not known.get(name, False)]],
        )
    kept = sum(known.values())
    return Imported(len(wanted) - len(known), len(known) - kept, kept)


def check_name(name: str) -> None:
    """Returns when a newsgroup can have this name.

    Raises:
        GroupError: it is empty, too long, or holds blanks, slashes, wildcards, controls,
            invisible characters or an empty part.
    """
    if problem := name_problem(name):
        msg = f"{name[:80]!r} is no newsgroup name such as alt.binaries.test ({problem})"
        raise GroupError(msg)


def remove_group(conn: Connection, name: str) -> bool:
    """Stops indexing a newsgroup and keeps what was found; False when it is not active.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"removing {name}"):
        done = conn.execute(
            "update newsgroup set active = false, state = 'removed', removed_at = now()"
            " where name = %s and active",
            [name],
        )
        return done.rowcount == 1


def set_backfill(
    conn: Connection,
    names: Sequence[str],
    *,
    days: int | None = None,
    since: datetime | None = None,
) -> list[str]:
    """Says how much history of active newsgroups is wanted; neither: what the settings say.

    What is indexed already stays; of the rest, only what is new enough is worked on.

    Returns:
        The names that are active newsgroups.

    Raises:
        GroupError: both are given, or a number of days that cannot be.
        CatalogUnavailable: the database does not answer.
    """
    if days is not None and (since is not None or not 0 <= days <= MOST_DAYS):
        msg = f"a number of days from 0 to {MOST_DAYS}, or a date; not both"
        raise GroupError(msg)
    with catalog_errors("setting the history that is wanted"):
        rows = conn.execute(
            "update newsgroup set backfill_days = %(days)s, backfill_since = %(since)s"
            " where name = any(%(names)s) and active returning name",
            {"days": days, "since": since, "names": [n for n in names if "\0" not in n]},
        ).fetchall()
    return [name for (name,) in rows]


def record_wanted(conn: Connection, found: Iterable[tuple[int, int | None, str | None]]) -> None:
    """Stores from which number on history is wanted: `(newsgroup_id, number, what for)`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    rows = list(found)
    if not rows:
        return
    with catalog_errors("recording where wanted history begins"):
        conn.execute(
            "update newsgroup n set wanted_from = f.number, wanted_for = f.what"
            " from unnest(%s::integer[], %s::bigint[], %s::text[]) as f (id, number, what)"
            " where n.newsgroup_id = f.id",
            [[row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]],
        )


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


def record_water_marks(
    conn: Connection, marks: Mapping[str, tuple[int, int]], at: datetime
) -> None:
    """Stores what the server says about many newsgroups: `{name: (low, high)}`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"recording the water marks of {len(marks)} newsgroups"):
        conn.execute(
            "update newsgroup n set low = m.low, high = m.high, checked_at = %(at)s,"
            " state = case when active then 'ok' else state end, note = null"
            " from unnest(%(names)s::text[], %(lows)s::bigint[], %(highs)s::bigint[])"
            " as m (name, low, high) where n.name = m.name",
            {
                "at": at,
                "names": list(marks),
                "lows": [low for low, _ in marks.values()],
                "highs": [high for _, high in marks.values()],
            },
        )


def record_waiting(conn: Connection, name: str, state: str, note: str, at: datetime) -> bool:
    """Notes why an active newsgroup waits: it is `gone`, or its numbers `restarted`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"recording that {name} waits"):
        done = conn.execute(
            "update newsgroup set state = %(state)s, note = %(note)s, checked_at = %(at)s"
            " where name = %(name)s and active",
            {"name": name, "state": state, "note": note.replace("\0", ""), "at": at},
        )
        return done.rowcount == 1


def record_gone(conn: Connection, name: str, note: str, at: datetime) -> bool:
    """Notes that the server does not carry a newsgroup; False when it is not known.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return record_waiting(conn, name, "gone", note, at)


def priorities(conn: Connection) -> dict[str, int]:
    """Returns the priority number of each active newsgroup by name, for the owner rule.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return {group.name: group.priority for group in list_groups(conn)}
