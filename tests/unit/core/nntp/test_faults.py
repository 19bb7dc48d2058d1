"""Every fault of a server ends in its error class, or in the right lines all the same."""

import asyncio
import random
import zlib

import pytest

from tests.support.newsserver import Group, NewsServer, Rule, made_line
from tests.unit.core.nntp.served import GROUP, HIGH, LOW, group, on, overview, text_of
from tests.unit.core.nntp.wire import inflate
from voyager_core.nntp import errors
from voyager_core.nntp.account import Compression

# Every fault of a reply: its class, and that the connection is not used again.

FAULTS = [
    (Rule("XOVER", "cut", 0.5), errors.Cut),
    (Rule("XOVER", "cut", 10), errors.Cut),
    (Rule("XOVER", "stall", 0.5), errors.NewsTimeout),
    (Rule("XOVER", "stall", 0), errors.NewsTimeout),
    (Rule("XOVER", "garbage", b"\xde\xad\xbe\xef" * 50 + b"\r\n.\r\n"), errors.Garbage),
    (Rule("XOVER", "garbage", b"x\x9c" + b"\xff" * 50), errors.Garbage),
    (Rule("XOVER", "damage", 0.5), errors.Garbage),
    (Rule("XOVER", "raw", b"\x00\x01\x02\x03\r\n"), errors.Garbage),
    (Rule("XOVER", "raw", b"220 article follows\r\n"), errors.ProtocolError),
    (Rule("XOVER", "raw", b"211 1 2 3 x\r\n"), errors.ProtocolError),
    (Rule("XOVER", "shift", 1000), errors.WrongOverview),
    (Rule("XOVER", "shift", -50), errors.WrongOverview),
    (Rule("XOVER", "more", 50), errors.WrongOverview),
    (Rule("XOVER", "more", 5000), errors.WrongOverview),
    (Rule("XOVER", "twice"), errors.WrongOverview),
    (Rule("XOVER", "reply", "400 shutting down"), errors.TooManyConnections),
    (Rule("XOVER", "reply", "502 too many connections"), errors.TooManyConnections),
    (Rule("XOVER", "reply", "503 program fault"), errors.ServerTrouble),
    (Rule("XOVER", "reply", "403 disk trouble"), errors.ServerTrouble),
    (Rule("XOVER", "reply", "501 syntax error", times=None), errors.Unsupported),
    (Rule("GROUP", "reply", "411 gone", times=None), errors.GroupGone),
    (Rule("GROUP", "reply", "211 x y z"), errors.ProtocolError),
]
KEEPS = {"503 program fault", "403 disk trouble", "501 syntax error", "411 gone"}
FORMS = [[], ["gzip"], ["gzip-terminator"]]
# Plain text has no checksum that could show damage.
CASES = [
    pytest.param(form, *fault, id=f"{n}-{fault[0].do}-{'-'.join(form) or 'plain'}")
    for n, fault in enumerate(FAULTS)
    for form in FORMS
    if form or fault[0].do != "damage"
]


@pytest.mark.parametrize(("compress", "rule", "kind"), CASES)
def test_a_fault_has_its_class_and_the_next_command_works(compress, rule, kind):
    rule = Rule(rule.on, rule.do, rule.value, times=rule.times)
    with NewsServer([group()], compress=compress, verbs=["XOVER"], rules=[rule]) as server:

        async def work(pool):
            with pytest.raises(kind) as caught:
                await overview(pool)
            opened = pool.stats.opened
            server.rules.clear()
            block = await overview(pool)
            return caught.value, block, pool.stats.opened - opened

        stalls = rule.do == "stall"
        error, block, reopened = on(
            server, work, options="connections=1", command_seconds=0.4 if stalls else 10.0
        )
    assert str(LOW) in str(error) or GROUP in str(error)
    assert inflate(block.raw) == text_of(LOW, HIGH)
    assert reopened == (0 if rule.value in KEEPS else 1)


@pytest.mark.parametrize("compress", [[], ["gzip"], ["gzip-terminator"], ["xzver"]])
@pytest.mark.parametrize(
    "rules",
    [
        [Rule("*", "form", "plain", argument=r"\d-\d")],
        [Rule("*", "form", "gzip", argument=r"\d-\d")],
        [Rule("*", "form", "deflate", argument=r"\d-\d")],
        [Rule("*", "form", "zlib", argument=r"\d-\d"), Rule("*", "terminator", "behind")],
        [Rule("*", "stored"), Rule("*", "form", "zlib"), Rule("*", "terminator", "inside")],
        [Rule("*", "form", "zlib"), Rule("*", "terminator", "both")],
        [Rule("*", "form", "zlib"), Rule("*", "terminator", "both"), Rule("*", "unmarked")],
        [Rule("*", "stray_dot")],
        [Rule("*", "drip", 7)],
    ],
    ids=["plain", "gzip", "raw", "behind", "stored", "both", "unmarked", "stray dot", "drip"],
)
def test_odd_but_whole_replies_are_understood(compress, rules):
    applied = [
        Rule(verb, each.do, each.value, argument=f"{LOW}-{HIGH}", times=None)
        for each in rules
        for verb in ("XOVER", "XZVER")
    ]
    with NewsServer([group()], compress=compress, rules=applied) as server:

        async def work(pool):
            return [await overview(pool), await overview(pool), await overview(pool)]

        blocks = on(server, work, options="connections=1")
        assert server.connections == 1
    for block in blocks:
        assert inflate(block.raw) == text_of(LOW, HIGH)


@pytest.mark.parametrize("reply", ["423 no articles", "420 no current article", "224 empty\r\n."])
def test_an_empty_range_is_an_empty_block(reply):
    with NewsServer([group()], rules=[Rule("XOVER", "reply", reply)]) as server:
        block = on(server, overview)
    assert (block.lines, block.first_number, block.text_bytes) == (0, None, 0)
    assert zlib.decompress(block.raw) == b""


def test_holes_are_an_answer():
    lines = [made_line(number) for number in range(LOW, HIGH + 1, 7)]
    with NewsServer([Group(GROUP, lines, low=LOW, high=HIGH)]) as server:
        block = on(server, overview)
    assert (block.lines, block.asked) == (15, 100)


def test_a_few_stray_lines_are_left_to_the_engine():
    poison = b"99999999999999999999\tpoisoned\tx\t\t<x@y>\t\t1\t1\t"
    with NewsServer([group()], rules=[Rule("XOVER", "poison", poison)]) as server:
        block = on(server, overview)
    assert (block.lines, block.stray_lines) == (101, 1)
    assert poison in inflate(block.raw)


@pytest.mark.parametrize("compress", [[], ["gzip"]])
def test_a_server_that_sends_the_whole_group_is_stopped_before_its_end(compress):
    rules = [Rule("XOVER", "more", 5000, times=None)]
    with NewsServer([group()], compress=compress, rules=rules) as server:

        async def work(pool):
            with pytest.raises(errors.Garbage, match="lines"):
                await overview(pool)

        on(server.url(), work)


def test_a_forgotten_group_is_selected_again():
    rule = Rule("XOVER", "reply", "412 no newsgroup selected")
    with NewsServer([group()], rules=[rule]) as server:
        assert on(server, overview).lines == 100
        assert server.count("GROUP") == 2


def test_a_missing_article_is_no_reason_to_reconnect():
    with NewsServer(articles={"<a@b>": b"A: b\r\n\r\nx"}) as server:

        async def work(pool):
            with pytest.raises(errors.ArticleMissing):
                await pool.body("<gone@x>")
            return await pool.body("<a@b>")

        assert on(server, work) == b"x\r\n"
        assert server.connections == 1


@pytest.mark.parametrize("name", ["a b", "a\r\nQUIT", "", "<x@y>\r\nPOST"])
def test_names_that_would_smuggle_a_command_are_never_sent(name):
    with NewsServer([group()]) as server:

        async def work(pool):
            for command in (pool.group(name), pool.overview(name, 1, 2)):
                with pytest.raises(errors.UnusableName):
                    await command
            if name:
                with pytest.raises(errors.UnusableName):
                    await pool.body(name)
            return True

        assert on(server, work)
        assert {each.verb for each in server.log} <= {
            "CAPABILITIES",
            "QUIT",
            "XFEATURE",
            "XZVER",
            "COMPRESS",
        }


@pytest.mark.parametrize(("low", "high"), [(0, 5), (5, 4), (-1, 1)])
def test_a_range_without_numbers_is_refused(low, high):
    async def work(pool):
        with pytest.raises(ValueError, match="no range"):
            await pool.overview(GROUP, low, high)
        return True

    assert on("nntp://127.0.0.1:1", work)


def test_a_stream_without_any_terminator_is_garbage_and_not_a_stall():
    rule = Rule("XOVER", "terminator", "none", times=None)
    with NewsServer([group()], compress=["gzip"], rules=[rule]) as server:

        async def work(pool):
            with pytest.raises(errors.Garbage, match="never terminated"):
                await overview(pool)
            return await pool.overview(GROUP, LOW, HIGH, plain=True)

        block = on(server, work, command_seconds=0.4)
    assert inflate(block.raw) == text_of(LOW, HIGH)


@pytest.mark.parametrize("on_command", ["connect", "CAPABILITIES", "XFEATURE", "GROUP", "XOVER"])
def test_hostile_bytes_at_any_step_end_in_an_error_of_ours_or_in_lines(on_command):
    rng = random.Random(on_command)
    with NewsServer([group()], compress=["gzip"]) as server:

        async def work(pool):
            ended = 0
            for _ in range(40):
                start = rng.choice([b"", b"200 ", b"224 ", b"224 x [COMPRESS=GZIP]\r\n", b"101 "])
                raw = (
                    start + rng.randbytes(rng.randrange(200)) + rng.choice([b"", b"\r\n", b".\r\n"])
                )
                server.rules[:] = [Rule(on_command, "raw", raw), Rule(on_command, "cut", len(raw))]
                try:
                    await overview(pool)
                except errors.NewsError:
                    ended += 1
            server.rules.clear()
            return ended, await overview(pool)

        ended, block = on(server, work, connect_attempts=1)
    assert ended <= 40
    assert inflate(block.raw) == text_of(LOW, HIGH)


def test_a_trickle_ends_at_the_total_deadline():
    endless = b"224 overview\r\n" + made_line(LOW) + b"\r\n"
    with NewsServer([group()]) as server:
        server.rules.append(Rule("XOVER", "raw", endless))
        server.rules.append(Rule("XOVER", "stall", len(endless)))

        async def work(pool):
            with pytest.raises(errors.NewsTimeout, match=r"no end|stopped after"):
                await overview(pool)
            return True

        assert on(server, work, command_seconds=0.3, total_seconds=0.2)


def test_a_connection_that_the_server_closed_meanwhile_is_replaced_silently():
    with NewsServer([group()]) as server:

        async def work(pool):
            await overview(pool)
            await asyncio.to_thread(server.drop_connections)
            return await overview(pool)

        assert on(server, work, options="connections=1").lines == 100
        assert server.connections == 2


def test_an_idle_goodbye_is_replaced_silently():
    rule = Rule("XOVER", "reply", "400 idle timeout", skip=1)
    with NewsServer([group()], rules=[rule]) as server:

        async def work(pool):
            await overview(pool)
            return await overview(pool)

        assert on(server, work, options="connections=1").lines == 100


def test_a_connection_idle_for_too_long_is_not_trusted():
    with NewsServer([group()]) as server:

        async def work(pool):
            await overview(pool)
            await overview(pool)

        on(server, work, options="connections=1", idle_seconds=-1.0)
        assert server.connections == 2


def test_compression_that_only_brings_damage_is_given_up():
    rules = [Rule("XOVER", "garbage", b"x\x9c" + b"\xff" * 60, times=3)]
    with NewsServer([group()], compress=["gzip"], rules=rules) as server:

        async def work(pool):
            for _ in range(3):
                with pytest.raises(errors.Garbage):
                    await overview(pool)
            return await overview(pool), pool.profile.compression

        block, compression = on(server, work, options="connections=1")
    assert compression is Compression.NONE
    assert inflate(block.raw) == text_of(LOW, HIGH)


def test_a_forced_compression_is_not_given_up():
    rules = [Rule("XOVER", "garbage", b"x\x9c" + b"\xff" * 60, times=None)]
    with NewsServer([group()], compress=["gzip"], rules=rules) as server:

        async def work(pool):
            for _ in range(5):
                with pytest.raises(errors.Garbage):
                    await overview(pool)
            return pool.profile.compression

        assert on(server, work, options="compress=gzip") is Compression.GZIP
