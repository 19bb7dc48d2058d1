"""CPU of searches against reading one release by its primary key, in the same database.

    python benches/bench_search.py [--releases 300000] [--repeats 5] [--json]

Fills an embedded PostgreSQL with made-up names, whose words are as unevenly spread as those of
real names, and prints for each kind of search the median CPU time of client and server
together, the 95th percentile, and the ratio of the median to a primary-key lookup through the
same connection. Also prints what the index of words takes for a name, and what storing takes:
CPU of client and server for 100,000 releases through `store_span`.
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl

from voyager_core.catalog.connect import Connection, connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import Versions, plan, ranges_of
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.tokens import token_hashes
from voyager_core.header_pass.build import BuiltSpan
from voyager_core.header_pass.schemas import (
    BUILT_FILES,
    CANDIDATES,
    CHUNKS,
    FRAGMENTS,
    RELEASES,
    RULE_COUNTS,
    RULE_SAMPLES,
    empty,
)

GROUP = "alt.binaries.test"
NOW = datetime(2025, 1, 1, tzinfo=UTC)
RELEASES_IN_A_SPAN = 5_000
# Share of names that hold each; the rest of a name is rare words.
COMMON = {
    "1080p": 0.35,
    "720p": 0.3,
    "x264": 0.4,
    "web": 0.25,
    "bluray": 0.15,
    "german": 0.06,
    "2019": 0.05,
    "aac": 0.02,
}
CATEGORIES = (5040, 5030, 2040, 3010, 7020, 1060)


def made_names(rng: random.Random, number: int) -> Iterator[str]:
    """Yields names of about ten words, the rare ones drawn from a long-tailed vocabulary."""
    for _ in range(number):
        rare = [f"w{int(400_000 * rng.random() ** 3):x}" for _ in range(4)]
        common = [word for word, share in COMMON.items() if rng.random() < share]
        yield ".".join([*rare, f"S{rng.randrange(1, 20):02d}E{rng.randrange(1, 30):02d}", *common])


def made_span(names: Sequence[str], first: int, payload_bytes: int) -> BuiltSpan:
    """Returns the frames of one span with a release for each name."""
    rng = random.Random(first)
    rows = []
    for at, name in enumerate(names, start=first):
        posted = NOW - timedelta(minutes=3 * at)
        rows.append(
            dict.fromkeys(RELEASES)
            | {
                "release_key": at * 0x9E3779B97F4A7C15 % (1 << 64),
                "session": 0,
                "name": name,
                "is_readable": True,
                "poster": "poster <a@b.example>",
                "group": GROUP,
                "groups": [GROUP],
                "posted_at": posted,
                "last_posted_at": posted,
                "files": 9,
                "files_expected": 9,
                "segments": 90,
                "segments_expected": 90,
                "size_bytes": rng.randrange(1 << 33),
                "has_par2": True,
                "category": CATEGORIES[min(int(rng.paretovariate(1)) - 1, 5)],
                "tok": token_hashes(name),
            }
        )
    chunks = [
        {"release_key": row["release_key"], "session": 0, "payload": rng.randbytes(payload_bytes)}
        for row in rows
    ]
    return BuiltSpan(
        files=empty(BUILT_FILES),
        releases=pl.DataFrame(rows, schema=dict(RELEASES), orient="row"),
        chunks=pl.DataFrame(chunks, schema=dict(CHUNKS), orient="row"),
        fragments=empty(FRAGMENTS),
        candidates=empty(CANDIDATES),
        rule_counts=empty(RULE_COUNTS),
        rule_samples=empty(RULE_SAMPLES),
    )


def backend_cpu(conn: Connection) -> float:
    """Returns the CPU seconds that the connection's server process used."""
    return int(Path(f"/proc/{conn.info.backend_pid}/schedstat").read_text().split()[0]) / 1e9


def fill(conn: Connection, releases: int, payload_bytes: int) -> dict[str, float]:
    """Stores the releases span by span; returns CPU seconds for 100,000 of them."""
    group = add_group(conn, GROUP)
    spans = -(-releases // RELEASES_IN_A_SPAN)
    plan(conn, group.newsgroup_id, [(at * 100 + 1, at * 100 + 100) for at in range(spans)])
    names = list(made_names(random.Random(1), releases))
    client = 0.0
    server = backend_cpu(conn)
    for at, row in enumerate(ranges_of(conn, GROUP)):
        some = names[at * RELEASES_IN_A_SPAN : (at + 1) * RELEASES_IN_A_SPAN]
        built = made_span(some, at * RELEASES_IN_A_SPAN, payload_bytes)
        begin = time.process_time()
        store_span(
            conn,
            Span(GROUP, row.low, row.high),
            built,
            range_id=row.range_id,
            read_lines=0,
            versions=Versions(1, 1, 1),
        )
        client += time.process_time() - begin
    scale = 100_000 / releases
    return {
        "store_client_cpu_per_100k": client * scale,
        "store_server_cpu_per_100k": (backend_cpu(conn) - server) * scale,
    }


def timed(
    conn: Connection, work: Sequence[Callable[[], object]], repeats: int
) -> tuple[float, float]:
    """Returns the median and the 95th percentile of the CPU milliseconds of client and server."""
    for each in work:
        each()
    times = []
    for _ in range(max(repeats, 40 // len(work))):
        for each in work:
            begin = time.process_time() + backend_cpu(conn)
            each()
            times.append((time.process_time() + backend_cpu(conn) - begin) * 1000)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.95)]


def measure(conn: Connection, releases: int, repeats: int) -> dict[str, dict[str, float]]:
    """Returns median, 95th percentile and ratio of each kind of search."""
    rng = random.Random(2)
    ids = [rng.randrange(1, releases) for _ in range(20)]
    names = [
        conn.execute("select name from release where release_id = %s", [one]).fetchone()[0]
        for one in ids
    ]
    words = [name.split(".")[:4] for name in names]
    kinds = {
        "two rare words": [SearchQuery(" ".join(some[:2])) for some in words],
        "rare and common word": [SearchQuery(f"{some[0]} 1080p") for some in words],
        "common words": [SearchQuery(text) for text in ("1080p web", "x264 german 720p")],
        "common word, category": [SearchQuery("1080p", categories=[5000])],
        "less common word": [SearchQuery("aac"), SearchQuery("s05e07")],
        "episode": [SearchQuery(some[0], season=3, episode=4) for some in words],
        "feed": [SearchQuery()],
        "feed of a category": [SearchQuery(categories=[5000])],
        "feed of rare categories": [SearchQuery(categories=[1000, 7020])],
        "page 50 of a feed": [SearchQuery(offset=4900)],
        "nothing": [SearchQuery("qqqq zzzz")],
    }

    def lookup(release_id: int) -> object:
        return conn.execute(
            "select * from release where release_id = %s", [release_id], prepare=False
        ).fetchall()

    base, base95 = timed(conn, [lambda one=one: lookup(one) for one in ids], repeats)
    found = {"primary key": {"median_ms": base, "p95_ms": base95, "ratio": 1.0}}
    for kind, queries in kinds.items():
        work = [lambda query=query: search(conn, query) for query in queries]
        median, p95 = timed(conn, work, repeats)
        found[kind] = {"median_ms": median, "p95_ms": p95, "ratio": median / base}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--releases", type=int, default=300_000)
    parser.add_argument("--payload-bytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedPostgres(Path(folder) / "pg", options={"fsync": "off"}) as server,
    ):
        migrate(server.dsn())
        with connect(server.dsn()) as conn:
            store = fill(conn, options.releases, options.payload_bytes)
            conn.execute("vacuum analyze release")
            searches = measure(conn, options.releases, options.repeats)
            size = conn.execute(
                "select pg_relation_size('release_tok')::float8, pg_total_relation_size('release')"
            ).fetchone()
    result = {
        "releases": options.releases,
        **store,
        "word_index_bytes_per_release": size[0] / options.releases,
        "release_bytes": size[1] / options.releases,
        "searches": searches,
    }
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        if name != "searches":
            print(f"{name}: {value:.3g}" if isinstance(value, float) else f"{name}: {value}")
    for kind, row in searches.items():
        print(
            f"{kind:26} median {row['median_ms']:8.2f} ms  p95 {row['p95_ms']:8.2f} ms"
            f"  {row['ratio']:7.1f} x a lookup by key"
        )


if __name__ == "__main__":
    main()
