"""Partitions of the chunk store: one a month of posting, created when a chunk needs it."""

from collections.abc import Iterable
from datetime import UTC, date, datetime

from psycopg import sql

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

EARLY = date(1970, 1, 1)
"""The partition of everything before binaries had retention, or with a date nobody believes."""

_FIRST_YEAR = 2000
_LAST_YEAR = 2099


def posting_month(posted_at: datetime) -> date:
    """Returns the partition key of a posting time: the first of its month, or `EARLY`."""
    moment = posted_at.astimezone(UTC)
    if moment.year < _FIRST_YEAR:
        return EARLY
    if moment.year > _LAST_YEAR:
        return date(_LAST_YEAR, 12, 1)
    return date(moment.year, moment.month, 1)


def partition_name(month: date) -> str:
    """Returns the table that holds a month's chunks."""
    return "chunk_early" if month == EARLY else f"chunk_{month:%Y_%m}"


def ensure_months(conn: Connection, months: Iterable[date]) -> list[str]:
    """Creates the partitions that are missing, in transactions of their own; returns them.

    An empty partition that stays behind after a failure harms nobody. Attaching locks out
    neither readers nor writers, which `create table … partition of` would.

    Raises:
        CatalogUnavailable: the database does not answer, or a lock is held too long.
    """
    wanted = {partition_name(month): month for month in months}
    with catalog_errors("creating partitions"):
        there = conn.execute(
            "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
            " where i.inhparent = 'chunk'::regclass and c.relname = any (%s)",
            [list(wanted)],
        )
        missing = sorted(set(wanted) - {name for (name,) in there})
        for name in missing:
            _create(conn, name, wanted[name])
    return missing


def _create(conn: Connection, name: str, month: date) -> None:
    end = date(_FIRST_YEAR, 1, 1) if month == EARLY else _next_month(month)
    low = sql.SQL("minvalue") if month == EARLY else sql.Literal(month)
    table = sql.Identifier(name)
    with conn.transaction():
        conn.execute("set local lock_timeout = '30s'")
        # Two workers may need the same month at the same moment.
        conn.execute("lock table chunk in share update exclusive mode")
        if conn.execute("select to_regclass(%s)", [name]).fetchone() != (None,):
            return
        conn.execute(sql.SQL("create table {} (like chunk including all)").format(table))
        conn.execute(
            sql.SQL("alter table chunk attach partition {} for values from ({}) to ({})").format(
                table, low, sql.Literal(end)
            )
        )


def _next_month(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)
