"""Lets the pages of one search agree while releases come in (NZ-9).

Clients ask for a list page by page, and stop or see doubles when it moves under them. So what
the first page was cut from is kept for some seconds, for the key that asked.
"""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

IDLE: Final = timedelta(seconds=60)
"""A list is forgotten when nobody asked for another page of it for this long."""

OLDEST: Final = timedelta(minutes=5)
"""And in any case after this."""

MOST_LISTS: Final = 200
"""Lists kept at most; each has at most 5,000 numbers of 8 bytes."""


@dataclass(slots=True)
class _List:
    ids: "array[int]"
    is_least: bool
    made_at: datetime
    used_at: datetime

    def is_good(self, now: datetime) -> bool:
        return now - self.used_at < IDLE and now - self.made_at < OLDEST


@dataclass(slots=True)
class Snapshots:
    """The lists that are being paged through."""

    _lists: OrderedDict[Hashable, _List] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(
        self, name: Hashable, ids: Sequence[int], now: datetime, *, is_least: bool = False
    ) -> None:
        """Keeps the numbers of all releases of a list, in its order, and if there may be more."""
        with self._lock:
            self._lists[name] = _List(array("q", ids), is_least, now, now)
            self._lists.move_to_end(name)
            while len(self._lists) > MOST_LISTS:
                self._lists.popitem(last=False)

    def forget(self, name: Hashable) -> None:
        """Drops a list; one that is not there is fine."""
        with self._lock:
            self._lists.pop(name, None)

    def correct(self, name: Hashable, ids: Sequence[int]) -> None:
        """Takes numbers out of a list that is kept; how old it is stays."""
        with self._lock:
            if (found := self._lists.get(name)) is not None:
                found.ids = array("q", ids)

    def ids(self, name: Hashable, now: datetime) -> tuple[list[int], bool] | None:
        """Returns the numbers of a list and if there may be more, None when it is gone."""
        with self._lock:
            found = self._lists.get(name)
            if found is None or not found.is_good(now):
                self._lists.pop(name, None)
                return None
            found.used_at = now
            self._lists.move_to_end(name)
            return list(found.ids), found.is_least
