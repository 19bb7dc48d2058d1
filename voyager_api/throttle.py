"""Short-term limits, kept in memory: bursts of a key, wrong keys and passwords, costly work.

They hold for one process. What a key may do in a day is counted in the catalog.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from voyager_core.errors import TransientError

_MOST_NAMES: Final = 10_000


@dataclass(slots=True)
class Throttle:
    """A bucket of uses for each name, which fills again over some seconds.

    Names that were not seen for longest are forgotten beyond 10,000.

    Attributes:
        uses: in a full bucket; 0 = no limit.
        seconds: until an empty bucket is full.
    """

    uses: int
    seconds: float
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, now: float) -> float:
        """Uses one; returns 0, or the seconds until one is free when there is none.

        Args:
            name: whose bucket.
            now: seconds of any clock; when it was set back, the time until then counts as none.
        """
        return self._change(name, now, taken=1)

    def wait(self, name: str, now: float) -> float:
        """Returns the seconds until one is free, 0 when one is, without using it."""
        return self._change(name, now, taken=0)

    def give_back(self, name: str, now: float) -> None:
        """Undoes a use."""
        self._change(name, now, taken=-1)

    def _change(self, name: str, now: float, *, taken: int) -> float:
        if not self.uses:
            return 0.0
        rate = self.uses / self.seconds
        with self._lock:
            left, since = self._buckets.get(name, (float(self.uses), now))
            left = min(float(self.uses), left + max(0.0, now - since) * rate)
            if taken >= 0 and left < 1:
                wait, taken = (1 - left) / rate, 0
            else:
                wait = 0.0
            if name in self._buckets or taken > 0:
                self._buckets[name] = (min(float(self.uses), left - taken), now)
                self._buckets.move_to_end(name)
            while len(self._buckets) > _MOST_NAMES:
                self._buckets.popitem(last=False)
        return wait


class TooManyWaitError(TransientError):
    """Costly work was not begun, since enough of it waits already."""


class Turns:
    """Lets some do costly work at a time, and few wait for it: who waits holds a thread."""

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self._room = threading.BoundedSemaphore(at_once + waiting)
        self._turn = threading.BoundedSemaphore(at_once)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Holds the `with` block until it may begin.

        Raises:
            TooManyWaitError: as many wait already as may.
        """
        if not self._room.acquire(blocking=False):
            msg = "too many passwords are being looked at; try again in a few seconds"
            raise TooManyWaitError(msg)
        try:
            with self._turn:
                yield
        finally:
            self._room.release()


@dataclass(slots=True)
class Recent:
    """Names that were good lately; the oldest are forgotten beyond 10,000."""

    _names: OrderedDict[str, None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str) -> None:
        """Remembers a name."""
        with self._lock:
            self._names[name] = None
            self._names.move_to_end(name)
            while len(self._names) > _MOST_NAMES:
                self._names.popitem(last=False)

    def discard(self, name: str) -> None:
        """Forgets a name; one that is not there is fine."""
        with self._lock:
            self._names.pop(name, None)

    def __contains__(self, name: str) -> bool:
        with self._lock:
            return name in self._names
