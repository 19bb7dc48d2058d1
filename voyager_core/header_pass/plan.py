"""Plan the ranges of each newsgroup from the server's water marks."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import (
    Newsgroup,
    list_groups,
    record_gone,
    record_water_marks,
)
from voyager_core.catalog.ranges import plan, unpark
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.domain.ranges import ranges_between
from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.overview import GroupMarks, OverviewBlock

logger = logging.getLogger(__name__)

# A command line of NNTP has at most 512 octets; so many groups are asked for by name.
MOST_PATTERN_OCTETS = 400
MOST_PATTERNS = 8
# More than the largest group has; a water mark that asks for more is not believed.
MOST_NEW_RANGES = 200_000
# Articles that no group gets between two looks; such a jump is asked about a second time.
STRANGE_JUMP = 50_000_000


class GroupServer(Protocol):
    """What planning asks a news server (`voyager_core.nntp.client.NewsClient`)."""

    def list_active(self, pattern: str = "*") -> list[GroupMarks]:
        """Returns the groups that match a wildmat."""
        ...

    def group(self, name: str) -> GroupMarks:
        """Returns a group's water marks, or raises GroupGone."""
        ...

    def overview(self, group: str, low: int, high: int) -> OverviewBlock:
        """Returns the overview of some article numbers."""
        ...


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What planning found out about one newsgroup.

    Attributes:
        group: its name.
        low: the server's low water mark, None when the server does not carry the group.
        high: the server's high water mark, likewise.
        new_ranges: ranges added to the ledger.
        note: what a person should know, else empty.
    """

    group: str
    low: int | None
    high: int | None
    new_ranges: int
    note: str = ""


def refresh_groups(
    conn: Connection,
    server: GroupServer,
    *,
    now: datetime,
    backfill_days: int | None = None,
    date_of: Callable[[OverviewBlock], datetime | None] | None = None,
) -> list[GroupPlan]:
    """Asks the server for the active newsgroups' water marks and plans their new ranges.

    Ranges are only ever added: above the last planned one as the group grows, below the first
    one when the server has, or the settings want, older articles than before.

    Args:
        conn: the catalog.
        server: the news server.
        now: the time to record.
        backfill_days: unset: all of the server's retention; else articles older than this
            are not planned.
        date_of: reads the posting time of a block's first dated article; needed with
            `backfill_days`.

    Raises:
        NewsError: the server cannot be asked.
        CatalogUnavailable: the database does not answer.
    """
    groups = list_groups(conn)
    marks = water_marks(server, [group.name for group in groups])
    bounds = ledger.planned_bounds(conn)
    size, _ = cut_of_history(conn)
    plans: list[GroupPlan] = []
    for group in groups:
        mark = marks.get(group.name)
        if mark is None:
            plans.append(_gone(conn, group, now))
            continue
        known = bounds.get(group.name)
        mark = _confirmed(server, mark, group)
        if (asked := ranges_between_marks(mark, size=size, planned=known)) > MOST_NEW_RANGES:
            plans.append(GroupPlan(group.name, mark.low, mark.high, 0, _too_many(asked)))
            continue
        record_water_marks(conn, group.name, mark.low, mark.high, now)
        if group.state == "gone":
            unpark(conn, group.name)
        oldest = mark.low
        if backfill_days is not None and date_of is not None and not mark.is_empty:
            since = now - timedelta(days=backfill_days)
            oldest = _oldest_wanted(server, mark, since, known, date_of)
        spans = new_ranges(oldest, mark.high, size=size, planned=known)
        added = plan(conn, group.newsgroup_id, spans) if not mark.is_empty else 0
        plans.append(GroupPlan(group.name, mark.low, mark.high, added, _note(mark, group)))
    return plans


def water_marks(server: GroupServer, names: Sequence[str]) -> dict[str, GroupMarks]:
    """Returns the water marks of the groups that the server carries, with few commands.

    Groups that LIST ACTIVE leaves out are asked for by GROUP before they count as gone.

    Raises:
        NewsError: the server cannot be asked.
    """
    wanted = set(names)
    marks: dict[str, GroupMarks] = {}
    for pattern in patterns_for(names):
        for mark in server.list_active(pattern):
            if mark.name in wanted:
                marks[mark.name] = mark
    for name in names:
        if name not in marks:
            try:
                marks[name] = server.group(name)
            except GroupGone:
                logger.warning("the news server does not carry %s", name)
    return marks


def patterns_for(names: Sequence[str]) -> list[str]:
    """Returns wildmats for LIST ACTIVE that cover the groups: names joined, or by hierarchy.

    A few groups are asked for by name. Many are asked for as `alt.binaries.*`, since a list of
    a hierarchy costs less than many commands.
    """
    patterns: list[str] = []
    for name in names:
        joined = f"{patterns[-1]},{name}" if patterns else ""
        if joined and len(joined.encode()) <= MOST_PATTERN_OCTETS:
            patterns[-1] = joined
        else:
            patterns.append(name)
    if len(patterns) <= MOST_PATTERNS:
        return patterns
    return sorted({_hierarchy(name) for name in names})


def new_ranges(
    low: int, high: int, *, size: int, planned: tuple[int, int] | None
) -> list[tuple[int, int]]:
    """Returns the ranges that cover `low … high` and are not planned yet, in order.

    The oldest one begins at `low`, since the server has nothing before it; every other
    edge is a multiple of the range size. What is planned has no holes.

    Args:
        low: the oldest article number wanted.
        high: the newest number that the server has.
        size: article numbers in a range.
        planned: first and last planned number, None when nothing is planned.
    """
    if high < max(low, 1):
        return []
    low = max(low, 1)
    if planned is None:
        return _cut(low, high, size=size)
    first, last = planned
    below = _cut(low, first - 1, size=size) if low < first else []
    if below:
        below[-1] = (below[-1][0], first - 1)
    # Where the server has dropped articles that were never planned, the ledger still has no hole.
    above = _cut(last + 1, high, size=size) if high > last else []
    return below + above


def ranges_between_marks(mark: GroupMarks, *, size: int, planned: tuple[int, int] | None) -> int:
    """Returns about how many ranges a group's water marks ask for beyond those planned."""
    first, last = planned or (mark.low, mark.low - 1)
    return max(0, mark.high - last) // size + max(0, first - mark.low) // size


def first_number_since(
    server: GroupServer,
    mark: GroupMarks,
    since: datetime,
    date_of: Callable[[OverviewBlock], datetime | None],
    *,
    step: int = 100,
) -> int:
    """Returns an article number at which articles as new as `since` begin, by bisection.

    Article numbers follow arrival, not posting, so the place is near, not exact. Holes are
    crossed by looking further on, at most 32 times.

    Args:
        server: the news server.
        mark: the group and its water marks.
        since: the oldest posting time wanted.
        date_of: reads the posting time of a block's first dated article.
        step: article numbers in one look.

    Raises:
        NewsError: the server cannot be asked.
    """
    low, high = max(mark.low, 1), mark.high
    while high - low >= step:
        middle = (low + high) // 2
        posted = _date_near(server, (mark.name, middle, high), date_of, step=step)
        if posted is None or posted >= since:
            high = middle
        else:
            low = middle + 1
    return low


def _date_near(
    server: GroupServer,
    place: tuple[str, int, int],
    date_of: Callable[[OverviewBlock], datetime | None],
    *,
    step: int,
) -> datetime | None:
    group, number, high = place
    for _ in range(32):
        if number > high:
            return None
        block = server.overview(group, number, min(number + step - 1, high))
        posted = date_of(block)
        if posted is not None:
            return posted
        number += step
        step *= 2
    return None


def _oldest_wanted(
    server: GroupServer,
    mark: GroupMarks,
    since: datetime,
    planned: tuple[int, int] | None,
    date_of: Callable[[OverviewBlock], datetime | None],
) -> int:
    # Asked once a group: what is planned stays planned, and time only moves on.
    if planned is not None:
        return max(mark.low, planned[0])
    return first_number_since(server, mark, since, date_of)


def _cut(low: int, high: int, *, size: int) -> list[tuple[int, int]]:
    return [(max(first, low), last) for first, last in ranges_between(low, high, size=size)]


def _hierarchy(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[:2]) + ".*" if len(parts) > 2 else name


def _gone(conn: Connection, group: Newsgroup, now: datetime) -> GroupPlan:
    note = "the server does not carry the group; its ranges wait until it does"
    record_gone(conn, group.name, note, now)
    ledger.park_ranges(conn, group.name, note)
    return GroupPlan(group.name, None, None, 0, note)


def _confirmed(server: GroupServer, mark: GroupMarks, group: Newsgroup) -> GroupMarks:
    """Returns the marks, or what GROUP says where LIST ACTIVE jumped beyond belief."""
    if group.high is None or abs(mark.high - group.high) <= STRANGE_JUMP:
        return mark
    again = server.group(group.name)
    logger.warning(
        "%s jumped from %d to %d; asked again: %d", group.name, group.high, mark.high, again.high
    )
    return again


def _too_many(ranges: int) -> str:
    return (
        f"the water marks ask for {ranges} more ranges, which is not believed; look at the news "
        "server, or raise VOYAGER_CATALOG__RANGE_SIZE in a new catalog"
    )


def _note(mark: GroupMarks, group: Newsgroup) -> str:
    if mark.is_empty:
        return "no articles on the server"
    if group.high is not None and mark.high < group.high:
        return (
            f"the high water mark went back from {group.high} to {mark.high}: "
            "another server, or its numbers began again"
        )
    return ""


def totals(plans: Iterable[GroupPlan]) -> dict[str, int]:
    """Returns the numbers of groups, of groups gone and of new ranges."""
    found = list(plans)
    return {
        "groups": len(found),
        "groups_gone": sum(1 for each in found if each.low is None),
        "new_ranges": sum(each.new_ranges for each in found),
    }
