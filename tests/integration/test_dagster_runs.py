"""Real runs: daemon, code server and run workers as processes of their own.

One platform serves the module; every test indexes a newsgroup of its own. The sensors start the
runs by themselves, as in `voyager up`.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import psycopg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from tests.support.indexing import BLOCK_SIZE, RANGE_SIZE, Group, Indexer, uploads
from tests.support.newsserver import NewsServer, Rule
from tests.support.postgres import FAST
from voyager_assets.partitions import add_stretches
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import ensure_database, with_database
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import ranges_of
from voyager_core.domain.ranges import parse_partition_key
from voyager_core.header_pass.run import index_stretches
from voyager_core.supervisor import programs
from voyager_core.supervisor.environment import free_port

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(1200)]
ROOT = Path(__file__).resolve().parents[2]
ARTICLES = 1200
PATIENCE_SECONDS = 400
FINISHED = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}


@dataclass
class Platform:
    it: Indexer
    instance: dg.DagsterInstance
    log: Path

    def add(self, group: str) -> list[str]:
        """Adds a newsgroup, whose partitions the sensors then find in the ledger."""
        self.it.server.groups[group] = Group(group, uploads(1, ARTICLES, group=group))
        with self.it.connect() as conn:
            add_group(conn, group)
        keys = [key for key in self.it.plan() if key.startswith(f"{group}/")]
        add_stretches(self.instance, keys)
        return keys

    def runs(self, keys) -> list[dg.DagsterRun]:
        """Returns the runs of the history over partitions of a newsgroup, oldest first."""
        group = keys[0].partition("/")[0]
        runs = self.instance.get_runs(dg.RunsFilter(job_name="history"))[::-1]
        start = "dagster/asset_partition_range_start"
        return [run for run in runs if run.tags.get(start, "").startswith(f"{group}/")]

    def wait(self, condition, what):
        event = threading.Event()
        for _ in range(PATIENCE_SECONDS * 5):
            if found := condition():
                return found
            event.wait(0.2)
        raise AssertionError(
            f"{what} did not happen; the daemon said:\n{self.log.read_text()[-3000:]}"
        )

    def rows(self, keys):
        with self.it.connect() as conn:
            return ranges_of(conn, keys[0].partition("/")[0])

    def is_indexed(self, keys) -> bool:
        return sum(row.lines for row in self.rows(keys)) == ARTICLES

    def require_exact(self, keys):
        """Asserts that every article is stored once and the catalog is sound."""
        group = keys[0].partition("/")[0]
        with self.it.connect() as conn:
            row = conn.execute(
                "select count(*), sum(r.files), sum(r.segments) from release r"
                " join newsgroup n using (newsgroup_id) where n.name = %s",
                [group],
            ).fetchone()
            assert row == (12, 48, ARTICLES)
            assert check_catalog(conn) == []


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    folder = tmp_path_factory.mktemp("postgres")
    with EmbeddedPostgres(folder, options=FAST) as server:
        migrate(server.dsn())
        ensure_database(with_database(server.dsn(), "voyager_dagster"))
        yield server


@pytest.fixture(scope="module")
def platform(postgres, tmp_path_factory):
    folder = tmp_path_factory.mktemp("platform")
    with NewsServer() as server:
        it = Indexer(postgres.dsn(), server, folder)
        it.prepare()
        environment = environment_of(it, folder)
        patch = pytest.MonkeyPatch()
        for name, value in environment.items():
            patch.setenv(name, value)
        try:
            with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder))) as instance:
                with daemon(folder) as log:
                    yield Platform(it, instance, log)
                for storage in (
                    instance.run_storage,
                    instance.event_log_storage,
                    instance.schedule_storage,
                ):
                    storage._engine.dispose()
        finally:
            patch.undo()


def environment_of(it, folder):
    parts = urlsplit(it.dsn)
    config = yaml.safe_load(files("voyager_assets").joinpath("dagster.yaml").read_text())
    config["run_monitoring"]["poll_interval_seconds"] = 2
    (folder / "dagster.yaml").write_text(yaml.safe_dump(config))
    return {
        "DAGSTER_HOME": str(folder),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "VOYAGER_DATA_DIR": str(folder / "data"),
        "VOYAGER_DATABASE_URL": it.dsn,
        "VOYAGER_NEWS__URL": it.server.url("connections=2"),
        "VOYAGER_NEWS__TIMEOUT_SECONDS": "300",
        "VOYAGER_CATALOG__RANGE_SIZE": str(RANGE_SIZE),
        "VOYAGER_CATALOG__SETTLE_AFTER_SECONDS": "0",
        "VOYAGER_SPOOL__BLOCK_SIZE": str(BLOCK_SIZE),
        "VOYAGER_SPOOL__MIN_FREE_BYTES": "0",
        "VOYAGER_PG_HOST": str(parts.hostname),
        "VOYAGER_PG_PORT": str(parts.port),
        "VOYAGER_PG_USER": str(parts.username),
        "VOYAGER_PG_PASSWORD": str(parts.password),
        "VOYAGER_PG_DAGSTER_DB": "voyager_dagster",
        "VOYAGER_COMPUTE_LOGS": str(folder / "compute_logs"),
    }


@contextmanager
def started(log, *command):
    """Runs a program of Dagster."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


@contextmanager
def daemon(folder):
    """Runs Dagster's daemon with the code server of an installation."""
    log, workspace = folder / "daemon.log", folder / "workspace.yaml"
    service = programs.code_server(free_port())
    port = service.command[service.command.index("--port") + 1]
    workspace.write_text(
        f"load_from: [grpc_server: {{host: 127.0.0.1, port: {port}, location_name: voyager}}]\n"
    )
    with started(folder / "code.log", *service.command[2:]):
        event = threading.Event()
        while not service.is_ready():
            event.wait(0.1)
        with started(log, "dagster._daemon", "run", "-w", str(workspace)):
            yield log


def test_sensors_plan_index_and_materialize_by_themselves(platform):
    group = "alt.binaries.itself"
    platform.it.server.groups[group] = Group(group, uploads(1, ARTICLES, group=group))
    with platform.it.connect() as conn:
        add_group(conn, group)
    keys = [f"{group}/{number:06d}" for number in range(3)]
    platform.wait(lambda: platform.is_indexed(keys), "indexing")
    platform.wait(
        lambda: all(run.status in FINISHED for run in platform.runs(keys)), "the runs' end"
    )
    assert {run.status for run in platform.runs(keys)} == {dg.DagsterRunStatus.SUCCESS}
    assert all(run.tags["voyager/lane"] == "history" for run in platform.runs(keys))
    known = platform.instance.get_dynamic_partitions("stretch")
    assert [key for key in known if key.startswith(group)] == keys
    for stage in ("spooled_overview", "parsed_headers", "releases", "chunks", "probe_candidates"):
        assert set(keys) <= platform.instance.get_materialized_partitions(dg.AssetKey(stage))
    platform.require_exact(keys)


def test_a_cancelled_run_ends_at_once_and_loses_nothing(platform):
    group = "alt.binaries.cancelled"
    # The block in the middle of the second range never comes.
    rule = Rule("XOVER", "stall", 9, argument="^601", times=None)
    platform.it.server.rules.append(rule)
    keys = platform.add(group)
    platform.wait(lambda: platform.rows(keys)[0].state == "done", "the first range")
    (run,) = platform.runs(keys)
    assert platform.instance.run_coordinator.cancel_run(run.run_id)
    platform.wait(
        lambda: platform.instance.get_run_by_id(run.run_id).status in FINISHED, "the cancellation"
    )
    assert platform.instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.CANCELED
    materialized = platform.instance.get_materialized_partitions(dg.AssetKey("chunks"))
    assert [key for key in keys if key in materialized] == keys[:1]
    assert [row.state for row in platform.rows(keys)] == ["done", "planned", "planned"]
    platform.it.server.rules.remove(rule)
    # A cancelled run is not retried, and the sensor waits before it asks again.
    assert platform.runs(keys) == [platform.instance.get_run_by_id(run.run_id)]
    with platform.it.tools() as tools:
        list(index_stretches(tools, [parse_partition_key(key) for key in keys]))
    platform.require_exact(keys)


def test_a_killed_worker_is_replaced_and_no_row_is_missing_or_doubled(platform):
    group = "alt.binaries.killed"
    with psycopg.connect(platform.it.dsn) as lock:
        # Every span waits in the middle of its transaction.
        lock.execute("lock table release in exclusive mode")
        keys = platform.add(group)
        (run,) = platform.wait(lambda: platform.runs(keys), "the run")
        pid = platform.wait(lambda: pid_of(platform.instance, run.run_id), "the process")
        # Other runs wait for the table as well.
        platform.wait(lambda: waiting(platform.it.dsn) & ports_of(pid), "the transaction")
        os.kill(pid, signal.SIGKILL)
        platform.wait(
            lambda: (
                platform.instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
            ),
            "the failure",
        )
    platform.wait(lambda: platform.is_indexed(keys), "indexing by the second run")
    platform.wait(
        lambda: all(each.status in FINISHED for each in platform.runs(keys)), "the second run's end"
    )
    second = platform.runs(keys)[1]
    assert second.parent_run_id == run.run_id
    assert second.status is dg.DagsterRunStatus.SUCCESS
    platform.require_exact(keys)
    materialized = platform.instance.get_materialized_partitions(dg.AssetKey("chunks"))
    assert set(keys) <= materialized


def test_runs_end_with_their_template_and_the_next_ones_have_another(platform):
    group = "alt.binaries.template"
    with psycopg.connect(platform.it.dsn) as lock:
        lock.execute("lock table release in exclusive mode")
        keys = platform.add(group)
        (run,) = platform.wait(lambda: platform.runs(keys), "the run")
        pid = platform.wait(lambda: pid_of(platform.instance, run.run_id), "the process")
        template = parent_of(pid)
        server = parent_of(template)
        assert "forkserver" in command_of(template)
        platform.wait(lambda: waiting(platform.it.dsn) & ports_of(pid), "the transaction")
        os.kill(template, signal.SIGKILL)
        platform.wait(lambda: not waiting(platform.it.dsn) & ports_of(pid), "the end of the run")
        platform.wait(
            lambda: (
                platform.instance.get_run_by_id(run.run_id).status is dg.DagsterRunStatus.FAILURE
            ),
            "the failure",
        )
    platform.wait(lambda: platform.is_indexed(keys), "indexing by the second run")
    platform.wait(
        lambda: all(each.status in FINISHED for each in platform.runs(keys)), "the second run's end"
    )
    second = platform.runs(keys)[1]
    assert second.status is dg.DagsterRunStatus.SUCCESS
    (other,) = (each for each in children_of(server) if "forkserver" in command_of(each))
    assert other != template
    platform.require_exact(keys)


def test_the_template_of_runs_has_one_thread_and_no_polars():
    """Polars starts threads when it is imported, which a fork would lose."""
    code = (
        "import os, sys; import voyager_assets.run_template;"
        "print(len(os.listdir('/proc/self/task')), 'polars' in sys.modules,"
        " 'dagster' in sys.modules, 'psycopg2' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["1", "False", "True", "True"]


def parent_of(pid):
    """Returns the parent of a process, 0 when there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def children_of(pid):
    """Returns the processes that a process has started."""
    entries = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [each for each in entries if parent_of(each) == pid]


def command_of(pid):
    """Returns the command line of a process, nothing when there is no such process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def pid_of(instance, run_id):
    """Returns the process that executes a run, None before it has said so."""
    for entry in instance.all_logs(run_id):
        text = entry.dagster_event.message if entry.dagster_event else entry.message
        match = re.search(r"Executing steps in process \(pid: (\d+)\)", text or "")
        if match:
            return int(match[1])
    return None


def waiting(dsn):
    """Returns the ports of the clients that wait for the table of releases."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        rows = conn.execute(
            "select a.client_port from pg_locks l join pg_class c on c.oid = l.relation"
            " join pg_stat_activity a using (pid) where c.relname = 'release' and not l.granted"
        ).fetchall()
    return {port for (port,) in rows}


def ports_of(pid):
    """Returns the local TCP ports of a process."""
    links = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                links.add(str(entry.readlink()))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(each[1].split(":")[1], 16) for each in lines if f"socket:[{each[9]}]" in links}
