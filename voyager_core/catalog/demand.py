"""What passes wait for, and what fetchers could not bring: how the two find each other.

A pass asks for the spans that it needs next; fetchers, on any machine, bring them into the spool.
Requests end by themselves when the pass does not come back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

EXPIRES_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Demand:
    """A span that a pass waits for.

    Attributes:
        range_id: the range that holds it.
        group: the newsgroup.
        low: its first article number.
        high: its last.
        asked_at: when it was asked for; another time means that it is asked for again.
    """

    range_id: int
    group: str
    low: int
    high: int
    asked_at: datetime


def ask(conn: Connection, wanted: Sequence[tuple[int, int, int]]) -> None:
    """Asks for spans, `(range_id, low, high)`, most urgent first; failures before are forgotten.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not wanted:
        return
    with catalog_errors("asking for blocks"):
        conn.execute(
            "insert into fetch_demand as d (range_id, low, high, place, expires_at)"
            " select range_id, low, high, place, clock_timestamp() + %(seconds)s * interval '1 s'"
            " from unnest(%(ids)s::integer[], %(lows)s::bigint[], %(highs)s::bigint[])"
            "  with ordinality as w (range_id, low, high, place) order by range_id, low"
            " on conflict (range_id, low) do update set high = excluded.high,"
            " place = excluded.place, expires_at = excluded.expires_at, failed = null,"
            " failed_kind = null, asked_at = excluded.asked_at",
            {
                "ids": [range_id for range_id, _, _ in wanted],
                "lows": [low for _, low, _ in wanted],
                "highs": [high for _, _, high in wanted],
                "seconds": EXPIRES_SECONDS,
            },
        )


def keep_asking(
    conn: Connection, asked: Sequence[tuple[int, int]]
) -> Mapping[tuple[int, int], tuple[str, str]]:
    """Keeps requests from ending; returns what could not be brought.

    Args:
        conn: the catalog.
        asked: range and first number of each.

    Returns:
        Kind and text of what went wrong, by range and first number.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("waiting for blocks"):
        rows = conn.execute(
            "update fetch_demand d set"
            " expires_at = clock_timestamp() + %s * interval '1 s'"
            " from unnest(%s::integer[], %s::bigint[]) as a (range_id, low)"
            " where d.range_id = a.range_id and d.low = a.low"
            " returning d.range_id, d.low, d.failed_kind, d.failed",
            [EXPIRES_SECONDS, [key for key, _ in asked], [low for _, low in asked]],
        ).fetchall()
    return {(key, low): (kind, text) for key, low, kind, text in rows if text is not None}


def withdraw(conn: Connection, asked: Sequence[tuple[int, int]]) -> None:
    """Ends requests, given range and first number of each.

    Raises:
        CatalogUnavailable: the database does not answer; they end by themselves then.
    """
    if asked:
        with catalog_errors("ending requests for blocks"):
            conn.execute(
                "delete from fetch_demand d using unnest(%s::integer[], %s::bigint[])"
                " as a (range_id, low) where d.range_id = a.range_id and d.low = a.low",
                [[key for key, _ in asked], [low for _, low in asked]],
            )


def demands(conn: Connection, *, shard: tuple[int, int] = (1, 1)) -> list[Demand]:
    """Returns what is waited for and has not failed, most urgent first.

    Args:
        conn: the catalog.
        shard: `(i, n)`: only the i-th of n parts, from 1.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    part, parts = shard
    with catalog_errors("reading what is waited for"):
        conn.execute("delete from fetch_demand where expires_at < clock_timestamp()")
        return (
            conn.cursor(row_factory=class_row(Demand))
            .execute(
                'select d.range_id, n.name as "group", d.low, d.high, d.asked_at'
                " from fetch_demand d join range r using (range_id)"
                " join newsgroup n using (newsgroup_id)"
                " where d.failed is null and d.range_id %% %(parts)s = %(part)s"
                # The first of every pass comes before the second of any.
                " order by d.place, d.asked_at, d.range_id limit 10000",
                {"parts": parts, "part": part - 1},
            )
            .fetchall()
        )


def report_failures(conn: Connection, failed: Iterable[tuple[int, int, int, str, str]]) -> None:
    """Tells passes what could not be brought: `(range_id, low, high, kind, text)`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    rows = list(failed)
    if rows:
        with catalog_errors("reporting what could not be fetched"):
            conn.cursor().executemany(
                "update fetch_demand set failed_kind = %s, failed = %s"
                " where range_id = %s and low = %s and high = %s",
                [
                    (kind, text.replace("\0", "")[:2000], range_id, low, high)
                    for range_id, low, high, kind, text in rows
                ],
            )
