"""How often services have died, so that what cannot live is not started for ever."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from voyager_core.supervisor.children import ServiceError

MOST = 5
"""Deaths of one service within `WITHIN_SECONDS` that are borne."""

WITHIN_SECONDS = 600.0
_LONGEST_PAUSE = 30.0


@dataclass(slots=True)
class Deaths:
    """The latest deaths of each service.

    Attributes:
        now: seconds of a clock that only goes forward.
        pause_seconds: how long to wait before the next start; 0 after a first death.
    """

    now: Callable[[], float] = time.monotonic
    pause_seconds: float = 0.0
    _times: dict[str, deque[float]] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether any service has ever died."""
        return bool(self._times)

    def note(self, ended: Mapping[str, str]) -> None:
        """Notes services that have ended: how, by name.

        Raises:
            ServiceError: one of them has done so too often; with its last words.
        """
        now = self.now()
        most = 0
        for name, how in ended.items():
            times = self._times.setdefault(name, deque(maxlen=MOST + 1))
            while times and times[0] < now - WITHIN_SECONDS:
                times.popleft()
            times.append(now)
            most = max(most, len(times))
            if len(times) > MOST:
                minutes = WITHIN_SECONDS / 60
                msg = f"{name} died {len(times)} times within {minutes:g} minutes, given up: {how}"
                raise ServiceError(msg)
        self.pause_seconds = 0.0 if most < 2 else min(2.0**most, _LONGEST_PAUSE)
