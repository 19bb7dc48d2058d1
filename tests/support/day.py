"""A scripted day of an indexer: history, a tail, a rule that is taken back, deaths at any moment.

    day = Day(groups=40, ranges=3)
    with day.servers(folder, dsn) as it: day.run(it, seed=7)    # disturbed
    day.run(it, seed=None)                                      # undisturbed

Every worker is a process of its own. It dies by SIGKILL after a random number of commands that
the news server has answered, so nothing waits for a clock.
"""

import multiprocessing
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.support.newsserver import Group, NewsServer, Rule
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.groups import import_groups
from voyager_core.catalog.rulesets import retract_rule
from voyager_core.catalog.stored_settings import pin
from voyager_core.header_pass.settle import merge_ready_fragments

RANGE = 300
RULE = "disguised_program"
START = datetime(2025, 1, 1, tzinfo=UTC)


def lines(group: str, numbers: Sequence[int], other: str) -> list[bytes]:
    """Returns overview lines: whole files, programs in disguise, crossposts to a second group."""
    made = []
    for number in numbers:
        file, part = divmod(number - 1, 20)
        set_number, index = divmod(file, 3)
        name = f"Show.{group[-2:]}.S01E{set_number:02d}.part{index + 1}.rar"
        if set_number % 5 == 3:
            name = f"Film.{group[-2:]}.{set_number:02d}.2019.mkv.exe"
        xref = f"{group}:{number}"
        if set_number % 4 == 1:
            xref += f" {other}:{900_000 + number}"
        posted = START + timedelta(seconds=number)
        # Where a span ends depends on the moment. Each file has to say by itself what it belongs
        # to: the last files of an upload and the first of the next could be taken for a whole one.
        title = f"{name.partition('.part')[0].partition('.mkv')[0]}.720p.x264-DAY"
        made.append(
            f'{number}\t{title} [{index + 1}/3] - "{name}" yEnc ({part + 1}/20)\t'
            f"joe <joe@test.invalid>\t{posted:%a, %d %b %Y %H:%M:%S} GMT\t<{number:x}.{file:x}"
            f"@{group}.invalid>\t\t740000\t5700\tXref: news.test.invalid {xref}".encode()
        )
    return made


@dataclass
class Day:
    """The day's script.

    Attributes:
        groups: newsgroups.
        ranges: ranges of each, the last one growing during the day.
        ticks: looks of the live tail.
        kills: workers killed in the disturbed day.
    """

    groups: int = 40
    ranges: int = 3
    ticks: int = 4
    kills: int = 0
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = [f"alt.binaries.day{number:02d}" for number in range(self.groups)]

    def server(self) -> NewsServer:
        """Returns the server as it is in the morning."""
        return NewsServer([Group(name, self._until(name, self._posted(0))) for name in self.names])

    def run(self, dsn: str, folder: Path, *, seed: int | None) -> dict[str, object]:
        """Lives through the day and returns what the catalog holds in the evening.

        Args:
            dsn: an empty, migrated catalog.
            folder: spool and others.
            seed: of the moments at which workers die; None: nobody dies, the server is sound.
        """
        dice = random.Random(seed)
        self.kills = 0
        with self.server() as server:
            with connect(dsn) as conn:
                pin(conn, {"range_size": str(RANGE), "ranges_per_partition": "1"})
                import_groups(conn, self.names)
            workers = Workers(dsn, server, folder, dice if seed is not None else None)
            workers.work("plan")
            for tick in range(1, self.ticks + 1):
                if seed is not None:
                    server.rules[:] = self._faults(dice)
                workers.work("history", "fetch", "tail")
                if tick == self.ticks // 2:
                    with connect(dsn) as conn:
                        retract_rule(conn, RULE)
                for name in self.names:
                    old, new = self._posted(tick - 1), self._posted(tick)
                    for line in lines(name, range(old + 1, new + 1), self._other(name)):
                        server.groups[name].add(line)
                workers.work("tail", "recover", "history")
            server.rules.clear()
            workers.dice = None
            # The evening: everybody comes to an end.
            for what in ("tail", "history", "tail", "recover"):
                workers.work(what)
            self.kills = workers.kills
        with connect(dsn) as conn:
            merge_ready_fragments(conn, now=START + timedelta(days=9_999), patience_seconds=0)
            return result(conn)

    def _posted(self, tick: int) -> int:
        """Returns the newest number after a tick: the last range fills in the course of the day."""
        return RANGE * (self.ranges - 1) + RANGE // 2 + tick * (RANGE // 3) // self.ticks

    def _until(self, name: str, high: int) -> list[bytes]:
        return lines(name, range(1, high + 1), self._other(name))

    def _other(self, name: str) -> str:
        place = self.names.index(name)
        return self.names[(place + 1) % len(self.names)]

    @staticmethod
    def _faults(dice: random.Random) -> list[Rule]:
        kinds = [
            ("cut", 0.5),
            ("garbage", b"\x00\xff\x00"),
            ("close", None),
            ("reply", "400 later"),
        ]
        chosen = [dice.choice(kinds) for _ in range(3)]
        return [Rule("XOVER", do, value, skip=dice.randrange(30)) for do, value in chosen]


@dataclass
class Workers:
    """Processes that work for the catalog, and die when the dice say so."""

    dsn: str
    server: NewsServer
    folder: Path
    dice: random.Random | None
    kills: int = 0

    def work(self, *what: str) -> None:
        """Runs workers side by side until each has ended by itself; killed ones come again."""
        running = {kind: self._start(kind) for kind in what}
        deadly = {kind: self._moment() for kind in what}
        while running:
            for kind, process in list(running.items()):
                asked = len(self.server.log)
                moment = deadly[kind]
                process.join(0.05)
                if process.exitcode is None:
                    if moment is not None and asked >= moment:
                        process.kill()
                        process.join()
                        self.kills += 1
                        # Once each: the next one is left alone.
                        deadly[kind] = None
                        running[kind] = self._start(kind)
                    continue
                del running[kind]
                log = self.folder / f"{kind}.log"
                assert process.exitcode == 0, (kind, log.read_text()[-3000:])

    def _moment(self) -> int | None:
        if self.dice is None:
            return None
        return len(self.server.log) + self.dice.randrange(1, 40)

    def _start(self, kind: str) -> BaseProcess:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Python and its libraries are loaded once; each worker is a fork of that clean process.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.support.day_worker"])
        process = context.Process(
            target=run_worker,
            args=(kind, self.dsn, self.server.url("connections=8"), str(self.folder)),
        )
        process.start()
        return process


def run_worker(kind: str, dsn: str, url: str, folder: str) -> None:
    """Runs one worker in this process, its words in a log."""
    from tests.support.day_worker import main

    with (Path(folder) / f"{kind}.log").open("ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
        main(kind, dsn, url, folder)


def result(conn: Connection) -> dict[str, object]:
    """Returns what must be the same whatever happened during the day."""
    releases = conn.execute(
        "select n.name, r.name, r.poster, r.files, r.segments, r.size_bytes, r.posted_at"
        " from release r join newsgroup n using (newsgroup_id)"
        " order by n.name, r.name, r.release_key"
    ).fetchall()
    ledger = conn.execute(
        "select n.name, r.low, r.resume_at, r.state, r.lines, r.rejected, r.dropped"
        " from range r join newsgroup n using (newsgroup_id) order by n.name, r.low"
    ).fetchall()
    left = conn.execute("select count(*) from fragment").fetchone()
    return {
        "releases": releases,
        "ledger": ledger,
        "fragments": left,
        "findings": check_catalog(conn),
    }
