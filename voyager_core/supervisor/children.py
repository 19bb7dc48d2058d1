"""Child processes: started one after the other, watched, and stopped with everything below them.

When the parent ends in whatever way, the kernel asks each child to end (on Linux), and a
guardian ends what does not listen.
"""

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from voyager_core.catalog.postgres_programs import RunAs
from voyager_core.errors import PermanentError, VoyagerError, reason_of
from voyager_core.supervisor import guardian
from voyager_core.supervisor.guardian import session_members, signal_session

_POLL_SECONDS = 0.1
# A killed process ends at once, but on a machine that does much else nobody hears of it so soon.
_KILL_WAIT_SECONDS = 60.0
_LEAVE_SECONDS = 5.0
_TAIL_LINES = 25
_LOG_KEPT_BYTES = 16_000_000
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception)\b")
# Dagster colours its log lines in files too.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class ServiceError(PermanentError):
    """A service did not start or has died; the message ends with the end of its log."""


class StopRequestedError(VoyagerError):
    """Somebody asked to stop (Ctrl-C or SIGTERM) while something was still starting."""


@dataclass(frozen=True, slots=True)
class Service:
    """A program to run beside the others.

    Attributes:
        name: of the log file and in messages.
        command: an absolute path and arguments.
        is_ready: asked until it says yes; must return within a second or so.
        address: shown when it is ready.
        stage: stopping goes from the highest stage to the lowest, a whole stage at a time.
        timeout_seconds: how long it may take to become ready.
        grace_seconds: how long it may take to stop before it is killed.
        loses_nothing: its state is in the database, so that killing it is not worth a word.
    """

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[], bool]
    address: str = ""
    stage: int = 0
    timeout_seconds: float = 180
    grace_seconds: float = 10
    loses_nothing: bool = False


@dataclass(slots=True, eq=False)
class _Child:
    service: Service
    process: "subprocess.Popen[bytes]"
    log: Path
    log_start: int


class Children:
    """The services that this process has started.

    Args:
        environment: of every child, complete.
        log_dir: one `<name>.log` a service.
        report: takes one line for a person.
        stopping: set by somebody else to give up waiting.
        orphan_grace_seconds: after the death of this process, how long the services have to
            end before they are killed.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        log_dir: Path,
        report: Callable[[str], None],
        stopping: threading.Event,
        orphan_grace_seconds: float = 10,
    ) -> None:
        self._environment = environment
        self._log_dir = log_dir
        self._report = report
        self._stopping = stopping
        self._orphan_grace_seconds = orphan_grace_seconds
        self._running: list[_Child] = []
        self._guardian: subprocess.Popen[str] | None = None

    def start(self, service: Service, *, alone: bool = False) -> None:
        """Starts a service and waits until it is ready. Call it from the main thread.

        The kernel's request to end a child with its parent follows the thread that forked.

        Args:
            service: the service.
            alone: whether the death of another one does not matter meanwhile.

        Raises:
            ServiceError: it (or another one) ended, or it is not ready in time.
            StopRequestedError: `stopping` was set meanwhile.
        """
        self._report(f"{service.name}: starting")
        began = time.monotonic()
        child = self._spawn(service)
        watched = [child] if alone else self._running
        while not service.is_ready():
            _require_running(watched)
            if self._stopping.is_set():
                msg = f"stopped while {service.name} was starting"
                raise StopRequestedError(msg)
            if time.monotonic() - began > service.timeout_seconds:
                msg = (
                    f"{service.name} is not ready after {service.timeout_seconds:g} seconds"
                    f"{_log_end(child)}"
                )
                raise ServiceError(msg)
            self._stopping.wait(_POLL_SECONDS)
        # Something else on the same port may answer for a child that has just died.
        _require_running(watched)
        place = f" on {service.address}" if service.address else ""
        self._report(f"{service.name}: ready{place} after {time.monotonic() - began:.1f} s")

    def check(self) -> None:
        """Looks whether every service still runs.

        Raises:
            ServiceError: one has ended.
        """
        _require_running(self._running)

    def ended(self) -> dict[str, str]:
        """Returns what became of the services that have ended by themselves, by name."""
        return _ended(self._running)

    def names(self) -> set[str]:
        """Returns the names of the services that were started and not stopped."""
        return {child.service.name for child in self._running}

    def stop(self, *, from_stage: int = 0, names: Collection[str] | None = None) -> None:
        """Stops everything, the highest stage first; what is stopped already stays so.

        Args:
            from_stage: only this stage and higher ones.
            names: only these services; of those that have ended, what they left running.
        """
        stopping = [
            child
            for child in self._running
            if child.service.stage >= from_stage and (names is None or child.service.name in names)
        ]
        self._running = [child for child in self._running if child not in stopping]
        for stage in sorted({child.service.stage for child in stopping}, reverse=True):
            self._stop_stage([child for child in stopping if child.service.stage == stage])
        if not self._running:
            self._dismiss_guardian()

    def change_environment(self, environment: Mapping[str, str]) -> None:
        """Gives services that are started from now on another environment."""
        self._environment = environment

    def _spawn(self, service: Service) -> _Child:
        log = self._log_dir / f"{service.name}.log"
        self._log_dir.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > _LOG_KEPT_BYTES:
            log.replace(log.with_suffix(".log.1"))
        program, *arguments = service.command
        command = [program, *arguments]
        if sys.platform == "linux":
            command = RunAs("self").command(Path(program), *arguments, death_signal=signal.SIGTERM)
        try:
            with log.open("ab") as output:
                log_start = output.tell()
                process = subprocess.Popen(  # noqa: S603 - commands come from this package
                    command,
                    env=dict(self._environment),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    # A group of its own: Ctrl-C in the terminal reaches the parent alone.
                    start_new_session=True,
                )
        except OSError as error:
            msg = f"{service.name} cannot be run: {reason_of(error)}"
            raise ServiceError(msg) from error
        child = _Child(service, process, log, log_start)
        self._running.append(child)
        self._guard(process.pid)
        return child

    def _stop_stage(self, children: list[_Child]) -> None:
        """Ends the services and what they started: first asks, then kills."""
        for child in children:
            signal_session(child.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + max(child.service.grace_seconds for child in children)
        while time.monotonic() < deadline and any(_is_alive(child) for child in children):
            time.sleep(_POLL_SECONDS)
        for child in children:
            if _is_alive(child) and not child.service.loses_nothing:
                self._report(f"{child.service.name}: does not stop by itself, killing it")
            signal_session(child.process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(_KILL_WAIT_SECONDS)

    def _guard(self, session: int) -> None:
        """Tells the guardian, started with the first service, what to end after this process."""
        if self._guardian is None:
            self._guardian = subprocess.Popen(  # noqa: S603 - this package's own script
                [sys.executable, "-I", "-S", guardian.__file__, str(self._orphan_grace_seconds)],
                env={},
                stdin=subprocess.PIPE,
                start_new_session=True,
                text=True,
            )
        with suppress(BrokenPipeError):
            assert self._guardian.stdin is not None
            self._guardian.stdin.write(f"{session}\n")
            self._guardian.stdin.flush()

    def _dismiss_guardian(self) -> None:
        guard, self._guardian = self._guardian, None
        if guard is not None:
            # The pipe's end is its sign to leave; nothing is left for it to do.
            try:
                guard.communicate(timeout=_LEAVE_SECONDS)
            except subprocess.TimeoutExpired:
                guard.kill()
                guard.wait()


def _require_running(children: Iterable[_Child]) -> None:
    for how in _ended(children).values():
        raise ServiceError(how)


def _ended(children: Iterable[_Child]) -> dict[str, str]:
    found = {}
    for child in children:
        code = child.process.poll()
        if code is not None:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            found[child.service.name] = f"{child.service.name} {how}{_log_end(child)}"
    return found


def _is_alive(child: _Child) -> bool:
    ended = child.process.poll() is not None
    return not ended or bool(session_members(child.process.pid))


def _log_end(child: _Child) -> str:
    """Returns what a service wrote since its start, for a message: the end, and the first error."""
    try:
        with child.log.open("rb") as file:
            file.seek(child.log_start)
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.rstrip() for line in _COLOUR.sub("", text).splitlines() if line.strip()]
    if not lines:
        return f"; its log {child.log} says nothing"
    shown = lines[-_TAIL_LINES:]
    # Of a chain of exceptions the first is the reason, and far above the end.
    cause = next((line for line in lines if _EXCEPTION.match(line)), None)
    if cause is not None and cause not in shown:
        shown = [cause, "…", *shown]
    listed = "\n".join(f"  | {line}" for line in shown)
    return f"; its log {child.log} ends with:\n{listed}"
