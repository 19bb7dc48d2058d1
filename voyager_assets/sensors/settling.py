"""What follows the pass: merging cut files, settling finished releases."""

import json
from datetime import datetime, timedelta

import dagster as dg

from voyager_assets.jobs import merge_job, settle_job
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking, require_no_run, require_success
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.fragments import count_fragments
from voyager_core.catalog.progress import last_stored_at
from voyager_core.header_pass.settle import fragments_are_ready

# Releases settle a day after the last change, so an hour more does not matter.
SETTLING_PAUSE = timedelta(hours=1)
# The live tail brings new articles every two minutes. While history is indexed, fragments become
# ready with each range, and a run costs far more than merging the few of half a minute.
MERGING_PAUSE = timedelta(minutes=2)


@dg.sensor(
    name="merge_ready_fragments",
    job=merge_job,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Merges cut files when the ranges beside them are read, at most every two minutes "
    "(or as soon as VOYAGER_CATALOG__SETTLE_AFTER_SECONDS allows, where that is less).",
)
def fragments_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.SensorResult | dg.SkipReason:
    """Asks for a run when there are fragments that nothing is missing of any more."""
    pause = min(MERGING_PAUSE, timedelta(seconds=catalog.settle_after_seconds))
    before = read_time(context.cursor)
    if before is not None and clock.now() < before + pause:
        return dg.SkipReason(f"the last merging was less than {pause} ago")
    try:
        require_no_run(context.instance, merge_job.name)
        require_success(context.instance, merge_job.name, clock.now())
        with asking(catalog) as conn:
            if not fragments_are_ready(
                conn, now=clock.now(), patience_seconds=catalog.settle_after_seconds
            ):
                return dg.SkipReason(f"{count_fragments(conn)} fragments wait for their ranges")
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    cursor = clock.now().isoformat()
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=None)], cursor=cursor)


@dg.sensor(
    name="settle_releases",
    job=settle_job,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Settles releases after ranges were stored, at most once an hour (or as soon as "
    "VOYAGER_CATALOG__SETTLE_AFTER_SECONDS allows, where that is less).",
)
def settling_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.SensorResult | dg.SkipReason:
    """Asks for a run when something was stored since the last one."""
    pause = min(SETTLING_PAUSE, timedelta(seconds=catalog.settle_after_seconds))
    try:
        require_no_run(context.instance, settle_job.name)
        require_success(context.instance, settle_job.name, clock.now())
        with asking(catalog) as conn:
            state = catalog_state(conn)
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    if state is None:
        return dg.SkipReason("nothing is stored yet")
    before = read_cursor(context.cursor)
    if before is not None and state == before[0]:
        return dg.SkipReason("nothing was stored since the last settling")
    if before is not None and clock.now() < before[1] + pause:
        return dg.SkipReason(f"the last settling was less than {pause} ago")
    cursor = json.dumps({"state": state, "at": clock.now().isoformat()})
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=None)], cursor=cursor)


def read_time(cursor: str | None) -> datetime | None:
    """Returns the time of the last request; None when the cursor has none."""
    try:
        at = datetime.fromisoformat(cursor or "")
    except ValueError:
        return None
    return None if at.tzinfo is None else at


def catalog_state(conn: Connection) -> str | None:
    """Returns a text that changes whenever ranges are stored or fragments merged; None at first."""
    stored = last_stored_at(conn)
    return None if stored is None else f"{stored} {count_fragments(conn)}"


def read_cursor(cursor: str | None) -> tuple[str, datetime] | None:
    """Returns the state and the time of the last request; None when the cursor has none."""
    try:
        entry = json.loads(cursor or "")
        return str(entry["state"]), datetime.fromisoformat(entry["at"])
    except (KeyError, TypeError, ValueError):
        return None
