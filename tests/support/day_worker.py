"""One worker of a scripted day: `python -m tests.support.day_worker KIND DSN URL FOLDER`."""

import sys
import threading
from datetime import timedelta
from pathlib import Path

from tests.support.day import START
from tests.support.indexing import NO_WAIT
from voyager_core.catalog.connect import connect
from voyager_core.catalog.connection_shares import holders
from voyager_core.catalog.ranges import unpark
from voyager_core.catalog.recovery import stale_stretches
from voyager_core.catalog.rulesets import recorded_rulesets, rules_in_force
from voyager_core.catalog.stretches import open_stretches
from voyager_core.errors import TransientError
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.plan import refresh_groups
from voyager_core.header_pass.prefetch import Prefetcher, PrefetchTools
from voyager_core.header_pass.recover import recover_stretches, stale_versions
from voyager_core.header_pass.run import PassTools, index_stretches, versions_of
from voyager_core.header_pass.sharing import FETCHER, HISTORY, TAIL, shared_connections
from voyager_core.header_pass.tail import follow_tail
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import Pool
from voyager_core.storage.spool import Spool

OPTIONS = FetchOptions(block_size=100, attempts=8, back_off=NO_WAIT)
NOW = START + timedelta(days=1)
LANES = {"tail": TAIL, "fetch": FETCHER}


def main(kind: str, dsn: str, url: str, folder: str) -> None:
    account = NewsAccount.from_url(url)
    spool = Spool(Path(folder) / "spool")

    def pool() -> Pool:
        return Pool(account, deadlines=Deadlines.of(30), back_off=NO_WAIT, connect_attempts=9)

    with (
        connect(dsn) as conn,
        NewsClient(account, pool=pool) as news,
        shared_connections(conn, news, LANES.get(kind, HISTORY)) as adjust,
    ):
        if kind == "fetch":
            fetch(PrefetchTools(conn, news, spool, OPTIONS, reach=0, adjust=adjust))
            return
        rules = rules_in_force(conn)
        tools = PassTools(
            conn=conn,
            news=news,
            spool=spool,
            rules=rules,
            versions=versions_of(rules),
            clock=lambda: NOW,
            options=OPTIONS,
            before_span=adjust,
            uses_fetchers=kind == "history",
        )
        work(kind, tools)


def work(kind: str, tools: PassTools) -> None:
    if kind == "plan":
        refresh_groups(tools.conn, tools.client, now=NOW)
    elif kind == "tail":
        follow_tail(tools, reach=10)
    elif kind == "history":
        for _ in range(20):
            unpark(tools.conn)
            found = open_stretches(tools.conn, reach=0, limit=1000)
            if not found:
                return
            list(index_stretches(tools, [(each.group, each.index) for each in found]))
    elif kind == "recover":
        recover(tools)


def recover(tools: PassTools) -> None:
    """Brings back what the retracted rule had dropped, until nothing is stale."""
    rulesets = {**recorded_rulesets(tools.conn), tools.rules.version: tools.rules}
    stale = stale_versions(rulesets, tools.rules)
    found = stale_stretches(tools.conn, stale, limit=1000) if stale else []
    list(recover_stretches(tools, [(each.group, each.index) for each in found], ""))


def fetch(tools: PrefetchTools) -> None:
    """Fetches until no pass over the history is there and nothing is under way."""
    fetcher, idle, pause = Prefetcher(tools), 0, threading.Event()
    while idle < 10:
        try:
            busy = fetcher.step(wait_seconds=0.05)
        except TransientError:
            busy = True
        if not busy:
            pause.wait(0.05)
        idle = 0 if busy or holders(tools.conn)["history"] else idle + 1
    fetcher.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
