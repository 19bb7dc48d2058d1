"""Planning: as soon as a newsgroup was added, its ranges and partitions are made."""

from itertools import islice

import dagster as dg

from voyager_assets.jobs import plan_job
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking, require_no_run, require_success
from voyager_assets.sensors.waves import known_stretches
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.stretches import all_stretches
from voyager_core.domain.ranges import partition_key

_NAMED = 5


@dg.sensor(
    name="plan_newsgroups",
    job=plan_job,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Plans newsgroups that were just added, and adds partitions that Dagster does "
    "not know yet.",
)
def plan_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.RunRequest | dg.SkipReason:
    """Asks for a run when there is something to plan."""
    try:
        require_no_run(context.instance, plan_job.name)
        require_success(context.instance, plan_job.name, clock.now())
        with asking(catalog) as conn:
            why = to_plan(conn, set(known_stretches(context.instance)))
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    context.log.info("planning: %s", why)
    return dg.RunRequest(run_key=None)


def to_plan(conn: Connection, known: set[str]) -> str:
    """Returns what is to be planned.

    Raises:
        NotNow: nothing is.
    """
    groups = list_groups(conn)
    if not groups:
        msg = "no newsgroups yet: voyager groups add alt.binaries.…"
        raise NotNow(msg)
    new = (group.name for group in groups if group.state == "new")
    if names := list(islice(new, _NAMED)):
        return f"new newsgroups: {', '.join(names)}"
    unknown = sum(partition_key(*each) not in known for each in all_stretches(conn))
    if not unknown:
        msg = "every newsgroup is planned"
        raise NotNow(msg)
    return f"{unknown} stretches without a partition"
