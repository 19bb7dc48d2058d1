"""Random schedules of faults, at every step of every connection: nothing is lost or doubled."""

import asyncio
import random
import zlib

import pytest

from tests.support.newsserver import Group, NewsServer, Rule, made_lines
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fetch import FetchOptions, fetch_span
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.back_off import BackOff
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import Pool
from voyager_core.storage.spool import Spool

GROUP = "alt.binaries.test"
LOW, COUNT = 9_000_000_001, 2000
SPAN = Span(GROUP, LOW, LOW + COUNT - 1)
SOON = BackOff(0.001, 1.0, 0.001)
COMPRESS = [[], ["gzip"], ["gzip-terminator"], ["xzver"], ["xzver-yenc"], ["deflate"]]


def schedule(rng, *, checked):
    """Returns rules; `checked`: the replies have a checksum, so that damage is seen."""
    rules = []
    for _ in range(rng.randrange(5, 25)):
        choices = [
            ("cut", rng.random()),
            ("raw", rng.randbytes(30) + b"\r\n"),
            ("close", None),
            ("reply", "400 going down"),
            ("reply", "502 too many connections"),
            ("reply", "503 trouble"),
            ("drip", rng.choice([1, 100])),
        ]
        on = rng.choice(["XOVER", "XZVER", "GROUP", "connect", "XFEATURE", "CAPABILITIES", "*"])
        if on in {"XOVER", "XZVER"}:
            choices += [
                # Never the same twice: a reply that is odd in the same way again is believed.
                ("shift", len(rules) + 1),
                ("more", rng.choice([0, 5000]) + len(rules) + 1),
                ("twice", None),
                ("stray_dot", None),
                ("form", rng.choice(["zlib", "gzip", "deflate", "plain"])),
                ("terminator", rng.choice(["inside", "behind", "both"])),
                ("stored", None),
            ]
            if checked:
                choices += [("garbage", b"x\x9c" + rng.randbytes(50)), ("damage", rng.random())]
        do, value = rng.choice(choices)
        rules.append(Rule(on, do, value, skip=rng.randrange(20)))
    return rules


@pytest.mark.parametrize("seed", range(18))
def test_any_schedule_of_faults_loses_nothing(tmp_path, seed):
    rng = random.Random(seed)
    compress = COMPRESS[seed % len(COMPRESS)]
    checked = compress not in ([], ["deflate"])
    rules = schedule(rng, checked=checked)
    lines = made_lines(LOW, COUNT)
    limit = rng.choice([None, 2, 5])
    spool = Spool(tmp_path)

    async def run(url):
        deadlines = Deadlines(10.0, 10.0, 60.0)
        account = NewsAccount.from_url(url)
        async with Pool(account, deadlines=deadlines, back_off=SOON, connect_attempts=100) as pool:
            return await fetch_span(
                pool, spool, SPAN, FetchOptions(100, attempts=60, back_off=SOON)
            )

    with NewsServer(
        [Group(GROUP, lines)], compress=compress, rules=rules, max_connections=limit
    ) as server:
        report = asyncio.run(run(server.url(f"connections={rng.choice([1, 3, 8])}")))
        assert limit is None or server.most_open <= limit + 8
    # One flipped bit of plain text may go unseen, and so may one inside a raw stream.
    unchecked = any(rule.do == "damage" and rule.acted for rule in rules)
    if not unchecked:
        assert b"".join(inflate(block) for block in spool.blocks(SPAN)) == b"".join(
            line + b"\r\n" for line in lines
        )
    assert (report.lines, report.holes, report.stray_lines) == (COUNT, 0, 0)


def inflate(block):
    for bits in (15, 31, -15):
        try:
            text = zlib.decompress(block, bits)
        except zlib.error:
            continue
        return text.removesuffix(b".\r\n") if text.endswith(b"\r\n.\r\n") else text
    raise AssertionError(block[:20])
