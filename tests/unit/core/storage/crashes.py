"""Kills a writer of the spool before its n-th call to the system, for every n; a program.

    python -m tests.unit.core.storage.crashes FOLDER

Each writer is a fork of this process, which has only one thread. Prints how many were killed.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.unit.core.storage.support import data, put, span, tree
from voyager_core.storage import files
from voyager_core.storage.spool import Spool

CALLS = ("open", "write", "fsync", "close", "pwrite", "ftruncate", "mkdir")
KILLED = 9


def write_until(root: Path, calls: int) -> None:
    """Writes three blocks; ends the process after so many calls."""
    left = calls

    def dying(function: Callable) -> Callable:
        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(KILLED)
            return function(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))
    files.Path.replace = dying(files.Path.replace)
    spool = Spool(root)
    for low in (1, 101, 201):
        put(spool, low, low + 99)
    spool.release(span(1, 100))
    os._exit(0)


def check(root: Path, *, finished: bool) -> None:
    """Resumes as the next run does."""
    spool = Spool(root)
    spool.sweep()
    missing = [(each.low, each.high) for each in spool.missing(span(1, 300), 100)]
    there = 3 - len(missing)
    # In order, and each whole or not at all; the last step gives up the first block.
    inorder = [(1, 100), (101, 200), (201, 300)]
    assert missing in (inorder[there:], inorder[:1]), missing
    assert spool.bytes_used() == 1000 * there, (spool.bytes_used(), there)
    assert len([name for name in tree(root) if name != ".usage"]) == 2 * there, tree(root)
    assert missing == inorder[:1] or not finished
    for low, high in missing:
        put(spool, low, high)
    assert list(spool.blocks(span(1, 300))) == [data(1), data(101), data(201)]


def main(root: Path) -> None:
    calls = 0
    while True:
        pid = os.fork()
        if pid == 0:
            write_until(root / str(calls), calls)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in {0, KILLED}, code
        check(root / str(calls), finished=code == 0)
        if code == 0:
            break
        calls += 1
    print(calls)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
