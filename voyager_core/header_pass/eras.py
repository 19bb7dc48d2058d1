"""When the articles of each newsgroup were posted, asked of the server at a few numbers.

Article numbers say nothing across newsgroups: number 1,000,000 is of 2009 in one and of 2024 in
another. The history goes from the oldest era on, so it needs dates. Bisecting where they lie far
apart gives them for a few commands a group; between two of them a line is drawn.
"""

import heapq
import logging
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.eras import DatedGroup, dated_groups, record_dates
from voyager_core.header_pass.marks import DateOf, GroupServer, date_near
from voyager_core.nntp.errors import GroupGone

logger = logging.getLogger(__name__)

ERA = timedelta(days=183)
"""Dates that are nearer to each other than this are near enough."""

MOST_ASKED = 300
"""Numbers that are asked for in one look; the next look goes on."""

_STEP = 100
# What no server keeps; a date before it is a broken clock's.
_NO_EARLIER = timedelta(days=365 * 25)
# Some groups' dates are far apart however near the numbers are: a group nearly without articles.
_LEAST_NUMBERS = 10_000


@dataclass(order=True, slots=True)
class _Gap:
    """A number to ask for, and the last that may answer for it; the widest gap comes first."""

    rank: tuple[float, int, int]
    number: int
    last: int


def date_groups(
    conn: Connection,
    server: GroupServer,
    *,
    now: datetime,
    date_of: DateOf,
    most: int = MOST_ASKED,
) -> int:
    """Asks for dates where they are needed most; returns how many numbers were asked for.

    First the oldest wanted article of each group, then the middle of the widest gap in time of
    any, until all are narrower than an era.

    Args:
        conn: the catalog.
        server: the news server.
        now: the time; the newest article of a group is taken for that new.
        date_of: reads the posting time of a block.
        most: numbers to ask for.

    Raises:
        NewsError: the server cannot be asked; what it told is kept.
        CatalogUnavailable: the database does not answer.
    """
    known = {each.newsgroup_id: _Known(each, now) for each in dated_groups(conn)}
    gone: set[int] = set()
    asked = 0
    heap = [gap for each in known.values() for gap in each.gaps()]
    heapq.heapify(heap)
    while heap and asked < most:
        gap = heapq.heappop(heap)
        each = known[gap.rank[2]]
        if each.group.newsgroup_id in gone:
            continue
        asked += 1
        try:
            place = (each.group.group, gap.number, gap.last)
            posted = date_near(server, place, date_of, step=_STEP)
        except GroupGone:
            gone.add(each.group.newsgroup_id)
            continue
        # Where nothing has a date up to the next known one, it is as late as that.
        moment = each.add(gap.number, posted)
        record_dates(conn, [(each.group.newsgroup_id, gap.number, moment)])
        for new in each.around(gap.number):
            heapq.heappush(heap, new)
    if asked:
        logger.info("asked for %d dates of %d newsgroups", asked, len(known))
    return asked


class _Known:
    """The dates of one group, kept in order: a later number is never older."""

    def __init__(self, group: DatedGroup, now: datetime) -> None:
        self.group = group
        self._now = now
        below = [(number, at) for number, at in group.dates if number < group.high]
        self._numbers = [*(number for number, _ in below), group.high]
        self._times = [*(min(at, now) for _, at in below), now]

    def gaps(self) -> Iterator[_Gap]:
        """Yields what is not known well enough, the beginning included."""
        first = self.group.first
        if self._numbers[0] > first:
            # Before everything else: without it nothing can be said of the group.
            rank = (float("-inf"), 0, self.group.newsgroup_id)
            yield _Gap(rank, first, self._numbers[0] - 1)
            return
        for low in self._numbers[:-1]:
            yield from self._gap_after(low)

    def around(self, number: int) -> Iterator[_Gap]:
        """Yields the gaps that a new date has made."""
        place = bisect_left(self._numbers, number)
        if place > 0:
            yield from self._gap_after(self._numbers[place - 1])
        yield from self._gap_after(number)

    def add(self, number: int, posted: datetime | None) -> datetime:
        """Adds a date between its neighbours and returns it."""
        place = bisect_left(self._numbers, number)
        latest = self._times[place] if place < len(self._times) else self._now
        earliest = self._times[place - 1] if place > 0 else self._now - _NO_EARLIER
        moment = min(max(posted or latest, earliest), latest)
        self._numbers.insert(place, number)
        self._times.insert(place, moment)
        return moment

    def _gap_after(self, low: int) -> Iterator[_Gap]:
        place = bisect_left(self._numbers, low)
        if place + 1 >= len(self._numbers):
            return
        high = self._numbers[place + 1]
        apart = self._times[place + 1] - self._times[place]
        wanted = high > self.group.first
        if wanted and apart > ERA and high - low > max(_LEAST_NUMBERS, 2 * _STEP):
            rank = (-apart.total_seconds(), low, self.group.newsgroup_id)
            yield _Gap(rank, (low + high) // 2, high - 1)
