"""Weeks of posting: how far back the newest releases that hold common words are looked for.

The index of words holds the week of every release as well, and which eight and 64 weeks that lies
in. So a search for common words asks for them in the newest weeks alone, as many as are likely to
hold all that is counted. Few keys matter: every entry of a word is compared with each of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# Fewer bounds say too little of when releases were posted.
_LEAST_BOUNDS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Weeks in a stretch that has a key of its own, the longest first, and where the keys begin.
_STRETCHES = ((64, -3 << 40), (8, -2 << 40), (1, -1 << 40))
# Clocks of posters and of this machine differ.
_SLACK = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Weeks:
    """The newest weeks that a search looks into.

    Attributes:
        keys: what the index holds of them.
        start: when they begin.
        releases: about how many releases they hold.
        is_whole: whether all that may match was posted in them, or after them.
    """

    keys: list[int]
    start: datetime
    releases: float
    is_whole: bool


def ahead_of(now: datetime) -> datetime:
    """Returns the moment after which only clocks far ahead post: no week is asked for there."""
    return now + _SLACK


def keys_of_weeks(first: int, end: int | None, last: int) -> list[int]:
    """Returns what the index of words holds of the weeks from one to another, numbered from 1970.

    Args:
        first: the first week.
        end: the week before which they end; None when they may reach beyond the last one.
        last: the last week that matters.
    """
    keys: list[int] = []
    week, stop = first, last + 1 if end is None else end
    while week < stop:
        length, below = next(
            each
            for each in _STRETCHES
            if week % each[0] == 0 and (end is None or week + each[0] <= end)
        )
        keys.append(below - week // length)
        week += length
    return keys


def newest_weeks(
    bounds: Sequence[datetime],
    releases: float,
    wanted: float,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    below: datetime | None = None,
) -> Weeks | None:
    """Returns the newest weeks that hold about so many releases; None when too little is known.

    What was posted after `ahead_of(now)` is not among them.

    Args:
        bounds: times of posting, ascending, between which equal shares of all releases lie.
        releases: how many there are.
        wanted: how many to look through.
        now: the time.
        since: only what was posted from then on.
        until: only what was posted up to then.
        below: only weeks before this one, where weeks begin that were looked into.
    """
    if len(bounds) < _LEAST_BOUNDS:
        return None
    parts = len(bounds) - 1
    upper = ahead_of(now)
    if until is not None and until < now:
        upper = until + _SLACK
    upper = upper if below is None else min(below, upper)
    top = max(0, bisect_left(bounds, upper) - 1)
    lowest = 0 if since is None else max(0, bisect_left(bounds, since) - 1)
    first = int(top - wanted / releases * parts)
    # History is stored below the oldest time that is known.
    oldest = _EPOCH if since is None else since - _SLACK
    is_whole = first <= lowest
    last, end = _week(upper), None if below is None else _week(below)
    week = _week(oldest)
    if not is_whole:
        # At least a week.
        newest = last if end is None else end - 1
        week = max(week, _rounded(min(_week(bounds[first]), newest), last))
        is_whole = week <= _week(oldest)
    keys = keys_of_weeks(min(week, last), end, last)
    start = _EPOCH + timedelta(weeks=week)
    held = (_place(bounds, upper) - max(lowest, _place(bounds, start))) / parts * releases
    return Weeks(keys, start, max(held, releases / parts), is_whole)


def _place(bounds: Sequence[datetime], moment: datetime) -> float:
    """Returns how many parts lie before a moment."""
    at = bisect_right(bounds, moment)
    if at in {0, len(bounds)}:
        return float(max(0, at - 1))
    return at - 1 + (moment - bounds[at - 1]) / (bounds[at] - bounds[at - 1])


def _week(moment: datetime) -> int:
    return max(0, (moment - _EPOCH).days) // 7


def _rounded(week: int, last: int) -> int:
    """Returns a week from which few keys reach to the last one: a fourth earlier at most."""
    length = next((each for each, _ in _STRETCHES if each * 4 <= last - week), 1)
    return week - week % length
