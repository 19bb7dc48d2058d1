"""The `voyager` command: one module per family of commands.

A module registers its commands and their arguments; the work is done elsewhere in core,
imported only when a command runs, so that `voyager --help` answers at once.
"""

from voyager_core.cli.main import main

__all__ = ["main"]
