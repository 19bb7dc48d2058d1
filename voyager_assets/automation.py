"""Lanes, pools and priorities: who may run beside whom.

A *lane* is a run tag that the run queue limits (`dagster.yaml`); a *pool* limits the steps, also
of runs that a person starts by hand without a lane.
"""

from datetime import timedelta

import dagster as dg

LANE = "voyager/lane"
# Where runs go through Celery, the tail has a queue of its own.
TAIL_LANE = {LANE: "tail", "dagster/priority": "10", "dagster-celery/queue": "tail"}
PLAN_LANE = {LANE: "plan", "dagster/priority": "5"}
HISTORY_LANE = {LANE: "history"}
RECOVERY_LANE = {LANE: "history", "dagster/priority": "-5"}
CATALOG_LANE = {LANE: "catalog"}
RULE_TAG = "voyager/rule"
# Without a prefix: the list of runs has room for some 38 letters.
STRETCHES_TAG = "stretches"

HISTORY_POOL = "news_history"
TAIL_POOL = "news_tail"
CATALOG_POOL = "catalog"
PLAN_POOL = "plan"

# Slots that differ from the default of `dagster.yaml`.
POOL_SLOTS = {TAIL_POOL: 1, CATALOG_POOL: 1, PLAN_POOL: 1}

PARTITIONS_PER_RUN = 4

# The tail runs every two minutes; a person should see within a few ticks that it does not.
TAIL_FRESHNESS = dg.FreshnessPolicy.time_window(
    warn_window=timedelta(minutes=5), fail_window=timedelta(minutes=10)
)

UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def ensure_pool_slots(instance: dg.DagsterInstance) -> None:
    """Limits the pools of `POOL_SLOTS` where nobody has chosen a limit yet."""
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        return
    chosen = {limit.name for limit in storage.get_pool_limits() if not limit.from_default}
    for pool, slots in POOL_SLOTS.items():
        if pool not in chosen:
            storage.set_concurrency_slots(pool, slots)


def unfinished_runs(
    instance: dg.DagsterInstance, job_name: str | None = None
) -> list[dg.DagsterRun]:
    """Returns the runs, of one job or of all, that are queued, starting, running or stopping."""
    return list(
        instance.get_runs(dg.RunsFilter(job_name=job_name, statuses=list(UNFINISHED)), limit=1000)
    )
