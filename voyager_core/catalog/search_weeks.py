"""Weeks of posting: how far back the newest releases that hold common words are looked for.

The index of words holds the week of every release as well, and which eight and 64 weeks that lies
in. So a search for common words asks for them in the newest weeks alone, as many as are likely to
hold all that is counted. Few keys matter: every entry of a word is compared with each of them.
"""

from bisect import bisect_left
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
        releases: about how many releases they hold.
        is_whole: whether all that may match was posted in them.
    """

    keys: list[int]
    releases: float
    is_whole: bool


def ahead_of(now: datetime) -> datetime:
    """Returns the moment after which only clocks far ahead post: no week is asked for there."""
    return now + _SLACK


def keys_of_weeks(first: datetime, last: datetime) -> list[int]:
    """Returns what the index of words holds of the weeks from one moment to another.

    The stretches may reach beyond the last week.
    """
    week, end = (max(0, (moment - _EPOCH).days) // 7 for moment in (first, last))
    keys: list[int] = []
    while week <= end:
        length, below = next(each for each in _STRETCHES if week % each[0] == 0)
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
) -> Weeks | None:
    """Returns the newest weeks that hold about so many releases; None when most do.

    What was posted after `ahead_of(now)` is not among them.

    Args:
        bounds: times of posting, ascending, between which equal shares of all releases lie.
        releases: how many there are.
        wanted: how many to look through.
        now: the time.
        since: only what was posted from then on.
        until: only what was posted up to then.
    """
    if len(bounds) < _LEAST_BOUNDS:
        return None
    parts = len(bounds) - 1
    upper = ahead_of(now)
    if until is not None and until < now:
        upper = until + _SLACK
    top = max(0, bisect_left(bounds, upper) - 1)
    lowest = 0 if since is None else max(0, bisect_left(bounds, since) - 1)
    first = int(top - wanted / releases * parts)
    is_whole = first <= lowest
    if since is None and wanted > releases / 2:
        return None
    # History is stored below the oldest time that is known.
    oldest = _EPOCH if since is None else since - _SLACK
    start = oldest if is_whole else bounds[first]
    keys = keys_of_weeks(start, max(upper, start))
    held = (top - max(lowest, first, 0)) / parts * releases
    return Weeks(keys, max(held, releases / parts), is_whole)
