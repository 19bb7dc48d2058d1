"""A scripted day at size: 40 groups of 3 ranges, a tail, a retracted rule, deaths at any moment.

    python benches/scripted_day.py [--groups 40] [--ranges 3] [--ticks 4] [--seed 1] [--core]

Lives through the day twice and compares the catalogs of the evening: once quietly, once with
everything running (`voyager up`), a news server that fails, and Postgres, Dagster's daemon,
webserver and code server, the API, the fetcher and run workers killed at random moments. With
`--core` the disturbed day has no Dagster: workers of the core and fetchers are killed.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.day import Day
from tests.support.platform_day import PlatformDay
from tests.support.postgres import FAST
from voyager_core.catalog.connect import ensure_database, with_database
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.migrate import migrate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--ranges", type=int, default=3)
    parser.add_argument("--ticks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deaths", type=int, default=8, help="processes killed")
    parser.add_argument("--core", action="store_true", help="without Dagster")
    options = parser.parse_args()
    size = {"groups": options.groups, "ranges": options.ranges, "ticks": options.ticks}
    found = {}
    with tempfile.TemporaryDirectory(prefix="voyager-day-") as folder:
        found["quiet"] = core_day(Day(**size), Path(folder) / "quiet", None)
        disturbed = Path(folder) / "disturbed"
        if options.core:
            found["disturbed"] = core_day(Day(**size), disturbed, options.seed)
        else:
            found["disturbed"] = platform_day(
                PlatformDay(**size, deaths=options.deaths), disturbed, options.seed
            )
    same = found["quiet"] == found["disturbed"]
    print("the catalogs are the same" if same else "THE CATALOGS DIFFER")
    for name in found["quiet"]:
        one, other = found["quiet"][name], found["disturbed"][name]
        if one != other:
            print(f"{name}: {one if len(one) < 5 else len(one)}, {differing(one, other)}")
    return 0 if same and not found["quiet"]["findings"] else 1


def core_day(day: Day, folder: Path, seed: int | None) -> dict[str, object]:
    with EmbeddedPostgres(folder / "postgres", options=FAST) as postgres:
        dsn = with_database(postgres.dsn(), "day")
        ensure_database(dsn)
        migrate(dsn)
        began = time.monotonic()
        found = day.run(dsn, folder, seed=seed)
    tell("quiet" if seed is None else "disturbed", began, found, f"{day.kills} killed")
    return found


def platform_day(day: PlatformDay, folder: Path, seed: int) -> dict[str, object]:
    began = time.monotonic()
    day.report = lambda text: print(f"  {time.monotonic() - began:4.0f} s  {text}", flush=True)
    found = day.live(folder, seed=seed)
    killed = ", ".join(f"{name} {times}" for name, times in Counter(day.killed).items())
    tell("disturbed", began, found, f"killed: {killed}")
    return found


def tell(name: str, began: float, found: dict[str, object], what: str) -> None:
    lines = sum(row[4] for row in found["ledger"])
    print(
        f"{name}: {time.monotonic() - began:.0f} s, {what}; {lines} lines,"
        f" {len(found['releases'])} releases, {len(found['findings'])} findings",
        flush=True,
    )


def differing(one: object, other: object) -> str:
    if isinstance(one, list) and isinstance(other, list):
        apart = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
        return f"{len(apart)} differ, such as {apart[:2]}"
    return f"{one} and {other}"


if __name__ == "__main__":
    sys.exit(main())
