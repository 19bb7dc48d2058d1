"""Who uses the news account at this moment: advisory locks that end with their holder.

Two kinds. A *place* in a lane tells how many processes work for a purpose, from which each one
computes its share. A *token* is the right to one connection: a process opens no more connections
than it holds tokens, so the account never goes over its limit while shares change.
"""

from collections.abc import Sequence

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

# "news" in ASCII, plus the lane's number: the first half of an advisory lock's key.
LANES = {"tail": 0x6E657773, "history": 0x6E657774, "probe": 0x6E657775, "fetcher": 0x6E657776}
_TOKENS = 0x6E657800
MOST_HOLDERS = 256


def join_lane(conn: Connection, lane: str) -> int | None:
    """Counts this session as a user of the account until it ends or leaves.

    Args:
        conn: a connection that is kept for as long as the account is used.
        lane: one of `LANES`.

    Returns:
        The place taken, for `leave_lane`; None when every place is taken.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"joining the lane {lane}"):
        row = conn.execute(
            "select place from generate_series(0, %(most)s) as place"
            " where pg_try_advisory_lock(%(lane)s, place) limit 1",
            {"lane": LANES[lane], "most": MOST_HOLDERS - 1},
        ).fetchone()
    return None if row is None else int(row[0])


def leave_lane(conn: Connection, lane: str, place: int) -> None:
    """Gives a place back.

    Raises:
        CatalogUnavailable: the database does not answer; the place is free then anyway.
    """
    with catalog_errors(f"leaving the lane {lane}"):
        conn.execute("select pg_advisory_unlock(%s, %s)", [LANES[lane], place])


def count_holders(conn: Connection, lane: str) -> int:
    """Returns how many sessions use the account in a lane, of every process and machine.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return holders(conn)[lane]


def holders(conn: Connection) -> dict[str, int]:
    """Returns how many sessions there are in each lane.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("counting the users of the news account"):
        rows = conn.execute(
            "select classid::bigint, count(*) from pg_locks"
            " where locktype = 'advisory' and granted and classid::bigint = any(%s)"
            " and database = (select oid from pg_database where datname = current_database())"
            " group by classid",
            [list(LANES.values())],
        ).fetchall()
    found = dict(rows)
    return {lane: int(found.get(number, 0)) for lane, number in LANES.items()}


def take_tokens(conn: Connection, held: Sequence[int], *, total: int, more: int) -> list[int]:
    """Takes up to so many more of the account's tokens; returns those taken, maybe none.

    Args:
        conn: the session that holds them until it ends or gives them back.
        held: the tokens that this session has.
        total: connections that the account allows.
        more: how many are wanted.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if more <= 0:
        return []
    with catalog_errors("taking connections of the news account"):
        # A session can take its own lock again, so its tokens are left out.
        rows = conn.execute(
            "select token from generate_series(1, %(total)s) as token"
            " where token <> all(%(held)s::integer[])"
            " and pg_try_advisory_lock(%(tokens)s, token) limit %(more)s",
            {"total": total, "held": list(held), "tokens": _TOKENS, "more": more},
        ).fetchall()
    return [int(token) for (token,) in rows]


def give_tokens(conn: Connection, tokens: Sequence[int]) -> None:
    """Gives tokens back.

    Raises:
        CatalogUnavailable: the database does not answer; they are free then anyway.
    """
    if tokens:
        with catalog_errors("giving connections of the news account back"):
            conn.execute(
                "select pg_advisory_unlock(%s, token) from unnest(%s::integer[]) as token",
                [_TOKENS, list(tokens)],
            )
