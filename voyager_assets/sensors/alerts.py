"""Tells a person when newsgroups fall behind."""

import json
from datetime import datetime, timedelta

import dagster as dg

from voyager_assets.jobs import alert_job
from voyager_assets.resources import Alerts, Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking
from voyager_core.catalog.progress import GroupStatus, group_status

# The same newsgroups are told of again after this time.
AGAIN_AFTER = timedelta(hours=12)
_NAMED = 10


@dg.sensor(
    name="tell_of_lag",
    job_name=alert_job.name,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Fails a run of the job `alert` when the newest part of a newsgroup is further "
    "behind than VOYAGER_ALERTS__LAG_SECONDS, or a newsgroup waits for its server.",
)
def lag_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock, alerts: Alerts
) -> dg.SensorResult | dg.SkipReason:
    """Asks for an alert when there is something new to tell."""
    if not alerts.lag_seconds:
        return dg.SkipReason("alerts are switched off")
    now = clock.now()
    try:
        with asking(catalog) as conn:
            statuses = group_status(conn, at=now)
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    behind = to_tell(statuses, alerts.lag_seconds)
    told = read_cursor(context.cursor)
    fresh = {
        name: text
        for name, text in behind.items()
        if name not in told or now >= told[name] + AGAIN_AFTER
    }
    kept = {name: at for name, at in told.items() if name in behind}
    cursor = json.dumps(
        {name: at.isoformat() for name, at in {**kept, **dict.fromkeys(fresh, now)}.items()}
    )
    if not fresh:
        words = f"{len(behind)} newsgroups are behind, and that was told" if behind else "no lag"
        return dg.SensorResult(skip_reason=dg.SkipReason(words), cursor=cursor)
    lines = [f"{name}: {text}" for name, text in list(fresh.items())[:_NAMED]]
    if len(fresh) > _NAMED:
        lines.append(f"and {len(fresh) - _NAMED} more")
    config = {"ops": {"tell": {"config": {"text": "\n".join(lines)}}}}
    return dg.SensorResult(
        run_requests=[dg.RunRequest(run_key=None, run_config=config)], cursor=cursor
    )


def to_tell(statuses: list[GroupStatus], lag_seconds: float) -> dict[str, str]:
    """Returns what a person should know, by newsgroup, the worst first."""
    found: list[tuple[float, str, str]] = []
    for each in statuses:
        if each.state in {"gone", "restarted"}:
            found.append((float("inf"), each.group, each.note or each.state))
        # Before the newest part was ever reached, the backlog is no lag.
        elif each.indexed and (each.lag_seconds or 0.0) > lag_seconds:
            minutes = int((each.lag_seconds or 0.0) // 60)
            text = f"{each.lag} articles, about {minutes} minutes, behind"
            found.append((each.lag_seconds or 0.0, each.group, text))
    return {group: text for _, group, text in sorted(found, key=lambda one: (-one[0], one[1]))}


def read_cursor(cursor: str | None) -> dict[str, datetime]:
    """Returns when each newsgroup was told of; nothing when the cursor cannot be read."""
    try:
        entries = json.loads(cursor or "{}")
        return {str(name): datetime.fromisoformat(at) for name, at in entries.items()}
    except (AttributeError, TypeError, ValueError):
        return {}
