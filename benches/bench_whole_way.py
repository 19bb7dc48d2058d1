"""CPU of the whole way: news server, spool, header pass, Postgres, driven by Dagster.

    python benches/bench_whole_way.py [--mix boneless] [--ranges 20] [--lines 2000000] [--json]

A child process serves made-up overview blocks at next to no cost. Everything else is what
`voyager up` runs: Postgres, Dagster's code server, webserver and daemon, the API, the fetcher, and
one worker process a run. From the moment when a newsgroup is added until its last range is done the
CPU of each kind of process is summed, and compared with inflating the same blocks alone (I).

Blocks lie in a file (72 bytes a line), so that whole ranges need no memory; `--keep FOLDER` makes
them once for several measurements.
"""

import argparse
import asyncio
import contextlib
import json
import mmap
import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

import voyager_native
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.ranges import ranges_of
from voyager_core.demo.state import DemoState, choose_ports
from voyager_core.settings import Settings
from voyager_core.supervisor.environment import with_changes
from voyager_core.supervisor.installation import Installation

BLOCK = 50_000
_SEARCHED = 1000
"""Article numbers that are asked for at a time where a date is looked for, at most."""
PATIENCE_SECONDS = 600
"""Without any range done for this long the bench gives up."""
TICK = os.sysconf("SC_CLK_TCK")
KINDS = (
    ("postgres", "postgres"),
    ("dagster_webserver", "webserver"),
    ("dagster._daemon", "daemon"),
    ("voyager_api", "api"),
    ("voyager_core.cli fetch", "fetcher"),
    ("voyager_assets.code_server", "code server"),
    ("-m dagster api", "code server"),
)
RUN_WORKER = "run worker"


@dataclass(frozen=True, slots=True)
class Served:
    """The news server.

    Attributes:
        group: the newsgroup that it has.
        port: where it listens.
        high: its last article number.
        process: its number.
        firsts: first article numbers of its blocks.
    """

    group: str
    port: int
    high: int
    process: int
    firsts: frozenset[int]


class Blocks(Mapping[int, bytes]):
    """Compressed blocks in a file, by first article number."""

    def __init__(self, folder: Path) -> None:
        made = json.loads((folder / "blocks.json").read_text())
        self.group: str = made["group"]
        self.high: int = made["high"]
        self._places: dict[int, tuple[int, int]] = {
            low: (offset, size) for low, offset, size in made["blocks"]
        }
        with (folder / "blocks").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __getitem__(self, low: int) -> bytes:
        """Returns a block."""
        offset, size = self._places[low]
        return self._bytes[offset : offset + size]

    def __iter__(self) -> Iterator[int]:
        """Yields first numbers in order."""
        return iter(self._places)

    def __len__(self) -> int:
        """Returns how many blocks there are."""
        return len(self._places)


def main() -> int:
    """Runs the bench and prints its report."""
    options = _options()
    # An installed package has its bytecode, which a checkout does not where this is set.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(options.keep or folder, f"{options.mix}-{options.ranges}-{options.lines}")
        if not (kept / "blocks.json").exists():
            _say("making blocks")
            _in_a_process(make_blocks, kept, options.mix, options.ranges, options.lines)
        blocks = Blocks(kept)
        unit = inflate_seconds(blocks)
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(
            target=serve, args=(theirs, kept), daemon=True
        )
        server.start()
        port = ours.recv()
        served = Served(blocks.group, port, blocks.high, server.pid or 0, frozenset(blocks))
        spent = index(Path(folder), served, options)
        ours.send(None)
        server.join(5)
    report(options, unit, spent)
    return 0


def inflate_seconds(blocks: Blocks) -> float:
    """Returns the CPU of inflating all blocks, of each the least of three times."""
    return (
        sum(sum(voyager_native.inflate_ns([block], repeats=3)) for block in blocks.values()) / 1e9
    )


def _in_a_process(function: Callable[..., None], *arguments: object) -> None:
    """Runs a function in a process of its own, which takes its memory along when it ends."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mix", default="boneless", choices=("boneless", "ath", "modern", "classic")
    )
    parser.add_argument("--ranges", type=int, default=20)
    parser.add_argument("--lines", type=int, default=2_000_000, help="article numbers of a range")
    parser.add_argument("--per-partition", type=int, default=64, help="ranges of one stretch")
    parser.add_argument("--keep", help="folder where blocks are made once and stay")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def make_blocks(folder: Path, mix: str, ranges: int, lines: int) -> None:
    """Writes blocks that begin and end where the header pass asks for them."""
    size = min(BLOCK, lines)
    overview = voyager_native.synthesize_overview(mix, ranges * lines, block_lines=size)
    folder.mkdir(parents=True, exist_ok=True)
    places: list[tuple[int, int, int]] = []
    high = 0
    with (folder / "blocks").open("wb") as file:
        for low, text in _aligned(overview.blocks, size):
            high = _last_number(text)
            packed = zlib.compress(text, 6)
            places.append((low, file.tell(), len(packed)))
            file.write(packed)
    made = {"group": overview.group, "high": high, "blocks": places}
    (folder / "blocks.json").write_text(json.dumps(made))


def _aligned(blocks: Iterable[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """Yields first number and text of each aligned block; lines come in the order of numbers."""
    low, text = 0, b""
    for block in blocks:
        text += voyager_native.inflate(block)
        low = low or (_number(text, 0) - 1) // size * size + 1
        while _last_number(text) >= low + size:
            end = _end_of(text, low + size - 1)
            if end:
                yield low, text[:end]
            low, text = low + size, text[end:]
    yield low, text


def _end_of(text: bytes, high: int) -> int:
    """Returns where the lines of a text up to a number end."""
    begin, end = 0, len(text)
    while begin < end:
        middle = (begin + end) // 2
        line = text.rfind(b"\n", 0, middle) + 1
        if _number(text, line) <= high:
            begin = text.index(b"\n", middle) + 1
        else:
            end = line
    return begin


def _number(text: bytes, line: int) -> int:
    return int(text[line : text.index(b"\t", line)])


def _last_number(text: bytes) -> int:
    return _number(text, text.rfind(b"\n", 0, len(text) - 1) + 1)


def serve(pipe: multiprocessing.connection.Connection, folder: Path) -> None:
    """Serves blocks by their first number until told to stop."""
    blocks = Blocks(folder)
    fixed = _fixed_replies(blocks.group, min(blocks), blocks.high)

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"200 ready\r\n")
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                verb, _, argument = line.strip().partition(b" ")
                if verb.upper() in (b"XOVER", b"OVER"):
                    writer.write(_overview(blocks, argument))
                else:
                    writer.write(fixed.get(verb.upper(), b"500 what?\r\n"))
                await writer.drain()
        writer.close()

    async def run() -> None:
        listening = await asyncio.start_server(client, "127.0.0.1", 0)
        pipe.send(listening.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)

    asyncio.run(run())


def _fixed_replies(group: str, low: int, high: int) -> dict[bytes, bytes]:
    name = group.encode()
    return {
        b"CAPABILITIES": b"101 list\r\nVERSION 2\r\nREADER\r\nLIST ACTIVE\r\n.\r\n",
        b"XFEATURE": b"290 enabled\r\n",
        b"GROUP": b"211 %d %d %d %s\r\n" % (high - low + 1, low, high, name),
        b"LIST": b"215 list\r\n%s %d %d y\r\n.\r\n" % (name, high, low),
        b"DATE": b"111 " + time.strftime("%Y%m%d%H%M%S", time.gmtime()).encode() + b"\r\n",
        b"MODE": b"200 ready\r\n",
        b"QUIT": b"205 bye\r\n",
    }


def _overview(blocks: Blocks, argument: bytes) -> bytes:
    first, _, end = argument.partition(b"-")
    start, stop = int(first), int(end or first)
    status = b"224 overview [COMPRESS=GZIP]\r\n"
    if start in blocks and stop - start >= _SEARCHED:
        return status + blocks[start] + b".\r\n"
    # A few lines are asked for when history is planned by date.
    wanted = [
        line
        for low, packed in blocks.items()
        if low <= stop and start < low + BLOCK
        for line in voyager_native.inflate(packed).splitlines(keepends=True)
        if start <= int(line[: line.index(b"\t")]) <= stop
    ]
    if not wanted:
        return b"423 none there\r\n"
    return status + zlib.compress(b"".join(wanted), 1) + b".\r\n"


def index(folder: Path, served: Served, options: argparse.Namespace) -> dict[str, float]:
    """Indexes everything and returns the CPU seconds of each kind of process."""
    group = served.group
    settings = with_changes(
        Settings(_env_file=None, data_dir=folder),
        {
            "news": {"url": SecretStr(f"nntp://127.0.0.1:{served.port}?connections=4")},
            "catalog": {
                "range_size": options.lines,
                "ranges_per_partition": options.per_partition,
            },
            "spool": {"block_size": min(BLOCK, options.lines), "min_free_bytes": 0},
        },
    )
    state = choose_ports(DemoState(), settings)
    settings = with_changes(
        settings, {"api": {"port": state.api_port}, "dagster": {"port": state.dagster_port}}
    )
    meter = Meter(ignored={served.process})
    with Installation(settings, _say, threading.Event()) as running:
        dsn = running.start_database()
        running.start_services(fetcher=True)
        meter.start()
        with connect(dsn) as conn:
            add_group(conn, group)
            _wait(running, conn, served, len({(low - 1) // options.lines for low in served.firsts}))
        return meter.stop()


def _wait(running: Installation, conn: Connection, served: Served, ranges: int) -> None:
    done, moved = 0, time.monotonic()
    while done < ranges:
        running.keep_running()
        # The last range goes on beyond what there is.
        now = sum(
            row.resume_at > min(row.high, served.high) for row in ranges_of(conn, served.group)
        )
        if now != done:
            done, moved = now, time.monotonic()
            _say(f"{done} of {ranges} ranges")
        if time.monotonic() - moved > PATIENCE_SECONDS:
            raise SystemExit(f"nothing moves: {done} of {ranges} ranges are done")
        time.sleep(0.5)


class Meter:
    """Sums the CPU of all descendants by kind, looking at them several times a second."""

    def __init__(self, *, ignored: set[int]) -> None:
        self._ignored = ignored
        self._seen: dict[tuple[int, str], tuple[str, float]] = {}
        self._before: dict[tuple[int, str], float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins; what was used before does not count."""
        self._look()
        self._before = {key: spent for key, (_, spent) in self._seen.items()}
        self._thread.start()

    def stop(self) -> dict[str, float]:
        """Returns the CPU seconds by kind of process."""
        self._ended.set()
        self._thread.join()
        self._look()
        spent: dict[str, float] = defaultdict(float)
        for key, (kind, seconds) in self._seen.items():
            spent[kind] += seconds - self._before.get(key, 0.0)
        return dict(spent)

    def _run(self) -> None:
        while not self._ended.wait(0.1):
            self._look()

    def _look(self) -> None:
        table: dict[int, tuple[int, str, float, str]] = {}
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                command = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode()
                cpu = (int(fields[11]) + int(fields[12])) / TICK
                table[int(entry.name)] = (int(fields[1]), command, cpu, fields[19])
        for pid, (_, _, cpu, began) in table.items():
            kind = self._kind(pid, table)
            if kind is not None:
                # A process that execs changes its name; the last one is right.
                self._seen[pid, began] = (kind, cpu)

    def _kind(self, pid: int, table: dict[int, tuple[int, str, float, str]]) -> str | None:
        """Returns what a process is; None for one that is not of this bench."""
        line: list[int] = []
        at = pid
        while at in table and at != os.getpid() and len(line) < 50:
            line.append(at)
            at = table[at][0]
        if not line or at != os.getpid() or self._ignored & set(line):
            return None
        kinds = [
            next((kind for word, kind in KINDS if word in table[each][1]), "") for each in line
        ]
        if kinds[0] != "code server" and "code server" in kinds:
            return RUN_WORKER
        if kinds[0] == "code server" and "code server" in kinds[1:]:
            return RUN_WORKER
        return next((kind for kind in kinds if kind), "other")


def report(options: argparse.Namespace, unit: float, spent: dict[str, float]) -> None:
    """Prints what was found."""
    total = sum(spent.values())
    shares = dict(sorted(spent.items(), key=lambda item: -item[1]))
    if options.json:
        fields = {
            "mix": options.mix,
            "ranges": options.ranges,
            "lines": options.ranges * options.lines,
            "inflate_cpu_s": round(unit, 3),
            "total_cpu_s": round(total, 3),
            "ratio": round(total / unit, 3),
            "shares": {kind: round(seconds / unit, 3) for kind, seconds in shares.items()},
        }
        print(json.dumps(fields))
        return
    print(
        f"{options.mix}: {options.ranges} ranges of {options.lines} numbers; "
        f"I = {unit:.2f} s CPU; all processes {total:.2f} s = {total / unit:.2f} I"
    )
    for kind, seconds in shares.items():
        print(f"  {kind:12} {seconds:7.2f} s  {seconds / unit:5.2f} I  {seconds / total:5.1%}")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
