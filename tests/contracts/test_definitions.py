"""What Dagster loads: a snapshot, and rules that every definition keeps."""

import ast
import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest

from voyager_assets.build import build_definitions
from voyager_assets.jobs import asset_jobs, tidy_job
from voyager_assets.sensors.history import history_sensor
from voyager_core.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 15


@pytest.fixture(scope="module")
def definitions():
    return build_definitions(Settings(_env_file=None))


@pytest.fixture(scope="module")
def graph(definitions):
    return definitions.resolve_asset_graph()


def nodes(graph):
    return [graph.get(key) for key in sorted(graph.get_all_asset_keys())]


def test_the_code_location_is_as_recorded(definitions, graph, snapshot):
    repository = definitions.get_repository_def()
    assets = {
        node.key.to_user_string(): {
            "group": node.group_name,
            "kinds": sorted(node.kinds),
            "owners": list(node.owners),
            "after": sorted(key.to_user_string() for key in node.parent_keys),
            "partitions": node.partitions_def.name if node.partitions_def else None,
            "pools": sorted(node.pools or ()),
            "checks": sorted(key.name for key in node.check_keys),
        }
        for node in nodes(graph)
    }
    sensors = {
        sensor.name: [sensor.minimum_interval_seconds, sensor.default_status.value]
        for sensor in sorted(repository.sensor_defs, key=lambda each: each.name)
    }
    schedules = {
        schedule.name: [schedule.cron_schedule, schedule.default_status.value]
        for schedule in sorted(repository.schedule_defs, key=lambda each: each.name)
    }
    jobs = {
        job.name: dict(sorted(job.tags.items()))
        for job in sorted((*asset_jobs, tidy_job), key=lambda each: each.name)
    }
    assert {"assets": assets, "jobs": jobs, "sensors": sensors, "schedules": schedules} == snapshot


def test_everything_is_described_for_people(definitions, graph):
    repository = definitions.get_repository_def()
    described = [*nodes(graph), *repository.sensor_defs, *repository.schedule_defs, *asset_jobs]
    poor = [each for each in described if len(each.description or "") < 20]
    assert poor == []
    checks = [graph.get(key) for key in graph.asset_check_keys]
    assert len(checks) == 12
    assert all(check.description for check in checks)


def test_every_run_stays_in_one_process(definitions):
    repository = definitions.get_repository_def()
    jobs = [*repository.get_all_jobs(), repository.get_job("__ASSET_JOB")]
    assert {job.executor_def.name for job in jobs} == {"in_process"}


def test_sensors_that_index_are_on_by_default():
    assert history_sensor.default_status is dg.DefaultSensorStatus.RUNNING


def test_only_assets_with_partitions_have_a_backfill_policy(graph):
    for node in nodes(graph):
        if node.partitions_def is not None:
            assert node.backfill_policy == dg.BackfillPolicy.multi_run(4), node.key


def functions_of(definitions):
    repository = definitions.get_repository_def()
    for assets in {id(each): each for each in repository.assets_defs_by_key.values()}.values():
        yield assets.op.compute_fn.decorated_fn
    for checks in {
        id(each): each for each in repository.asset_checks_defs_by_key.values()
    }.values():
        if checks.op.name != "header_pass":
            yield checks.op.compute_fn.decorated_fn


def test_asset_bodies_are_thin(definitions):
    for function in functions_of(definitions):
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        body = tree.body[1:]  # without the docstring
        lines = body[-1].end_lineno - body[0].lineno + 1
        assert lines <= MOST_LINES, f"{function.__qualname__} has {lines} lines"


def test_assets_hold_no_sql():
    for file in (ROOT / "voyager_assets").rglob("*.py"):
        if file.name == "dagster_storage.py":
            continue  # Dagster's own tables
        text = file.read_text().lower()
        assert "select " not in text or ".select" in text, file
        assert ".execute(" not in text, file


def run(*command, **environment):
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VOYAGER_", "DAGSTER"))
    }
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**clean, "DAGSTER_DISABLE_TELEMETRY": "yes", **environment},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.slow
def test_dagster_validates_the_location_with_nothing_running(tmp_path):
    program = Path(sys.executable).with_name("dagster")
    done = run(
        str(program), "definitions", "validate", "-w", "workspace.yaml", DAGSTER_HOME=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr


@pytest.mark.slow
def test_loading_connects_to_nothing_and_starts_no_thread():
    code = """
        import socket, threading
        def refuse(*arguments, **options):
            raise AssertionError(f"connected to {arguments}")
        socket.socket.connect = refuse
        before = threading.active_count()
        from voyager_assets.definitions import defs
        defs().get_repository_def().load_all_definitions()
        assert threading.active_count() == before, threading.enumerate()
        print("loaded")
    """
    done = run(sys.executable, "-W", "error", "-c", textwrap.dedent(code))
    assert done.stdout == "loaded\n", done.stderr


@pytest.mark.slow
def test_a_misspelt_setting_is_told_when_the_location_loads():
    code = "from voyager_assets.definitions import defs; defs()"
    done = run(sys.executable, "-c", code, VOYAGER_NEWS__PASSWORT="hunter2")
    assert done.returncode == 1
    assert "unknown setting VOYAGER_NEWS__PASSWORT" in done.stderr
    assert "hunter2" not in done.stderr
