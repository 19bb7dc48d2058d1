"""Which sets of files under one counter go on which upload.

A set goes on the upload of which it has no number twice, which is not over, and whose progress
it continues. Where it might as well go on another, both are said to be doubtful.
"""

from bisect import bisect_left
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

PAUSE = timedelta(hours=6)
"""A longer silence inside one upload means two."""

_OPEN_SESSIONS = 8
_SWAPPED_FILES = 3
_SWAPPED_NUMBERS = 60
# A set is of the upload that it is this many times nearer to than to any other.
_CLEARLY_NEARER = 4


@dataclass(slots=True)
class _Session:
    """An upload while its sets are put together, in the order in which they began.

    Attributes:
        number: its place among the sessions of its counter.
        indexes: numbers of the counter that its files have.
        low: the lowest of them.
        sets: places of its sets.
        files: of these, once they are asked for: first article, number and last article of each.
        end: the last article number.
        until: when its last file was posted, in milliseconds; None while no file has a time.
    """

    number: int
    indexes: set[int]
    low: int
    sets: list[int]
    files: list[tuple[int, int, int]]
    end: int
    until: int | None

    def latest(self, start: int, files: pl.Series) -> tuple[int, int]:
        """Returns the file that it had begun last: its number and its last article.

        Args:
            start: an article number; which files began before it.
            files: those of every set.
        """
        if self.sets:
            for place in self.sets:
                self.files.extend(tuple(each.values()) for each in files[place])
            self.sets.clear()
            self.files.sort()
        _, number, end = self.files[max(bisect_left(self.files, (start,)) - 1, 0)]
        return number, end


def session_numbers(sets: pl.DataFrame, files: pl.Series) -> tuple[list[int], set[tuple[int, int]]]:
    """Returns the number of the session of each set; sets come sorted by counter and start.

    Beside them come the counters and sessions of which some set might as well be of the other.

    Args:
        sets: counter, its numbers, articles and times of each set.
        files: of each set the first article, number and last article of its files.
    """
    pause = PAUSE // timedelta(milliseconds=1)
    numbers: list[int] = []
    doubtful: set[tuple[int, int]] = set()
    sessions: list[_Session] = []
    counter: int | None = None
    columns = sets.select(
        *("_counter", "indexes", "low", "high", "start", "end"),
        *(pl.col(name).dt.epoch("ms") for name in ("since", "until")),
    )
    # A large group has thousands of sets under one counter: little is called in the loop.
    for place, (row, indexes, low, high, start, end, since, until) in enumerate(
        columns.iter_rows()
    ):
        if row != counter:
            counter, sessions = row, []
        going: list[_Session] = []
        for each in sessions[-_OPEN_SESSIONS:]:
            # The end of one upload and the beginning of the next look complete together; their
            # order shows that they are two. Neighbours may change places on their way.
            if not each.indexes.isdisjoint(indexes) or (
                each.end < start
                and each.low > high
                and (each.low - high > _SWAPPED_FILES or start - each.end > _SWAPPED_NUMBERS)
            ):
                continue
            if since is not None and each.until is not None and since - each.until > pause:
                continue
            going.append(each)
        if not going:
            number = len(sessions)
            sessions.append(_Session(number, set(indexes), low, [place], [], end, until))
            numbers.append(number)
            continue
        chosen = going[0]
        if len(going) > 1:
            chosen, other = _nearest(going, low, start, files)
            if other is not None:
                doubtful.update(((row, chosen.number), (row, other.number)))
        chosen.indexes.update(indexes)
        chosen.sets.append(place)
        chosen.low = min(chosen.low, low)
        chosen.end = max(chosen.end, end)
        if until is not None:
            chosen.until = until if chosen.until is None else max(chosen.until, until)
        numbers.append(chosen.number)
    return numbers, doubtful


def _nearest(
    sessions: list[_Session], low: int, start: int, files: pl.Series
) -> tuple[_Session, _Session | None]:
    """Returns the session that a set goes on, and another that it might as well.

    Of several uploads at once the one goes on whose latest file has the number before, and ended
    where the set begins.
    """
    going = []
    for place, each in enumerate(sessions):
        latest, end = each.latest(start, files)
        going.append((abs(low - latest - 1), abs(start - end), -place))
    going.sort()
    nearest, gap, place = going[0]
    as_well = (
        sessions[-other]
        for distance, away, other in going[1:]
        if distance - nearest <= 1 and away < max(gap, 1) * _CLEARLY_NEARER
    )
    return sessions[-place], next(as_well, None)
