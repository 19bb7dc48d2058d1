"""The files of the embedded server: its data directory, and the notes beside it."""

import os
import secrets
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from voyager_core.catalog.errors import EmbeddedError
from voyager_core.catalog.postgres_programs import Programs, RunAs
from voyager_core.errors import reason_of

USER = "voyager"
PASSWORD_FILE = "password"  # noqa: S105 - the name of a file
_INITDB_SECONDS = 300


def create_cluster(cluster: Path, programs: Programs, run_as: RunAs, *, sync: bool) -> None:
    """Makes a data directory, whole or not at all, and writes its password beside it.

    Args:
        cluster: the data directory; empty or absent.
        programs: the version to make it with.
        run_as: whom it shall belong to.
        sync: whether to wait until the disk has it.

    Raises:
        EmbeddedError: initdb fails.
        OSError: the folder cannot be written.
    """
    password = secrets.token_urlsafe(24)
    write_private(cluster.with_name(PASSWORD_FILE), password + "\n")
    new, password_file = cluster.with_name("cluster.new"), cluster.with_name("initdb.password")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    write_private(password_file, password)
    if os.geteuid() == 0:
        os.chown(new, *run_as.owner)
        os.chown(password_file, *run_as.owner)
    arguments = [
        f"--pgdata={new}",
        f"--username={USER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8" if programs.major < 17 else "--locale=C",
        "--no-instructions",
    ]
    if programs.major >= 17:
        # The same order of text on every machine, whatever its C library.
        arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if not sync:
        arguments.append("--no-sync")
    try:
        done = subprocess.run(  # noqa: S603 - the program was found by the launcher
            run_as.command(programs.initdb, *arguments, death_signal=signal.SIGKILL),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_INITDB_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        msg = f"initdb did not end within {_INITDB_SECONDS} seconds"
        raise EmbeddedError(msg) from error
    finally:
        password_file.unlink(missing_ok=True)
    if done.returncode != 0:
        msg = f"initdb failed in {cluster.parent}:\n{(done.stderr or done.stdout).strip()[-800:]}"
        raise EmbeddedError(msg)
    with suppress(FileNotFoundError):
        cluster.rmdir()
    new.rename(cluster)


def major_of(cluster: Path) -> int | None:
    """Returns the version that made a data directory, None when there is none yet.

    Raises:
        EmbeddedError: the folder holds something else.
        OSError: the folder cannot be read.
    """
    version_file = cluster / "PG_VERSION"
    if not version_file.exists():
        if cluster.exists() and any(cluster.iterdir()):
            msg = f"{cluster} holds something that is no PostgreSQL data directory"
            raise EmbeddedError(msg)
        return None
    try:
        return int(version_file.read_text(encoding="utf-8"))
    except ValueError as error:
        msg = f"{version_file} names no version: {reason_of(error)}"
        raise EmbeddedError(msg) from error


def processes_in(cluster: Path) -> set[int]:
    """Returns the living `postgres` processes whose working directory is the data directory."""
    try:
        place = cluster.stat()
    except FileNotFoundError:
        return set()
    found: set[int] = set()
    for entry in os.listdir("/proc"):  # noqa: PTH208 - a hot loop over thousands of processes
        if not entry.isdigit():
            continue
        try:
            program = os.readlink(f"/proc/{entry}/exe")  # noqa: PTH115 - it may be deleted
            # The exe link of an upgraded program ends in " (deleted)".
            if not os.path.basename(program).startswith("postgres"):  # noqa: PTH119
                continue
            there = os.stat(f"/proc/{entry}/cwd")  # noqa: PTH116 - a link of the kernel's own
            state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        if (there.st_dev, there.st_ino) == (place.st_dev, place.st_ino) and state not in "ZX":
            found.add(int(entry))
    return found


def give(folder: Path, owner: tuple[int, int]) -> None:
    """Makes a tree belong to a user, after it was copied or the user changed.

    Raises:
        OSError: it cannot be given away.
    """
    status = folder.stat()
    if (status.st_uid, status.st_gid) == owner:
        return
    for root, folders, files in os.walk(folder):
        for name in ("", *folders, *files):
            os.chown(Path(root, name), *owner, follow_symlinks=False)


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
