"""Ends the services when the process that started them is gone; a script without imports.

`python -I -S guardian.py GRACE_SECONDS`. Standard input is a pipe whose other end only the
starting process holds. It writes the session of each service, a number a line; when it ends,
however that happens, the pipe closes, and whatever still lives in those sessions is ended:
first asked, then killed. The kernel's own request to end a child with its parent is not enough:
Dagster's code server waits for its running runs then, and they are nobody's children.
"""

import os
import signal
import sys
import time

_POLL_SECONDS = 0.1


def session_members(session: int) -> set[int]:
    """Returns the living processes of a session: a service and everything that it started."""
    found = set()
    try:
        entries = os.listdir("/proc")  # noqa: PTH208 - thousands of entries, names are enough
    except OSError:
        return {session} if _exists(session) else set()
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
                text = file.read()
        except OSError:
            continue
        # After the name in brackets: state, parent, group, session.
        fields = text.rpartition(")")[2].split()
        if len(fields) > 3 and fields[0] not in "ZX" and int(fields[3]) == session:
            found.add(int(entry))
    return found


def signal_session(session: int, number: int) -> None:
    """Sends a signal to every process of a session; those that are gone do not matter."""
    for pid in session_members(session):
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def end_sessions(sessions: set[int], *, grace_seconds: float) -> None:
    """Ends every process of the sessions: SIGTERM, and SIGKILL to what is left after a while."""
    for session in sessions:
        signal_session(session, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while any(session_members(session) for session in sessions) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    for session in sessions:
        signal_session(session, signal.SIGKILL)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(arguments: list[str]) -> None:
    """Reads sessions until the pipe closes, then ends them."""
    # Ctrl-C in the terminal is the starter's affair.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sessions = {int(line) for line in sys.stdin if line.strip()}
    end_sessions(sessions, grace_seconds=float(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
