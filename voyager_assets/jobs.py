"""The jobs that sensors and schedules launch: selections of assets, each in its lane."""

import json
import urllib.request
from datetime import timedelta

import dagster as dg

from voyager_assets.assets.stages import STAGES
from voyager_assets.automation import CATALOG_LANE, HISTORY_LANE, PLAN_LANE, TAIL_LANE
from voyager_assets.dagster_storage import CachingEventLogStorage
from voyager_assets.resources import Alerts, Clock

# Dagster never deletes runs or events by itself, and the tail alone makes 720 runs a day. Runs of
# the history are kept: they hold the materializations of the partitions.
KEPT_DAYS = {
    "tail": 3,
    "plan": 30,
    "merge_fragments": 30,
    "settle": 30,
    "overview": 90,
    "alert": 90,
    "capture": 90,
    "replay_corpus": 3650,
    "check_catalog": 90,
}
# After so many days a run that succeeded keeps its materializations, and no steps in between.
KEPT_DAYS_OF_STEPS = 3
PRUNED = (
    "ASSET_CHECK_EVALUATION",
    "ASSET_CHECK_EVALUATION_PLANNED",
    "ASSET_MATERIALIZATION_PLANNED",
    "ENGINE_EVENT",
    "LOGS_CAPTURED",
    "RESOURCE_INIT_STARTED",
    "RESOURCE_INIT_SUCCESS",
    "STEP_INPUT",
    "STEP_OUTPUT",
)
# The newest runs stay, so that every asset keeps a last materialization.
KEPT_RUNS = 20
DELETED_AT_A_TIME = 5_000

plan_job = dg.define_asset_job(
    "plan",
    selection=["newsgroups", "rule_set"],
    tags=PLAN_LANE,
    executor_def=dg.in_process_executor,
    description="Ask the server for the water marks, plan new ranges, record the rule set.",
)

history_job = dg.define_asset_job(
    "history",
    selection=list(STAGES),
    tags=HISTORY_LANE,
    executor_def=dg.in_process_executor,
    description="The header pass over stretches of history.",
)

tail_job = dg.define_asset_job(
    "tail",
    selection=["live_tail"],
    tags={**TAIL_LANE, dg.MAX_RUNTIME_SECONDS_TAG: "1800"},
    executor_def=dg.in_process_executor,
    description="New articles of all newsgroups.",
)

merge_job = dg.define_asset_job(
    "merge_fragments",
    selection=["merged_fragments"],
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Put files together that a span's edge cut.",
)

settle_job = dg.define_asset_job(
    "settle",
    selection=dg.AssetSelection.assets("settled_catalog", "range_ledger").without_checks(),
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Settle releases to which nothing is added any more; add up the range ledger.",
)

check_job = dg.define_asset_job(
    "check_catalog",
    selection=dg.AssetSelection.checks_for_assets("settled_catalog"),
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Compare the whole catalog with what it was made from.",
)

capture_job = dg.define_asset_job(
    "capture",
    selection=["captured_ranges", "corpus_parquet", "corpus_report"],
    tags=HISTORY_LANE,
    executor_def=dg.in_process_executor,
    description="Fetch what is marked for the corpus, write it as Parquet, and report on it.",
)

replay_job = dg.define_asset_job(
    "replay_corpus",
    selection=["corpus_report"],
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="What the current build makes of the corpus, and what changed since the last one.",
)

overview_job = dg.define_asset_job(
    "overview",
    selection=["range_ledger"],
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Add up the range ledger.",
)


@dg.op(description="Deletes old runs and events that hold nothing which a partition needs.")
def delete_old_runs(context: dg.OpExecutionContext, clock: Clock) -> dict[str, int]:
    """Deletes finished runs past their days, oldest first; returns how many of each job."""
    before = (clock.now() - timedelta(days=KEPT_DAYS_OF_STEPS)).timestamp()
    context.log.info("%d events deleted", prune_events(context.instance, before=before))
    return {
        job: delete_runs(context.instance, job, clock=clock, days=days)
        for job, days in KEPT_DAYS.items()
    }


def prune_events(instance: dg.DagsterInstance, *, before: float) -> int:
    """Deletes the events of runs that succeeded which nothing but their own page shows.

    Materializations stay, and what tells when a run and its step began and ended. More than half
    of what a pass stores is deleted.

    Args:
        instance: whose events; only those in Postgres.
        before: epoch seconds.

    Returns:
        How many were deleted.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, CachingEventLogStorage):
        return 0
    deleted = 0
    while True:
        done = storage.prune(PRUNED, before=before, most=DELETED_AT_A_TIME)
        deleted += done
        if done < DELETED_AT_A_TIME:
            return deleted


def delete_runs(instance: dg.DagsterInstance, job: str, *, clock: Clock, days: int) -> int:
    """Deletes a job's finished runs that are older than `days`, except its newest ones."""
    newest = instance.get_runs(dg.RunsFilter(job_name=job), limit=KEPT_RUNS)
    kept = {run.run_id for run in newest}
    old = instance.get_run_records(
        dg.RunsFilter(
            job_name=job,
            created_before=clock.now() - timedelta(days=days),
            statuses=[
                dg.DagsterRunStatus.SUCCESS,
                dg.DagsterRunStatus.FAILURE,
                dg.DagsterRunStatus.CANCELED,
            ],
        ),
        limit=DELETED_AT_A_TIME,
        ascending=True,
    )
    gone = [record.dagster_run.run_id for record in old if record.dagster_run.run_id not in kept]
    for run_id in gone:
        instance.delete_run(run_id)
    return len(gone)


@dg.job(
    name="tidy",
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Keep Dagster's own database small.",
)
def tidy_job() -> None:
    """Deletes old runs."""
    delete_old_runs()


class AlertConfig(dg.Config):
    """What a person is told."""

    text: str


@dg.op(description="Fails with what a person should know, and posts it where that is set.")
def tell(context: dg.OpExecutionContext, config: AlertConfig, alerts: Alerts) -> None:
    """Posts the text, then fails with it, so that it is seen in the list of runs.

    Raises:
        dagster.Failure: always.
    """
    if alerts.url is not None:
        body = json.dumps({"text": config.text, "source": "voyager"}).encode()
        request = urllib.request.Request(  # noqa: S310 - of the operator's settings
            alerts.url, data=body, headers={"Content-Type": "application/json"}
        )
        try:
            urllib.request.urlopen(request, timeout=20).close()  # noqa: S310
        except (OSError, ValueError) as error:
            context.log.warning("the alert could not be posted: %s", type(error).__name__)
    raise dg.Failure(description=config.text, allow_retries=False)


@dg.job(
    name="alert",
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="A failed run of this job is something that a person should know.",
)
def alert_job() -> None:
    """Tells a person."""
    tell()


asset_jobs = (
    plan_job,
    history_job,
    tail_job,
    merge_job,
    settle_job,
    check_job,
    overview_job,
    capture_job,
    replay_job,
)
