"""Ranges that hold too much for one span: indexed in parts, in one pass, stopped anywhere."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.courses import outcome
from tests.support.indexing import GROUP, NOW, counts, indexer
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import ranges_of
from voyager_core.errors import TransientError
from voyager_core.header_pass import run
from voyager_core.header_pass.parse import LIMITS
from voyager_core.header_pass.run import Stage, index_stretches
from voyager_core.header_pass.settle import merge_ready_fragments, settle_releases
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.spool import Spool

pytestmark = pytest.mark.postgres
STRETCHES = [(GROUP, number) for number in range(3)]
# A range of the test has 20 files, a block 8.
SMALL = (6, LIMITS[1])


class Killed(BaseException):
    """Ends a pass like a signal, so that nothing is noted or tidied up."""


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
        index(made, LIMITS)
        with made.connect() as conn:
            yield ended(conn)


def index(it, limits=SMALL, *, stage=Stage.STORE, spool=None):
    with it.tools(stage=stage) as tools:
        small = replace(tools, limits=limits, spool=spool or tools.spool)
        return list(index_stretches(small, STRETCHES))


def ended(conn):
    """Returns what the catalog holds once cut files are merged and releases settled."""
    for _ in range(2):
        later = NOW + timedelta(days=10_000)
        merge_ready_fragments(conn, now=later, patience_seconds=0)
        settle_releases(conn, now=later, settle_after_seconds=0)
    assert check_catalog(conn) == []
    found = counts(conn)
    return {name: found[name] for name in ("segments", "bytes", "lines", "fragments")}, outcome(
        conn, {}
    )


def killed_after(spans, monkeypatch):
    """Kills the pass right after it has stored so many spans."""
    store, stored = run.store_span, []

    def dying(*args, **options):
        done = store(*args, **options)
        stored.append(done)
        if len(stored) == spans:
            raise Killed
        return done

    monkeypatch.setattr(run, "store_span", dying)


def test_a_range_in_parts_is_indexed_in_one_pass_and_gives_the_same(it, undisturbed, monkeypatch):
    stored = []
    store = run.store_span

    def noted(conn, span, built, **options):
        stored.append(span)
        return store(conn, span, built, **options)

    monkeypatch.setattr(run, "store_span", noted)
    reports = index(it)
    assert [report.lines for report in reports] == [500, 500, 200]
    assert [report.kept for report in reports] == [500, 500, 200]
    assert [(each.span.low, each.span.high) for report in reports for each in report.outcomes] == [
        (1, 500),
        (501, 1000),
        (1001, 1200),
    ]
    assert all(each.stored for report in reports for each in report.outcomes)
    assert len(stored) > 8
    assert it.spool().bytes_used() == 0
    with it.connect() as conn:
        assert ended(conn) == undisturbed


@pytest.mark.parametrize("spans", range(1, 9))
def test_a_pass_that_is_killed_between_two_parts_goes_on_there(it, undisturbed, monkeypatch, spans):
    with monkeypatch.context() as patched:
        killed_after(spans, patched)
        with pytest.raises(Killed):
            index(it)
    with it.connect() as conn:
        rows = ranges_of(conn, GROUP)
    assert sum(row.lines for row in rows) < 1200
    index(it)
    if any(row.low < row.resume_at <= row.high for row in rows):
        assert it.spool().bytes_used() == 0
    with it.connect() as conn:
        assert ended(conn) == undisturbed


def test_a_part_that_somebody_else_stored_is_theirs(it, undisturbed, monkeypatch):
    store = run.store_span
    others = []

    def slow(conn, span, built, **options):
        if not others and span.low > 1:
            others.append(span)
            index(it)
        return store(conn, span, built, **options)

    monkeypatch.setattr(run, "store_span", slow)
    index(it)
    assert others
    with it.connect() as conn:
        assert ended(conn) == undisturbed


def test_a_fault_in_a_later_part_keeps_those_before_and_is_told(it, undisturbed, monkeypatch):
    store = run.store_span

    def failing(conn, span, built, **options):
        if span.low > 700:
            raise TransientError("no luck")
        return store(conn, span, built, **options)

    with monkeypatch.context() as patched:
        patched.setattr(run, "store_span", failing)
        reports = index(it)
    assert [len(report.failures) for report in reports] == [0, 1, 1]
    assert 0 < reports[1].lines < 500
    index(it)
    with it.connect() as conn:
        assert ended(conn) == undisturbed


def test_a_block_that_does_not_inflate_is_fetched_again_from_the_part_on(it, undisturbed):
    spool = it.spool()
    index(it, stage=Stage.FETCH)
    (info,) = spool.infos(run.Span(GROUP, 401, 500))
    spool.write(info.span, b"\x78\x9c" + b"\xff" * 300, info.facts)
    reports = index(it)
    assert [report.lines for report in reports] == [500, 500, 200]
    with it.connect() as conn:
        assert ended(conn) == undisturbed


def test_a_captured_range_is_whole_although_its_pass_was_killed(it, tmp_path, monkeypatch):
    spool = Spool(it.folder / "spool", corpus=Corpus(tmp_path / "corpus"))
    with it.connect() as conn:
        conn.execute("update range set capture = true where low = 1")
    with monkeypatch.context() as patched:
        killed_after(2, patched)
        with pytest.raises(Killed):
            index(it, spool=spool)
    index(it, spool=spool)
    (captured,) = spool.corpus.ranges()
    assert (captured.span.low, captured.span.high, captured.lines) == (1, 500, 500)
