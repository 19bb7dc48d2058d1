"""Fetching apart from indexing: what fetchers bring, in which order, and what faults do."""

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from moto.server import ThreadedMotoServer

from tests.support.indexing import (
    BLOCK_SIZE,
    GROUP,
    NO_WAIT,
    Group,
    counts,
    indexer,
    uploads,
)
from tests.support.newsserver import Rule
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connection_shares import join_lane, leave_lane
from voyager_core.catalog.demand import ask, demands, keep_asking, withdraw
from voyager_core.catalog.ranges import ranges_of
from voyager_core.domain.ranges import Span
from voyager_core.header_pass import wait
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.prefetch import Prefetcher, PrefetchTools
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.wait import FetcherGone
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.pool import Pool
from voyager_core.storage.blocks import BlockFacts
from voyager_core.storage.spool import Spool

pytestmark = pytest.mark.postgres
STRETCHES = [(GROUP, number) for number in range(3)]


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path) as made:
        made.plan()
        made.server.log.clear()
        yield made


@contextmanager
def fetcher(it, *, spool=None, shard=(1, 1), counted=True, **options):
    """Yields a fetcher whose rounds the test makes."""
    account = it.account()

    def pool():
        # Nothing stalls here; a machine that does much else may.
        return Pool(account, deadlines=Deadlines.of(120), back_off=NO_WAIT, connect_attempts=2)

    with it.connect() as conn, NewsClient(account, pool=pool) as client:
        place = join_lane(conn, "fetcher") if counted else None
        made = Prefetcher(
            PrefetchTools(
                conn,
                client,
                spool or it.spool(),
                FetchOptions(block_size=BLOCK_SIZE, attempts=2, back_off=NO_WAIT),
                reach=0,
                shard=shard,
                **options,
            )
        )
        yield made
        made.close()
        if place is not None:
            leave_lane(conn, "fetcher", place)


def settle(made, rounds=3000):
    """Makes rounds until nothing is under way."""
    for _ in range(rounds):
        if not made.step(wait_seconds=0.1):
            return
    raise AssertionError("the fetcher does not come to rest")


@contextmanager
def running(made):
    """Lets a fetcher work in a thread of its own."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        work = threads.submit(made.run, stop, poll_seconds=0.02)
        try:
            yield
        finally:
            stop.set()
            work.result()


def index(it, *, spool=None, stretches=STRETCHES, account=False):
    with it.tools() as tools:
        here = replace(
            tools,
            news=tools.news if account else None,
            spool=spool or tools.spool,
            uses_fetchers=True,
        )
        return list(index_stretches(here, stretches))


def asked(it):
    """Returns the first numbers of the blocks that the server was asked for."""
    return sorted(
        int(each.argument.split("-")[0]) for each in it.server.log if each.verb == "XOVER"
    )


def undisturbed(database, tmp_path):
    with indexer(database, tmp_path / "alone") as alone:
        alone.plan()
        with alone.tools() as tools:
            list(index_stretches(tools, STRETCHES))
        with alone.connect() as conn:
            return counts(conn)


@pytest.fixture
def expected(empty_database, tmp_path):
    from voyager_core.catalog.migrate import migrate

    migrate(empty_database)
    return undisturbed(empty_database, tmp_path)


def test_a_worker_without_an_account_indexes_what_a_fetcher_brings(it, expected):
    with fetcher(it) as made, running(made):
        reports = index(it)
    assert [report.lines for report in reports] == [500, 500, 200]
    with it.connect() as conn:
        assert counts(conn) == expected
        assert check_catalog(conn) == []
        assert demands(conn) == []
    # Every block once, and nothing is left behind.
    assert asked(it) == [1, 201, 401, 501, 601, 801, 1001]
    assert it.spool().bytes_used() == 0


def test_two_ranges_are_fetched_ahead_and_survive_a_restart(it):
    with fetcher(it) as made:
        settle(made)
        assert made.stats.spans == 2
    # The newest end first, so that the tail can take over, then the oldest.
    spool = it.spool()
    there = [
        spool.covers(Span(GROUP, low, high)) for low, high in ((1, 500), (501, 1000), (1001, 1200))
    ]
    assert there == [True, False, True]
    before = asked(it)
    with fetcher(it) as again:
        settle(again)
    assert asked(it) == before


def test_what_is_waited_for_comes_before_what_may_be_needed(it):
    with it.connect() as conn:
        middle = ranges_of(conn, GROUP)[1]
        ask(conn, [(middle.range_id, 501, 1000)])
    with fetcher(it) as made:
        settle(made)
        # Two connections ask for its first two blocks, in either order.
        order = [int(each.argument.split("-")[0]) for each in it.server.log if each.verb == "XOVER"]
        assert set(order[:2]) == {501, 601}
        assert made.stats.spans == 3


def test_only_the_block_that_failed_is_fetched_again(it):
    it.server.rules.append(Rule("XOVER", "cut", 0.5, argument="^201"))
    with fetcher(it) as made:
        settle(made)
    assert asked(it).count(201) == 2
    assert asked(it) == [1, 201, 201, 401, 1001]


def test_fetchers_share_the_ranges_by_shard(it):
    with fetcher(it, shard=(1, 2)) as one, fetcher(it, shard=(2, 2)) as other, ExitStack() as both:
        for each in (one, other):
            both.enter_context(running(each))
        reports = index(it)
        assert [report.lines for report in reports] == [500, 500, 200]
    assert one.stats.spans + other.stats.spans == 3
    assert min(one.stats.spans, other.stats.spans) >= 1
    assert asked(it) == [1, 201, 401, 501, 601, 801, 1001]


def test_a_full_spool_pauses_the_fetcher_until_there_is_room(it):
    now = [100.0]
    with fetcher(it) as made:
        settle(made)
    used = it.spool().bytes_used()
    for span in (Span(GROUP, 1, 500), Span(GROUP, 501, 1000), Span(GROUP, 1001, 1200)):
        it.spool().delete(span)
    it.server.log.clear()
    # What somebody else keeps there takes all the room.
    other = Span("alt.binaries.other", 1, 100)
    facts = BlockFacts("zlib", 0, None, None, 0, "news.test.invalid", int(time.time()))
    small = Spool(it.folder / "spool", max_bytes=2 * used)
    small.write(other, b"x" * (2 * used - 5), facts)
    with fetcher(it, spool=small, monotonic=lambda: now[0]) as made:
        settle(made)
        assert (made.stats.spans, made.stats.full >= 1) == (0, True)
        full, before = made.stats.full, len(asked(it))
        settle(made)
        # Nothing is asked for while it pauses.
        assert (made.stats.full, len(asked(it))) == (full, before)
        now[0] += 6
        settle(made)
        assert (made.stats.spans, made.stats.full > full) == (0, True)
        small.delete(other)
        now[0] += 6
        settle(made)
        assert made.stats.spans == 2
        assert small.bytes_used() == used


def test_a_span_that_is_waited_for_takes_the_room_of_one_that_is_not(it):
    with fetcher(it) as made:
        settle(made)
    used = it.spool().bytes_used()
    with it.connect() as conn:
        middle = ranges_of(conn, GROUP)[1]
    tight = Spool(it.folder / "spool", max_bytes=used + 10)
    with fetcher(it, spool=tight) as made, it.connect() as conn:
        settle(made)
        ask(conn, [(middle.range_id, 501, 1000)])
        settle(made)
        for _ in range(5):
            settle(made)
        assert made.stats.evicted >= 1
        assert tight.covers(Span(GROUP, 501, 1000))


def test_too_little_free_disk_stops_fetching_and_space_lets_it_go_on(it, monkeypatch):
    free = [10]
    now = [0.0]
    monkeypatch.setattr("voyager_core.storage.blocks.free_bytes", lambda _: free[0])
    guarded = Spool(it.folder / "spool", min_free_bytes=1000)
    with fetcher(it, spool=guarded, monotonic=lambda: now[0]) as made:
        settle(made)
        assert (made.stats.spans, asked(it)) == (0, [])
        free[0] = 10**12
        settle(made)
        assert made.stats.spans == 0
        now[0] += 6
        settle(made)
        assert made.stats.spans == 2


def test_what_cannot_be_fetched_fails_its_range_and_the_others_go_on(it):
    it.server.rules.append(Rule("XOVER", "cut", 0.5, argument="^601", times=None))
    with fetcher(it) as made, running(made):
        reports = index(it)
    assert [len(report.failures) for report in reports] == [0, 1, 0]
    with it.connect() as conn:
        rows = ranges_of(conn, GROUP)
        assert [row.state for row in rows] == ["done", "planned", "partial"]
        assert "601-800" in rows[1].error
    it.server.rules.clear()
    with fetcher(it) as made, running(made):
        assert [report.lines for report in index(it)] == [0, 500, 0]


def test_a_group_that_is_gone_is_parked_by_the_worker(it):
    it.server.groups.clear()
    with fetcher(it) as made, running(made):
        index(it, stretches=STRETCHES[:1])
    with it.connect() as conn:
        assert {row.state for row in ranges_of(conn, GROUP)} == {"parked"}


def test_a_worker_goes_on_with_its_own_account_when_the_fetcher_ends(it, expected, monkeypatch):
    monkeypatch.setattr(wait, "_WITHOUT_FETCHER", 0.0)
    with it.connect() as conn:
        # A fetcher that is there and brings nothing, until its session ends.
        join_lane(conn, "fetcher")
        with ThreadPoolExecutor(1) as threads:
            work = threads.submit(index, it, account=True)
            until(lambda: demanded(it))
            assert asked(it) == []
            conn.close()
            assert [report.lines for report in work.result()] == [500, 500, 200]
    with it.connect() as conn:
        assert counts(conn) == expected


def test_a_worker_whose_shard_nobody_fetches_goes_on_with_its_own_account(
    it, expected, monkeypatch
):
    monkeypatch.setattr(wait, "_STALLED", 0.5)
    with it.connect() as conn:
        # It is there, and brings nothing of this shard.
        join_lane(conn, "fetcher")
        assert [report.lines for report in index(it, account=True)] == [500, 500, 200]
        assert counts(conn) == expected


def until(condition):
    event = threading.Event()
    for _ in range(6000):
        if condition():
            return
        event.wait(0.02)
    raise AssertionError("it did not happen")


def demanded(it):
    with it.connect() as conn:
        return demands(conn)


def test_a_worker_that_nobody_fetches_for_blames_no_range(it, monkeypatch):
    original = wait.SpanWaiter.__init__

    def impatient(self, *args, **options):
        original(self, *args, **{**options, "patience_seconds": 0.0})

    monkeypatch.setattr(wait.SpanWaiter, "__init__", impatient)
    with pytest.raises(FetcherGone):
        index(it)
    with it.connect() as conn:
        assert {(row.state, row.attempts) for row in ranges_of(conn, GROUP)} == {("planned", 0)}
        assert demands(conn) == []


def test_requests_end_when_their_worker_does_not_come_back(it):
    with it.connect() as conn:
        first, second, _ = ranges_of(conn, GROUP)
        ask(conn, [(first.range_id, 1, 500), (second.range_id, 501, 1000)])
        assert [each.low for each in demands(conn)] == [1, 501]
        conn.execute("update fetch_demand set expires_at = now() - interval '1 s' where low = 1")
        assert [each.low for each in demands(conn)] == [501]
        assert keep_asking(conn, [(second.range_id, 501)]) == {}
        withdraw(conn, [(second.range_id, 501)])
        assert demands(conn) == []


def test_fetcher_and_worker_share_a_spool_in_s3(it, expected, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        address = "http://{}:{}".format(*moto.get_host_and_port())
        # All such servers of a process share their buckets: this one is no other test's.
        urllib.request.urlopen(urllib.request.Request(f"{address}/prefetch", method="PUT")).close()
        url = f"s3://prefetch/spool?endpoint={address}"
        with fetcher(it, spool=Spool.at(url)) as made, running(made):
            reports = index(it, spool=Spool.at(url))
        assert [report.lines for report in reports] == [500, 500, 200]
        assert Spool.at(url).bytes_used() == 0
    finally:
        moto.stop()
    with it.connect() as conn:
        assert counts(conn) == expected


def test_a_wrong_login_ends_the_fetcher_with_its_error(database, tmp_path):
    login = {"user": "joe", "password": "secret"}
    with indexer(database, tmp_path, [Group(GROUP, uploads(1, 600))], **login) as made:
        made.plan()
        account = made.account()
        made.account = lambda: account
        made.server.password = "changed"
        from voyager_core.nntp.errors import AuthFailed

        with fetcher(made) as it_fetches, pytest.raises(AuthFailed):
            settle(it_fetches)
