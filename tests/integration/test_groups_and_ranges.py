"""Newsgroups keep their priorities, and the ledger knows what is left to do."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.support.spans import GROUP, VERSIONS, add_ranges, built, release, store
from voyager_core.catalog.checks import check_lines
from voyager_core.catalog.connect import connect
from voyager_core.catalog.errors import GroupError, SettingMismatch, SpanError
from voyager_core.catalog.groups import (
    add_group,
    get_group,
    list_groups,
    priorities,
    record_gone,
    record_water_marks,
    remove_group,
)
from voyager_core.catalog.progress import group_status, last_stored_at
from voyager_core.catalog.ranges import (
    get_range,
    mark_failed,
    plan,
    ranges_of,
    unpark,
)
from voyager_core.catalog.recovery import (
    recovered_totals,
    stale_spans,
    stale_stretches,
    store_recovery,
)
from voyager_core.catalog.rulecounts import (
    reject_totals,
    rule_samples,
    rule_totals,
)
from voyager_core.catalog.spans import store_span
from voyager_core.catalog.stored_settings import pin, pin_settings
from voyager_core.domain.ranges import Span
from voyager_core.settings import CatalogSettings

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_later_groups_come_after_earlier_ones(catalog):
    one, two = add_group(catalog, "alt.binaries.b"), add_group(catalog, "alt.binaries.a")
    assert (one.priority, two.priority) == (1, 2)
    assert add_group(catalog, "alt.binaries.b") == one
    assert add_group(catalog, "alt.binaries.first", priority=-3).priority == -3
    assert [group.name for group in list_groups(catalog)] == [
        "alt.binaries.first",
        "alt.binaries.b",
        "alt.binaries.a",
    ]
    assert priorities(catalog)["alt.binaries.a"] == 2


def test_group_that_comes_back_takes_nothing_from_those_added_meanwhile(catalog):
    first = add_group(catalog, "alt.binaries.b")
    assert remove_group(catalog, "alt.binaries.b")
    assert not remove_group(catalog, "alt.binaries.b")
    assert list_groups(catalog) == []
    assert [group.state for group in list_groups(catalog, active=False)] == ["removed"]
    add_group(catalog, "alt.binaries.a")
    again = add_group(catalog, "alt.binaries.b")
    assert (again.newsgroup_id, again.priority, again.active) == (first.newsgroup_id, 3, True)
    assert len(list_groups(catalog, active=None)) == 2


def test_priority_can_be_changed_but_not_taken(catalog):
    add_group(catalog, "alt.binaries.a", priority=1)
    assert add_group(catalog, "alt.binaries.a", priority=5).priority == 5
    with pytest.raises(GroupError, match="priority 5 belongs to another newsgroup"):
        add_group(catalog, "alt.binaries.b", priority=5)
    with pytest.raises(GroupError, match="32-bit"):
        add_group(catalog, "alt.binaries.b", priority=1 << 40)
    assert get_group(catalog, "alt.binaries.b") is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "a/b",
        "..",
        "a\\b",
        "a\0b",
        "alt.*",
        "a,b",
        "a\tb",
        "!a",
        "x" * 256,
        "é" * 200,
    ],
)
def test_impossible_name_is_refused(catalog, name):
    with pytest.raises(GroupError, match="no newsgroup name"):
        add_group(catalog, name)
    assert get_group(catalog, name) is None


@pytest.mark.parametrize("name", ["alt.binaries.test", "a", "alt.c++", "alt.ü", "de.comp_x-y"])
def test_possible_name_is_taken(catalog, name):
    assert add_group(catalog, name).name == name


def test_groups_added_at_once_get_priorities_of_their_own(catalog, database):
    def add(number: int) -> int:
        with connect(database) as conn:
            return add_group(conn, f"alt.binaries.{number}").priority

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(add, range(8))) == list(range(1, 9))


def test_water_marks_are_recorded(catalog):
    add_group(catalog, GROUP)
    record_water_marks(catalog, {GROUP: (5, 1 << 40)}, NOW)
    group = get_group(catalog, GROUP)
    assert group is not None
    assert (group.low, group.high, group.checked_at, group.state) == (5, 1 << 40, NOW, "ok")
    assert record_gone(catalog, GROUP, "411 no such group", NOW)
    group = get_group(catalog, GROUP)
    assert group is not None
    assert (group.state, group.note) == ("gone", "411 no such group")
    record_water_marks(catalog, {GROUP: (5, 6)}, NOW)
    group = get_group(catalog, GROUP)
    assert group is not None
    assert (group.state, group.note) == ("ok", None)
    record_water_marks(catalog, {"alt.unknown": (1, 2)}, NOW)
    assert get_group(catalog, "alt.unknown") is None
    assert not record_gone(catalog, "alt.unknown", "", NOW)


def test_planning_twice_adds_nothing(catalog):
    group = add_group(catalog, GROUP)
    assert plan(catalog, group.newsgroup_id, [(1, 1000), Span(GROUP, 1001, 2000)]) == 2
    assert plan(catalog, group.newsgroup_id, [(1, 1000), (1001, 2000), (2001, 3000)]) == 1
    assert plan(catalog, group.newsgroup_id, []) == 0
    rows = ranges_of(catalog, GROUP)
    assert [(row.low, row.high, row.resume_at, row.state) for row in rows] == [
        (1, 1000, 1, "planned"),
        (1001, 2000, 1001, "planned"),
        (2001, 3000, 2001, "planned"),
    ]
    with pytest.raises(SpanError, match="no newsgroup has the number 99"):
        plan(catalog, 99, [(1, 10)])


def test_stretch_is_the_stored_number_of_ranges(catalog):
    add_ranges(catalog, 7)
    with pytest.raises(SettingMismatch):
        ranges_of(catalog, GROUP, 0)
    pin_settings(catalog, CatalogSettings(range_size=1000, ranges_per_partition=3))
    assert [row.low for row in ranges_of(catalog, GROUP, 1)] == [3001, 4001, 5001]
    assert [row.low for row in ranges_of(catalog, GROUP, 2)] == [6001]
    assert ranges_of(catalog, GROUP, 3) == []
    assert ranges_of(catalog, "alt.unknown", 0) == []


def test_range_that_fails_too_often_is_parked_until_it_gets_another_chance(catalog):
    first, _ = add_ranges(catalog, 2)
    store(catalog, first, 1, 500, built())
    assert [mark_failed(catalog, first, "broken\0", max_attempts=3) for _ in range(3)] == [
        "partial",
        "partial",
        "parked",
    ]
    row = get_range(catalog, first)
    assert row is not None
    assert (row.attempts, row.error) == (3, "broken")
    assert [row.state for row in ranges_of(catalog, GROUP)] == ["parked", "planned"]
    assert unpark(catalog, "alt.unknown") == 0
    assert unpark(catalog, GROUP) == 1
    assert [row.state for row in ranges_of(catalog, GROUP)] == ["partial", "planned"]
    assert store(catalog, first, 501, 1000, built()).stored
    row = get_range(catalog, first)
    assert row is not None
    assert (row.attempts, row.error) == (0, None)
    # A range that is done stays done, whatever fails afterwards.
    assert mark_failed(catalog, first, "late", max_attempts=1) == "done"
    with pytest.raises(SpanError):
        mark_failed(catalog, 999, "x")


def test_progress_adds_up_the_ranges_of_a_group(catalog):
    ids = add_ranges(catalog, 3)
    add_group(catalog, "alt.binaries.empty")
    record_water_marks(catalog, {GROUP: (1, 2400)}, NOW)
    store(catalog, ids[0], 1, 1000, built([release(1)]))
    store(catalog, ids[1], 1001, 1200, built([release(2)]))
    mark_failed(catalog, ids[2], "x", max_attempts=1)
    one, empty = group_status(catalog, at=NOW)
    assert (one.group, one.ranges, one.done, one.parked) == (GROUP, 3, 1, 1)
    assert (one.numbers, one.indexed, one.lines, one.high) == (2400, 1200, 20, 2400)
    assert (one.indexed_to, one.lag, one.backlog) == (1200, 1200, 1200)
    assert one.stored_at is not None
    assert one.stored_at == last_stored_at(catalog)
    assert (empty.ranges, empty.indexed_to, empty.stored_at) == (0, None, None)


def test_counts_of_rules_and_reasons_add_up_over_spans(catalog):
    (range_id,) = add_ranges(catalog)
    for low in (1, 501):
        contents = built(
            rule_counts=[("random", 10, 2), ("crosspost", 5, 1)],
            rule_samples=[("random", (1 << 64) - 1, {"at": low})],
        )
        store(catalog, range_id, low, low + 499, contents, rejects={"bad_line": 1, "none": 0})
    totals = [(row.rule, row.articles, row.files, row.ranges) for row in rule_totals(catalog)]
    assert totals == [("random", 20, 4, 1), ("crosspost", 10, 2, 1)]
    assert rule_totals(catalog, "alt.unknown") == []
    rejects = [(row.reason, row.articles, row.ranges) for row in reject_totals(catalog, GROUP)]
    assert rejects == [("bad_line", 2, 1)]
    samples = rule_samples(catalog, "random")
    assert [(one.release_key, one.detail, one.low) for one in samples] == [
        ((1 << 64) - 1, {"at": 501}, 1),
        ((1 << 64) - 1, {"at": 1}, 1),
    ]
    assert len(rule_samples(catalog, "random", limit=1)) == 1
    assert rule_samples(catalog, "random", limit=-1) == []


def test_changed_rule_reads_only_spans_where_it_dropped_something_and_each_once(catalog):
    pin(catalog, {"range_size": "1000", "ranges_per_partition": "3"})
    first, second, third = add_ranges(catalog, 3)
    catalog.execute("update newsgroup set state = 'ok'")
    store(catalog, first, 1, 500, built([release(1)], rule_counts=[("random", 30, 3)]))
    store(catalog, first, 501, 1000, built([release(2)]))
    store(catalog, second, 1001, 2000, built(rule_counts=[("crosspost", 9, 1)]))
    store(catalog, third, 2001, 2500, built(rule_counts=[("random", 10, 1), ("other", 2, 1)]))
    stale = {"random": [1]}
    (stretch,) = stale_stretches(catalog, stale)
    assert (stretch.rule, stretch.group, stretch.index) == ("random", GROUP, 0)
    assert (stretch.ranges, stretch.articles, stretch.files, stretch.versions) == (2, 40, 4, [1])
    assert stale_stretches(catalog, {"random": [2]}) == stale_stretches(catalog, {}) == []
    one, two = stale_spans(catalog, stale, GROUP, 0)
    assert [(each.low, each.high, each.versions) for each in (one, two)] == [
        (1, 500, [1]),
        (2001, 2500, [1]),
    ]
    versions = type(VERSIONS)(parser=1, rules=2, codec=1)

    def recover(span, contents):
        freed = {"random": (20, 2)}
        return store_recovery(catalog, span, contents, freed=freed, versions=versions)

    brought = built([release(9, segments=20)], rule_counts=[("random", 10, 1)])
    assert recover(one, brought).stored
    assert not recover(one, brought).stored
    row = get_range(catalog, first)
    assert row is not None
    assert (row.lines, row.dropped, row.chunked_segments, row.recovered_segments) == (
        50,
        10,
        20,
        20,
    )
    assert stale_spans(catalog, stale, GROUP, 0) == [two]
    # An article that came late is a line more.
    assert recover(two, built([release(9, 1, segments=11)], rule_counts=[("other", 2, 1)])).stored
    assert stale_spans(catalog, stale, GROUP, 0) == []
    row = get_range(catalog, third)
    assert row is not None
    assert (row.lines, row.dropped, row.recovered_segments) == (13, 2, 11)
    with pytest.raises(SpanError, match="not older than 2"):
        recover(replace(one, versions=[1, 2]), built())
    assert [(row.rule, row.articles) for row in rule_totals(catalog)] == [
        ("random", 10),
        ("crosspost", 9),
        ("other", 2),
    ]
    (total,) = recovered_totals(catalog)
    assert (total.rule, total.version, total.ranges, total.articles) == ("random", 2, 2, 40)
    assert check_lines(catalog) == []


def test_a_range_knows_which_part_was_read_with_which_versions(catalog):
    (range_id,) = add_ranges(catalog)
    for low, rules in ((1, 3), (101, 3), (201, 2), (301, 4), (401, 4)):
        versions = type(VERSIONS)(parser=1, rules=rules, codec=1)
        store_span(
            catalog,
            Span(GROUP, low, low + 99),
            built(),
            range_id=range_id,
            read_lines=0,
            versions=versions,
        )
    read_with = catalog.execute("select low, rules_version from range_version order by low")
    assert read_with.fetchall() == [(1, 3), (201, 2), (301, 4)]
    row = get_range(catalog, range_id)
    assert row is not None
    assert row.rules_version == 2
