"""Waits between attempts, so that a server in trouble is not asked by everybody at once."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackOff:
    """How long to wait before another try.

    Attributes:
        first_seconds: before the second try.
        factor: by how much each further wait grows.
        max_seconds: longest wait.
    """

    first_seconds: float = 0.5
    factor: float = 2.0
    max_seconds: float = 60.0

    def delay(self, failures: int, rng: random.Random) -> float:
        """Returns the wait after so many failures in a row, between half and all of it.

        The random part keeps many tasks from coming back at the same moment.
        """
        full = self.first_seconds * self.factor ** min(max(failures - 1, 0), 60)
        return min(full, self.max_seconds) * (0.5 + rng.random() / 2)
