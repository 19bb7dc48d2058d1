"""`voyager fetch`: the fetcher as a process of its own, which outlives every fault around it."""

import threading
import time
from collections.abc import Callable

from voyager_core.catalog.connect import connect, database_dsn
from voyager_core.errors import PermanentError, VoyagerError
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.prefetch import Prefetcher, PrefetchTools
from voyager_core.header_pass.sharing import FETCHER, Shares, shared_connections
from voyager_core.header_pass.tail import REACH
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.settings import Settings
from voyager_core.storage.spool import Spool

# A provider locks accounts that try a wrong password again and again.
_FIRST_WAIT = {True: 60.0, False: 1.0}
_LONGEST_WAIT = {True: 3600.0, False: 60.0}
_STEADY_SECONDS = 60.0


def run_fetcher(
    settings: Settings,
    stopping: threading.Event,
    report: Callable[[str], None],
    *,
    shard: tuple[int, int] = (1, 1),
) -> None:
    """Fetches until told to stop; after a fault it begins again, with growing pauses.

    Args:
        settings: account, catalog, spool.
        stopping: set to end.
        report: takes a line for a person.
        shard: `(i, n)`: this process brings the i-th of n parts of the ranges.

    Raises:
        SettingsError: account or spool cannot be used at all.
    """
    url = settings.news.url
    account = NewsAccount.from_url(
        "" if url is None else url, connections=settings.news.connections
    )
    shares = Shares.of(account.connections, settings.news.shares)
    spool = spool_of(settings)
    failures = 0
    while not stopping.is_set():
        began = time.monotonic()
        try:
            _fetch(settings, account, spool, shares, shard, stopping)
        except VoyagerError as error:
            steady = time.monotonic() - began > _STEADY_SECONDS
            failures = 1 if steady else failures + 1
            lasting = isinstance(error, PermanentError)
            wait = min(_FIRST_WAIT[lasting] * 2.0 ** (failures - 1), _LONGEST_WAIT[lasting])
            report(f"{error}; the next try is in {wait:.0f} s")
            stopping.wait(wait)


def spool_of(settings: Settings) -> Spool:
    """Returns the spool of the settings, without a corpus.

    Raises:
        SettingsError: its URL cannot be used.
    """
    return Spool.at(
        settings.spool.url or settings.spool_dir,
        max_bytes=settings.spool.max_bytes,
        min_free_bytes=settings.spool.min_free_bytes,
    )


def _fetch(  # noqa: PLR0917 - each is needed at each start
    settings: Settings,
    account: NewsAccount,
    spool: Spool,
    shares: Shares,
    shard: tuple[int, int],
    stopping: threading.Event,
) -> None:
    deadlines = Deadlines.of(settings.news.timeout_seconds)
    with (
        connect(database_dsn(settings), application_name="voyager-fetcher") as conn,
        NewsClient(account, deadlines=deadlines) as client,
        shared_connections(conn, client, FETCHER, shares=shares) as adjust,
    ):
        tools = PrefetchTools(
            conn=conn,
            client=client,
            spool=spool,
            options=FetchOptions(block_size=settings.spool.block_size, unread=True),
            reach=REACH,
            shard=shard,
            adjust=adjust,
        )
        Prefetcher(tools).run(stopping)
