"""The scripted day with everything running: `voyager up`, and any of its processes killed.

    day = PlatformDay(groups=40, ranges=3)
    found = day.live(folder, seed=7)      # what the catalog holds in the evening

The script is that of `tests.support.day`. Here Dagster's sensors start the runs, and Postgres,
daemon, webserver, code server, API, fetcher and run workers die by SIGKILL after a random number
of commands that the news server has answered. The supervisor has to bring all of them back.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import psycopg

from tests.support.day import RULE, START, Day, lines, result
from tests.support.installation import VoyagerUp
from tests.support.newsserver import NewsServer
from voyager_core.catalog.connect import DSN_FILE, Connection, connect, embedded_dir
from voyager_core.catalog.embedded import embedded_postgres
from voyager_core.catalog.groups import import_groups
from voyager_core.catalog.rulesets import retract_rule, rules_in_force
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.recover import find_stale
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.settings import Settings

# What the command line of each process holds; a run worker is a child of the code server.
WORKER = "run worker"
VICTIMS = {
    "postgres": "bin/postgres\0-D",
    "dagster-daemon": "dagster._daemon",
    "dagster-webserver": "dagster_webserver",
    "dagster-code": "voyager_assets.code_server",
    "fetcher": "voyager_core.cli\0fetch",
    "api": "voyager_api.server",
    WORKER: WORKER,
}
# Nothing is asked of the server for so long: the moment has come without it.
_QUIET_SECONDS = 20.0
_PATIENCE_SECONDS = 900.0


@dataclass
class PlatformDay:
    """The day's script on a whole installation.

    Attributes:
        groups: newsgroups.
        ranges: ranges of each, the last one growing during the day.
        ticks: times at which new articles are posted.
        report: takes a line for whoever watches.
        deaths: how many processes are killed, spread over the ticks.
        killed: what was killed, in order.
    """

    groups: int = 40
    ranges: int = 3
    ticks: int = 4
    deaths: int = 8
    report: Callable[[str], None] = lambda _: None
    killed: list[str] = field(default_factory=list)

    def live(self, folder: Path, *, seed: int) -> dict[str, object]:
        """Lives through the day and returns what the catalog holds in the evening."""
        day = Day(groups=self.groups, ranges=self.ranges, ticks=self.ticks)
        dice = random.Random(seed)
        settings = _settings()
        with day.server() as server:
            address = {"VOYAGER_NEWS__URL": server.url("connections=8")}
            with VoyagerUp(folder, {**settings, **address}) as voyager:
                with _catalog(folder) as conn:
                    import_groups(conn, day.names)
                victims = list(islice(_deck(dice), self.deaths))
                for tick in range(1, self.ticks + 1):
                    server.rules[:] = day._faults(dice)
                    for victim in victims[tick - 1 :: self.ticks]:
                        self._kill(voyager, server, victim, dice)
                    if tick == self.ticks // 2:
                        self._asked(folder, lambda conn: retract_rule(conn, RULE))
                        self.report(f"{RULE} is retracted")
                    self._post(day, server, tick)
                server.rules.clear()
                self._evening(voyager, folder, posted=datetime.now(UTC))
                voyager.wait_until(lambda: bool(voyager.get("/healthz")), 60, "answer")
        # What still waits for numbers that nobody will post is put together at the very end.
        with (
            embedded_postgres(Settings(_env_file=None, data_dir=folder / "data")) as postgres,
            connect(postgres.dsn()) as conn,
        ):
            merge_ready_fragments(conn, now=START.replace(year=9000), patience_seconds=0)
            return result(conn)

    def _post(self, day: Day, server: NewsServer, tick: int) -> None:
        for name in day.names:
            old, new = day._posted(tick - 1), day._posted(tick)
            for line in lines(name, range(old + 1, new + 1), day._other(name)):
                server.groups[name].add(line)

    def _kill(
        self, voyager: VoyagerUp, server: NewsServer, victim: str, dice: random.Random
    ) -> None:
        moment = len(server.log) + dice.randrange(1, 60)
        quiet_until = time.monotonic() + _QUIET_SECONDS

        def ready() -> bool:
            due = len(server.log) >= moment or time.monotonic() > quiet_until
            return due and _pid(voyager, victim) is not None

        voyager.wait_until(ready, _PATIENCE_SECONDS, f"let {victim} be killed")
        pid = _pid(voyager, victim)
        if pid is None:
            return
        before = voyager.output().count(f"{victim}: ready")
        os.kill(pid, signal.SIGKILL)
        self.killed.append(victim)
        self.report(f"{victim} killed after {len(server.log)} commands")
        if victim != WORKER:
            voyager.wait_until(
                lambda: voyager.output().count(f"{victim}: ready") > before,
                _PATIENCE_SECONDS,
                f"bring {victim} back",
            )

    def _evening(self, voyager: VoyagerUp, folder: Path, *, posted: datetime) -> None:
        told: list[object] = [""]

        def through() -> bool:
            left = self._asked(folder, lambda conn: _left(conn, posted))
            if left is not None and left != told[0]:
                told[0] = left
                self.report(str(left or "all is indexed"))
            return left == ""

        voyager.wait_until(through, _PATIENCE_SECONDS * 2, "come to an end")

    @staticmethod
    def _asked(folder: Path, ask: Callable[[Connection], object]) -> object:
        """Returns an answer of the catalog; None when it cannot be asked at this moment."""
        for _ in range(50):
            try:
                with _catalog(folder) as conn:
                    return ask(conn)
            except (OSError, VoyagerError, psycopg.Error):
                time.sleep(0.2)
        return None


def _settings() -> dict[str, str]:
    return {
        "VOYAGER_CATALOG__RANGE_SIZE": "300",
        "VOYAGER_SPOOL__BLOCK_SIZE": "100",
        "VOYAGER_SPOOL__MIN_FREE_BYTES": "0",
        "VOYAGER_NEWS__TIMEOUT_SECONDS": "30",
        "VOYAGER_ALERTS__LAG_SECONDS": "0",
    }


@contextmanager
def _catalog(folder: Path) -> Iterator[Connection]:
    place = embedded_dir(Settings(_env_file=None, data_dir=folder / "data")) / DSN_FILE
    with connect(place.read_text().strip(), application_name="day") as conn:
        yield conn


def _left(conn: Connection, posted: datetime) -> str:
    """Returns what is still to be done."""
    (numbers, ranges) = conn.execute(
        "select coalesce(sum(least(r.high, n.high) - r.resume_at + 1), 0), count(*)"
        " from range r join newsgroup n using (newsgroup_id)"
        " where r.resume_at <= least(r.high, n.high)"
    ).fetchone() or (0, 0)
    (behind,) = conn.execute(
        "select count(*) from newsgroup n where n.high is null or not exists"
        " (select from range r where r.newsgroup_id = n.newsgroup_id and r.high >= n.high)"
    ).fetchone() or (0,)
    (late,) = conn.execute(
        "select count(*) from newsgroup where checked_at is null or checked_at <= %s", [posted]
    ).fetchone() or (0,)
    stale = len(find_stale(conn, rules_in_force(conn)))
    if not (numbers or behind or stale or late):
        return ""
    return (
        f"{numbers} numbers in {ranges} ranges, {behind} groups to plan,"
        f" {stale} stretches stale, {late} groups not looked at"
    )


def _deck(dice: random.Random) -> Iterator[str]:
    """Yields victims for ever: every one comes before any comes twice."""
    while True:
        deck = list(VICTIMS)
        dice.shuffle(deck)
        yield from deck


def _pid(voyager: VoyagerUp, victim: str) -> int | None:
    """Returns the process that plays a part in the installation, None when there is none now."""
    assert voyager._process is not None
    tree = _children()
    found = {pid: _command(pid) for pid in tree.get(voyager._process.pid, [])}
    if victim == WORKER:
        servers = [pid for pid, text in found.items() if VICTIMS["dagster-code"] in text]
        workers = [pid for server in servers for pid in _below(tree, server)]
        # The template of the runs comes first, and what is below it is a run.
        templates = [pid for pid in workers if "forkserver" in _command(pid)]
        return next((pid for pid in workers for top in templates if pid in tree.get(top, [])), None)
    return next((pid for pid, text in found.items() if VICTIMS[victim] in text), None)


def _below(tree: dict[int, list[int]], pid: int) -> Iterator[int]:
    for child in tree.get(pid, []):
        yield child
        yield from _below(tree, child)


def _children() -> dict[int, list[int]]:
    tree: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                tree.setdefault(int(fields[1]), []).append(int(entry.name))
    return tree


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
