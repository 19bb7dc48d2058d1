"""Plan the ranges of each newsgroup from the server's water marks."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.eras import forget_dates
from voyager_core.catalog.groups import (
    Newsgroup,
    list_groups,
    record_waiting,
    record_wanted,
    record_water_marks,
)
from voyager_core.catalog.ranges import plan_many, unpark
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.domain.ranges import ranges_between
from voyager_core.header_pass.marks import DateOf, GroupServer, first_number_since, water_marks
from voyager_core.nntp.overview import GroupMarks

logger = logging.getLogger(__name__)

# More than the largest group has; a water mark that asks for more is not believed.
MOST_NEW_RANGES = 200_000
# Articles that no group gets between two looks; such a jump is asked about a second time.
STRANGE_JUMP = 50_000_000
# The servers behind one name are not always at the same number; more is another numbering.
MOST_BACKWARD = 10_000

GONE = "the server does not carry the group; its ranges wait until it does"


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What planning found out about one newsgroup.

    Attributes:
        group: its name.
        low: the server's low water mark, None when the server does not carry the group.
        high: the server's high water mark, likewise.
        new_ranges: ranges added to the ledger.
        note: what a person should know, else empty.
        restarted: whether its article numbers began again, so that it waits.
    """

    group: str
    low: int | None
    high: int | None
    new_ranges: int
    note: str = ""
    restarted: bool = False


@dataclass(slots=True)
class _Decisions:
    """What a look at the server decided; written to the catalog in a few statements."""

    plans: dict[int, GroupPlan] = field(default_factory=dict)
    marks: dict[str, tuple[int, int]] = field(default_factory=dict)
    wanted: list[tuple[int, int | None, str | None]] = field(default_factory=list)
    ranges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    waiting: list[tuple[Newsgroup, str, str]] = field(default_factory=list)
    back: list[Newsgroup] = field(default_factory=list)


def refresh_groups(
    conn: Connection,
    server: GroupServer,
    *,
    now: datetime,
    backfill_days: int | None = None,
    date_of: DateOf | None = None,
) -> list[GroupPlan]:
    """Asks the server for the active newsgroups' water marks and plans their new ranges.

    Ranges are only ever added: above the last planned one as the group grows, below the first
    one when the server has, or a person wants, older articles than before. A group that the
    server does not carry any more, or whose numbers began again, waits and says so.

    Args:
        conn: the catalog.
        server: the news server.
        now: the time to record.
        backfill_days: history of groups that have no wish of their own; unset: all of the
            server's retention.
        date_of: reads the posting time of a block's first dated article. Without it, groups
            of which only a part is wanted and not found yet are left for another look.

    Raises:
        NewsError: the server cannot be asked.
        CatalogUnavailable: the database does not answer.
    """
    groups = list_groups(conn)
    marks = water_marks(server, [group.name for group in groups])
    bounds = ledger.planned_bounds(conn)
    size, _ = cut_of_history(conn)
    made = _Decisions()
    for group in groups:
        planned = bounds.get(group.name)
        mark = marks.get(group.name)
        if mark is None:
            _wait(made, group, None, "gone", GONE)
            continue
        mark = _confirmed(server, mark, group)
        if (asked := ranges_between_marks(mark, size=size, planned=planned)) > MOST_NEW_RANGES:
            made.plans[group.newsgroup_id] = GroupPlan(
                group.name, mark.low, mark.high, 0, _too_many(asked)
            )
        elif went_back(mark, group):
            _wait(made, group, mark, "restarted", _restarted(mark, group))
        else:
            wish = _wish(group, now, backfill_days)
            oldest = _oldest_wanted(server, mark, group, made, wish=wish, date_of=date_of)
            _plan(made, group, mark, planned=planned, oldest=oldest, size=size)
    return _write(conn, made, now)


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


def went_back(mark: GroupMarks, group: Newsgroup) -> bool:
    """Tells whether a group's numbers began again, as on another server or in a new spool.

    Its old ranges and the new articles would share numbers, so nothing is indexed then. A few
    numbers less are the lag of one of the servers behind a name; an empty group says nothing.
    """
    if group.high is None or mark.is_empty or mark.high >= group.high:
        return False
    known = group.high - (group.low or 1) + 1
    return group.high - mark.high > max(100, min(MOST_BACKWARD, known // 10))


def _plan(
    made: _Decisions,
    group: Newsgroup,
    mark: GroupMarks,
    *,
    planned: tuple[int, int] | None,
    oldest: int | None,
    size: int,
) -> None:
    if oldest is None:
        # The look that knows dates comes within seconds, by the sensor for new groups.
        made.plans[group.newsgroup_id] = GroupPlan(group.name, mark.low, mark.high, 0)
        return
    # The highest number ever seen stays, so that a slow way back is noticed as well.
    high = max(mark.high, group.high or 0)
    low = min(mark.low, high + 1)
    made.marks[group.name] = (low, high)
    if group.state in {"gone", "restarted"}:
        made.back.append(group)
    spans = [] if mark.is_empty else new_ranges(oldest, high, size=size, planned=planned)
    made.ranges[group.newsgroup_id] = spans
    note = "no articles on the server" if mark.is_empty else ""
    made.plans[group.newsgroup_id] = GroupPlan(group.name, mark.low, mark.high, len(spans), note)


def _wait(
    made: _Decisions, group: Newsgroup, mark: GroupMarks | None, state: str, note: str
) -> None:
    made.waiting.append((group, state, note))
    low, high = (mark.low, mark.high) if mark is not None else (None, None)
    made.plans[group.newsgroup_id] = GroupPlan(
        group.name, low, high, 0, note, restarted=state == "restarted"
    )


def _write(conn: Connection, made: _Decisions, now: datetime) -> list[GroupPlan]:
    for group, state, note in made.waiting:
        if group.state != state:
            logger.warning("%s: %s", group.name, note)
            with conn.transaction():
                record_waiting(conn, group.name, state, note, now)
                ledger.park_ranges(conn, group.name, note)
                if state == "restarted":
                    forget_dates(conn, group.newsgroup_id)
    record_water_marks(conn, made.marks, now)
    record_wanted(conn, made.wanted)
    for group in made.back:
        # What else is parked waits for a person, whatever the server carries.
        unpark(conn, group.name, error=group.note)
    added = plan_many(
        conn, ((key, low, high) for key, spans in made.ranges.items() for low, high in spans)
    )
    return [_with_ranges(each, added.get(key, 0)) for key, each in made.plans.items()]


def _with_ranges(found: GroupPlan, new: int) -> GroupPlan:
    return GroupPlan(found.group, found.low, found.high, new, found.note, found.restarted)


def _oldest_wanted(
    server: GroupServer,
    mark: GroupMarks,
    group: Newsgroup,
    made: _Decisions,
    *,
    wish: tuple[datetime | None, str | None],
    date_of: DateOf | None,
) -> int | None:
    """Returns the oldest number wanted; None when it cannot be told without dates.

    The server is asked once a wish: what is planned stays planned, and time only moves on.
    """
    since, words = wish
    if words is None:
        if group.wanted_for is not None:
            made.wanted.append((group.newsgroup_id, None, None))
        return mark.low
    if words == group.wanted_for and group.wanted_from is not None:
        return max(mark.low, group.wanted_from)
    if mark.is_empty:
        return mark.low
    if date_of is None or since is None:
        return None
    found = first_number_since(server, mark, since, date_of)
    made.wanted.append((group.newsgroup_id, found, words))
    return found


def _wish(
    group: Newsgroup, now: datetime, backfill_days: int | None
) -> tuple[datetime | None, str | None]:
    if group.backfill_since is not None:
        return group.backfill_since, f"since {group.backfill_since.astimezone(UTC):%Y-%m-%d}"
    days = group.backfill_days if group.backfill_days is not None else backfill_days
    return (None, None) if days is None else (now - timedelta(days=days), f"{days} days")


def _cut(low: int, high: int, *, size: int) -> list[tuple[int, int]]:
    return [(max(first, low), last) for first, last in ranges_between(low, high, size=size)]


def _confirmed(server: GroupServer, mark: GroupMarks, group: Newsgroup) -> GroupMarks:
    """Returns the marks, or what GROUP says where LIST ACTIVE jumped beyond belief."""
    if group.high is None or group.low is None or group.state == "restarted":
        return mark
    far = max(abs(mark.high - group.high), group.low - mark.low) > STRANGE_JUMP
    if not far and not went_back(mark, group):
        return mark
    again = server.group(group.name)
    logger.warning(
        "%s moved from %d-%d to %d-%d; asked again: %d-%d",
        group.name,
        group.low,
        group.high,
        mark.low,
        mark.high,
        again.low,
        again.high,
    )
    return again


def _too_many(ranges: int) -> str:
    return (
        f"the water marks ask for {ranges} more ranges, which is not believed; look at the news "
        "server, or raise VOYAGER_CATALOG__RANGE_SIZE in a new catalog"
    )


def _restarted(mark: GroupMarks, group: Newsgroup) -> str:
    return (
        f"the high water mark went back from {group.high} to {mark.high}: another server, or its "
        "numbers began again; the group waits until they are back (another server needs a "
        "catalog of its own)"
    )


def totals(plans: Iterable[GroupPlan]) -> dict[str, int]:
    """Returns the numbers of groups, of groups gone or restarted, and of new ranges."""
    found = list(plans)
    return {
        "groups": len(found),
        "groups_gone": sum(1 for each in found if each.low is None),
        "groups_restarted": sum(1 for each in found if each.restarted),
        "new_ranges": sum(each.new_ranges for each in found),
    }
