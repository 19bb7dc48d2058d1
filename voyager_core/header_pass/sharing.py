"""Share the connections of the news account between the processes that use it.

Every purpose has a minimum and a maximum; what is left goes to the purposes in their order, and
within one to its processes evenly. The live tail comes first, since it must never wait for
history. Who is there is seen from locks in the catalog that end with their holder, so a killed
process gives its connections back.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.connection_shares import (
    give_tokens,
    holders,
    join_lane,
    leave_lane,
    take_tokens,
)
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.errors import SettingsError
from voyager_core.nntp.client import NewsClient

logger = logging.getLogger(__name__)

TAIL, HISTORY, PROBE, FETCHER = "tail", "history", "probe", "fetcher"
# Most urgent first.
PURPOSES = (TAIL, HISTORY, PROBE)
# A fetcher works for the passes over history; as long as one is there, they open nothing.
_WORKS_FOR = {FETCHER: HISTORY}
_SHARE = re.compile(r"(?P<purpose>[a-z]+)=(?P<low>\d{1,3})-(?P<high>\d{1,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shares:
    """How an account's connections are divided.

    Attributes:
        total: connections of the account.
        bounds: least and most connections of each purpose.
    """

    total: int
    bounds: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, total: int, text: str | None = None) -> "Shares":
        """Returns the usual division, changed by a setting such as `tail=2-10,probe=0-8`.

        Raises:
            SettingsError: the setting cannot be read, or asks for more than there is.
        """
        tail = max(1, total // 10)
        bounds = {TAIL: (tail, tail), HISTORY: (1, total), PROBE: (0, max(1, total // 5))}
        named: set[str] = set()
        for part in filter(None, (text or "").replace(" ", "").split(",")):
            match = _SHARE.fullmatch(part)
            if match is None or match["purpose"] not in bounds:
                msg = f"VOYAGER_NEWS__SHARES has {part[:40]!r}; it looks like tail=2-10,probe=0-8"
                raise SettingsError(msg)
            low, high = int(match["low"]), int(match["high"])
            if low > high:
                msg = f"VOYAGER_NEWS__SHARES has {part!r}: the least is above the most"
                raise SettingsError(msg)
            if match["purpose"] in named:
                msg = f"VOYAGER_NEWS__SHARES has {match['purpose']} twice"
                raise SettingsError(msg)
            named.add(match["purpose"])
            bounds[match["purpose"]] = (low, high)
        least = sum(low for low, _ in bounds.values())
        if text and least > total:
            msg = f"VOYAGER_NEWS__SHARES asks for {least} connections, the account has {total}"
            raise SettingsError(msg)
        return cls(total, bounds)

    def each(self, purpose: str, present: Mapping[str, int]) -> int:
        """Returns how many connections one process may open; 0 when a fetcher does that for it.

        Args:
            purpose: what it works for, or `FETCHER`.
            present: processes in each lane, this one included.
        """
        if purpose in _WORKS_FOR.values() and present.get(FETCHER, 0):
            return 0
        purpose = _WORKS_FOR.get(purpose, purpose)
        # One is left for planning, which asks a single question now and then.
        left = self.total - (1 if self.total > 3 else 0)
        # The tail comes every two minutes; its connections are kept for it.
        active = [each for each in PURPOSES if each == TAIL or self._present(each, present)]
        if purpose not in active:
            active.append(purpose)
        given = {each: self.bounds[each][0] for each in active}
        left -= sum(given.values())
        for each in sorted(active, key=PURPOSES.index):
            more = max(0, min(left, self.bounds[each][1] - given[each]))
            given[each] += more
            left -= more
        return max(1, given[purpose] // max(1, self._present(purpose, present)))

    @staticmethod
    def _present(purpose: str, present: Mapping[str, int]) -> int:
        fetchers = present.get(FETCHER, 0) if purpose == HISTORY else 0
        return fetchers or present.get(purpose, 0)


@contextmanager
def present(conn: Connection, lane: str) -> Iterator[None]:
    """Counts this process in a lane, without connections of its own.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    place = join_lane(conn, lane)
    try:
        yield
    finally:
        if place is not None:
            with suppress(CatalogUnavailable):
                leave_lane(conn, lane, place)


@contextmanager
def shared_connections(
    conn: Connection, client: NewsClient, lane: str, *, shares: Shares | None = None
) -> Iterator[Callable[[], None]]:
    """Yields a function that adjusts the number of connections; it is called now and then.

    A process grows only into connections that others have given back.

    Args:
        conn: the pass's own connection to the catalog.
        client: an entered client.
        lane: one of `PURPOSES`, or `FETCHER`.
        shares: how the account is divided; None: as usual.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    place = join_lane(conn, lane)
    division = shares or Shares.of(client.account.connections)
    held: list[int] = []

    async def resize(limit: int) -> int:
        client.pool.resize(limit)
        return client.pool.open_connections

    def adjust() -> None:
        target = division.each(lane, holders(conn))
        held.extend(take_tokens(conn, held, total=division.total, more=target - len(held)))
        limit = max(1, min(target, len(held)))
        if limit != client.pool.limit:
            logger.info("%s: %d of %d connections", lane, limit, division.total)
        in_use = client.run(resize(limit))
        surplus = held[max(limit, in_use) :]
        give_tokens(conn, surplus)
        del held[len(held) - len(surplus) :]

    adjust()
    try:
        yield adjust
    finally:
        with suppress(CatalogUnavailable):
            give_tokens(conn, held)
            if place is not None:
                leave_lane(conn, lane, place)
