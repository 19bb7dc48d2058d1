"""What Dagster costs at the size of the target: an installation filled, opened and measured.

    python benches/scale.py [--ranges 266000] [--together 64] [--groups 1000] [--minutes 1]
                            [--pictures DIR] [--json FILE]
    python benches/scale.py --ranges 20000 --together 1        # a private install
    python benches/scale.py --recovery                         # only what a retracted rule costs

Starts the whole installation (embedded Postgres, webserver, daemon, code server, API) in a folder
of its own, fills it as after a whole pass, and measures CPU and memory at rest and with the pages
of the partitioned assets open, every GraphQL query that the browser sends for the pages of an
operator, sensor ticks, the size of the events, and what a run costs. CPU seconds are user + system
of all processes involved. It fails when a required value is not met.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psycopg
from pydantic import SecretStr

from benches import scale_fill, scale_ui
from tests.support.newsserver import Group, NewsServer
from voyager_assets.jobs import prune_events
from voyager_core.catalog.connect import connect, dagster_dsn, ensure_database, with_database
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.rulesets import retract_rule, rules_in_force
from voyager_core.catalog.stretches import open_stretches
from voyager_core.header_pass.recover import find_stale
from voyager_core.header_pass.tail import REACH
from voyager_core.settings import NewsSettings, Settings
from voyager_core.supervisor.environment import child_environment, free_port, prepare_dagster_home
from voyager_core.supervisor.installation import Installation

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# CPU seconds of the header pass for a range of 2 M lines, as in docs/performance.md.
RANGE_CPU = 3.0


@dataclass
class Report:
    values: dict[str, object] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def note(self, name: str, value: object, *, most: float | None = None) -> None:
        self.values[name] = value
        bound = "" if most is None else f"   (required: at most {most:g})"
        if most is not None and isinstance(value, int | float) and value > most:
            self.failed.append(f"{name}: {value} > {most:g}")
            bound += "  NOT MET"
        print(f"{name:58} {value}{bound}", flush=True)


def tree(pid: int) -> list[int]:
    """Returns a process and everything below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        each = todo.pop()
        found.append(each)
        todo += children.get(each, [])
    return found


def cpu_of(pids: list[int]) -> float:
    """Returns the CPU seconds of process trees, children that have ended included."""
    total = 0
    for root in pids:
        for pid in tree(root):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            total += sum(int(value) for value in fields[11:15])
    return total / _TICK


def rss_of(pid: int) -> float:
    """Returns the resident memory of a process tree, in MB."""
    pages = 0
    for each in tree(pid):
        try:
            pages += int(Path(f"/proc/{each}/statm").read_text().split()[1])
        except OSError:
            continue
    return round(pages * _PAGE / 1e6, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranges", type=int, default=266_000)
    parser.add_argument("--together", type=int, default=64, help="ranges in a partition")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=1.0, help="of each measurement at rest")
    parser.add_argument("--pictures", type=Path, help="screenshots of the pages")
    parser.add_argument("--recovery", action="store_true", help="ticks after a retraction alone")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="voyager-scale-") as folder:
        measure(Path(folder), options, report)
    if options.json:
        options.json.write_text(json.dumps(report.values, indent=1, default=str))
    for line in report.failed:
        print(f"NOT MET: {line}", file=sys.stderr)
    return 1 if report.failed else 0


def measure(folder: Path, options: argparse.Namespace, report: Report) -> None:
    settings = Settings(
        _env_file=None,
        data_dir=folder / "data",
        catalog={"range_size": scale_fill.RANGE, "ranges_per_partition": options.together},
        api={"port": free_port()},
        dagster={"port": free_port()},
        alerts={"lag_seconds": 0},
    )
    groups = scale_fill.group_list(options.ranges, options.groups)
    served = [Group(each.name, lambda _: None, low=each.low, high=each.high) for each in groups]
    with (
        NewsServer(served) as news,
        Installation(
            settings.model_copy(
                update={"news": NewsSettings(url=SecretStr(news.url("connections=20")))}
            ),
            lambda line: print(f"# {line}", flush=True),
            threading.Event(),
        ) as it,
    ):
        settings = it.settings
        dsn = it.start_database()
        fill(it, dsn, groups, options, report)
        quiet(dsn)
        if options.recovery:
            recovery_costs(settings, dsn, it._postgres.pid, report)
            return
        addresses = it.start_services()
        pids = {each.service.name: each.process.pid for each in it._children._running}
        pids["postgres"] = it._postgres.pid
        stop_sensor(addresses.dagster, "follow_tail")
        time.sleep(40)
        at_rest(pids, options, report)
        storage = dagster_dsn(settings.model_copy(update={"database_url": None}))
        queries(addresses.dagster, storage, pids, options, report)
        at_work(addresses.dagster, pids, options.minutes, report)
        ticks(storage, report)
        tick_costs(settings, pids["postgres"], report)
        stop_sensor(addresses.dagster, "recover_stale_rules")
        recovery_costs(settings, dsn, pids["postgres"], report)
        one_run(addresses.dagster, storage, pids, options, report)


def fill(it, dsn: str, groups, options, report: Report) -> None:
    import dagster as dg
    from dagster._core.instance.ref import InstanceRef

    settings = it.settings
    with connect(dsn) as conn:
        began, cpu = time.monotonic(), time.process_time()
        ranges = scale_fill.fill_ledger(conn, groups)
        report.note("groups", len(groups))
        report.note("ranges", ranges)
        report.note("planning, wall seconds", round(time.monotonic() - began, 2))
        report.note("planning, CPU seconds of Python", round(time.process_time() - cpu, 2))
        scale_fill.date_ledger(conn)
        cpu = time.process_time() + cpu_of([it._postgres.pid])
        open_stretches(conn, reach=REACH, limit=500, together=4)
        cpu = time.process_time() + cpu_of([it._postgres.pid]) - cpu
        report.note("choosing the next of all ranges, CPU s", round(cpu, 2), most=1.0)
        scale_fill.finish_ledger(conn)
    home = prepare_dagster_home(settings)
    storage = it._dagster_dsn()
    os.environ.update(child_environment(settings, catalog_dsn=dsn, dagster_dsn=storage))
    other = with_database(dsn, "template_of_scale")
    ensure_database(other)
    migrate(other)
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home))) as instance:
        template = scale_fill.make_template(instance, other, home / "template")
        report.note(
            "events of a run of 4 stretches", scale_fill.event_kinds(storage, template.run_id)
        )
        with connect(dsn) as conn:
            partitions, runs = scale_fill.fill_dagster(instance, storage, conn, template)
    report.note("partitions", partitions)
    report.note("runs of a pass", runs)
    sizes = scale_fill.table_bytes(storage)
    events = sizes["event_logs"] + sizes["asset_event_tags"]
    report.note("events of a pass as stored, MB", round(events / 1e6, 1))
    report.note("events as stored, bytes a range", round(events / ranges))
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home))) as instance:
        began, cpu = time.monotonic(), time.process_time() + cpu_of([it._postgres.pid])
        deleted = prune_events(instance, before=time.time())
        cpu = time.process_time() + cpu_of([it._postgres.pid]) - cpu
    report.note("events that the job `tidy` deletes", deleted)
    report.note("deleting them, CPU s", round(cpu, 1))
    with psycopg.connect(storage, autocommit=True) as conn:
        # What is free inside the table is used by the events that follow.
        conn.execute("vacuum full event_logs")
    kept = scale_fill.table_bytes(storage)
    events = kept["event_logs"] + kept["asset_event_tags"]
    most = 100.0 if options.together == 64 else None
    report.note("events of a pass that stay, MB", round(events / 1e6, 1), most=most)
    report.note("events that stay, bytes a range", round(events / ranges))
    report.note("runs and their tags, MB", round((sizes["runs"] + sizes["run_tags"]) / 1e6, 1))


def quiet(dsn: str) -> None:
    """Takes the water marks' age away, so that nothing but ticks happens while it is measured."""
    with connect(dsn) as conn:
        conn.execute("update newsgroup set checked_at = now()")


def at_rest(pids: dict[str, int], options, report: Report) -> None:
    shares = shares_over(pids, options.minutes)
    for name, share in shares.items():
        report.note(f"at rest, {name}: % of a core", round(100 * share, 1))
        report.note(f"at rest, {name}: MB", rss_of(pids[name]))
    most = 5.0 if options.together == 64 else None
    both = shares["dagster-daemon"] + shares["dagster-code"]
    report.note("at rest, daemon and code server: % of a core", round(100 * both, 1), most=most)


def shares_over(pids: dict[str, int], minutes: float) -> dict[str, float]:
    before = {name: cpu_of([pid]) for name, pid in pids.items()}
    began = time.monotonic()
    time.sleep(60 * minutes)
    took = time.monotonic() - began
    return {name: (cpu_of([pid]) - before[name]) / took for name, pid in pids.items()}


def queries(base: str, storage: str, pids: dict[str, int], options, report: Report) -> None:
    with psycopg.connect(storage) as conn:
        (key,) = conn.execute("select partition from dynamic_partitions limit 1").fetchone()
        (run,) = conn.execute("select run_id from runs order by id desc limit 1").fetchone()
    involved = [pids["dagster-webserver"], pids["dagster-code"], pids["postgres"]]
    found, costs = scale_ui.record(
        base, key=key, run=run, cpu=lambda: cpu_of(involved), pictures=options.pictures
    )
    for page, cost in sorted(costs.items(), key=lambda each: -each[1])[:6]:
        report.note(f"first look at the page {page!r}, all queries, CPU s", cost)
    rows = []
    for query in found:
        cpu, wall, size, problem = scale_ui.replay(base, query, lambda: cpu_of(involved))
        rows.append((cpu, wall, size, query.operation, query.page, problem))
    report.note("queries of the pages", len(rows))
    rows.sort(reverse=True)
    most = 1.0 if options.together == 64 else 2.0
    report.note("slowest query, CPU seconds", round(rows[0][0], 2), most=most)
    for cpu, wall, size, operation, page, problem in rows[:8]:
        text = f"{cpu:.2f} CPU s, {wall:.2f} s, {size / 1e3:.0f} kB"
        report.note(f"  {operation} ({page})", text + (f" {problem}" if problem else ""))


def at_work(base: str, pids: dict[str, int], minutes: float, report: Report) -> None:
    with scale_ui.browser() as chromium:
        if chromium is None:
            return
        for path in ("/asset-groups", "/assets/chunks?view=partitions", "/assets"):
            chromium.new_page().goto(base + path)
        time.sleep(10)
        shares = shares_over(pids, minutes)
        for name, share in shares.items():
            report.note(f"three asset pages open, {name}: % of a core", round(100 * share, 1))
        report.note("webserver with pages open, MB", rss_of(pids["dagster-webserver"]))


def ticks(storage: str, report: Report) -> None:
    """Tells how long sensors took, from what the daemon noted."""
    with psycopg.connect(storage) as conn:
        rows = conn.execute("select tick_body from job_ticks where type = 'SENSOR'").fetchall()
    longest: dict[str, float] = {}
    problems: dict[str, str] = {}
    for (body,) in rows:
        tick = json.loads(body)
        ended, began = tick.get("end_timestamp"), tick.get("timestamp")
        name = tick.get("instigator_name") or tick.get("job_name") or tick.get("origin_name") or "?"
        if ended and began:
            longest[name] = max(longest.get(name, 0.0), ended - began)
        if tick.get("error"):
            problems[name] = re.sub(r"\s+", " ", str(tick["error"]))[:160]
    for name, seconds in sorted(longest.items(), key=lambda each: -each[1]):
        # Wall time, which says more about what else the machine does.
        report.note(f"longest tick of {name}, s of wall time", round(seconds, 2))
    for name, problem in problems.items():
        report.note(f"a tick of {name} failed", problem)


def tick_costs(settings: Settings, postgres: int, report: Report) -> None:
    """Tells what a tick of each sensor costs, asked as the code server asks it."""
    import dagster as dg
    from dagster._core.instance.ref import InstanceRef

    from voyager_assets.build import build_definitions
    from voyager_assets.resources import build_resources

    # The environment of the services is set, so that secrets are found there.
    resources = build_resources(settings)
    home = Path(os.environ["DAGSTER_HOME"])
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home))) as instance:
        for sensor in build_definitions(settings).sensors:
            needed = {name: resources[name] for name in sensor.required_resource_keys}
            cost = 0.0
            for _ in range(2):
                before = time.process_time() + cpu_of([postgres])
                context = dg.build_sensor_context(instance=instance, resources=needed)
                sensor.evaluate_tick(context)
                cost = time.process_time() + cpu_of([postgres]) - before
            report.note(f"a tick of {sensor.name}, CPU s", round(cost, 2), most=1.0)


def recovery_costs(settings: Settings, dsn: str, postgres: int, report: Report) -> None:
    """Retracts a rule that matched everywhere; tells what the ticks cost that bring it back."""
    import dagster as dg
    from dagster._core.instance.ref import InstanceRef

    from voyager_assets.build import build_definitions
    from voyager_assets.recoveries import recoveries
    from voyager_assets.resources import build_resources

    with connect(dsn) as conn:
        rules_in_force(conn)
        retract_rule(conn, "disguised_program")
    with connect(dsn) as conn:
        cpu = time.process_time() + cpu_of([postgres])
        find_stale(conn, rules_in_force(conn))
        cpu = time.process_time() + cpu_of([postgres]) - cpu
        report.note("finding what is stale, CPU s", round(cpu, 2))
    resources = build_resources(settings)
    home = Path(os.environ["DAGSTER_HOME"])
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home))) as instance:
        (sensor,) = (
            each
            for each in build_definitions(settings).sensors
            if each.name == "recover_stale_rules"
        )
        needed = {name: resources[name] for name in sensor.required_resource_keys}
        cursor, costs, keys = None, [], []
        while len(costs) < 200:
            before = time.process_time() + cpu_of([postgres])
            context = dg.build_sensor_context(instance=instance, resources=needed, cursor=cursor)
            cursor = sensor.evaluate_tick(context).cursor or cursor
            costs.append(time.process_time() + cpu_of([postgres]) - before)
            keys.append(len(instance.get_dynamic_partitions(recoveries.name)))
            if len(keys) > 3 and keys[-1] == keys[-3]:
                break
        report.note("stretches that a retracted rule left stale", keys[-1])
        report.note("ticks until all of them are shown", len(keys) - 2)
        report.note("the slowest of these ticks, CPU s", round(max(costs), 2), most=1.0)
        report.note("a tick while they are recovered, CPU s", round(costs[-1], 2), most=1.0)
        report.note("backfills started", len(instance.get_backfills()))
        report.note("cursor, bytes", len(cursor or ""))


def stop_sensor(base: str, name: str) -> None:
    """Switches a sensor off, as a person does in the UI."""
    selector = {
        "repositoryLocationName": "voyager",
        "repositoryName": "__repository__",
        "sensorName": name,
    }
    asked = scale_ui.ask(
        base,
        "query S($s: SensorSelector!) { sensorOrError(sensorSelector: $s) {"
        " ... on Sensor { sensorState { id } } } }",
        {"s": selector},
    )
    state = asked["data"]["sensorOrError"]["sensorState"]["id"]
    scale_ui.ask(
        base, "mutation M($id: String!) { stopSensor(id: $id) { __typename } }", {"id": state}
    )


def one_run(base: str, storage: str, pids: dict[str, int], options, report: Report) -> None:
    """Launches a run over four stretches that are done: what is left is Dagster's own cost."""
    with psycopg.connect(storage) as conn:
        keys = [
            row[0]
            for row in conn.execute(
                "select partition from dynamic_partitions order by id limit %s",
                [scale_fill.TOGETHER],
            )
        ]
    involved = list(pids.values())
    before = cpu_of(involved)
    began = time.monotonic()
    body = {
        "query": "mutation Go($p: LaunchBackfillParams!) { launchPartitionBackfill("
        "backfillParams: $p) { __typename ... on PythonError { message } } }",
        "variables": {
            "p": {
                "partitionNames": keys,
                "assetSelection": [
                    {"path": [name]}
                    for name in (
                        "spooled_overview",
                        "parsed_headers",
                        "releases",
                        "chunks",
                        "probe_candidates",
                    )
                ],
            }
        },
    }
    print("#", scale_ui.ask(base, body["query"], body["variables"]))
    rest = 0.0
    status = None
    with psycopg.connect(storage, autocommit=True) as conn:
        while time.monotonic() - began < 240:
            time.sleep(2)
            row = conn.execute(
                "select status from bulk_actions order by id desc limit 1"
            ).fetchone()
            status = row and row[0]
            if status and (status.startswith("COMPLETED") or status == "FAILED"):
                break
    took = time.monotonic() - began
    spent = cpu_of(involved) - before
    shares = report.values
    names = [name for name in pids if f"at rest, {name}: % of a core" in shares]
    rest = sum(shares[f"at rest, {name}: % of a core"] for name in names) / 100 * took
    own = max(0.0, spent - rest)
    report.note("backfill of one run", f"{status} after {took:.0f} s")
    report.note("a run of 4 stretches, CPU seconds of Dagster", round(own, 2))
    work = scale_fill.TOGETHER * options.together * RANGE_CPU
    most = 5.0 if options.together == 64 else None
    report.note("Dagster's share of a backfill, %", round(100 * own / (own + work), 2), most=most)


if __name__ == "__main__":
    sys.exit(main())
