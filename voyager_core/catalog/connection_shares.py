"""Who uses the news account at this moment: advisory locks that end with their holder."""

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

# "news" in ASCII, plus the lane's number: the first half of an advisory lock's key.
LANES = {"tail": 0x6E657773, "history": 0x6E657774}
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
    with catalog_errors(f"counting the lane {lane}"):
        row = conn.execute(
            "select count(*) from pg_locks where locktype = 'advisory' and granted"
            " and classid = %s and database ="
            " (select oid from pg_database where datname = current_database())",
            [LANES[lane]],
        ).fetchone()
    return 0 if row is None else int(row[0])
