from datetime import UTC, datetime, timedelta

import pytest

from voyager_core.header_pass.marks import first_number_since, patterns_for, water_marks
from voyager_core.header_pass.plan import new_ranges, ranges_between_marks
from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.overview import GroupMarks, OverviewBlock, empty_block


def test_first_plan_begins_at_the_low_mark_and_ends_on_the_grid():
    assert new_ranges(2_500_000, 6_100_000, size=2_000_000, planned=None) == [
        (2_500_000, 4_000_000),
        (4_000_001, 6_000_000),
        (6_000_001, 8_000_000),
    ]


def test_growth_adds_only_what_is_above():
    assert new_ranges(1, 9, size=10, planned=(1, 10)) == []
    assert new_ranges(1, 11, size=10, planned=(1, 10)) == [(11, 20)]


def test_older_articles_are_planned_below_without_overlap():
    assert new_ranges(3, 25, size=10, planned=(14, 30)) == [(3, 10), (11, 13)]


def test_a_risen_low_mark_plans_nothing_new_and_leaves_no_hole():
    assert new_ranges(15, 25, size=10, planned=(4, 30)) == []
    assert new_ranges(48, 52, size=10, planned=(4, 30)) == [(31, 40), (41, 50), (51, 60)]


@pytest.mark.parametrize(("low", "high"), [(1, 0), (5, 4), (0, 0)])
def test_an_empty_group_has_no_ranges(low, high):
    assert new_ranges(low, high, size=10, planned=None) == []


def test_article_numbers_beyond_32_bits_are_planned():
    low = 3 * 2**32
    assert new_ranges(low, low + 1, size=2_000_000, planned=None)[0][0] == low


def test_few_groups_are_asked_for_by_name_in_lines_that_fit():
    names = [f"alt.binaries.group{number:03d}" for number in range(40)]
    patterns = patterns_for(names)
    assert all(len(pattern) <= 400 for pattern in patterns)
    assert [name for pattern in patterns for name in pattern.split(",")] == names


def test_many_groups_are_asked_for_by_hierarchy():
    names = [f"alt.binaries.group{number:03d}" for number in range(900)] + ["free.pt"]
    assert patterns_for(names) == ["alt.binaries.*", "free.pt"]


class Server:
    def __init__(self, groups, days_per_number=1, holes=()):
        self.groups = groups
        self.days = days_per_number
        self.holes = holes
        self.asked = []

    def list_active(self, pattern="*"):
        self.asked.append(pattern)
        return [GroupMarks(name, 1, 5, "y") for name in self.groups if name in pattern]

    def group(self, name):
        self.asked.append(f"GROUP {name}")
        if name == "hidden":
            return GroupMarks(name, 1, 9)
        raise GroupGone("411")

    def overview(self, group, low, high):
        self.asked.append((low, high))
        if all(number in self.holes for number in range(low, high + 1)):
            return empty_block(group, low, high)
        first = next(number for number in range(low, high + 1) if number not in self.holes)
        return OverviewBlock(group, low, high, b"", None, 1, first_number=first)


def test_a_group_that_list_leaves_out_is_asked_for_by_name():
    server = Server(["a", "b"])
    marks = water_marks(server, ["a", "hidden", "gone"])
    assert {name: mark.high for name, mark in marks.items()} == {"a": 5, "hidden": 9}
    assert server.asked[1:] == ["GROUP hidden", "GROUP gone"]


EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


def date_of(block):
    if block.first_number is None:
        return None
    return EPOCH + timedelta(days=block.first_number)


@pytest.mark.parametrize("holes", [range(0), range(4000, 7000)])
def test_bisection_finds_where_wanted_articles_begin(holes):
    server = Server(["a"], holes=holes)
    found = first_number_since(
        server, GroupMarks("a", 1, 10_000), EPOCH + timedelta(days=7500), date_of, step=10
    )
    assert 7480 <= found <= 7500
    assert len(server.asked) < 400


def test_bisection_of_a_group_with_only_old_articles_ends_near_its_newest():
    found = first_number_since(
        Server(["a"]), GroupMarks("a", 1, 10_000), EPOCH + timedelta(days=99_999), date_of
    )
    assert found > 9_800


def test_bisection_of_a_group_without_any_date_keeps_everything():
    server = Server(["a"], holes=range(20_000))
    found = first_number_since(server, GroupMarks("a", 7, 10_000), EPOCH, date_of)
    assert found == 7


@pytest.mark.parametrize(
    ("low", "high", "planned", "most"),
    [
        (1, 160_000_000_000, None, 80_000),
        (1, 2**63 - 1, None, 10**13),
        (1, 2**63 - 1, (1, 2_000_000), 10**13),
        (1, 4_000_000, (1, 2_000_000), 1),
        (5, 4, None, 0),
    ],
)
def test_the_ranges_that_marks_ask_for_are_counted_before_they_are_made(low, high, planned, most):
    asked = ranges_between_marks(GroupMarks("a", low, high), size=2_000_000, planned=planned)
    assert most / 3 <= asked <= most
