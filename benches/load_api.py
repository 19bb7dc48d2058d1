"""One API process under wrk, with mixed searches on a large catalog, while spans are stored.

    python benches/load_api.py [--releases 1000000] [--seconds 60] [--connections 16]
                               [--folder DIR] [--json]

Needs wrk (Debian package wrk). First one connection alone, then many while the header pass parses,
builds and stores spans one after another in a process of its own. Fails when an answer is no 200,
when a socket fails, when the 99th percentile is more than ten times that of one connection, or
when the API takes more connections of Postgres than its pool may.
"""

import argparse
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.bench_search import queries
from benches.made_catalog import NOW, fill
from voyager_core.catalog.connect import connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.keys import create_key
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import Versions, plan, ranges_of
from voyager_core.catalog.search import SearchQuery
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span

HOST = "127.0.0.1"
SPAN = 20_000
WRITER_GROUP = "alt.binaries.load"
WORSE_BY_AT_MOST = 10
_SCRIPT = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = line end
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("RESULT %%d %%d %%d %%d %%d %%d %%d %%d %%d\\n", summary.requests,
    summary.duration, e.connect, e.read, e.write, e.status, e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


def paths(key: str, found: dict[str, list[SearchQuery]]) -> list[str]:
    """Returns addresses of searches as clients send them, with some of everything else."""
    made = []
    for some in found.values():
        for query in some:
            parameters: dict[str, object] = {"t": "tvsearch" if query.season else "search"}
            parameters |= {"q": query.text, "cat": ",".join(map(str, query.categories))}
            parameters |= {"season": query.season, "ep": query.episode, "offset": query.offset}
            parameters |= {"maxage": query.max_age, "minsize": query.min_size}
            wanted = {name: value for name, value in parameters.items() if value}
            made.append(f"/api?{urlencode(wanted | {'apikey': key})}")
    made += ["/api?t=caps", f"/rss?t=5000&dl=1&r={key}", f"/api/v1/releases?q=german&apikey={key}"]
    # Neighbours are of different kinds.
    return [made[at * 67 % len(made)] for at in range(len(made))]


def write_spans(dsn: str, stop: Any, stored: Any) -> None:
    """Parses, builds and stores spans of made-up uploads until it is told to stop."""
    versions, total, first = Versions(1, 1, 1), 0, int(time.time()) * 1000
    with connect(dsn) as conn:
        group = add_group(conn, WRITER_GROUP)
        while not stop.is_set():
            span = Span(WRITER_GROUP, first, first + SPAN - 1)
            plan(conn, group.newsgroup_id, [span])
            (row,) = (one for one in ranges_of(conn, WRITER_GROUP) if one.low == first)
            block = "\r\n".join(_lines(first)).encode() + b"\r\n"
            parsed = parse_span(span, [block], groups={WRITER_GROUP: 1}, now=NOW)
            built = build_span(parsed, RuleSet(), now=NOW)
            store_span(conn, span, built, range_id=row.range_id, read_lines=SPAN, versions=versions)
            total += built.releases.height
            first += SPAN
    stored.put(total)


def _lines(first: int) -> Iterator[str]:
    """Yields overview lines: uploads of ten files with ten articles each."""
    date = format_datetime(NOW - timedelta(hours=1))
    for number in range(first, first + SPAN):
        upload, rest = divmod(number, 100)
        file, part = divmod(rest, 10)
        name = f"Load.Show.{upload}.S01E{upload % 90 + 1:02}.1080p.WEB.x264-GRP.part{file:02}.rar"
        yield (
            f'{number}\t[{file + 1}/10] - "{name}" yEnc ({part + 1}/10)\tp{upload} <a@b.example>'
            f"\t{date}\t<{number}@load.example>\t\t740000\t5700\tXref: x {WRITER_GROUP}:{number}"
        )


@contextmanager
def api(dsn: str, pool: int) -> Iterator[tuple[int, int]]:
    """Runs the API as its own process; yields its port and process number."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if "VOYAGER_" not in name}
    settings = {
        "VOYAGER_DATABASE_URL": dsn,
        "VOYAGER_API__PORT": str(port),
        "VOYAGER_API__WORKERS_POOL_SIZE": str(pool),
        "VOYAGER_ENV_FILE": os.devnull,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "voyager_api.server"],
        env=kept | settings,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://{HOST}:{port}/readyz", timeout=5):
                    break
            except OSError:
                time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(30)


def wrk(port: int, listing: Path, seconds: int, connections: int) -> dict[str, float]:
    """Returns what wrk measured."""
    script = listing.with_suffix(".lua")
    script.write_text(_SCRIPT % listing)
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
         "-s", str(script), f"http://{HOST}:{port}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    match = re.search(r"RESULT ([\d ]+)", done.stdout)
    assert match is not None, done.stdout + done.stderr
    requests, micros, *errors, p50, p99 = map(int, match[1].split())
    names = ("connect", "read", "write", "status", "timeout")
    return {
        "requests": requests,
        "per_second": requests / (micros / 1e6),
        "p50_ms": p50 / 1e3,
        "p99_ms": p99 / 1e3,
        **{f"{name}_errors": count for name, count in zip(names, errors, strict=True)},
    }


class Connections:
    """Watches how many connections of Postgres the API holds."""

    def __init__(self, dsn: str) -> None:
        self.most = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(dsn,))

    def _watch(self, dsn: str) -> None:
        with connect(dsn) as conn:
            while not self._stop.wait(0.2):
                row = conn.execute(
                    "select count(*) from pg_stat_activity where application_name = 'voyager-api'"
                ).fetchone()
                self.most = max(self.most, row[0] if row else 0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def run(dsn: str, options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Returns what was measured alone and under load."""
    with connect(dsn) as conn:
        key = create_key(conn, "load")
        listing = folder / "paths.txt"
        listing.write_text("\n".join(paths(key, queries(conn))) + "\n")
    spawn = multiprocessing.get_context("spawn")
    stop, stored = spawn.Event(), spawn.Queue()
    with api(dsn, options.pool) as (port, pid), Connections(dsn) as connections:
        wrk(port, listing, max(5, options.seconds // 6), 1)
        alone = wrk(port, listing, max(10, options.seconds // 2), 1)
        writer = spawn.Process(target=write_spans, args=(dsn, stop, stored))
        writer.start()
        loaded = wrk(port, listing, options.seconds, options.connections)
        stop.set()
        written = stored.get(timeout=120)
        writer.join(30)
        status = Path(f"/proc/{pid}/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+)", status)
    return {
        "alone": alone,
        "loaded": loaded,
        "p99_ratio": loaded["p99_ms"] / alone["p99_ms"],
        "releases_written": written,
        "api_connections": connections.most,
        "api_peak_megabytes": int(peak) / 1024,
    }


def faults(found: dict[str, object], pool: int) -> list[str]:
    """Returns what is not as it must be."""
    alone, loaded = found["alone"], found["loaded"]
    assert isinstance(alone, dict)
    assert isinstance(loaded, dict)
    bad = [
        f"{name} {when}: {count:.0f}"
        for when, numbers in (("alone", alone), ("under load", loaded))
        for name, count in numbers.items()
        if name.endswith("_errors") and count
    ]
    if float(str(found["p99_ratio"])) > WORSE_BY_AT_MOST:
        bad.append(f"the 99th percentile is {found['p99_ratio']:.1f} times that of one connection")
    if int(str(found["api_connections"])) > pool:
        bad.append(f"{found['api_connections']} connections of Postgres, {pool} allowed")
    if not found["releases_written"]:
        bad.append("nothing was written meanwhile")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pool", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="keeps the catalog for the next run")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        with EmbeddedPostgres(
            folder / "pg", options={"fsync": "off", "shared_buffers": "1GB"}
        ) as server:
            migrate(server.dsn())
            with connect(server.dsn()) as conn:
                if conn.execute("select not exists (select from release)").fetchone()[0]:
                    fill(conn, options.releases)
            found = run(server.dsn(), options, Path(temporary))
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            shown = (
                "  ".join(f"{part} {number:.4g}" for part, number in value.items())
                if isinstance(value, dict)
                else value
            )
            print(f"{name:20} {shown}")
    bad = faults(found, options.pool)
    for fault in bad:
        print(f"FAULT: {fault}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
