"""Blocks that come into the spool without being inflated: what is damaged is found by the pass."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tests.integration.test_prefetch import fetcher, running
from tests.support.indexing import GROUP, NO_WAIT, counts, indexer
from tests.support.newsserver import Rule
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.ranges import ranges_of
from voyager_core.domain.ranges import Span
from voyager_core.header_pass import prefetch, tools
from voyager_core.header_pass.capture import capture_marked
from voyager_core.header_pass.fetch import FetchOptions
from voyager_core.header_pass.run import Stage, index_stretches
from voyager_core.header_pass.tools import PassTools
from voyager_core.nntp import connection, framing
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.facts import read_facts
from voyager_core.storage.spool import Spool

pytestmark = pytest.mark.postgres
STRETCHES = [(GROUP, number) for number in range(3)]
UNREAD = FetchOptions(block_size=100, attempts=4, back_off=NO_WAIT, unread=True)


@pytest.fixture
def it(database, tmp_path, monkeypatch):
    # Blocks of 1,700 bytes come in pieces, and the last of these stay unread.
    monkeypatch.setattr(framing, "READ_BYTES", 500)
    monkeypatch.setattr(connection, "_READ_BYTES", 600)
    with indexer(database, tmp_path, compress=["gzip"]) as made:
        made.plan()
        made.server.log.clear()
        yield made


@pytest.fixture
def undisturbed(empty_database, tmp_path):
    from voyager_core.catalog.migrate import migrate

    migrate(empty_database)
    with indexer(empty_database, tmp_path / "alone") as alone:
        alone.plan()
        with alone.tools() as alone_tools:
            list(index_stretches(alone_tools, STRETCHES))
        with alone.connect() as conn:
            return counts(conn)


@contextmanager
def unread_tools(it, **changes):
    with it.tools(stage=changes.pop("stage", Stage.STORE)) as made:
        yield replace(made, options=UNREAD, **changes)


def index(it, stretches=STRETCHES, **changes):
    with unread_tools(it, **changes) as made:
        return list(index_stretches(made, stretches))


def unread_in(spool):
    infos = [info for low in (1, 501, 1001) for info in held(spool, low)]
    return sum(info.facts.unread for info in infos)


def held(spool, low):
    return spool._blocks.infos(Span(GROUP, low, min(low + 499, 1200)))


@contextmanager
def unread_fetcher(it):
    with fetcher(it) as made:
        made.tools = replace(made.tools, options=UNREAD)
        with running(made):
            yield made


def assert_as(it, undisturbed):
    with it.connect() as conn:
        assert counts(conn) == undisturbed
        assert check_catalog(conn) == []
        assert {row.attempts for row in ranges_of(conn, GROUP)} == {0}
    assert it.spool().bytes_used() == 0


def test_blocks_that_came_unread_are_indexed_as_others(it, undisturbed):
    index(it, stage=Stage.FETCH)
    assert unread_in(it.spool()) >= 4
    reports = index(it)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert sum(each.fetched_lines for report in reports for each in report.outcomes) == 1200
    assert_as(it, undisturbed)


def test_a_pass_that_only_fetches_still_counts_the_lines(it):
    outcomes = [each for report in index(it, stage=Stage.FETCH) for each in report.outcomes]
    assert unread_in(it.spool()) >= 4
    assert [each.fetched_lines for each in outcomes] == [500, 500, 200]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("with_fetcher", [False, True])
def test_a_damaged_block_is_found_by_the_pass_and_comes_again(it, undisturbed, times, with_fetcher):
    it.server.rules.append(Rule("XOVER", "damage", 0.9, argument="^801", times=times))
    if with_fetcher:
        with unread_fetcher(it):
            reports = index(it, news=None, uses_fetchers=True)
    else:
        reports = index(it)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert_as(it, undisturbed)


def test_a_server_that_always_damages_a_block_is_asked_for_plain_lines(it, undisturbed):
    it.server.rules.append(Rule("XOVER", "damage", 0.9, argument="^801", times=3))
    with unread_fetcher(it):
        reports = index(it, news=None, uses_fetchers=True)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert_as(it, undisturbed)


def test_a_fetcher_that_forgot_the_damaged_block_brings_it_again(it, undisturbed, monkeypatch):
    # As if another one had taken over after each block.
    monkeypatch.setattr(prefetch, "_MOST_REMEMBERED", 0)
    it.server.rules.append(Rule("XOVER", "damage", 0.9, argument="^801", times=tools.TIMES_AGAIN))
    with unread_fetcher(it):
        reports = index(it, news=None, uses_fetchers=True)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert_as(it, undisturbed)


def test_recoveries_look_through_blocks_that_came_unread(it):
    index(it, STRETCHES[:2], stage=Stage.FETCH)
    spool, span = it.spool(), Span(GROUP, 501, 1000)
    damaged = next(info for info in spool.infos(span) if info.facts.unread)
    spool.write(damaged.span, spool._blocks.read(damaged)[:-9], damaged.facts)
    with it.connect() as conn:
        range_id = ranges_of(conn, GROUP)[1].range_id
    with unread_tools(it) as made, made.fetch([range_id], [span]) as fetched:
        whole = made.whole(range_id, next(fetched))
    numbers = [read_facts(block, damaged.facts).lines for block in whole.blocks()]
    assert numbers == [100] * 5
    assert not next(info for info in spool.infos(span) if info.low == damaged.low).facts.unread


@pytest.mark.parametrize("patience", [0, 3600])
def test_the_newest_block_may_come_unread(it, undisturbed, patience):
    index(it, stage=Stage.FETCH)
    assert held(it.spool(), 1001)[-1].facts.unread
    reports = index(it, hole_patience_seconds=patience)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert_as(it, undisturbed)


def test_what_is_captured_says_how_many_lines_it_has(it, tmp_path):
    corpus = Corpus(tmp_path / "corpus")
    spool = Spool(it.folder / "spool", corpus=corpus)
    index(it, STRETCHES[:1], stage=Stage.FETCH, spool=spool)
    last = next(info for info in held(spool, 1) if info.facts.unread)
    spool.release(Span(GROUP, 1, 500), capture=True)
    (captured,) = corpus.ranges()
    assert captured.lines == 500
    assert (
        json.loads((captured.folder / f"{last.low}-{last.high}.json").read_text())["facts"][
            "unread"
        ]
        is False
    )


def test_marked_ranges_are_read_when_they_are_fetched(it, tmp_path):
    spool = Spool(it.folder / "spool", corpus=Corpus(tmp_path / "corpus"))
    index(it, spool=spool)
    with it.connect() as conn:
        conn.execute("update range set capture = true")
    with unread_tools(it, spool=spool) as made:
        assert isinstance(made, PassTools)
        assert [each.lines for each in capture_marked(made)] == [500, 500, 200]
