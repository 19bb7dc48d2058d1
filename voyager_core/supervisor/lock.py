"""One running Voyager a data directory: a lock that says who holds it."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from voyager_core.errors import PermanentError, reason_of


class AlreadyRunningError(PermanentError):
    """Another process runs on the data directory; the message says which and where."""


class InstanceLock:
    """`with InstanceLock(data_dir) as lock:`; the kernel frees it however the process ends."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "running.json"
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        """Takes the lock.

        Raises:
            AlreadyRunningError: somebody else holds it.
            PermanentError: the folder cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+", encoding="utf-8")
        except OSError as error:
            folder = self._path.parent
            msg = f"the data directory {folder} cannot be used: {reason_of(error, folder)}"
            raise PermanentError(msg) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            msg = _who(self._path.parent, file.read())
            file.close()
            raise AlreadyRunningError(msg) from None
        self._file = file
        self.describe({})
        return self

    def describe(self, addresses: Mapping[str, str]) -> None:
        """Writes who holds the lock, and what answers where."""
        if self._file is None:
            return
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"pid": os.getpid(), "addresses": dict(addresses)}) + "\n")
        self._file.flush()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Frees the lock. The file stays: removing it would let two others lock two files."""
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
            self._file.close()
            self._file = None


def _who(data_dir: Path, text: str) -> str:
    message = f"Voyager is already running on {data_dir}"
    try:
        holder = json.loads(text)
        message += f" (process {int(holder['pid'])})"
        addresses = [f"  {name}: {url}" for name, url in holder["addresses"].items()]
    except (ValueError, KeyError, TypeError, AttributeError):
        return message
    return "\n".join([message, *addresses])
