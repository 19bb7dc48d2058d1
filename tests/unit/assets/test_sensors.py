"""Sensors on a real catalog: what they ask for, and why they hold back."""

from contextlib import contextmanager
from datetime import timedelta

import dagster as dg
import pytest

from tests.support.indexing import GROUP, NOW, Group, indexer, uploads
from voyager_assets.partitions import add_stretches
from voyager_assets.resources import Catalog
from voyager_assets.sensors.history import history_sensor
from voyager_assets.sensors.pacing import NotNow, require_no_run, require_success
from voyager_assets.sensors.planning import plan_sensor
from voyager_assets.sensors.recovery import stale_rules_sensor
from voyager_assets.sensors.settling import fragments_sensor, settling_sensor
from voyager_assets.sensors.tail import tail_sensor
from voyager_assets.sensors.waves import RANGE_END, RANGE_START
from voyager_core.catalog.groups import add_group

pytestmark = pytest.mark.postgres
ALL = (
    plan_sensor,
    history_sensor,
    stale_rules_sensor,
    tail_sensor,
    fragments_sensor,
    settling_sensor,
)


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path) as made:
        yield made


def tick(sensor, instance, resources, cursor=None):
    context = dg.build_sensor_context(
        instance=instance,
        cursor=cursor,
        resources={name: resources[name] for name in sensor.required_resource_keys},
        repository_def=None,
    )
    return sensor.evaluate_tick(context)


@pytest.mark.parametrize("sensor", ALL, ids=lambda each: each.name)
def test_without_a_database_a_tick_is_skipped_and_says_why(sensor, instance, it, tmp_path):
    resources = {**it.resources(), "catalog": Catalog(data_dir=str(tmp_path))}
    data = tick(sensor, instance, resources)
    assert not data.run_requests
    assert "no database" in data.skip_message


@pytest.mark.parametrize(
    ("sensor", "job"),
    [
        (plan_sensor, "plan"),
        (history_sensor, "history"),
        (tail_sensor, "tail"),
        (fragments_sensor, "merge_fragments"),
        (settling_sensor, "settle"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_after_failures_a_sensor_waits(sensor, job, instance, it):
    it.plan()
    finished(instance, job, dg.DagsterRunStatus.FAILURE, ended=NOW - timedelta(seconds=20))
    data = tick(sensor, instance, it.resources())
    assert not data.run_requests
    assert f"the last run of {job} failed" in data.skip_message


def finished(instance, name, status, *, ended=NOW, started=None):
    @dg.job(name=name)
    def work():
        pass

    run = instance.create_run_for_job(work, status=dg.DagsterRunStatus.STARTED)
    end = {
        dg.DagsterRunStatus.FAILURE: "RUN_FAILURE",
        dg.DagsterRunStatus.CANCELED: "RUN_CANCELED",
    }.get(status, "RUN_SUCCESS")
    for kind, at in (("RUN_START", started), (end, ended)):
        if at is None:
            continue
        event = dg.DagsterEvent(
            event_type_value=dg.DagsterEventType[kind].value, job_name=name, message=""
        )
        entry = dg.EventLogEntry(
            error_info=None,
            level=20,
            user_message="",
            run_id=run.run_id,
            timestamp=at.timestamp(),
            job_name=name,
            dagster_event=event,
        )
        instance.handle_new_event(entry)
    return run


def waits(instance, name):
    """Returns for how many seconds a sensor waits, in steps of 30."""
    for step in range(130):
        try:
            require_success(instance, name, NOW + timedelta(seconds=30 * step))
        except NotNow:
            continue
        return 30 * step
    raise AssertionError


def test_runs_that_failed_side_by_side_count_as_one_failure(instance):
    began = NOW - timedelta(minutes=5)
    for seconds in range(8):
        ended = NOW - timedelta(seconds=seconds)
        finished(instance, "work", dg.DagsterRunStatus.FAILURE, started=began, ended=ended)
    assert waits(instance, "work") == 30
    # A wave before that counts as one as well.
    for seconds in range(3):
        ended = began - timedelta(seconds=seconds)
        early = began - timedelta(minutes=9)
        finished(instance, "work", dg.DagsterRunStatus.FAILURE, started=early, ended=ended)
    assert waits(instance, "work") == 120


def test_a_cancelled_run_says_nothing_and_a_success_ends_the_count(instance):
    finished(instance, "work", dg.DagsterRunStatus.FAILURE, ended=NOW - timedelta(seconds=9))
    finished(instance, "work", dg.DagsterRunStatus.CANCELED)
    assert waits(instance, "work") == 30
    finished(instance, "work", dg.DagsterRunStatus.SUCCESS, ended=NOW - timedelta(seconds=5))
    assert waits(instance, "work") == 0


def test_the_wait_grows_with_every_failure_and_ends_with_a_success(instance):
    found = []
    for _ in range(6):
        finished(instance, "work", dg.DagsterRunStatus.FAILURE)
        found.append(waits(instance, "work"))
    assert found == [30, 120, 480, 1920, 3600, 3600]
    finished(instance, "work", dg.DagsterRunStatus.SUCCESS)
    require_success(instance, "work", NOW)


def test_a_run_under_way_holds_the_next_one_back(instance):
    @dg.job(name="work")
    def work():
        pass

    require_no_run(instance, "work")
    instance.create_run_for_job(work, status=dg.DagsterRunStatus.STARTED)
    with pytest.raises(NotNow, match="work"):
        require_no_run(instance, "work")


def test_planning_waits_for_newsgroups_to_be_added(instance, database, tmp_path):
    with indexer(database, tmp_path, groups=[]) as it:
        assert "voyager groups add" in tick(plan_sensor, instance, it.resources()).skip_message


def test_planning_starts_for_new_groups_and_for_missing_partitions(instance, it):
    assert len(tick(plan_sensor, instance, it.resources()).run_requests) == 1
    keys = it.plan()
    assert len(tick(plan_sensor, instance, it.resources()).run_requests) == 1
    add_stretches(instance, keys)
    data = tick(plan_sensor, instance, it.resources())
    assert data.skip_message == "every newsgroup is planned"
    with it.connect() as conn:
        add_group(conn, "alt.binaries.second")
    assert len(tick(plan_sensor, instance, it.resources()).run_requests) == 1


def covered(data):
    return [(r.tags[RANGE_START][-6:], r.tags[RANGE_END][-6:]) for r in data.run_requests]


def test_the_history_is_asked_for_once(instance, it):
    add_stretches(instance, it.plan())
    data = tick(history_sensor, instance, it.resources())
    assert covered(data) == [("000000", "000002")]
    again = tick(history_sensor, instance, it.resources(), data.cursor)
    assert not again.run_requests
    assert "3 stretches have work" in again.skip_message


def test_a_stretch_whose_run_is_under_way_is_not_asked_for_again(instance, it):
    keys = it.plan()
    add_stretches(instance, keys)
    job = it.definitions().resolve_job_def("history")
    tags = {RANGE_START: keys[0], RANGE_END: keys[2]}
    instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    assert not tick(history_sensor, instance, it.resources()).run_requests


def test_the_history_ends_when_all_is_indexed(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    data = tick(history_sensor, instance, it.resources())
    assert data.skip_message == "everything planned is indexed"


def test_the_tail_runs_once_a_newsgroup_is_planned(instance, it):
    assert "planned" in tick(tail_sensor, instance, it.resources()).skip_message
    it.plan()
    assert len(tick(tail_sensor, instance, it.resources()).run_requests) == 1


def test_settling_follows_what_was_stored(instance, it):
    keys = it.plan()
    assert "nothing is stored" in tick(settling_sensor, instance, it.resources()).skip_message
    it.run(instance, "history", keys=keys[:1])
    first = tick(settling_sensor, instance, it.resources())
    assert len(first.run_requests) == 1
    assert not tick(settling_sensor, instance, it.resources(), first.cursor).run_requests
    it.run(instance, "history", keys=keys[1:])
    second = tick(settling_sensor, instance, it.resources(), first.cursor)
    assert len(second.run_requests) == 1


def test_settling_pauses_an_hour_with_the_usual_settings(instance, it):
    keys = it.plan()
    it.settle_after_seconds = 86_400
    it.run(instance, "history", keys=keys[:1])
    first = tick(settling_sensor, instance, it.resources())
    it.run(instance, "history", keys=keys[1:])
    it.now += timedelta(minutes=59)
    data = tick(settling_sensor, instance, it.resources(), first.cursor)
    assert "less than 1:00:00 ago" in data.skip_message
    it.now += timedelta(minutes=2)
    assert tick(settling_sensor, instance, it.resources(), first.cursor).run_requests


@contextmanager
def cut_files(database, tmp_path, instance):
    """Yields an indexer with files that the ends of ranges cut, long after the last article."""
    with indexer(database, tmp_path, [Group(GROUP, uploads(1, 1200, parts=60))]) as it:
        it.run(instance, "history", keys=it.plan())
        it.now += timedelta(days=10_000)
        yield it


@pytest.mark.parametrize(
    ("settle_after_seconds", "pause_seconds"), [(86_400, 120), (60, 60), (0, 0)]
)
def test_merging_pauses_between_runs(
    instance, database, tmp_path, settle_after_seconds, pause_seconds
):
    with cut_files(database, tmp_path, instance) as it:
        it.settle_after_seconds = settle_after_seconds
        first = tick(fragments_sensor, instance, it.resources())
        assert len(first.run_requests) == 1
        if pause_seconds:
            it.now += timedelta(seconds=pause_seconds - 1)
            data = tick(fragments_sensor, instance, it.resources(), first.cursor)
            assert "the last merging was less than" in data.skip_message
            it.now += timedelta(seconds=1)
        assert tick(fragments_sensor, instance, it.resources(), first.cursor).run_requests


@pytest.mark.parametrize("cursor", ["", "never", "[1]", "2025-01-02"])
def test_a_strange_cursor_of_merging_counts_as_none(instance, database, tmp_path, cursor):
    with cut_files(database, tmp_path, instance) as it:
        assert tick(fragments_sensor, instance, it.resources(), cursor).run_requests


def test_a_strange_cursor_of_settling_counts_as_none(instance, it):
    it.run(instance, "history", keys=it.plan())
    for cursor in ("", "{}", "[1]", '{"state": 1, "at": "never"}'):
        assert tick(settling_sensor, instance, it.resources(), cursor).run_requests
