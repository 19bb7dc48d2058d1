"""Files that are whole or not there, also after a crash, and names that any file system takes."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

# Common file systems take 255 bytes; the rest is for what is put before and after a name.
_MAX_NAME = 200
_TEMPORARY = ".tmp"


def folder_name(group: str) -> str:
    """Returns the folder of a group: no separators, no leading dot, never too long.

    Different groups have different folders. Names of ordinary groups stay as they are.

    Raises:
        ValueError: the group has no name.
    """
    if not group:
        msg = "a group without a name has no folder"
        raise ValueError(msg)
    name = quote(group, safe="+_!@,=~", errors="surrogatepass")
    if name.startswith("."):
        name = "%2E" + name[1:]
    # `~` stays only behind a percent sign, which makes a shortened name unlike any whole one.
    name = name.replace("~", "%7E")
    if len(name) > _MAX_NAME:
        digest = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        name = f"{name[:100]}%~{digest}"
    return name


class TemporaryFile:
    """A file in the making, beside where it will be; locked while its writer lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = path.with_name(
            f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}{_TEMPORARY}"
        )
        self._file = self._create()

    def _create(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        try:
            file = os.open(self._temporary, flags, 0o644)
        except FileNotFoundError:
            # Somebody removed the folder because it was empty.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._temporary, flags, 0o644)
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file).st_nlink == 0:
            # A sweep took it for a leftover before it was locked.
            os.close(file)
            return self._create()
        return file

    def write(self, data: bytes, *, sync: bool) -> None:
        """Writes all bytes, and waits until the disk has them when `sync`.

        Raises:
            OSError: of the operating system.
        """
        left = memoryview(data)
        while left:
            left = left[os.write(self._file, left) :]
        if sync:
            os.fsync(self._file)

    def publish(self) -> None:
        """Puts the file in its place, over one that is there.

        Raises:
            OSError: of the operating system.
        """
        self._temporary.replace(self.path)
        self._close()

    def discard(self) -> None:
        """Removes the file when it was not published; safe to repeat."""
        if self._file >= 0:
            with suppress(OSError):
                self._temporary.unlink()
            self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def write_file(path: Path, data: bytes) -> None:
    """Writes a file atomically and durably.

    Raises:
        OSError: of the operating system; then nothing changed.
    """
    temporary = TemporaryFile(path)
    try:
        temporary.write(data, sync=True)
        temporary.publish()
    finally:
        temporary.discard()
    sync_folder(path.parent)


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yields where to write a file that appears whole when the block ends, or not at all.

    For files that can be made again: what a crash leaves is overwritten by the next writer.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Makes renames in a folder durable; a folder that is gone needs none."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> int:
    """Removes temporary files below a folder whose writers are dead.

    Returns:
        How many were removed.
    """
    removed = 0
    for path in folder.rglob(f".*{_TEMPORARY}"):
        with suppress(OSError), path.open("rb") as file:
            # The writer's lock ends with its process, however it ended.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            removed += 1
    return removed


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Holds an exclusive lock on a file, between threads and processes.

    Yields:
        The open file, for reading and writing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)
