"""Dagster's instance as `voyager up` configures it, on a real Postgres."""

import logging
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from types import SimpleNamespace
from urllib.parse import urlsplit

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.run_coordinator import QueuedRunCoordinator
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.monitoring import concurrency
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from voyager_assets.automation import POOL_SLOTS, ensure_pool_slots
from voyager_assets.dagster_storage import DRIVER, PooledPostgresStorage, with_driver
from voyager_assets.jobs import PRUNED, prune_events
from voyager_core.settings import RESERVED, RESERVED_PREFIXES, Settings, known_variables
from voyager_core.supervisor.environment import child_environment

YAML = files("voyager_assets").joinpath("dagster.yaml")

pytestmark = pytest.mark.postgres


@pytest.fixture
def instance(empty_database, tmp_path, monkeypatch):
    parts = urlsplit(empty_database)
    environment = {
        "VOYAGER_PG_HOST": parts.hostname,
        "VOYAGER_PG_PORT": str(parts.port),
        "VOYAGER_PG_USER": parts.username,
        "VOYAGER_PG_PASSWORD": parts.password,
        "VOYAGER_PG_DAGSTER_DB": parts.path[1:],
        "VOYAGER_COMPUTE_LOGS": str(tmp_path / "logs"),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    tmp_path.joinpath("dagster.yaml").write_text(YAML.read_text())
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(tmp_path))) as made:
        yield made
        for storage in storages(made):
            storage._engine.dispose()


def storages(instance):
    return instance.run_storage, instance.event_log_storage, instance.schedule_storage


def test_the_storage_keeps_its_connections(instance):
    assert instance.get_ref().custom_instance_class is None
    assert instance.get_ref().storage_data.class_name == PooledPostgresStorage.__name__
    for storage in storages(instance):
        assert isinstance(storage._engine.pool, QueuePool)
        assert storage._engine.pool.size() == 1
        assert storage._engine.url.drivername == DRIVER


def test_one_connection_serves_many_statements(instance):
    engine = instance.event_log_storage._engine
    opened = []
    event.listen(engine, "connect", lambda *_: opened.append(1))
    instance.add_dynamic_partitions("stretch", ["a/000000"])
    for _ in range(20):
        instance.has_dynamic_partition("stretch", "a/000000")
    assert len(opened) <= 1


def test_a_table_is_looked_up_once(instance):
    storage = instance.event_log_storage
    statements = []
    event.listen(
        storage._engine,
        "before_cursor_execute",
        lambda *arguments: statements.append(arguments[2]),
    )
    assert storage.has_table("event_logs")
    asked = len(statements)
    assert asked > 0
    assert storage.has_table("event_logs")
    assert len(statements) == asked
    assert not storage.has_table("no_such_table")
    assert not storage.has_table("no_such_table")
    assert len(statements) > asked + 1


def test_events_and_their_versions_are_stored(instance):
    @dg.asset(code_version="1")
    def thing():
        return dg.MaterializeResult(data_version=dg.DataVersion("x"), metadata={"n": 3})

    assert dg.materialize([thing], instance=instance).success
    record = instance.get_latest_materialization_event(dg.AssetKey("thing"))
    assert record.asset_materialization.tags["dagster/data_version"] == "x"


def test_a_restarted_server_costs_no_statement(instance, empty_database):
    from voyager_core.catalog.connect import connect

    instance.add_dynamic_partitions("stretch", ["a/000000"])
    with connect(empty_database) as conn:
        conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    assert instance.get_dynamic_partitions("stretch") == ["a/000000"]


def test_limits_retries_and_telemetry_are_as_decided(instance):
    assert not instance.telemetry_enabled
    assert isinstance(instance.run_coordinator, QueuedRunCoordinator)
    queue = instance.get_concurrency_config().run_queue_config
    lanes = {each["value"]: each["limit"] for each in queue.tag_concurrency_limits}
    assert lanes == {"tail": 1, "history": 2, "catalog": 1}
    # The tail and one other lane always find a free slot beside the history.
    assert queue.max_concurrent_runs >= lanes["history"] + 2
    assert instance.run_retries_enabled
    assert not instance.run_retries_retry_on_asset_or_op_failure
    assert instance.run_monitoring_enabled


def test_pools_get_their_limits_once(instance):
    ensure_pool_slots(instance)
    limits = {each.name: each.limit for each in instance.event_log_storage.get_pool_limits()}
    assert limits == POOL_SLOTS
    instance.event_log_storage.set_concurrency_slots("catalog", 3)
    ensure_pool_slots(instance)
    limits = {each.name: each.limit for each in instance.event_log_storage.get_pool_limits()}
    assert limits == {**POOL_SLOTS, "catalog": 3}


@pytest.mark.parametrize("end", ["report_run_failed", "report_run_canceled"])
def test_a_pool_gets_back_the_place_of_a_worker_that_was_killed(instance, monkeypatch, end):
    ensure_pool_slots(instance)
    run = create_run_for_test(instance, status=dg.DagsterRunStatus.STARTED)
    storage = instance.event_log_storage
    assert storage.claim_concurrency_slot("news_tail", run.run_id, "live_tail").is_claimed
    getattr(instance, end)(run)

    def monitored(minutes):
        later = datetime.now(UTC) + timedelta(minutes=minutes)
        monkeypatch.setattr(concurrency, "get_current_datetime", lambda: later)
        context = SimpleNamespace(instance=instance)
        list(concurrency.execute_concurrency_slots_iteration(context, logging.getLogger()))
        return storage.get_concurrency_info("news_tail")

    # A worker that is only being ended may still be at it.
    assert monitored(0).active_slot_count == 1
    info = monitored(5)
    assert (info.active_slot_count, info.pending_step_count) == (0, 0)


def variables(value):
    if isinstance(value, dict):
        if set(value) == {"env"}:
            return {value["env"]}
        return set().union(*(variables(each) for each in value.values()))
    return set().union(*(variables(each) for each in value)) if isinstance(value, list) else set()


def test_every_variable_of_the_file_is_written_by_voyager_and_is_no_setting():
    used = variables(yaml.safe_load(YAML.read_text()))
    assert used
    for name in used:
        assert name in RESERVED or name.startswith(RESERVED_PREFIXES), name
        assert name not in known_variables()


def test_what_the_file_asks_for_is_what_voyager_exports():
    dsn = "postgresql://u:p%40s@127.0.0.1:5433/voyager_dagster"
    exported = child_environment(Settings(_env_file=None), catalog_dsn=dsn, dagster_dsn=dsn)
    assert variables(yaml.safe_load(YAML.read_text())) <= set(exported)
    assert exported["VOYAGER_PG_PASSWORD"] == "p@s"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_the_driver_is_always_named(scheme):
    url = with_driver(f"{scheme}://u:p%40s@h:5/d?sslmode=require")
    assert url == "postgresql+psycopg2://u:p%40s@h:5/d?sslmode=require"


def test_steps_of_old_runs_are_pruned_and_materializations_stay(instance):
    partitions = dg.DynamicPartitionsDefinition(name="stretch")

    @dg.asset(partitions_def=partitions)
    def thing():
        return None

    @dg.asset
    def broken():
        raise dg.Failure

    instance.add_dynamic_partitions("stretch", ["a"])
    done = dg.materialize([thing], instance=instance, partition_key="a")
    failed = dg.materialize([broken], instance=instance, raise_on_error=False)

    def kinds(result):
        return [
            entry.dagster_event.event_type_value if entry.dagster_event else None
            for entry in instance.all_logs(result.run_id)
        ]

    failed_kinds = kinds(failed)
    assert prune_events(instance, before=0) == 0
    deleted = prune_events(instance, before=4_000_000_000)
    assert deleted > 0
    assert set(kinds(done)) >= {"PIPELINE_START", "PIPELINE_SUCCESS", "ASSET_MATERIALIZATION"}
    assert not set(kinds(done)) & set(PRUNED)
    # What failed is still to be understood.
    assert kinds(failed) == failed_kinds
    assert instance.get_materialized_partitions(dg.AssetKey("thing")) == {"a"}
    assert prune_events(instance, before=4_000_000_000) == 0


def test_an_instance_without_postgres_has_nothing_to_prune():
    with dg.DagsterInstance.ephemeral() as ephemeral:
        assert prune_events(ephemeral, before=4_000_000_000) == 0
