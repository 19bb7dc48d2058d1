"""A private NZBGet that downloads from a loopback news server."""

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.support.inn2 import HOST, free_port


def missing_parts() -> str | None:
    """Returns why NZBGet cannot run here, or None when it can."""
    if shutil.which("nzbget") is None:
        return "NZBGet is not installed (Debian package nzbget)"
    if shutil.which("7zz") is None:
        return "7-Zip is not installed (Debian package 7zip)"
    return None


@dataclass
class Nzbget:
    """`with Nzbget(folder, news_port=…) as client: client.fetch_url(…)`."""

    root: Path
    news_port: int
    user: str = "joe"
    password: str = "secret"
    port: int = field(default_factory=free_port)
    feed_url: str | None = None
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.root.mkdir(parents=True, exist_ok=True)
        options = {
            "MainDir": self.root,
            "DestDir": self.root / "done",
            "InterDir": self.root / "inter",
            "NzbDir": self.root / "nzb",
            "QueueDir": self.root / "queue",
            "TempDir": self.root / "tmp",
            "ScriptDir": self.root / "scripts",
            "WebDir": "/usr/share/nzbget/webui",
            "LockFile": self.root / "lock",
            "LogFile": self.root / "log.txt",
            "Server1.Active": "yes",
            "Server1.Level": 0,
            "Server1.Host": HOST,
            "Server1.Port": self.news_port,
            "Server1.Username": self.user,
            "Server1.Password": self.password,
            "Server1.Encryption": "no",
            "Server1.Connections": 4,
            "ControlIP": HOST,
            "ControlPort": self.port,
            "ControlUsername": "u",
            "ControlPassword": "p",
            "OutputMode": "log",
            "DaemonUsername": "",
            "ParCheck": "auto",
            "Unpack": "no",
            "SevenZipCmd": shutil.which("7zz"),
            "CertCheck": "no",
            "NzbDirInterval": 1,
            "DiskSpace": 0,
            "HealthCheck": "none",
        }
        if self.feed_url is not None:
            options |= {
                "Feed1.Name": "voyager",
                "Feed1.URL": self.feed_url,
                "Feed1.Interval": 1,
                "Feed1.Backlog": "no",
            }
        config = self.root / "nzbget.conf"
        config.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
        with (self.root / "out.txt").open("wb") as output:
            self._process = subprocess.Popen(
                ["nzbget", "-c", str(config), "-s", "-o", "OutputMode=log"],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        self._wait_until(lambda: self.call("version") is not None, 20, "answer on its control port")
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(OSError):
            self.call("shutdown")
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def call(self, method: str, *params: object) -> Any:
        """Calls a JSON-RPC method and returns its result, or None while nothing answers."""
        token = base64.b64encode(b"u:p").decode()
        request = urllib.request.Request(
            f"http://{HOST}:{self.port}/jsonrpc",
            data=json.dumps({"method": method, "params": list(params)}).encode(),
            headers={"Authorization": f"Basic {token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return json.load(reply)["result"]
        except (TimeoutError, ConnectionError, urllib.error.URLError):
            return None

    def fetch_url(self, url: str, *, name: str = "") -> None:
        """Queues an NZB by its URL, as a person or a program would."""
        result = self.call("append", name, url, "", 0, False, False, "", 0, "SCORE", [])
        assert result, f"NZBGet did not take {url}"

    def wait_for_history(self, count: int = 1, timeout_seconds: float = 60) -> list[dict[str, Any]]:
        """Returns the finished downloads once there are at least `count`."""
        self._wait_until(
            lambda: len(self.call("history", False) or []) >= count,
            timeout_seconds,
            f"finish {count} download(s)",
        )
        return list(self.call("history", False))

    def log(self) -> str:
        """Returns what NZBGet wrote."""
        return (self.root / "out.txt").read_text(errors="replace")

    def _wait_until(self, condition: Any, timeout_seconds: float, what: str) -> None:
        deadline = time.monotonic() + timeout_seconds
        while not condition():
            assert self._process is not None
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                msg = f"NZBGet did not {what}:\n{self.log()[-3000:]}"
                raise AssertionError(msg)
            time.sleep(0.1)
