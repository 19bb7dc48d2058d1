"""The Dagster side of a changed rule: partitions that say what is stale, and their backfill."""

import dagster as dg
import pytest

from tests.support.indexing import GROUP, Group, indexer
from tests.support.recovering import mixed
from voyager_assets.automation import RULE_TAG
from voyager_assets.recoveries import parse_recovery_key, recovery_key, stale_now, sync_recoveries
from voyager_assets.sensors.recovery import stale_rules_sensor
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.rulesets import restore_rule, retract_rule, rules_in_force
from voyager_core.domain.rulesets import DISGUISED_PROGRAM

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
KEYS = [f"{DISGUISED_PROGRAM}@2/{GROUP}/{index:06d}" for index in range(2)]


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def it(database, tmp_path):
    """The rule dropped something in the first two of three stretches."""
    lines = [
        line if number < 900 else line.replace(b".exe", b".bin").replace(b".scr", b".bin")
        for number, line in enumerate(mixed(1, 1200))
    ]
    with indexer(database, tmp_path, [Group(GROUP, lines)]) as made:
        yield made


def tick(it, instance, cursor=None):
    context = dg.build_sensor_context(
        instance=instance,
        cursor=cursor,
        resources={
            name: it.resources()[name] for name in stale_rules_sensor.required_resource_keys
        },
        repository_def=None,
    )
    return stale_rules_sensor.evaluate_tick(context)


def retract(it):
    with it.connect() as conn:
        return retract_rule(conn, DISGUISED_PROGRAM)


def test_a_retracted_rule_makes_a_partition_of_each_stale_stretch_and_backfills_it(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    assert "no range is stale" in tick(it, instance).skip_message
    retract(it)
    data = tick(it, instance)
    assert "backfill" in data.skip_message
    assert list(instance.get_dynamic_partitions("recovery")) == KEYS
    (backfill,) = instance.get_backfills()
    assert backfill.tags[RULE_TAG] == DISGUISED_PROGRAM
    assert "retracted in rule set 2" in backfill.title
    assert backfill.tags["voyager/why"] == "retracted in rule set 2"
    graph = it.definitions().get_repository_def().asset_graph
    subset = backfill.get_asset_backfill_data(graph).target_subset
    target = subset.get_partitions_subset(dg.AssetKey("rule_recovery"))
    assert set(target.get_partition_keys()) == set(KEYS)
    (record,) = [
        each.asset_observation
        for each in instance.fetch_observations(dg.AssetKey("releases"), limit=10).records
        if each.asset_observation.partition == f"{GROUP}/000001"
    ]
    assert "was retracted in rule set 2; it had dropped" in record.description
    # While it is under way nothing is started again.
    again = tick(it, instance, data.cursor)
    assert "wait for their backfill" in again.skip_message
    assert len(instance.get_backfills()) == 1


def test_materializing_the_stale_partitions_recovers_them_and_leaves_nothing_stale(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    retract(it)
    with it.connect() as conn:
        sync_recoveries(instance, stale_now(conn, rules_in_force(conn)))
    definitions = it.definitions()
    result = definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey("rule_recovery")],
        tags={
            "dagster/asset_partition_range_start": KEYS[0],
            "dagster/asset_partition_range_end": KEYS[-1],
        },
    )
    assert result.success
    events = result.asset_materializations_for_node("rule_recovery")
    assert [each.partition for each in events] == KEYS
    assert all(each.metadata["articles_recovered"].value > 0 for each in events)
    assert {each.metadata["spans_recovered"].value for each in events} == {1}
    assert instance.get_materialized_partitions(dg.AssetKey("rule_recovery")) == set(KEYS)
    # The pages of the stretches tell what is there now, after what told that they are stale.
    page = instance.fetch_materializations(dg.AssetKey("releases"), limit=2).records
    assert {each.partition_key for each in page} == {f"{GROUP}/{n:06d}" for n in range(2)}
    assert {each.asset_materialization.metadata["dropped"].value for each in page} == {0}
    seen = instance.fetch_observations(dg.AssetKey("releases"), limit=9).records
    assert min(each.storage_id for each in page) > max([0, *(each.storage_id for each in seen)])
    assert "no range is stale" in tick(it, instance).skip_message
    assert list(instance.get_dynamic_partitions("recovery")) == KEYS
    with it.connect() as conn:
        assert check_catalog(conn) == []


def test_a_tick_shows_a_few_stale_stretches_and_the_next_ones_the_others(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    retract(it)
    with it.connect() as conn:
        stale = stale_now(conn, rules_in_force(conn))
        first = sync_recoveries(instance, stale, most=1)
        assert [each.key for each in first.new] == [each.key for each in first.shown] == KEYS[:1]
        second = sync_recoveries(instance, stale, most=1)
        assert [each.key for each in second.new] == KEYS[1:]
        assert [each.key for each in second.shown] == KEYS
        assert sync_recoveries(instance, stale, most=1).new == []
        # Nor does it take away more at a time.
        for left in (1, 0):
            assert sync_recoveries(instance, [], most=1).shown == []
            assert len(instance.get_dynamic_partitions("recovery")) == left


def test_a_partition_selection_of_the_header_pass_recovers_too(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    retract(it)
    config = {"ops": {"header_pass": {"config": {"rule": "*"}}}}
    assert it.run(instance, "history", keys=keys[:1], run_config=config).success
    with it.connect() as conn:
        assert [each.stretch.index for each in stale_now(conn, rules_in_force(conn))] == [1]
    tick(it, instance)
    assert list(instance.get_dynamic_partitions("recovery")) == KEYS[1:]


def test_a_rule_that_is_restored_takes_its_stale_partitions_away(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    retract(it)
    tick(it, instance)
    with it.connect() as conn:
        restore_rule(conn, DISGUISED_PROGRAM)
    assert "no range is stale" in tick(it, instance).skip_message
    assert list(instance.get_dynamic_partitions("recovery")) == []


def test_the_rule_set_asset_says_what_is_stale_and_why(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    retract(it)
    result = it.run(instance, "plan", selection=["rule_set"])
    (event,) = result.asset_materializations_for_node("rule_set")
    assert event.metadata["stretches_stale"].value == 2
    (row,) = event.metadata["stale"].records
    assert (row.data["rule"], row.data["why"]) == (DISGUISED_PROGRAM, "retracted")


def test_a_rule_is_retracted_and_restored_from_the_launchpad(instance, it):
    job = it.definitions().resolve_job_def("retract_rule")

    def run(**config):
        return job.execute_in_process(
            instance=instance,
            run_config={"ops": {"change_rule": {"config": config}}},
            raise_on_error=False,
        )

    assert run(rule=DISGUISED_PROGRAM, note="too greedy").output_for_node("change_rule") == 2
    with it.connect() as conn:
        assert DISGUISED_PROGRAM not in rules_in_force(conn).dropped
    assert run(rule=DISGUISED_PROGRAM, restore=True).output_for_node("change_rule") == 3
    wrong = run(rule="nothing")
    assert not wrong.success
    assert "no rule 'nothing'" in str(wrong.all_events)


def test_keys_say_rule_version_and_stretch():
    key = recovery_key("disguised_program", 12, "alt.binaries.x", 3)
    assert key == "disguised_program@12/alt.binaries.x/000003"
    assert parse_recovery_key(key) == ("disguised_program", 12, "alt.binaries.x", 3)
    for wrong in ("", "x", "rule@x/alt.b/000001", "rule@1/alt.b", "rule/alt.b/000001"):
        with pytest.raises(ValueError, match="not a"):
            parse_recovery_key(wrong)
