"""A private INN2 (Debian's `inn2`) in a folder of its own, on a free loopback port.

The binaries refuse to run as root, so the server runs as the user `news` that the package
brings. It logs to syslog only; without one it dies silently, so every start is followed by a
wait for the port that reports what was tried.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

BIN = Path("/usr/lib/news/bin")
HOST = "127.0.0.1"
_FOLDERS = (
    *("etc", "db", "log", "run", "tmp", "spool/articles", "spool/overview", "spool/outgoing"),
    *("spool/incoming/bad", "spool/incoming/tmp", "spool/archive"),
)


def missing_parts() -> str | None:
    """Returns why INN2 cannot run here, or None when it can."""
    if not (BIN / "innd").exists():
        return "INN2 is not installed (Debian package inn2)"
    if os.geteuid() != 0:
        return "INN2 is started as the user news, which needs root"
    try:
        pwd.getpwnam("news")
    except KeyError:
        return "there is no user news"
    return None


def free_port() -> int:
    """Returns a loopback port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@dataclass
class Inn2:
    """One private server: `with Inn2(folder, groups) as server: … server.port`.

    Every folder above `root` must let the user `news` pass; pytest's own are 0700.
    """

    root: Path
    groups: tuple[str, ...]
    user: str = "joe"
    password: str = "secret"
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._write_files()
        self._as_news("makedbz", "-i", "-o", "-s", "100000", "-f", str(self.root / "db/history"))
        with (self.root / "log/innd.err").open("wb") as errors:
            self._process = subprocess.Popen(
                self._command("innd", "-f"),
                env=self._environment(),
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self._wait_for_port()
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        with contextlib.suppress(subprocess.SubprocessError, OSError):
            # SIGTERM is acted on late (tens of seconds); ctlinnd is the way to stop it.
            subprocess.run(
                self._command("ctlinnd", "-t", "5", "shutdown", "bye"),
                env=self._environment(),
                timeout=10,
                check=False,
                capture_output=True,
            )
        try:
            process.wait(timeout=8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "INNCONF": str(self.root / "etc/inn.conf")}

    @staticmethod
    def _command(program: str, *arguments: str) -> list[str]:
        drop = ["setpriv", "--reuid=news", "--regid=news", "--clear-groups"]
        return [*drop, str(BIN / program), *arguments]

    def _as_news(self, program: str, *arguments: str) -> None:
        subprocess.run(
            self._command(program, *arguments),
            env=self._environment(),
            check=True,
            capture_output=True,
            timeout=60,
        )

    def _wait_for_port(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), 1) as s:
                if s.recv(3) in {b"200", b"201"}:
                    return
            time.sleep(0.05)
        errors = (self.root / "log/innd.err").read_text(errors="replace")
        msg = f"innd did not open port {self.port}: {errors or 'it logs to syslog only'}"
        raise RuntimeError(msg)

    def _write_files(self) -> None:
        root = self.root
        for folder in _FOLDERS:
            (root / folder).mkdir(parents=True, exist_ok=True)
        etc, db = root / "etc", root / "db"
        (etc / "inn.conf").write_text(
            f"domain: test.invalid\npathhost: news.test.invalid\nmta: /bin/true\n"
            f"runasuser: news\nrunasgroup: news\npathnews: {root}\npathbin: {BIN}\n"
            f"bindaddress: {HOST}\nport: {self.port}\nhismethod: hisv6\novmethod: tradindexed\n"
            "maxartsize: 4000000\nlocalmaxartsize: 4000000\nartcutoff: 0\nnnrpdloadlimit: 0\n"
            "docancels: none\n"
        )
        (etc / "newsfeeds").write_text("ME:!*::\n")
        (etc / "incoming.conf").write_text("streaming: true\nmax-connections: 64\n")
        password = subprocess.run(
            ["openssl", "passwd", "-6", self.password], check=True, capture_output=True, text=True
        ).stdout.strip()
        (db / "newsusers").write_text(f"{self.user}:{password}\n")
        (etc / "readers.conf").write_text(
            f'auth "lo" {{\n  hosts: "{HOST}"\n  auth: "ckpasswd -f {db}/newsusers"\n}}\n'
            'access "lo" {\n  users: "*"\n  newsgroups: "*"\n  access: RPAN\n}\n'
        )
        (etc / "storage.conf").write_text("method tradspool {\n  newsgroups: *\n  class: 0\n}\n")
        (etc / "expire.ctl").write_text("/remember/:11\n*:A:1:never:never\n")
        (etc / "control.ctl").write_text("all:*:*:drop\n")
        names = ("control", "control.cancel", "junk")  # without control.cancel innd exits silently
        active = [f"{name} 0000000000 0000000001 n" for name in names]
        active += [f"{name} 0000000000 0000000001 y" for name in self.groups]
        (db / "active").write_text("\n".join(active) + "\n")
        for name in ("newsgroups", "active.times", "history"):
            (db / name).touch()
        news = pwd.getpwnam("news")
        for path in [root, *root.rglob("*")]:
            os.chown(path, news.pw_uid, news.pw_gid)

    def remove(self) -> None:
        """Deletes the server's folder."""
        shutil.rmtree(self.root, ignore_errors=True)
