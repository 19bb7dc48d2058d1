"""Runs as forks of a process that has loaded what every run needs.

Dagster starts a new interpreter for a run, which spends some two CPU seconds on imports. Here a
*template* (the fork server of `multiprocessing`) imports Dagster, its storage and what of
Voyager starts no threads, and each run is forked from it. The template never runs anything itself
and has one thread, so that no lock can be held while it forks; polars starts threads when it is
imported, so a run imports it after the fork.
"""

import ctypes
import os
import signal
import sys
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import ClassVar

_TEMPLATE = "voyager_assets.run_template"
_PR_SET_PDEATHSIG = 1


class RunProcess(ForkServerProcess):
    """A process of one run; it ends with the template, whose end Dagster takes for its own."""

    def run(self) -> None:
        """Runs the target."""
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() == 1:
                raise SystemExit(1)
        super().run()


class RunContext(ForkServerContext):
    """What Dagster's code server makes the processes of runs with."""

    Process: ClassVar[type[RunProcess]] = RunProcess


def run_context() -> RunContext:
    """Returns the context, with its template started."""
    context = RunContext()
    context.set_forkserver_preload([_TEMPLATE])
    forkserver.ensure_running()
    return context
