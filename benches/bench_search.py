"""200 mixed searches on millions of made-up names, against reading a release by its key.

    python benches/bench_search.py [--releases 5000000] [--repeats 3] [--folder DIR] [--json]

Fills an embedded PostgreSQL with made-up releases (see made_catalog.py; a folder keeps it for
the next run) and prints median, 95th percentile and worst of the searches: CPU of client and
server together, which other work on the machine does not change much, and wall time, the best of
the repeats. The ratio is that of CPU to reading one release by its primary key through the same
connection in the same run, which takes about 0.1 ms of an idle machine. Fails beyond `LIMITS`.
"""

import argparse
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.made_catalog import Names, fill
from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.search import SearchQuery, search

# Ratios to a lookup, twice what was measured: machines differ.
LIMITS = {"median": 20.0, "p95": 200.0, "worst": 600.0}
# What five million releases may take of an idle machine, which is printed beside.
WANTED_MS = {"median": 3.0, "p95": 30.0, "worst": 300.0}
COMMON = (
    "1080p web", "x264 german 720p", "2019 bluray", "1080p", "web dl 1080p h264", "s01e05",
    "s01 1080p", "german", "german web", "the 720p", "multi 2160p", "x265 hevc", "flac 2019",
    "repack 1080p hdtv x264", "2024 1080p webdl",
)  # fmt: skip


def queries(conn: Connection, seed: int = 7) -> dict[str, list[SearchQuery]]:
    """Returns 200 searches by kind, made from names that are there."""
    rng = random.Random(seed)
    names = Names(seed)
    shows = conn.execute(
        "select name, season, episode from release where season is not null"
        " and episode is not null and release_id % 997 = 3 limit 3000"
    ).fetchall()
    picked = rng.sample(shows, min(len(shows), 200))
    titles = [name.split(".S", 1)[0].replace(".", " ") for name, _, _ in picked]
    films = [names.pick(names.films).replace(".", " ") for _ in range(60)]
    each = iter(zip(titles, picked, strict=True))

    def take(count: int) -> list[tuple[str, int, int]]:
        return [(title, row[1], row[2]) for title, row in (next(each) for _ in range(count))]

    tv = (5030, 5040, 5045)
    return {
        "show and S01E01": [
            SearchQuery(text=f"{title} S{s:02}E{e:02}") for title, s, e in take(30)
        ],
        "show, season, episode": [
            SearchQuery(text=title, season=s, episode=e, categories=tv) for title, s, e in take(40)
        ],
        "show, season": [
            SearchQuery(text=title, season=s, categories=tv) for title, s, _ in take(15)
        ],
        "film and year": [
            SearchQuery(text=f"{film} {rng.randrange(1990, 2027)}", categories=(2000,))
            for film in films[:30]
        ],
        "title": [SearchQuery(text=film) for film in films[30:45]],
        "title, exclusion": [SearchQuery(text=f"{film} -720p --web") for film in films[45:50]],
        "phrase": [SearchQuery(text=f'"{title}"') for title, _, _ in take(5)],
        "one word": [SearchQuery(text=names.pick(names.words)) for _ in range(10)],
        "no match": [SearchQuery(text=f"zzz{at} 1080p") for at in range(5)],
        "common words": [SearchQuery(text=text) for text in COMMON],
        "common, filtered": [
            SearchQuery(text="1080p web", season=3, episode=7),
            SearchQuery(text="1080p", categories=(3000,)),
            SearchQuery(text="german web", categories=(3000,)),
            SearchQuery(text="german", max_age=30),
            SearchQuery(text="1080p -x264"),
        ],
        "newest": [SearchQuery()] * 3,
        "newest of categories": [
            SearchQuery(categories=categories)
            for categories in ((5000,), (2000,), (5030, 5040), (3000,), (7000, 3030), (8020,))
        ],
        "newest, filtered": [
            SearchQuery(group="alt.binaries.x"),
            SearchQuery(min_size=6_000_000_000),
            SearchQuery(max_age=1, categories=(5000,)),
            SearchQuery(text="-1080p"),
        ],
        "episode without words": [
            SearchQuery(season=season, episode=episode, categories=categories)
            for season, episode, categories in (
                (1, 5, ()), (1, 5, (5000,)), (17, 23, ()), (3, 7, (5000,)), (300, 1, ()),
            )
        ],
        "season without words": [
            SearchQuery(season=season, categories=categories)
            for season, categories in ((1, ()), (3, (5000,)), (17, ()), (2019, ()))
        ],
        "deep page": [
            SearchQuery(offset=4500), SearchQuery(text="1080p", offset=3000),
            SearchQuery(categories=(5000,), offset=900),
        ],
    }  # fmt: skip


def backend_cpu(conn: Connection) -> float:
    """Returns the CPU seconds that the connection's server process used."""
    return int(Path(f"/proc/{conn.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9


def backend_memory(conn: Connection) -> int:
    """Returns the private bytes that the connection's server process holds."""
    text = Path(f"/proc/{conn.info.backend_pid}/status").read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def timed(
    conn: Connection, work: Sequence[Callable[[], object]], repeats: int
) -> list[tuple[float, float]]:
    """Returns (CPU, wall) in milliseconds of each piece of work, the best of the repeats."""
    best = [(float("inf"), float("inf"))] * len(work)
    for _ in range(repeats):
        for at, one in enumerate(work):
            cpu, wall = backend_cpu(conn) + time.process_time(), time.perf_counter()
            one()
            cpu = backend_cpu(conn) + time.process_time() - cpu
            wall = time.perf_counter() - wall
            best[at] = (min(best[at][0], cpu * 1e3), min(best[at][1], wall * 1e3))
    return best


def summary(times: Sequence[float]) -> dict[str, float]:
    """Returns median, 95th percentile and worst."""
    ordered = sorted(times)
    return {
        "median": statistics.median(ordered),
        "p95": ordered[int(0.95 * (len(ordered) - 1))],
        "worst": ordered[-1],
    }


def measure(conn: Connection, repeats: int) -> dict[str, object]:
    """Returns what the searches and the lookups took."""
    highest = conn.execute("select max(release_id) from release").fetchone()[0]  # type: ignore[index]
    rng = random.Random(3)
    ids = [rng.randrange(1, highest) for _ in range(200)]

    def lookup(release_id: int) -> object:
        return conn.execute(
            "select * from release where release_id = %s", [release_id], prepare=False
        ).fetchall()

    base = timed(conn, [lambda one=one: lookup(one) for one in ids], repeats)
    kinds = queries(conn)
    flat = [(kind, query) for kind, found in kinds.items() for query in found]
    times = timed(conn, [lambda query=query: search(conn, query) for _, query in flat], repeats)
    key = statistics.median(cpu for cpu, _ in base)
    cpus, walls = [cpu for cpu, _ in times], [wall for _, wall in times]
    each = {
        kind: summary([cpu for cpu, (name, _) in zip(cpus, flat, strict=True) if name == kind])
        for kind in kinds
    }
    return {
        "searches": len(flat),
        "lookup_cpu_ms": key,
        "cpu_ms": summary(cpus),
        "wall_ms": summary(walls),
        "ratio": {name: value / key for name, value in summary(cpus).items()},
        "backend_bytes": backend_memory(conn),
        "client_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "kinds": each,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
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
                sizes = conn.execute(
                    "select count(*)::float8, pg_relation_size('release_tok')::float8,"
                    " pg_relation_size('release')::float8,"
                    " pg_indexes_size('release')::float8 from release"
                ).fetchone()
                found = measure(conn, options.repeats)
    count, words, heap, indexes = sizes
    result = {
        "releases": int(count),
        "word_index_bytes_per_release": words / count,
        "heap_bytes_per_release": heap / count,
        "index_bytes_per_release": indexes / count,
        **found,
    }
    ratios = found["ratio"]
    assert isinstance(ratios, dict)
    beyond = [f"{name} {ratios[name]:.0f}" for name, most in LIMITS.items() if ratios[name] > most]
    if beyond:
        print(f"FAULT: ratios to a lookup beyond the limits: {', '.join(beyond)}", file=sys.stderr)
    if options.json:
        print(json.dumps(result))
        return int(bool(beyond))
    kinds = result.pop("kinds")
    for name in ("cpu_ms", "wall_ms"):
        told = (f"{part} {found[name][part]:.2f} of {most:g}" for part, most in WANTED_MS.items())
        result[f"{name}, wanted"] = "  ".join(told)
    for name, value in result.items():
        shown = (
            "  ".join(f"{part} {number:.2f}" for part, number in value.items())
            if isinstance(value, dict)
            else f"{value:.4g}" if isinstance(value, float) else value
        )  # fmt: skip
        print(f"{name:30} {shown}")
    for kind, row in kinds.items():
        print(
            f"  {kind:26} median {row['median']:8.2f}  p95 {row['p95']:8.2f}"
            f"  worst {row['worst']:8.2f} ms of CPU"
        )
    return int(bool(beyond))


if __name__ == "__main__":
    sys.exit(main())
