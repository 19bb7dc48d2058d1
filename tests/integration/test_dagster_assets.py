"""The assets on a scripted news server and a real catalog, in this process."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest

from tests.support.indexing import GROUP, NO_WAIT, Group, counts, indexer, uploads
from tests.support.newsserver import Rule
from voyager_assets import jobs, retries
from voyager_assets.assets import pass_checks, stages
from voyager_assets.resources import NewsServer, OverviewSpool
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.groups import get_group
from voyager_core.catalog.ranges import ranges_of, unpark

pytestmark = pytest.mark.postgres
OTHER = "alt.binaries.other"


@pytest.fixture(autouse=True)
def no_wait(monkeypatch):
    monkeypatch.setattr(retries, "wait_seconds", lambda _retry_number: 0.0)
    options = OverviewSpool.options
    monkeypatch.setattr(
        OverviewSpool,
        "options",
        lambda self, *lane: replace(options(self, *lane), attempts=1, back_off=NO_WAIT),
    )


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path) as made:
        yield made


@pytest.fixture
def two(database, tmp_path):
    groups = [
        Group(GROUP, uploads(1, 1000)),
        Group(OTHER, uploads(1, 1000, group=OTHER)),
    ]
    with indexer(database, tmp_path, groups) as made:
        yield made


def materialized(instance, asset):
    return sorted(instance.get_materialized_partitions(dg.AssetKey(asset)))


def failure_text(result):
    event = next(e for e in result.all_events if e.event_type_value == "STEP_FAILURE")
    data = event.event_specific_data
    return data.user_failure_data.description if data.user_failure_data else data.error.message


def states(it, group=GROUP):
    with it.connect() as conn:
        return [(row.low, row.state, row.resume_at) for row in ranges_of(conn, group)]


def checks(result):
    return {each.check_name: each.passed for each in result.get_asset_check_evaluations()}


def test_planning_adds_ranges_and_their_partitions_group_by_group(instance, two):
    assert two.run(instance, "plan").success
    expected = [f"{group}/{number:06d}" for group in (GROUP, OTHER) for number in range(2)]
    assert instance.get_dynamic_partitions("stretch") == expected
    record = instance.get_latest_materialization_event(dg.AssetKey("newsgroups"))
    told = record.asset_materialization.metadata
    assert told["new_ranges"].value == 4
    assert told["new_partitions"].value == 4
    assert two.run(instance, "plan").success
    assert instance.get_dynamic_partitions("stretch") == expected


def test_a_pass_materializes_every_stage_of_every_stretch(instance, it):
    keys = it.plan()
    result = it.run(instance, "history", keys=keys)
    assert result.success
    for stage in stages.STAGES:
        assert materialized(instance, stage) == keys
    assert set(checks(result).values()) == {True}
    with it.connect() as conn:
        assert counts(conn)["lines"] == 1200
        assert check_catalog(conn) == []


def test_metadata_tells_the_numbers_of_the_whole_stretch(instance, it):
    keys = it.plan()
    result = it.run(instance, "history", keys=keys)
    told = {
        (each.asset_key.to_user_string(), each.partition): each.metadata
        for each in result.asset_materializations_for_node("header_pass")
    }
    parsed = told["parsed_headers", keys[0]]
    assert parsed["lines"].value == parsed["kept"].value == 500
    assert parsed["this_pass_cpu_seconds"].value > 0
    assert parsed["this_pass_headers_per_cpu_second"].value > 0
    assert told["chunks", keys[0]]["segments"].value == 500
    assert told["releases", keys[0]]["releases"].value == 5
    assert told["spooled_overview", keys[2]]["resume_at"].value == 1201
    again = it.run(instance, "history", keys=keys)
    told = {
        (each.asset_key.to_user_string(), each.partition): each.metadata
        for each in again.asset_materializations_for_node("header_pass")
    }
    assert told["parsed_headers", keys[0]]["lines"].value == 500
    assert told["parsed_headers", keys[0]]["this_pass_lines"].value == 0


def test_rejected_lines_are_told_by_reason(instance, database, tmp_path):
    lines = [*uploads(1, 100), b"101\tno counter here\tjoe\tdate\t<x@y>\t\t100\t10", b"102\tbroken"]
    with indexer(database, tmp_path, [Group(GROUP, lines)]) as it:
        result = it.run(instance, "history", keys=it.plan())
        event = result.asset_materializations_for_node("header_pass")[1]
        rows = {
            row.data["reason"]: row.data["articles"]
            for row in event.metadata["rejected_by_reason"].records
        }
        assert rows == {"no_counter": 1, "bad_line": 1}
        assert checks(result)[pass_checks.ALL_LINES]


def test_a_second_run_reads_nothing_again_and_changes_nothing(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    with it.connect() as conn:
        before = counts(conn)
    asked = it.server.count("XOVER")
    assert it.run(instance, "history", keys=keys).success
    assert it.server.count("XOVER") == asked
    with it.connect() as conn:
        assert counts(conn) == before


def test_selecting_the_first_stage_only_fetches(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys, selection=["spooled_overview"]).success
    assert materialized(instance, "spooled_overview") == keys
    assert materialized(instance, "parsed_headers") == []
    assert it.spool().bytes_used() > 0
    assert [state for _, state, _ in states(it)] == ["planned"] * 3
    asked = it.server.count("XOVER")
    assert it.run(instance, "history", keys=keys).success
    assert it.server.count("XOVER") == asked
    assert it.spool().bytes_used() == 0


def test_selecting_two_stages_reads_and_stores_nothing(instance, it):
    keys = it.plan()
    chosen = ["spooled_overview", "parsed_headers"]
    result = it.run(instance, "history", keys=keys, selection=chosen)
    assert result.success
    event = result.asset_materializations_for_node("header_pass")[1]
    assert event.metadata["lines"].value == 500
    assert [state for _, state, _ in states(it)] == ["planned"] * 3


def test_a_range_that_fails_is_noted_and_the_others_go_on(instance, it):
    keys = it.plan()
    it.server.rules.append(
        Rule("XOVER", "reply", "503 overview is broken", argument="601", times=None)
    )
    result = it.run(instance, "history", keys=keys)
    assert not result.success
    assert materialized(instance, "chunks") == [keys[0], keys[2]]
    assert f"{GROUP} 501-1000" in failure_text(result)
    with it.connect() as conn:
        broken = ranges_of(conn, GROUP)[1]
    assert broken.state == "planned"
    assert broken.attempts == 4
    assert "503" in broken.error
    it.server.rules.clear()
    assert it.run(instance, "history", keys=keys).success
    assert materialized(instance, "chunks") == keys


def test_a_fault_that_passes_costs_only_a_retry(instance, it):
    keys = it.plan()
    it.server.rules.append(Rule("XOVER", "cut", 0.5, argument="601"))
    result = it.run(instance, "history", keys=keys)
    assert result.success
    retried = [e for e in result.all_events if e.event_type_value == "STEP_UP_FOR_RETRY"]
    assert len(retried) == 1
    assert materialized(instance, "chunks") == keys
    # What was stored before the retry is not asked for again.
    assert sorted(it.server.asked("XOVER")) == sorted(
        [
            *("1-200", "201-400", "401-500", "501-600", "601-800", "601-800", "801-1000"),
            *("1001-1200",),
        ]
    )


def test_a_range_that_never_comes_is_parked_for_a_person(instance, it):
    keys = it.plan()
    it.server.rules.append(Rule("XOVER", "reply", "503 broken", argument="601", times=None))
    for _ in range(5):
        it.run(instance, "history", keys=keys)
    assert states(it)[1][1] == "parked"
    it.server.rules.clear()
    result = it.run(instance, "history", keys=keys)
    assert result.success
    assert states(it)[1][1] == "parked"
    with it.connect() as conn:
        unpark(conn)
    assert it.run(instance, "history", keys=keys).success
    assert states(it)[1][1] == "done"


def test_a_wrong_password_stops_everything_at_once(instance, database, tmp_path):
    with indexer(database, tmp_path, user="joe", password="right") as it:
        keys = it.plan()
        it.extra["news"] = it.resources()["news"]
        it.server.password = "changed"
        result = it.run(instance, "history", keys=keys)
        assert not result.success
        assert "check user and password" in failure_text(result)
        assert "right" not in failure_text(result)
        assert not [e for e in result.all_events if e.event_type_value == "STEP_UP_FOR_RETRY"]
        assert it.server.count("AUTHINFO") <= 6
        with it.connect() as conn:
            assert {row.attempts for row in ranges_of(conn, GROUP)} == {0}


def test_a_server_that_is_down_blames_no_range(instance, it):
    keys = it.plan()
    it.extra["news"] = NewsServer(url="nntp://127.0.0.1:1")
    result = it.run(instance, "history", keys=keys)
    assert not result.success
    assert "127.0.0.1:1" in failure_text(result)
    with it.connect() as conn:
        assert {row.attempts for row in ranges_of(conn, GROUP)} == {0}


def test_a_group_that_is_gone_parks_its_ranges_and_nothing_else(instance, two):
    keys = two.plan()
    gone = two.server.groups.pop(GROUP)
    result = two.run(instance, "history", keys=keys)
    assert not result.success
    assert "411" in failure_text(result)
    assert {state for _, state, _ in states(two, GROUP)} == {"parked"}
    assert {state for _, state, _ in states(two, OTHER)} == {"done"}
    assert materialized(instance, "chunks") == keys[2:]
    with two.connect() as conn:
        assert get_group(conn, GROUP).state == "gone"
    two.server.groups[GROUP] = gone
    assert two.run(instance, "plan").success
    assert two.run(instance, "history", keys=keys).success
    assert {state for _, state, _ in states(two, GROUP)} == {"done"}


def test_planning_parks_what_the_server_does_not_carry_and_says_so(instance, two):
    two.plan()
    del two.server.groups[OTHER]
    assert two.run(instance, "plan").success
    assert {state for _, state, _ in states(two, OTHER)} == {"parked"}
    record = instance.get_latest_materialization_event(dg.AssetKey("newsgroups"))
    told = record.asset_materialization.metadata
    assert told["groups_gone"].value == 1
    assert "does not carry" in told["newsgroups"].records[0].data["note"]


BREAKS = {
    pass_checks.NO_GAP: "update range set high = high - 1 where low = 1",
    pass_checks.ALL_LINES: "update range set lines = lines + 1 where low = 1",
    pass_checks.SUMS: "update release set segments = segments + 1",
    pass_checks.ROUND_TRIP: "update chunk set payload = substr(payload, 1, 20)",
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_check_of_the_pass_can_fail(name, instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    with it.connect() as conn:
        if name == pass_checks.NO_GAP:
            # The constraints of the ledger forbid most of what this check looks for.
            conn.execute("update range set resume_at = low where low = 501")
        else:
            conn.execute(BREAKS[name])
    keys = [keys[1]] if name == pass_checks.NO_GAP else keys
    it.server.groups.clear()
    result = it.run(instance, "history", keys=keys)
    assert not checks(result)[name]
    assert {each for each, passed in checks(result).items() if not passed} == {name}


CATALOG_BREAKS = {
    "ranges_have_no_gap": "delete from range where low = 501",
    "all_lines_are_accounted_for": "update range set lines = lines + 1 where low = 1",
    "releases_match_chunks": "update release set size_bytes = size_bytes + 1",
    "reposts_are_apart": (
        "insert into release (release_key, size_bytes, posted_at, last_posted_at, listed_at,"
        " changed_at, newsgroup_id, category, files, segments, generation, has_par2,"
        " is_readable, group_ids, tok, name) select release_key, size_bytes, posted_at,"
        " last_posted_at, listed_at, changed_at, newsgroup_id, category, files, segments, 9,"
        " has_par2, is_readable, group_ids, tok, name from release limit 1"
    ),
    "chunks_decode": "update chunk set payload = substr(payload, 1, 20)",
}


@pytest.mark.parametrize("name", CATALOG_BREAKS)
def test_each_check_of_the_catalog_can_fail(name, instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    sound = it.run(instance, "check_catalog")
    assert checks(sound) == dict.fromkeys(CATALOG_BREAKS, True)
    with it.connect() as conn:
        conn.execute("alter table chunk drop constraint if exists chunk_range_id_fkey")
        if name == "ranges_have_no_gap":
            conn.execute("set session_replication_role = replica")
        conn.execute(CATALOG_BREAKS[name])
    assert not checks(it.run(instance, "check_catalog"))[name]


def test_a_stretch_of_several_ranges_is_one_partition(instance, database, tmp_path):
    with indexer(database, tmp_path, per_partition=2) as it:
        keys = it.plan()
        assert keys == [f"{GROUP}/000000", f"{GROUP}/000001"]
        assert it.run(instance, "history", keys=keys[:1]).success
        assert [state for _, state, _ in states(it)] == ["done", "done", "planned"]
        told = instance.get_latest_materialization_event(dg.AssetKey("spooled_overview"))
        assert told.asset_materialization.metadata["ranges_done"].value == 2
        assert it.run(instance, "history", keys=keys[1:]).success
        assert materialized(instance, "chunks") == keys


def test_only_the_wanted_days_are_planned(instance, it):
    posted = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=900)
    it.now = posted + timedelta(days=3)
    it.extra["catalog"] = it.resources()["catalog"].__class__(database_url=it.dsn, backfill_days=3)
    assert it.run(instance, "plan").success
    lows = [low for low, _, _ in states(it)]
    assert 700 < lows[0] <= 900
    assert lows[1:] == [1001]
    it.now += timedelta(days=1)
    assert it.run(instance, "plan").success
    assert [low for low, _, _ in states(it)] == lows


def test_the_tail_brings_what_was_posted_since(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    for line in uploads(1201, 100):
        it.server.groups[GROUP].add(line)
    assert it.run(instance, "tail").success
    record = instance.get_latest_materialization_event(dg.AssetKey("live_tail"))
    assert record.asset_materialization.metadata["lines"].value == 100
    with it.connect() as conn:
        assert counts(conn)["lines"] == 1300
        assert check_catalog(conn) == []


def test_the_tail_opens_and_closes_stretches(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    before = instance.get_materialized_partitions(dg.AssetKey("chunks"))
    for line in uploads(1201, 500):
        it.server.groups[GROUP].add(line)
    assert it.run(instance, "tail").success
    assert [each[1:] for each in states(it)][2:] == [("done", 1501), ("partial", 1701)]
    assert instance.get_dynamic_partitions("stretch") == [*keys, f"{GROUP}/000003"]
    after = instance.get_materialized_partitions(dg.AssetKey("chunks"))
    assert after - before == {f"{GROUP}/000003"}


def test_stretches_that_the_tail_tells_of_outlive_its_run(instance, it):
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    for line in uploads(1201, 500):
        it.server.groups[GROUP].add(line)
    result = it.run(instance, "tail")
    instance.delete_run(result.run_id)
    assert f"{GROUP}/000003" in instance.get_materialized_partitions(dg.AssetKey("chunks"))


def test_the_tail_leaves_history_to_the_header_pass(instance, it):
    it.plan()
    assert it.run(instance, "tail").success
    with it.connect() as conn:
        assert counts(conn)["lines"] == 0


def test_a_failing_span_of_the_tail_is_told_and_not_retried(instance, two):
    keys = two.plan()
    assert two.run(instance, "history", keys=keys).success
    for group in (GROUP, OTHER):
        for line in uploads(1001, 50, group=group):
            two.server.groups[group].add(line)
    rule = Rule("XOVER", "reply", "503 broken", argument="1001", times=1)
    two.server.rules.append(rule)
    result = two.run(instance, "tail")
    assert not result.success
    assert "503" in failure_text(result)
    assert not [e for e in result.all_events if e.event_type_value == "STEP_UP_FOR_RETRY"]
    record = instance.get_latest_materialization_event(dg.AssetKey("live_tail"))
    assert record.asset_materialization.metadata["spans_failed"].value == 1
    assert record.asset_materialization.metadata["lines"].value == 50
    assert two.run(instance, "tail").success
    with two.connect() as conn:
        assert counts(conn)["lines"] == 2100


def test_files_across_the_edges_of_ranges_become_whole(instance, database, tmp_path):
    groups = [Group(GROUP, uploads(1, 1200, parts=60))]
    with indexer(database, tmp_path, groups) as it:
        keys = it.plan()
        assert it.run(instance, "history", keys=keys).success
        with it.connect() as conn:
            assert counts(conn)["fragments"] > 0
        # Beyond the newest article a missing segment is waited for until then.
        it.now += timedelta(days=10_000)
        assert it.run(instance, "merge_fragments").success
        with it.connect() as conn:
            found = counts(conn)
            assert found["fragments"] == 0
            assert found["segments"] == 1200
            assert check_catalog(conn) == []
        record = instance.get_latest_materialization_event(dg.AssetKey("merged_fragments"))
        assert record.asset_materialization.metadata["fragments_waiting"].value == 0


def test_releases_settle_once_their_ranges_are_read(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    with it.connect() as conn:
        conn.execute("update release set changed_at = '2024-01-01'")
        conn.execute("update release set posted_at = '2024-06-01', last_posted_at = '2024-06-01'")
    assert it.run(instance, "settle").success
    record = instance.get_latest_materialization_event(dg.AssetKey("settled_catalog"))
    told = record.asset_materialization.metadata
    assert told["settled"].value == told["complete"].value + told["incomplete"].value > 0


def test_the_overview_adds_up_the_ledger(instance, it):
    assert it.run(instance, "history", keys=it.plan()).success
    assert it.run(instance, "overview").success
    record = instance.get_latest_materialization_event(dg.AssetKey("range_ledger"))
    told = record.asset_materialization.metadata
    assert told["lines"].value == 1200
    assert told["ranges_done"].value == 2
    assert told["behind"].value == 0
    assert told["percent_indexed"].value == 100.0
    assert "dropped_by_rule" not in told


def test_old_runs_are_deleted_and_partitions_stay_materialized(instance, it, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_RUNS", 1)
    keys = it.plan()
    assert it.run(instance, "history", keys=keys).success
    for _ in range(3):
        assert it.run(instance, "tail").success
    it.now += timedelta(days=10_000)
    result = it.run(instance, "tidy")
    assert result.output_for_node("delete_old_runs")["tail"] == 2
    assert len(instance.get_runs(dg.RunsFilter(job_name="tail"))) == 1
    assert materialized(instance, "chunks") == keys


def test_partitions_are_fresh_after_a_pass_and_stale_after_a_new_rule_set(
    instance, it, monkeypatch
):
    keys = it.plan()
    assert it.run(instance, "plan").success
    assert it.run(instance, "history", keys=keys).success

    def status(stage):
        graph = it.definitions().resolve_asset_graph()
        context = LoadingContextForTest(instance)
        resolver = CachingStaleStatusResolver(instance, graph, context)
        return resolver.get_status(dg.AssetKey(stage), keys[0])

    assert {status(stage) for stage in stages.STAGES} == {StaleStatus.FRESH}
    dg.materialize([newer_rule_set()], instance=instance)
    assert status(stages.RELEASES) is StaleStatus.STALE


def newer_rule_set():
    @dg.asset(name="rule_set")
    def rule_set():
        return dg.MaterializeResult(data_version=dg.DataVersion("rules 2"))

    return rule_set
