"""The `voyager` command: one module per family of commands.

A module registers its commands and their arguments; the work is done elsewhere in core,
imported only when a command runs, so that `voyager --help` answers at once.
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]

EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage.

    Ctrl-C is a line and 130 also while the commands are still being imported.
    """
    try:
        from voyager_core.cli.program import run

        return run(arguments)
    except KeyboardInterrupt:
        print("voyager: stopped", file=sys.stderr)
        return EXIT_INTERRUPTED
