"""Becomes a PostgreSQL program that dies with its parent; run as a script, it imports nothing.

`python -I -S postgres_child.py MODE SIGNAL PARENT PROGRAM [ARGUMENT…]` where MODE is

- `self`: as the current user;
- `uid:USER:GROUP`: as these numbers, by dropping root;
- `namespace`: inside a user namespace in which root is user 1000, because PostgreSQL
  refuses user 0; files stay root's, so that a data directory below a private home works.

SIGNAL is what the kernel sends when the thread that started this program ends, 0 for none.
PARENT is the process id of the starter, to notice that it died before the request was made.
A script of its own, because code between fork and exec in a process with threads may hang,
and because the request to die with the parent is lost when the user changes afterwards.
"""

import ctypes
import os
import signal
import sys

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
NAMESPACE_USER = 1000


def become(mode: str) -> None:
    """Changes the user of this process as the mode says."""
    if mode.startswith("uid:"):
        user, group = (int(part) for part in mode.split(":")[1:])
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    elif mode == "namespace":
        user, group = os.geteuid(), os.getegid()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWUSER) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"user namespaces are not available: {os.strerror(number)}")
        for name, text in (
            ("setgroups", "deny"),
            ("gid_map", f"{NAMESPACE_USER} {group} 1"),
            ("uid_map", f"{NAMESPACE_USER} {user} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(text)


def main(arguments: list[str]) -> None:
    """Does what the module says; returns only by raising."""
    mode, death_signal, parent, *command = arguments
    become(mode)
    if int(death_signal):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != int(parent):
            raise SystemExit("the starting process is gone")
    # What the starter ignores its program would ignore too: a shell's `voyager up &` ignores
    # SIGINT, and Dagster takes for SIGTERM whatever it finds for SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606 - the command comes from the launcher


if __name__ == "__main__":
    main(sys.argv[1:])
