"""Waves of the header pass over what the ledger says is not indexed yet."""

from collections.abc import Mapping

import dagster as dg

from voyager_assets.automation import PARTITIONS_PER_RUN
from voyager_assets.jobs import history_job
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking, require_success
from voyager_assets.sensors.waves import (
    MOST_RUNS,
    Tried,
    Wanted,
    choose,
    known_stretches,
    read_cursor,
    requests,
    under_way,
    write_cursor,
)
from voyager_core.catalog.stretches import open_stretches
from voyager_core.header_pass.tail import REACH

LOOKED_AT = 500
_ON = dg.DefaultSensorStatus.RUNNING


@dg.sensor(
    name="index_history",
    job=history_job,
    minimum_interval_seconds=30,
    default_status=_ON,
    description="Asks for runs of the header pass over stretches that are not indexed yet: the "
    "newest ends first, then the oldest era of all groups. Switch it off to stop the history.",
)
def history_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.SensorResult | dg.SkipReason:
    """Asks for the next wave of the history."""
    try:
        require_success(context.instance, history_job.name, clock.now())
        with asking(catalog) as conn:
            found = open_stretches(conn, reach=REACH, limit=LOOKED_AT, together=PARTITIONS_PER_RUN)
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    # Where a stretch is more than a range, the newest one does not wait for older ones.
    wanted = [
        Wanted(each.group, each.index, each.numbers, alone=each.is_head and each.ranges > 1)
        for each in found
    ]
    return next_wave(context, wanted, clock, nothing="everything planned is indexed")


def next_wave(
    context: dg.SensorEvaluationContext,
    wanted: list[Wanted],
    clock: Clock,
    *,
    nothing: str,
    tags: dict[str, str] | None = None,
    run_config: Mapping[str, object] | None = None,
) -> dg.SensorResult | dg.SkipReason:
    """Returns the requests of a wave; a skipped tick says why there are none."""
    if not wanted:
        return dg.SkipReason(nothing)
    known = known_stretches(context.instance)
    runs, covered = under_way(context.instance, known)
    ready, tried = choose(wanted, read_cursor(context.cursor), now=clock.now())
    ready = [each for each in ready if each.key not in covered]
    work = {each.key: each.work for each in wanted}
    asked: list[dg.RunRequest] = []
    for keys, request in requests(
        ready, known, most=MOST_RUNS - runs, tags=tags or {}, run_config=run_config
    ):
        asked.append(request)
        for key in keys:
            times = tried[key].times + 1 if key in tried else 1
            tried[key] = Tried(clock.now(), times, work[key])
    waiting = f"{len(wanted)} stretches have work, {runs} runs are queued or under way"
    return dg.SensorResult(
        run_requests=asked,
        skip_reason=None if asked else dg.SkipReason(waiting),
        cursor=write_cursor(tried),
    )
