"""What planning asks a news server: water marks, and where articles of a date begin."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from voyager_core.nntp.errors import GroupGone
from voyager_core.nntp.overview import GroupMarks, OverviewBlock

logger = logging.getLogger(__name__)

# A command line of NNTP has at most 512 octets; so many groups are asked for by name.
MOST_PATTERN_OCTETS = 400
MOST_PATTERNS = 8

# Numbers in one look for a date; beyond it a hole is jumped over, since what ends it may be dense.
_WIDEST_LOOK = 6_400

DateOf = Callable[[OverviewBlock], datetime | None]


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


def first_number_since(
    server: GroupServer,
    mark: GroupMarks,
    since: datetime,
    date_of: DateOf,
    *,
    step: int = 100,
) -> int:
    """Returns an article number at which articles as new as `since` begin, by bisection.

    Article numbers follow arrival, not posting, so the place is near, not exact.

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
        posted = date_near(server, (mark.name, middle, high), date_of, step=step)
        if posted is None or posted >= since:
            high = middle
        else:
            low = middle + 1
    return low


def date_near(
    server: GroupServer,
    place: tuple[str, int, int],
    date_of: DateOf,
    *,
    step: int,
) -> datetime | None:
    """Returns when the first dated article at or after a number was posted, None without one.

    Looks grow up to some thousand numbers. A wider hole is jumped over, further each time, and
    its end is found by bisection; single articles inside it may go unseen.

    Args:
        server: the news server.
        place: newsgroup, number, and the last number to look at.
        date_of: reads the posting time of a block.
        step: article numbers in the first look; each further one is twice as wide.

    Raises:
        NewsError: the server cannot be asked.
    """
    group, first, high = place

    def look(low: int, width: int) -> datetime | None:
        return date_of(server.overview(group, low, min(low + width - 1, high)))

    while step < _WIDEST_LOOK:
        if first > high:
            return None
        if posted := look(first, step):
            return posted
        first += step
        step *= 2
    return _date_beyond(look, first, high)


def _date_beyond(
    look: Callable[[int, int], datetime | None], first: int, high: int
) -> datetime | None:
    """Returns the first date from a number on, where none was near before it."""
    number, jump, posted = first, _WIDEST_LOOK, None
    while number <= high and not (posted := look(number, _WIDEST_LOOK)):
        first = number + _WIDEST_LOOK
        # The newest articles are looked at whatever the jump.
        number = max(first, min(number + jump, high - _WIDEST_LOOK + 1))
        jump *= 2
    while posted and first < number:
        middle = max(first, (first + number - _WIDEST_LOOK) // 2)
        if nearer := look(middle, min(_WIDEST_LOOK, number - middle)):
            number, posted = middle, nearer
        else:
            first = middle + _WIDEST_LOOK
    return posted


def _hierarchy(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[:2]) + ".*" if len(parts) > 2 else name
