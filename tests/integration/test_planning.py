"""Planning from water marks: many groups, wanted history, groups that vanish or begin again."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.indexing import GROUP, NOW, Group, indexer, uploads
from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.connect import connect
from voyager_core.catalog.groups import (
    add_group,
    get_group,
    import_groups,
    list_groups,
    remove_group,
    set_backfill,
)
from voyager_core.catalog.ranges import mark_failed, ranges_of
from voyager_core.catalog.stored_settings import pin
from voyager_core.header_pass.plan import refresh_groups
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.tail import follow_tail
from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.overview import GroupMarks, OverviewBlock

pytestmark = pytest.mark.postgres
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


class Server:
    """Answers from a table, and counts what it was asked."""

    def __init__(self, marks):
        self.marks = marks
        self.asked = []

    def list_active(self, pattern="*"):
        self.asked.append(pattern)
        return [GroupMarks(name, low, high, "y") for name, (low, high) in self.marks.items()]

    def group(self, name):
        self.asked.append(name)
        if name not in self.marks:
            raise GroupGone("411")
        return GroupMarks(name, *self.marks[name])

    def overview(self, group, low, high):
        self.asked.append((group, low))
        return OverviewBlock(group, low, high, b"", None, 1, first_number=low)


def date_of(block):
    """Ten articles a day."""
    return EPOCH + timedelta(days=block.first_number / 10)


@pytest.fixture
def conn(catalog):
    pin(catalog, {"range_size": "1000", "ranges_per_partition": "1"})
    return catalog


def look(conn, server, **options):
    return {each.group: each for each in refresh_groups(conn, server, now=NOW, **options)}


def lows(conn, group="alt.a"):
    return [row.low for row in ranges_of(conn, group)]


def wanted(conn):
    return [(each.group, each.index) for each in ledger.open_stretches(conn, reach=0, limit=99)]


def test_a_thousand_groups_are_planned_with_few_statements(conn, database):
    names = [f"alt.binaries.g{number}" for number in range(1000)]
    import_groups(conn, names)
    server = Server(dict.fromkeys(names, (1, 266000)))
    with connect(database, application_name="counted") as counted:
        executed = []
        original = counted.execute
        counted.execute = lambda *args, **kw: executed.append(args[0]) or original(*args, **kw)
        plans = refresh_groups(counted, server, now=NOW)
    assert sum(each.new_ranges for each in plans) == 266_000
    # Reading, recording and planning: not one a group.
    assert len(executed) < 30
    assert server.asked == ["alt.binaries.*"]
    assert sum(each.new_ranges for each in refresh_groups(conn, server, now=NOW)) == 0


def test_history_is_wanted_by_days_by_date_or_whole(conn):
    import_groups(conn, ["alt.all", "alt.days", "alt.since", "alt.default"])
    set_backfill(conn, ["alt.all"], since=EPOCH - timedelta(days=900))
    set_backfill(conn, ["alt.days"], days=100)
    set_backfill(conn, ["alt.since"], since=EPOCH + timedelta(days=200))
    server = Server(dict.fromkeys(("alt.all", "alt.days", "alt.since"), (1, 5000)))
    server.marks["alt.default"] = (1, 5_000)
    now = EPOCH + timedelta(days=500)
    refresh_groups(conn, server, now=now, backfill_days=300, date_of=date_of)
    firsts = {name: lows(conn, name)[0] for name in server.marks}
    assert firsts["alt.all"] == 1
    assert 3_900 <= firsts["alt.days"] <= 4_000
    assert 1_900 <= firsts["alt.since"] <= 2_000
    assert 1_900 <= firsts["alt.default"] <= 2_000
    # Where history begins is asked once a wish.
    server.asked.clear()
    refresh_groups(conn, server, now=now, backfill_days=300, date_of=date_of)
    assert not [each for each in server.asked if isinstance(each, tuple)]


def test_more_history_is_planned_below_and_less_is_not_worked_on(conn):
    add_group(conn, "alt.a")
    server = Server({"alt.a": (1, 5_000)})
    now = EPOCH + timedelta(days=500)

    def plan(**wish):
        set_backfill(conn, ["alt.a"], **wish)
        refresh_groups(conn, server, now=now, date_of=date_of)
        return sorted(index for _, index in wanted(conn))

    assert plan(days=150) == [3, 4]
    assert plan(days=350) == [1, 2, 3, 4]
    assert plan(days=150) == [3, 4]
    assert plan() == [0, 1, 2, 3, 4]
    assert lows(conn)[0] == 1


def test_the_tail_does_not_plan_history_that_nobody_wants(conn):
    add_group(conn, "alt.a")
    set_backfill(conn, ["alt.a"], days=100)
    server = Server({"alt.a": (1, 5_000)})
    assert look(conn, server)["alt.a"].new_ranges == 0
    assert get_group(conn, "alt.a").state == "new"
    refresh_groups(conn, server, now=EPOCH + timedelta(days=500), date_of=date_of)
    before = lows(conn)
    server.marks["alt.a"] = (1, 5_400)
    look(conn, server)
    assert lows(conn) == [*before, 5_001]


@pytest.mark.parametrize(
    ("marks", "waits"),
    [
        ((1, 4_995), False),
        ((1, 5_001), False),
        ((4_900, 5_000), False),
        ((5_001, 5_000), False),
        ((0, 0), False),
        ((1, 900), True),
        ((1, 4_400), True),
    ],
)
def test_numbers_that_went_back_make_a_group_wait(conn, marks, waits):
    add_group(conn, "alt.a")
    server = Server({"alt.a": (1, 5_000)})
    look(conn, server)
    server.marks["alt.a"] = marks
    found = look(conn, server)["alt.a"]
    assert found.restarted == waits
    assert get_group(conn, "alt.a").state == ("restarted" if waits else "ok")
    assert {row.state for row in ranges_of(conn, "alt.a")} == {"parked" if waits else "planned"}
    # The highest number stays known, so that going back in small steps is noticed too.
    assert get_group(conn, "alt.a").high >= 5_000
    assert (wanted(conn) == []) == waits


def test_a_group_whose_numbers_are_back_goes_on_and_poisoned_ranges_stay_parked(conn):
    add_group(conn, "alt.a")
    server = Server({"alt.a": (1, 5_000)})
    look(conn, server)
    poisoned = ranges_of(conn, "alt.a")[1].range_id
    mark_failed(conn, poisoned, "always", max_attempts=1)
    server.marks["alt.a"] = (1, 10)
    assert "went back from 5000 to 10" in look(conn, server)["alt.a"].note
    server.marks["alt.a"] = (1, 5_100)
    assert not look(conn, server)["alt.a"].restarted
    states = [row.state for row in ranges_of(conn, "alt.a")]
    assert states == ["planned", "parked", "planned", "planned", "planned", "planned"]


def test_a_low_mark_beyond_belief_is_asked_about_again(conn):
    add_group(conn, "alt.a")
    server = Server({"alt.a": (90_000_000, 90_000_500)})
    look(conn, server)
    listed = server.list_active
    server.list_active = lambda _: [GroupMarks("alt.a", 1, 90_000_500)]
    assert look(conn, server)["alt.a"].new_ranges == 0
    assert server.asked[-1] == "alt.a"
    server.list_active = listed
    server.marks["alt.a"] = (89_990_001, 90_000_500)
    assert look(conn, server)["alt.a"].new_ranges == 10


def test_numbers_of_a_vanished_and_returned_server_store_nothing_wrong(database, tmp_path):
    with indexer(database, tmp_path, [Group(GROUP, uploads(1, 1200))]) as it:
        it.plan()
        with it.tools() as tools:
            list(index_stretches(tools, [(GROUP, 0)]))
            # The same name, other articles under the same numbers.
            it.server.groups[GROUP] = Group(GROUP, uploads(1, 600))
            report = follow_tail(tools)
            assert [plan.restarted for plan in report.plans] == [True]
            assert report.outcomes == []
            assert [each.outcomes for each in index_stretches(tools, [(GROUP, 1)])] == [[]]
            assert sum(row.lines for row in ranges_of(tools.conn, GROUP)) == 500


def test_a_removed_group_gets_no_work_and_a_returned_one_comes_last(conn):
    import_groups(conn, ["alt.a", "alt.b"])
    server = Server({"alt.a": (1, 2_000), "alt.b": (1, 1_000)})
    look(conn, server)
    remove_group(conn, "alt.a")
    assert wanted(conn) == [("alt.b", 0)]
    look(conn, server)
    add_group(conn, "alt.a")
    look(conn, server)
    assert [each.name for each in list_groups(conn)] == ["alt.b", "alt.a"]
    assert sorted(wanted(conn)) == [("alt.a", 0), ("alt.a", 1), ("alt.b", 0)]
