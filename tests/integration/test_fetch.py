"""Fetching spans into the spool: every fault ends in whole blocks or a clear error."""

import asyncio
import signal
import subprocess
import sys
import threading
import zlib

import pytest

from tests.support.newsserver import Group, NewsServer, Rule, made_line, made_lines
from voyager_core.domain.ranges import Span
from voyager_core.errors import TransientError
from voyager_core.header_pass.fetch import BlockNotFetched, FetchOptions, fetch_span, fetch_spans
from voyager_core.nntp import errors
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.back_off import BackOff
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import Pool
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockMissing, SpoolFull
from voyager_core.storage.spool import Spool
from voyager_native import SpanIndexer

GROUP = "alt.binaries.test"
LOW = 8_000_000_001
SPAN = Span(GROUP, LOW, LOW + 999)
SOON = BackOff(0.001, 1.0, 0.001)
OPTIONS = FetchOptions(block_size=100, attempts=3, back_off=SOON)


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", corpus=Corpus(tmp_path / "corpus"))


def group():
    return Group(GROUP, made_lines(LOW, 1000))


def text_of(low=LOW, high=LOW + 999, step=1):
    return b"".join(made_line(number) + b"\r\n" for number in range(low, high + 1, step))


def text_in(spool, span=SPAN):
    """Returns the lines of a span as they lie in the spool."""
    texts = []
    for block in spool.blocks(span):
        bits = 15 if block[:1] == b"x" else 31 if block[:2] == b"\x1f\x8b" else -15
        text = zlib.decompress(block, bits)
        texts.append(text.removesuffix(b".\r\n") if text.endswith((b"\n.\r\n",)) else text)
    return b"".join(texts)


def fetch(server, spool, span=SPAN, options=OPTIONS, *, command_seconds=10.0, url_options=""):
    async def run():
        account = NewsAccount.from_url(server.url(url_options or "connections=4"))
        deadlines = Deadlines(5.0, command_seconds, 30.0)
        async with Pool(account, deadlines=deadlines, back_off=SOON) as pool:
            return await fetch_span(pool, spool, span, options, clock=lambda: 1_900_000_000.5)

    return asyncio.run(run())


def client(server, *, command_seconds=10.0):
    account = NewsAccount.from_url(server.url("connections=4"))
    deadlines = Deadlines(5.0, command_seconds, 30.0)
    return NewsClient(account, pool=lambda: Pool(account, deadlines=deadlines, back_off=SOON))


# One span.


@pytest.mark.parametrize(
    "compress", [[], ["gzip"], ["gzip-terminator"], ["xzver"], ["xzver-yenc"], ["deflate"]]
)
def test_a_span_comes_whole_and_in_order(spool, compress):
    with NewsServer([group()], compress=compress) as server:
        report = fetch(server, spool)
    assert text_in(spool) == text_of()
    assert (report.blocks, report.fetched, report.empty, report.retries) == (10, 10, 0, 0)
    assert (report.lines, report.holes, report.stray_lines) == (1000, 0, 0)
    assert report.text_bytes == len(text_of())
    assert report.block_bytes == spool.bytes_used() < report.text_bytes
    assert report.wire_bytes > 0
    info = spool.infos(SPAN)[0]
    assert (info.low, info.high, info.facts.lines) == (LOW, LOW + 99, 100)
    assert (info.facts.first_number, info.facts.last_number) == (LOW, LOW + 99)
    assert (info.facts.server, info.facts.fetched_at) == ("127.0.0.1", 1_900_000_000)


@pytest.mark.parametrize("form", ["zlib", "gzip", "deflate"])
@pytest.mark.parametrize(
    "compress", [[], ["gzip"], ["gzip-terminator"], ["xzver"], ["xzver-yenc"], ["deflate"]]
)
def test_the_engine_reads_every_block_and_counts_the_same(spool, compress, form):
    rules = [Rule("XOVER", "stored", times=2), Rule("XOVER", "terminator", "both", skip=3)]
    with NewsServer([group()], compress=compress, form=form, rules=rules) as server:
        fetch(server, spool, Span(GROUP, LOW, LOW + 1099))
    indexer = SpanIndexer(GROUP, LOW, LOW + 1099, groups={GROUP: 1}, now=1_900_000_000)
    span = Span(GROUP, LOW, LOW + 1099)
    for info, block in zip(spool.infos(span), spool.blocks(span), strict=True):
        report = indexer.feed(block)
        assert report.error is None
        assert (report.lines, report.first_number, report.last_number, report.text_bytes) == (
            info.facts.lines,
            info.facts.first_number,
            info.facts.last_number,
            info.facts.text_bytes,
        )
    assert indexer.finish().stats["lines"] == 1000


def test_blocks_are_asked_for_in_order_and_each_once(spool):
    with NewsServer([group()]) as server:
        fetch(server, spool, url_options="connections=1")
        asked = server.asked("XOVER")
    assert asked == [f"{low}-{low + 99}" for low in range(LOW, LOW + 1000, 100)]


def test_what_is_in_the_spool_is_not_fetched_again(spool):
    with NewsServer([group()]) as server:
        fetch(server, spool, Span(GROUP, LOW, LOW + 549))
        server.log.clear()
        report = fetch(server, spool)
        asked = [f"{LOW + 550}-{LOW + 599}"]
        asked += [f"{LOW + n}-{LOW + n + 99}" for n in range(600, 1000, 100)]
        assert sorted(server.asked("XOVER")) == asked
        again = fetch(server, spool)
        assert server.count("XOVER") == 5
    assert (report.blocks, report.fetched) == (11, 5)
    assert (again.blocks, again.fetched, again.lines) == (11, 0, 1000)
    assert text_in(spool) == text_of()


def test_a_block_that_was_torn_on_disk_is_fetched_again(spool):
    with NewsServer([group()]) as server:
        fetch(server, spool)
        file = next(spool.root.rglob(f"{LOW + 300}-*.zz"))
        file.write_bytes(file.read_bytes()[:-5])
        report = fetch(server, Spool(spool.root))
    assert report.fetched == 1
    assert text_in(spool) == text_of()


def test_holes_and_empty_blocks_are_recorded(spool):
    numbers = [
        number for number in range(LOW, LOW + 1000, 3) if not LOW + 200 <= number < LOW + 400
    ]
    sparse = Group(GROUP, [made_line(number) for number in numbers], low=LOW, high=LOW + 999)
    with NewsServer([sparse], compress=["gzip"]) as server:
        report = fetch(server, spool)
    assert (report.lines, report.holes, report.empty) == (len(numbers), 1000 - len(numbers), 2)
    assert text_in(spool) == b"".join(made_line(number) + b"\r\n" for number in numbers)
    empty = next(info for info in spool.infos(SPAN) if info.low == LOW + 200)
    assert (empty.facts.lines, empty.holes, empty.facts.first_number) == (0, 100, None)


def test_a_span_below_the_low_water_mark_is_empty(spool):
    with NewsServer([group()]) as server:
        report = fetch(server, spool, Span(GROUP, 1, 500))
    assert (report.blocks, report.empty, report.lines, report.holes) == (5, 5, 0, 500)


# Faults: once, the block is fetched again alone.

FAULTS = [
    Rule("XOVER", "cut", 0.5),
    Rule("XOVER", "cut", 0),
    Rule("XOVER", "garbage", b"x\x9c" + b"\xee" * 40),
    Rule("XOVER", "damage", 0.5),
    Rule("XOVER", "raw", b"<html>\r\n"),
    Rule("XOVER", "raw", b"281 wrong status\r\n"),
    Rule("XOVER", "shift", 500),
    Rule("XOVER", "more", 60),
    Rule("XOVER", "more", 5000),
    Rule("XOVER", "twice"),
    Rule("XOVER", "reply", "400 going down"),
    Rule("XOVER", "reply", "502 too many connections"),
    Rule("XOVER", "reply", "503 trouble"),
    Rule("GROUP", "reply", "400 going down"),
    Rule("connect", "reply", "502 too many connections"),
    Rule("connect", "raw", b"what?\r\n"),
    Rule("XFEATURE", "close"),
]


def fresh(rule, **kwargs):
    """Returns an unused copy of a rule."""
    fields = {"times": rule.times, "skip": rule.skip, **kwargs}
    return Rule(rule.on, rule.do, rule.value, **fields)


@pytest.mark.parametrize(
    "rule", FAULTS, ids=[f"{n}-{rule.on}-{rule.do}" for n, rule in enumerate(FAULTS)]
)
def test_a_fault_costs_a_retry_and_loses_nothing(spool, rule):
    skip = 0 if rule.on in {"connect", "XFEATURE", "GROUP"} else 3
    with NewsServer([group()], compress=["gzip"], rules=[fresh(rule, skip=skip)]) as server:
        report = fetch(server, spool)
        assert server.rules[0].acted == 1
    assert text_in(spool) == text_of()
    assert (report.lines, report.fetched) == (1000, 10)


def test_a_stalled_reply_is_given_up_at_the_deadline_and_fetched_again(spool):
    rules = [Rule("XOVER", "stall", 0.5, skip=2), Rule("XOVER", "stall", 0, skip=3)]
    with NewsServer([group()], compress=["gzip"], rules=rules) as server:
        report = fetch(server, spool, command_seconds=0.5)
    assert text_in(spool) == text_of()
    assert report.retries >= 2


def test_many_faults_at_once_lose_nothing(spool):
    rules = [
        Rule("XOVER", do, value, skip=skip, times=1)
        for skip, (do, value) in enumerate(
            [("cut", 0.3), ("damage", 0.7), ("shift", 7), ("raw", b"x\r\n"), ("close", None)] * 2
        )
    ]
    with NewsServer([group()], compress=["gzip-terminator"], rules=rules) as server:
        report = fetch(server, spool, options=FetchOptions(100, attempts=12, back_off=SOON))
    assert text_in(spool) == text_of()
    assert report.retries > 0


def test_stray_lines_that_come_twice_are_recorded_and_left_to_the_engine(spool):
    poison = b"4611686018427387904\tpoison\t\t\t<a@b>\t\t\t\t"
    first, second = f"{LOW}-{LOW + 99}", f"{LOW + 400}-{LOW + 499}"
    stray = [
        Rule("XOVER", "poison", poison, argument=first, times=None),
        Rule("XOVER", "more", 1, argument=second, times=None),
    ]
    with NewsServer([group()], rules=stray) as server:
        report = fetch(server, spool)
        assert server.asked("XOVER").count(first) == 2
    assert (report.stray_lines, report.retries) == (2, 2)
    assert (report.lines, report.holes) == (1002, 0)


@pytest.mark.parametrize(("do", "value"), [("more", 1), ("shift", 3), ("shift", -1)])
def test_stray_lines_that_come_once_are_an_answer_to_something_else(spool, do, value):
    with NewsServer([group()], rules=[Rule("XOVER", do, value, skip=4)]) as server:
        report = fetch(server, spool)
    assert text_in(spool) == text_of()
    assert (report.stray_lines, report.retries, report.lines) == (0, 1, 1000)


@pytest.mark.parametrize(
    ("do", "value"),
    [
        ("cut", 0.5),
        ("garbage", b"x\x9c" + b"\xee" * 40),
        ("shift", 500),
        ("more", 60),
        ("close", None),
    ],
)
def test_a_block_that_never_comes_whole_is_named_and_the_others_stay(spool, do, value):
    bad = f"{LOW + 900}-{LOW + 999}"
    with NewsServer(
        [group()], rules=[Rule("XOVER", do, value, argument=bad, times=None)]
    ) as server:
        with pytest.raises(BlockNotFetched) as caught:
            fetch(server, spool, url_options="connections=1")
        assert isinstance(caught.value, TransientError)
        assert f"{GROUP} {bad}" in str(caught.value)
        assert "3 attempts" in str(caught.value)
        missing = spool.missing(SPAN, 100)
        assert [(each.low, each.high) for each in missing] == [(LOW + 900, LOW + 999)]
        server.rules.clear()
        report = fetch(server, spool)
    assert report.fetched == 1
    assert text_in(spool) == text_of()


def test_damaged_compression_falls_back_to_plain_lines(spool):
    rule = Rule("XOVER", "garbage", b"x\x9c" + b"\xee" * 40, times=None, connection=None)
    rules = [fresh(rule, times=6)]
    with NewsServer([group()], compress=["gzip"], rules=rules) as server:
        fetch(server, spool, options=FetchOptions(100, attempts=5, back_off=SOON))
    assert text_in(spool) == text_of()


def test_a_range_that_is_always_compressed_wrongly_is_read_plain(spool):
    bad = f"{LOW + 300}-{LOW + 399}"
    rules = [Rule("XOVER", "terminator", "none", argument=bad, times=None)]
    with NewsServer([group()], compress=["gzip"], rules=rules) as server:
        report = fetch(server, spool, command_seconds=0.4)
        assert server.asked("XOVER").count(bad) == 3
    assert text_in(spool) == text_of()
    assert (report.lines, report.retries) == (1000, 2)
    # The other blocks still come as the server compresses them.
    forms = {info.low: info.facts.encoding for info in spool.infos(SPAN)}
    assert len(forms) == 10


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Rule("GROUP", "reply", "411 no such group", times=None), errors.GroupGone),
        (Rule("GROUP", "reply", "480 log in", times=None), errors.AuthFailed),
        (Rule("*", "reply", "501 bad range", argument=r"^\d", times=None), errors.Unsupported),
    ],
    ids=["411", "480", "501"],
)
def test_what_trying_again_does_not_mend_is_raised_at_once(spool, rule, kind):
    with NewsServer([group()], rules=[rule]) as server:
        with pytest.raises(kind):
            fetch(server, spool, url_options="connections=1&compress=none")
        assert server.count("XOVER") <= 1
    assert list(spool.root.rglob("*.zz")) == []


def test_a_wrong_login_is_not_hammered(spool):
    with NewsServer([group()], user="joe", password="right") as server:
        server.password = "changed"
        url = server.url("connections=4").replace("changed", "wrong")

        async def run():
            async with Pool(NewsAccount.from_url(url), back_off=SOON) as pool:
                await fetch_span(pool, spool, SPAN, OPTIONS)

        with pytest.raises(errors.AuthFailed):
            asyncio.run(run())
        assert server.connections <= 4


# The spool's room.


def test_a_full_spool_stops_the_fetch_and_keeps_what_is_whole(tmp_path):
    spool = Spool(tmp_path, max_bytes=10_000)
    with NewsServer([group()]) as server:
        with pytest.raises(SpoolFull):
            fetch(server, spool)
        assert spool.bytes_used() <= 10_000
        larger = Spool(tmp_path)
        report = fetch(server, larger)
    assert 0 < report.fetched < 10
    assert text_in(larger) == text_of()
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]


def test_no_block_is_asked_for_when_there_is_no_room(tmp_path):
    spool = Spool(tmp_path, min_free_bytes=1 << 62)
    with NewsServer([group()]) as server:
        with pytest.raises(SpoolFull):
            fetch(server, spool)
        assert server.count("XOVER") == 0


def test_a_cancelled_fetch_keeps_whole_blocks_and_closes_its_connections(spool):
    rule = Rule("XOVER", "stall", 0.5, skip=5, times=None)
    with NewsServer([group()], rules=[rule]) as server:

        async def run():
            account = NewsAccount.from_url(server.url("connections=2"))
            async with Pool(account, back_off=SOON) as pool:
                task = asyncio.create_task(fetch_span(pool, spool, SPAN, OPTIONS))
                await asyncio.to_thread(server.wait_for, "XOVER", 7)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                return pool.open_connections

        assert asyncio.run(run()) == 0
        server.rules.clear()
        report = fetch(server, spool)
    assert report.fetched == 5
    assert text_in(spool) == text_of()


# Spans ahead of the header pass.

SPANS = [Span(GROUP, low, low + 199) for low in range(LOW, LOW + 1000, 200)]


def test_spans_come_in_order_and_are_released_one_by_one(spool):
    texts = []
    with (
        NewsServer([group()], compress=["gzip"]) as server,
        client(server) as news,
        fetch_spans(news, spool, SPANS, OPTIONS) as fetcher,
    ):
        for fetched in fetcher:
            assert fetched.report.lines == 200
            assert len(list(fetched.blocks())) == 2
            texts.append(text_in(spool, fetched.span))
            assert fetched.release() > 0
    assert b"".join(texts) == text_of()
    assert spool.bytes_used() == 0


def test_the_next_span_is_fetched_while_one_is_worked_on(spool):
    with (
        NewsServer([group()]) as server,
        client(server) as news,
        fetch_spans(news, spool, SPANS, FetchOptions(100, ahead=1)) as fetcher,
    ):
        next(fetcher)
        server.wait_for("XOVER", 4)
        assert server.count("XOVER") == 4
        next(fetcher)
        server.wait_for("XOVER", 6)


def test_a_later_span_waits_until_the_one_before_has_handed_out_its_blocks(spool):
    spans = [Span(GROUP, LOW, LOW + 499), Span(GROUP, LOW + 500, LOW + 999)]
    options = FetchOptions(100, connections=1, back_off=SOON)
    rule = Rule("XOVER", "stall", 0.5, argument=f"^{LOW}-")
    with (
        NewsServer([group()], rules=[rule]) as server,
        client(server, command_seconds=0.4) as news,
        fetch_spans(news, spool, spans, options) as fetcher,
    ):
        assert [fetched.report.lines for fetched in fetcher] == [500, 500]
        lows = [int(asked.split("-")[0]) for asked in server.asked("XOVER")]
    # The last block of the first span is handed out when the fourth is done.
    assert lows[:5] == [LOW, LOW, LOW + 100, LOW + 200, LOW + 300]


def test_captured_spans_stay_in_the_corpus_and_need_no_server_again(spool):
    with NewsServer([group()]) as server:
        with client(server) as news, fetch_spans(news, spool, SPANS, OPTIONS) as fetcher:
            for fetched in fetcher:
                fetched.release(capture=True)
        asked = server.count("XOVER")
        with client(server) as news, fetch_spans(news, spool, SPANS, OPTIONS) as fetcher:
            reports = [fetched.report for fetched in fetcher]
        assert server.count("XOVER") == asked
    assert sum(report.lines for report in reports) == 1000
    assert sum(report.fetched for report in reports) == 0
    (captured,) = spool.corpus.ranges()
    assert (captured.span, captured.lines) == (SPAN, 1000)


def test_an_error_belongs_to_its_span_and_the_next_span_goes_on(spool):
    spans = [SPANS[0], Span("alt.gone", 1, 100), SPANS[1]]
    with (
        NewsServer([group()]) as server,
        client(server) as news,
        fetch_spans(news, spool, spans, OPTIONS) as fetcher,
    ):
        assert next(fetcher).span == SPANS[0]
        with pytest.raises(errors.GroupGone, match=r"alt\.gone"):
            next(fetcher)
        assert next(fetcher).span == SPANS[1]
        with pytest.raises(StopIteration):
            next(fetcher)


def test_a_spool_with_room_for_one_span_passes_all_of_them(tmp_path):
    with NewsServer([group()]) as server:
        whole = Spool(tmp_path / "measure")
        size = fetch(server, whole, SPANS[0]).block_bytes
        spool = Spool(tmp_path / "spool", max_bytes=size + size // 2)
        with client(server) as news, fetch_spans(news, spool, SPANS, OPTIONS) as fetcher:
            for fetched in fetcher:
                assert len(list(fetched.blocks())) == 2
                fetched.release()


def test_a_spool_too_small_for_a_span_is_an_error_of_that_span(tmp_path):
    spool = Spool(tmp_path, max_bytes=100)
    with (
        NewsServer([group()]) as server,
        client(server) as news,
        fetch_spans(news, spool, SPANS, OPTIONS) as fetcher,
        pytest.raises(SpoolFull),
    ):
        next(fetcher)


def test_a_block_torn_between_fetch_and_use_is_fetched_by_the_next_try(spool):
    with NewsServer([group()]) as server, client(server) as news:
        with fetch_spans(news, spool, SPANS[:1], OPTIONS) as fetcher:
            fetched = next(fetcher)
            file = next(spool.root.rglob(f"{LOW}-*.zz"))
            file.write_bytes(b"torn")
            with pytest.raises(BlockMissing):
                list(fetched.blocks())
        with fetch_spans(news, spool, SPANS[:1], OPTIONS) as fetcher:
            assert next(fetcher).report.fetched == 1
    assert text_in(spool, SPANS[0]) == text_of(LOW, LOW + 199)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_caller_leaves_nothing_running(spool, interrupt):
    rule = Rule("XOVER", "stall", 0.5, argument=f"^{LOW + 200}", times=None)

    def work(server):
        with client(server) as news, fetch_spans(news, spool, SPANS, OPTIONS) as fetcher:
            next(fetcher)
            server.wait_for("XOVER", 4)
            raise interrupt

    with NewsServer([group()], rules=[rule]) as server:
        with pytest.raises(interrupt):
            work(server)
        assert not [each for each in threading.enumerate() if each.name == "news"]
        server.rules.clear()
        assert fetch(server, spool).lines == 1000


def test_a_signal_ends_the_wait_for_a_stalled_server(spool):
    """As Dagster cancels an op: its signal handler raises in the main thread."""
    script = """
import signal
import sys
from pathlib import Path
# Whoever started the tests may ignore it, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fetch import fetch_spans
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.storage.spool import Spool
from voyager_native import SpanIndexer
account = NewsAccount.from_url(sys.argv[1])
try:
    with NewsClient(account) as news:
        with fetch_spans(news, Spool(Path(sys.argv[2])), [Span("alt.binaries.test", 1, 100)]) as it:
            print("begun", flush=True)
            next(it)
except KeyboardInterrupt:
    sys.exit(5)
"""
    rule = Rule("XOVER", "stall", 0, times=None)
    with NewsServer([group()], rules=[rule]) as server:
        command = [sys.executable, "-W", "error", "-c", script, server.url(), str(spool.root)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout.readline() == b"begun\n"
        server.wait_for("XOVER")
        child.send_signal(signal.SIGINT)
        _, complaints = child.communicate()
    assert child.returncode == 5
    assert complaints == b""


def test_a_closed_client_says_so(spool):
    with NewsServer([group()]) as server:
        with client(server) as news:
            assert news.group(GROUP).low == LOW
        with pytest.raises(errors.Cut, match="closed"):
            news.group(GROUP)
        with pytest.raises(errors.Cut, match="closed"):
            next(fetch_spans(news, spool, SPANS, OPTIONS))


def test_the_client_offers_what_the_pool_does():
    articles = {"<a@b>": b"Subject: s\r\n\r\nbody"}
    with NewsServer([group()], articles=articles) as server, client(server) as news:
        assert [each.name for each in news.list_active("alt.*")] == [GROUP]
        assert news.overview(GROUP, LOW, LOW + 9).lines == 10
        assert news.article("<a@b>") == b"Subject: s\r\n\r\nbody\r\n"
        assert news.head("<a@b>") == b"Subject: s\r\n"
        assert news.body("<a@b>") == b"body\r\n"
        assert news.has("<a@b>")
        assert not news.has("<x@y>")
        assert news.date().year == 2030
        assert "READER" in news.capabilities()
