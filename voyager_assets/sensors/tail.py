"""The live tail, every two minutes."""

import dagster as dg

from voyager_assets.automation import ensure_pool_slots
from voyager_assets.jobs import tail_job
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking, require_no_run, require_success
from voyager_core.catalog.groups import list_groups

TICK_SECONDS = 120


@dg.sensor(
    name="follow_tail",
    job=tail_job,
    minimum_interval_seconds=TICK_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Runs the live tail every two minutes; a tick is left out while a run is under "
    "way.",
)
def tail_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.RunRequest | dg.SkipReason:
    """Asks for a run unless one is under way."""
    if not context.cursor:
        ensure_pool_slots(context.instance)
        context.update_cursor("pools have their limits")
    try:
        require_no_run(context.instance, tail_job.name)
        require_success(context.instance, tail_job.name, clock.now())
        with asking(catalog) as conn:
            if not any(group.state == "ok" for group in list_groups(conn)):
                return dg.SkipReason("no newsgroup is planned yet")
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    return dg.RunRequest(run_key=None)
