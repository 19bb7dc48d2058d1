"""The pass over ranges, stopped and disturbed in every way; the outcome is always the same."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.indexing import GROUP, NOW, Group, Indexer, counts, indexer, uploads
from tests.support.newsserver import NewsServer, Rule
from tests.support.postgres import FAST
from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.catalog.groups import get_group
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import ranges_of
from voyager_core.domain.ranges import Span
from voyager_core.errors import TransientError
from voyager_core.header_pass import run
from voyager_core.header_pass.run import Stage, index_stretches
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.header_pass.tail import follow_tail
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.spool import Spool

pytestmark = pytest.mark.postgres
# What is committed must survive the death of the server.
DURABLE = {**FAST, "synchronous_commit": "on"}
STRETCHES = [(GROUP, number) for number in range(3)]


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path) as made:
        made.plan()
        yield made


@pytest.fixture
def undisturbed(empty_database, tmp_path_factory):
    migrate(empty_database)
    with indexer(empty_database, tmp_path_factory.mktemp("undisturbed")) as made:
        made.plan()
        with made.tools() as tools:
            list(index_stretches(tools, STRETCHES))
        with made.connect() as conn:
            assert check_catalog(conn) == []
            yield counts(conn)


def index(it, stretches=STRETCHES, **options):
    with it.tools(**options) as tools:
        return list(index_stretches(tools, stretches))


@contextmanager
def nobody_stores(dsn):
    """Holds a lock that every span needs in the middle of its transaction."""
    with psycopg.connect(dsn) as conn:
        conn.execute("lock table release in exclusive mode")
        yield conn


def waiting(dsn):
    """Returns how many sessions wait for a lock inside a transaction."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(
            "select count(*) from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock'"
        ).fetchone()
    return row[0]


def wait_for(condition, *, seconds=30):
    event = threading.Event()
    for _ in range(seconds * 50):
        if condition():
            return
        event.wait(0.02)
    raise AssertionError("it did not happen in time")


def test_two_workers_on_the_same_ranges_store_everything_once(it, undisturbed):
    with ThreadPoolExecutor(2) as workers:
        with nobody_stores(it.dsn):
            both = [workers.submit(index, it) for _ in range(2)]
            wait_for(lambda: waiting(it.dsn) >= 2)
        reports = [report for each in both for report in each.result()]
    outcomes = [each for report in reports for each in report.outcomes]
    assert sorted(each.span.low for each in outcomes if each.stored) == [1, 501, 1001]
    assert not any(report.failures for report in reports)
    with it.connect() as conn:
        assert counts(conn) == undisturbed
        assert check_catalog(conn) == []


def test_a_worker_goes_on_where_another_one_got_to(it, undisturbed):
    with it.tools() as tools:
        reports = index_stretches(tools, STRETCHES)
        assert next(reports).lines == 500
        reports.close()
    asked = it.server.count("XOVER")
    assert [report.lines for report in index(it)] == [0, 500, 200]
    # What was fetched ahead is in the spool and is not asked for again.
    assert it.server.count("XOVER") - asked < 6
    with it.connect() as conn:
        assert counts(conn) == undisturbed


@pytest.mark.slow
def test_postgres_killed_in_the_middle_of_a_span_loses_nothing(tmp_path, undisturbed):
    with (
        EmbeddedPostgres(tmp_path / "postgres", options=DURABLE) as postgres,
        NewsServer([Group(GROUP, uploads(1, 1200))]) as server,
        ThreadPoolExecutor(1) as worker,
    ):
        migrate(postgres.dsn())
        it = Indexer(postgres.dsn(), server, tmp_path)
        it.prepare()
        it.plan()
        assert [each.lines for each in index(it, STRETCHES[:1])] == [500]
        with suppress(psycopg.OperationalError), nobody_stores(it.dsn):
            running = worker.submit(index, it)
            wait_for(lambda: waiting(it.dsn))
            os.kill(postgres.pid, signal.SIGKILL)
        with pytest.raises(CatalogUnavailable):
            running.result(30)
        with EmbeddedPostgres(tmp_path / "postgres", options=DURABLE) as again:
            it = replace(it, dsn=again.dsn())
            with it.connect() as conn:
                assert [row.resume_at for row in ranges_of(conn, GROUP)] == [501, 501, 1001]
                assert check_catalog(conn) == []
            index(it)
            with it.connect() as conn:
                assert counts(conn) == undisturbed
                assert check_catalog(conn) == []


def test_a_refused_connection_in_the_middle_ends_the_pass_and_blames_no_range(it):
    it.server.rules.append(Rule("connect", "reply", "502 too many connections", times=None))
    with it.tools() as tools, pytest.raises(TransientError, match="502"):
        list(index_stretches(tools, STRETCHES))
    with it.connect() as conn:
        assert {row.attempts for row in ranges_of(conn, GROUP)} == {0}


def test_a_block_that_is_damaged_on_disk_is_fetched_again(it, undisturbed):
    index(it, stage=Stage.FETCH)
    for block in it.spool().root.rglob("*.zz"):
        data = block.read_bytes()
        block.write_bytes(data[: len(data) // 2])
    index(it)
    with it.connect() as conn:
        assert counts(conn) == undisturbed


def rewrite(spool, low, high, text):
    """Puts other bytes into a block, with a manifest that says they are right."""
    (info,) = spool.infos(Span(GROUP, low, high))
    spool.write(info.span, text, info.facts)


@pytest.mark.parametrize("captured", [False, True])
def test_a_block_that_does_not_inflate_is_fetched_again_alone(it, undisturbed, tmp_path, captured):
    spool = Spool(it.folder / "spool", corpus=Corpus(tmp_path / "corpus"))
    with it.tools(stage=run.Stage.FETCH) as tools:
        list(index_stretches(replace(tools, spool=spool), STRETCHES[:2]))
    rewrite(spool, 601, 800, b"\x78\x9c" + b"\xff" * 300)
    if captured:
        spool.release(Span(GROUP, 501, 1000), capture=True)
    asked = it.server.count("XOVER")
    with it.tools() as tools:
        reports = list(index_stretches(replace(tools, spool=spool), STRETCHES))
    assert not [report.failures for report in reports if report.failures]
    assert [report.lines for report in reports] == [500, 500, 200]
    # The block, and the range that was not fetched yet.
    assert it.server.count("XOVER") == asked + 2
    with it.connect() as conn:
        assert counts(conn) == undisturbed
        assert check_catalog(conn) == []


def test_a_block_that_never_inflates_is_counted_and_its_range_goes_on(it, monkeypatch):
    with it.tools(stage=run.Stage.FETCH) as tools:
        list(index_stretches(tools, STRETCHES[:2]))
    bad = b"\x78\x9c" + b"\xff" * 300
    rewrite(it.spool(), 601, 800, bad)
    monkeypatch.setattr(Spool, "discard", lambda *_: 0)
    reports = index(it)
    assert not [report.failures for report in reports if report.failures]
    assert reports[1].rejected["undecodable_block"] == 1
    with it.connect() as conn:
        rows = ranges_of(conn, GROUP)
        assert [row.state for row in rows] == ["done", "done", "partial"]
        assert (rows[1].lines, rows[1].rejected) == (301, 1)
        assert check_catalog(conn) == []


def test_an_error_that_nobody_foresaw_parks_its_range_only(it, monkeypatch):
    build = run.build_span

    def broken(parsed, rules, **options):
        if parsed.files["first_number"].min() == 501:
            raise ZeroDivisionError("in a rule")
        return build(parsed, rules, **options)

    monkeypatch.setattr(run, "build_span", broken)
    reports = index(it)
    assert [len(report.failures) for report in reports] == [0, 1, 0]
    with it.connect() as conn:
        rows = ranges_of(conn, GROUP)
    assert [row.state for row in rows] == ["done", "parked", "partial"]
    assert "ZeroDivisionError: in a rule" in rows[1].error


def test_captured_ranges_move_to_the_corpus(it):
    with it.connect() as conn:
        conn.execute("update range set capture = true where low = 501")
    spool = it.resources()["spool"].open()
    with it.tools() as tools:
        list(index_stretches(replace(tools, spool=spool), STRETCHES))
    assert [each.span.low for each in spool.corpus.ranges()] == [501]
    assert spool.bytes_used() == 0


def test_one_pass_and_many_small_ones_find_the_same(database, tmp_path, undisturbed):
    lines = uploads(1, 1200)
    group = Group(GROUP, lines[:1])
    with indexer(database, tmp_path, [group]) as it:
        it.plan()
        index(it, [(GROUP, 0)])
        for step in range(1, 1200, 218):
            for line in lines[step : step + 218]:
                group.add(line)
            with it.tools() as tools:
                report = follow_tail(tools)
            assert not report.failures
        with it.connect() as conn:
            merge_ready_fragments(conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
            found = counts(conn)
            assert check_catalog(conn) == []
    for name in ("releases", "segments", "bytes", "lines", "fragments"):
        assert found[name] == undisturbed[name], name


def test_numbers_that_the_server_does_not_show_yet_are_asked_for_again(database, tmp_path):
    group = Group(GROUP, uploads(1, 700), high=750)
    with indexer(database, tmp_path, [group]) as it:
        it.plan()
        with it.tools() as tools:
            patient = replace(tools, hole_patience_seconds=3600)
            list(index_stretches(patient, STRETCHES[:2]))
            assert resume(it) == [501, 701]
            assert follow_tail(patient).lines == 0
            assert resume(it) == [501, 701]
            for line in uploads(701, 30):
                group.add(line)
            group.high = 750
            assert follow_tail(patient).lines == 30
            assert resume(it) == [501, 731]
            # After an hour the rest counts as holes.
            later = replace(patient, clock=lambda: datetime.now(UTC) + timedelta(hours=2))
            assert follow_tail(later).lines == 0
            assert resume(it) == [501, 751]
        with it.connect() as conn:
            assert counts(conn)["lines"] == 730
            assert check_catalog(conn) == []


def resume(it):
    with it.connect() as conn:
        return [row.resume_at for row in ranges_of(conn, GROUP)]


def test_a_water_mark_beyond_belief_plans_nothing_and_is_not_recorded(it):
    it.server.groups[GROUP].high = 2**63 - 1
    with it.tools() as tools:
        report = follow_tail(tools)
    assert "not believed" in report.plans[0].note
    with it.connect() as conn:
        assert len(ranges_of(conn, GROUP)) == 3
        assert get_group(conn, GROUP).high == 1200


def test_a_strange_jump_in_the_list_is_asked_about_again(it):
    it.server.rules.append(
        Rule("LIST", "raw", f"215 list\r\n{GROUP} 0090000000 1 y\r\n.\r\n".encode())
    )
    with it.tools() as tools:
        follow_tail(tools)
    assert it.server.asked("GROUP")[-1] == GROUP
    with it.connect() as conn:
        assert get_group(conn, GROUP).high == 1200


def states_of_ranges():
    state = st.sampled_from(["planned", "partial", "done", "parked"])
    return st.lists(st.tuples(state, st.integers(0, 99)), min_size=1, max_size=6)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=states_of_ranges(), high=st.integers(0, 700), reach=st.integers(0, 700))
def test_open_work_is_the_tails_or_the_passes_and_never_both(catalog, rows, high, reach):
    conn = catalog
    conn.execute("truncate range, newsgroup, setting restart identity cascade")
    conn.execute("insert into setting values ('range_size', '100'), ('ranges_per_partition', '1')")
    conn.execute(
        "insert into newsgroup (name, priority, low, high, state) values ('g', 1, 1, %s, 'ok')",
        [high],
    )
    for number, (state, place) in enumerate(rows):
        low = number * 100 + 1
        resume = {"planned": low, "done": low + 100}.get(state, low + max(place, 1))
        conn.execute(
            "insert into range (newsgroup_id, low, high, resume_at, state)"
            " select newsgroup_id, %s, %s, %s, %s from newsgroup",
            [low, low + 99, resume, state],
        )
    open_now = {
        number
        for number, (state, place) in enumerate(rows)
        if state in {"planned", "partial"}
        and number * 100 + (1 if state == "planned" else 1 + max(place, 1))
        <= min(number * 100 + 100, high)
    }
    of_pass = {each.index for each in ledger.open_stretches(conn, reach=reach, limit=100)}
    of_tail = {each.low // 100 for each in ledger.tail_ranges(conn, reach=reach)}
    assert of_pass | of_tail == open_now
    assert not of_pass & of_tail
    for number in open_now:
        (found,) = ledger.open_ranges(conn, "g", number)
        assert found.until == min(number * 100 + 100, high)
