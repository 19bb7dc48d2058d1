"""Ctrl-C and SIGTERM as a flag, so that stopping never tears something half done apart."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """`with Interrupts() as stopping:` sets the event at the first signal.

    From the second signal on Python's own handlers are back, so that an impatient Ctrl-C ends
    the process at once; its children then end by the kernel's hand.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> threading.Event:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self._stopping

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._restore()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping.set()
        self._restore()

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
