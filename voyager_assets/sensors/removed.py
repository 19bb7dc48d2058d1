"""Waves over the ranges that left crossposts to a newsgroup which was removed since."""

import dagster as dg

from voyager_assets.assets.header_pass import header_pass
from voyager_assets.automation import RECOVERY_LANE
from voyager_assets.jobs import history_job
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.history import LOOKED_AT, next_wave
from voyager_assets.sensors.pacing import NotNow, asking, require_success
from voyager_assets.sensors.waves import Wanted
from voyager_core.catalog.reowned import orphaned_stretches, removed_owners

REMOVED_TAG = "voyager/removed_group"


@dg.sensor(
    name="take_over_crossposts",
    job=history_job,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="When a newsgroup was removed: asks for runs that read the ranges of other groups "
    "again which had left crossposts to it, and add those that it never read.",
)
def removed_groups_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.SensorResult | dg.SkipReason:
    """Asks for the next wave of the first removed group that left something unread."""
    try:
        require_success(context.instance, history_job.name, clock.now())
        with asking(catalog) as conn:
            owner = next(iter(removed_owners(conn)), "")
            found = orphaned_stretches(conn, owner, limit=LOOKED_AT) if owner else []
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    return next_wave(
        context,
        [Wanted(*each) for each in found],
        clock,
        nothing="no removed group left crossposts unread",
        tags={**RECOVERY_LANE, REMOVED_TAG: owner},
        run_config={"ops": {header_pass.op.name: {"config": {"removed_group": owner}}}},
    )
