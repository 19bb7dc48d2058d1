"""How many bytes the blocks below a folder use, counted by every process that changes them."""

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from voyager_core.storage.errors import storage_error
from voyager_core.storage.files import locked

_LEDGER = ".usage"
BLOCK_SUFFIX = ".zz"


class Usage:
    """The count, kept in one small file under a lock.

    Files appear and disappear only while the lock is held, so that the count is right
    whatever else runs. A process that is killed between the two leaves a count that is off by
    one block until the next sweep.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ledger = root / _LEDGER

    @contextmanager
    def changing(self) -> Iterator["UsageChange"]:
        """Holds the lock; what is added to the yielded change is written at the end.

        Raises:
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        with ExitStack() as stack:
            try:
                handle = stack.enter_context(locked(self._ledger))
            except OSError as error:
                raise storage_error(error, self._root, doing="counting the blocks") from error
            before = _read(handle)
            change = UsageChange(count_blocks(self._root) if before is None else before)
            try:
                yield change
            finally:
                if change.used != before:
                    _write(handle, change.used)

    def used(self) -> int:
        """Returns the bytes in use."""
        with self.changing() as change:
            return change.used


class UsageChange:
    """The count while the lock is held.

    Attributes:
        used: bytes in use; add to it, or subtract.
    """

    def __init__(self, used: int) -> None:
        self.used = used


def count_blocks(root: Path) -> int:
    """Returns the size of all blocks below a folder."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(BLOCK_SUFFIX):
                try:
                    total += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118 - hot
                except FileNotFoundError:
                    continue
    return total


def _read(handle: int) -> int | None:
    text = os.pread(handle, 64, 0)
    match = re.fullmatch(rb"(\d{1,20})\n", text)
    return int(match[1]) if match else None


def _write(handle: int, used: int) -> None:
    # Less than nothing cannot be: it is not read again, and the blocks are counted.
    text = b"%d\n" % used
    os.pwrite(handle, text, 0)
    os.ftruncate(handle, len(text))
