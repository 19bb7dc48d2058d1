"""`voyager up` as a person runs it, in a folder of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.support.inn2 import HOST, free_port

_START_SECONDS = 120


@dataclass
class VoyagerUp:
    """`with VoyagerUp(folder, {"VOYAGER_NEWS__URL": …}) as voyager: voyager.get("/api?…")`."""

    root: Path
    settings: dict[str, str]
    api_port: int = field(default_factory=free_port)
    dagster_port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.root.mkdir(parents=True, exist_ok=True)
        lines = {
            "VOYAGER_DATA_DIR": str(self.root / "data"),
            "VOYAGER_API__PORT": str(self.api_port),
            "VOYAGER_DAGSTER__PORT": str(self.dagster_port),
            **self.settings,
        }
        (self.root / ".env").write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
        with (self.root / "up.txt").open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "voyager_core.cli", "up"],
                cwd=self.root,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_until(lambda: "Ctrl-C stops" in self.output(), _START_SECONDS, "be up")
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise

    def command(self, *arguments: str) -> str:
        """Runs a `voyager` command beside the running installation and returns what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "voyager_core.cli", *arguments],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"voyager {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    @property
    def url(self) -> str:
        """Where the API answers."""
        return f"http://{HOST}:{self.api_port}"

    def get(self, path: str) -> bytes:
        """Fetches a page of the API."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as reply:
            return bytes(reply.read())

    def output(self) -> str:
        """Returns what `voyager up` printed so far."""
        return (self.root / "up.txt").read_text(errors="replace")

    def logs(self) -> str:
        """Returns the ends of all logs, for a failure's message."""
        files = sorted((self.root / "data" / "logs").glob("*.log"))
        return "\n".join(f"== {file.name}\n{file.read_text()[-3000:]}" for file in files)

    def wait_until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Waits for a condition.

        Raises:
            AssertionError: it did not come, or `voyager up` ended; with the logs.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            assert self._process is not None
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                msg = f"voyager up did not {what}:\n{self.output()}\n{self.logs()}"
                raise AssertionError(msg)
            time.sleep(0.25)

    @staticmethod
    def _environment() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if "VOYAGER_" not in name}
