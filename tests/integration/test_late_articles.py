"""Articles that arrive after higher numbers did, and how far newsgroups are."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.indexing import GROUP, NOW, Group, counts, indexer, uploads
from tests.support.newsserver import Rule
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.groups import add_group, remove_group
from voyager_core.catalog.holes import due_holes
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.progress import (
    coverage,
    coverages,
    group_status,
    take_samples,
    totals,
)
from voyager_core.catalog.ranges import mark_failed, plan, ranges_of
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.late import AGAIN_AFTER, _commands, holes_in
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.header_pass.tail import follow_tail

pytestmark = pytest.mark.postgres
LATE = {37, 38, 137, 151, 152, 153, 300}


@pytest.fixture
def it(database, tmp_path):
    lines = [line for number, line in enumerate(uploads(1, 400), 1) if number not in LATE]
    with indexer(database, tmp_path, [Group(GROUP, lines)]) as made:
        made.plan()
        yield made


def tail(it, after=timedelta()):
    with it.tools() as tools:
        later = replace(tools, clock=lambda: NOW + after)
        report = follow_tail(later)
        assert not report.failures
        merge_ready_fragments(later.conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
        return report


def index(it):
    with it.tools() as tools:
        list(index_stretches(tools, [(GROUP, 0)]))


def add(it, *numbers):
    shown = {int(line.split(b"\t")[0]) for line in it.server.groups[GROUP].overview(1, 400)}
    lines = dict(enumerate(uploads(1, 400), 1))
    present = [lines[number] for number in sorted(shown | set(numbers))]
    it.server.groups[GROUP] = Group(GROUP, present)


def whole(empty_database, tmp_path):
    migrate(empty_database)
    with indexer(empty_database, tmp_path / "whole", [Group(GROUP, uploads(1, 400))]) as alone:
        alone.plan()
        index(alone)
        with alone.connect() as conn:
            merge_ready_fragments(conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
            return counts(conn)


def test_late_articles_are_added_once_and_the_catalog_is_as_if_they_were_never_late(
    it, empty_database, tmp_path
):
    index(it)
    with it.connect() as conn:
        (hole,) = due_holes(conn, at=NOW + timedelta(days=1), limit=9)
        assert hole.missing == [[37, 38], [137, 137], [151, 153], [300, 300]]
        assert check_catalog(conn) == []
        before = ranges_of(conn, GROUP)[0].lines
    add(it, 37, 38, 137)
    # Its time has not come.
    assert tail(it).late.asked == 0
    report = tail(it, AGAIN_AFTER[0])
    assert (report.late.asked, report.late.lines) == (1, 3)
    with it.connect() as conn:
        assert ranges_of(conn, GROUP)[0].lines == before + 3
        assert check_catalog(conn) == []
    assert tail(it, AGAIN_AFTER[0]).late.asked == 0
    add(it, 151, 152, 153, 300)
    assert tail(it, AGAIN_AFTER[0] + AGAIN_AFTER[1]).late.lines == 4
    with it.connect() as conn:
        assert due_holes(conn, at=NOW + timedelta(days=99), limit=9) == []
        assert counts(conn)["fragments"] == 0
        found = counts(conn)
        assert check_catalog(conn) == []
    expected = whole(empty_database, tmp_path)
    for name in ("releases", "segments", "bytes", "lines"):
        assert found[name] == expected[name], name
    with it.connect() as conn:
        files = conn.execute("select sum(files), sum(segments) from release").fetchone()
    assert files == (16, 400)


def test_numbers_that_never_get_an_article_are_given_up_and_their_files_are_stored(it):
    index(it)
    with it.connect() as conn:
        # Files with a part in a hole wait for it.
        assert counts(conn)["fragments"] == 4
    after = timedelta()
    for pause in AGAIN_AFTER:
        after += pause
        assert tail(it, after).late.asked == 1
    assert tail(it, after + timedelta(days=1)).late.asked == 0
    with it.connect() as conn:
        assert counts(conn)["fragments"] == 0
        assert counts(conn)["segments"] == 400 - len(LATE)
        assert check_catalog(conn) == []


def test_a_server_that_fails_is_asked_another_time(it):
    index(it)
    it.server.rules.append(Rule("XOVER", "cut", 3, times=None))
    assert tail(it, AGAIN_AFTER[0]).late.failed == 1
    it.server.rules.clear()
    add(it, *LATE)
    assert tail(it, AGAIN_AFTER[0]).late.lines == 7


def test_two_that_ask_at_the_same_time_store_it_once(it):
    from voyager_core.header_pass.late import _store

    index(it)
    add(it, 37)
    with it.tools() as tools:
        (hole,) = due_holes(tools.conn, at=NOW + timedelta(days=1), limit=9)
        line = uploads(37, 1)[0] + b"\r\n"
        assert [_store(tools, hole, line) for _ in range(2)] == [1, 0]
        assert check_catalog(tools.conn) == []


def test_holes_far_behind_the_newest_number_are_final(database, tmp_path):
    lines = [line for number, line in enumerate(uploads(1, 400), 1) if number not in LATE]
    with indexer(database, tmp_path, [Group(GROUP, lines, high=200_000)]) as it:
        it.plan()
        index(it)
        with it.connect() as conn:
            assert due_holes(conn, at=NOW + timedelta(days=1), limit=9) == []


@given(
    present=st.sets(st.integers(1, 60)),
    low=st.integers(1, 30),
    size=st.integers(1, 30),
    newest=st.integers(1, 100_040),
)
def test_holes_are_exactly_the_numbers_without_a_line(present, low, size, newest):
    span = Span(GROUP, low, low + size - 1)
    block = b"".join(
        line + b"\r\n" for line in uploads(1, 60) if int(line.split(b"\t")[0]) in present
    )
    runs = holes_in(span, [block] if block else [], newest=newest)
    missing = {number for first, last in runs for number in range(first, last + 1)}
    near = range(max(span.low, newest - 99_999), span.high + 1)
    assert missing == set(near) - present


def test_of_very_many_missing_numbers_the_newest_are_asked_for_again():
    every_second = b"".join(line + b"\r\n" for line in uploads(1, 6_001)[::2])
    runs = holes_in(Span(GROUP, 1, 6_001), [every_second], newest=6_001)
    assert runs == [(number, number) for number in range(2_002, 6_001, 2)]


def test_missing_numbers_are_asked_for_with_few_commands():
    assert _commands([(1, 1), (5, 9), (10_000, 10_000)]) == [(1, 9), (10_000, 10_000)]
    assert len(_commands([(each * 5_000, each * 5_000) for each in range(2_000)])) <= 20
    assert _commands([]) == []


def test_progress_tells_lag_rate_and_eta(it):
    it.server.groups[GROUP].high = 1_400
    with it.tools() as tools:
        it.plan()
        list(index_stretches(tools, [(GROUP, 0)]))
        conn = tools.conn
        assert take_samples(conn, at=NOW)
        assert not take_samples(conn, at=NOW + timedelta(minutes=9))
        list(index_stretches(tools, [(GROUP, 1)]))
        conn.execute("update newsgroup set high = 1450")
        add_group(conn, "alt.new")
        mark_failed(conn, ranges_of(conn, GROUP)[2].range_id, "x", max_attempts=1)
        status, new = group_status(conn, at=NOW + timedelta(seconds=100))
        assert (status.ranges, status.done, status.parked) == (3, 2, 1)
        assert (status.numbers, status.indexed, status.backlog) == (1450, 1000, 450)
        assert (status.indexed_to, status.lag) == (1000, 450)
        assert (status.rate, status.posting_rate) == (5.0, 0.5)
        assert status.lag_seconds == 900
        assert status.eta_seconds == 100
        assert (new.numbers, new.backlog, new.rate, new.eta_seconds) == (0, 0, None, 0.0)
        assert coverage(conn, GROUP) == [(1, 1000)]
        assert totals([status, new])["most_lag"] == 450
        assert group_status(conn, at=NOW, group="alt.new")[0].group == "alt.new"
        assert group_status(conn, at=NOW, group="alt.\0none") == []


def test_coverage_shows_the_gaps(it):
    it.server.groups[GROUP].high = 2_400
    it.plan()
    with it.tools() as tools:
        list(index_stretches(tools, [(GROUP, 0), (GROUP, 1), (GROUP, 3)]))
        assert coverage(tools.conn, GROUP) == [(1, 1000), (1501, 2000)]
        assert coverage(tools.conn, GROUP, limit=1) == [(1501, 2000)]
        assert coverage(tools.conn, "alt.none") == []
        assert coverages(tools.conn) == {GROUP: [(1, 1000), (1501, 2000)]}
        other = add_group(tools.conn, "alt.other")
        plan(
            tools.conn, other.newsgroup_id, [Span("alt.other", 1, 500), Span("alt.other", 501, 900)]
        )
        tools.conn.execute(
            "update range set resume_at = high + 1 where newsgroup_id = %s", [other.newsgroup_id]
        )
        assert coverages(tools.conn) == {GROUP: [(1, 1000), (1501, 2000)], "alt.other": [(1, 900)]}
        remove_group(tools.conn, "alt.other")
        assert list(coverages(tools.conn)) == [GROUP]
