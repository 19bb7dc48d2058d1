"""A group on a scripted server, and a pool to read it with, for the tests of this folder."""

import asyncio

from tests.support.newsserver import Group, made_line, made_lines
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.back_off import BackOff
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import Pool

GROUP = "alt.binaries.test"
LOW, HIGH = 6_000_000_001, 6_000_000_100
SOON = BackOff(0.01, 2.0, 0.05)


def group(**kwargs):
    return Group(GROUP, made_lines(LOW, HIGH - LOW + 1), **kwargs)


def text_of(low, high):
    return b"".join(made_line(number) + b"\r\n" for number in range(low, high + 1))


def on(server, work, *, options="", command_seconds=10.0, total_seconds=30.0, **kwargs):
    """Runs `work(pool)` against the server and returns what it returns."""

    async def run():
        account = NewsAccount.from_url(server if isinstance(server, str) else server.url(options))
        deadlines = Deadlines(5.0, command_seconds, total_seconds)
        kwargs.setdefault("back_off", SOON)
        async with Pool(account, deadlines=deadlines, **kwargs) as pool:
            return await work(pool)

    return asyncio.run(run())


def overview(pool):
    return pool.overview(GROUP, LOW, HIGH)
