"""Share the connections of the news account between the processes that index.

The live tail keeps a few for itself, since it must never wait for history; the passes over
history divide the rest evenly. Who is there is seen from locks in the catalog that end with
their holder, so a killed process gives its connections back.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.connection_shares import count_holders, join_lane, leave_lane
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.nntp.client import NewsClient

logger = logging.getLogger(__name__)

TAIL, HISTORY = "tail", "history"


def connections_for(lane: str, total: int, holders: int) -> int:
    """Returns how many connections one process of a lane may open.

    Args:
        lane: `TAIL` or `HISTORY`.
        total: connections of the account.
        holders: processes in the lane, this one included.
    """
    reserved = max(1, total // 10)
    if lane == TAIL:
        return reserved
    # One more is left for planning, which asks a single question now and then.
    rest = total - reserved - (1 if total > 3 else 0)
    return max(1, rest // max(1, holders))


@contextmanager
def shared_connections(
    conn: Connection, client: NewsClient, lane: str
) -> Iterator[Callable[[], None]]:
    """Yields a function that adjusts the number of connections; it is called now and then.

    Args:
        conn: the pass's own connection to the catalog.
        client: an entered client.
        lane: `TAIL` or `HISTORY`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    place = join_lane(conn, lane)
    total = client.account.connections

    async def resize(limit: int) -> None:
        client.pool.resize(limit)

    def adjust() -> None:
        limit = connections_for(lane, total, count_holders(conn, lane))
        if limit != client.pool.limit:
            logger.info("%s: %d of %d connections", lane, limit, total)
            client.run(resize(limit))

    adjust()
    try:
        yield adjust
    finally:
        if place is not None:
            with suppress(CatalogUnavailable):
                leave_lane(conn, lane, place)
