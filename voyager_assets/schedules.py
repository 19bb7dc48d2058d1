"""What happens by the clock, whatever the sensors see."""

import dagster as dg

from voyager_assets.jobs import (
    check_job,
    overview_job,
    plan_job,
    settle_job,
    tidy_job,
)

_ON = dg.DefaultScheduleStatus.RUNNING

hourly_overview = dg.ScheduleDefinition(
    name="hourly_overview",
    job=overview_job,
    cron_schedule="17 * * * *",
    default_status=_ON,
    description="How far each newsgroup is.",
)

hourly_plan = dg.ScheduleDefinition(
    name="hourly_plan",
    job=plan_job,
    cron_schedule="47 * * * *",
    default_status=_ON,
    description="Water marks and new ranges, also while the live tail is switched off.",
)

daily_settling = dg.ScheduleDefinition(
    name="daily_settling",
    job=settle_job,
    cron_schedule="29 4 * * *",
    default_status=_ON,
    description="Settle what became finished by the passing of time.",
)

daily_checks = dg.ScheduleDefinition(
    name="daily_checks",
    job=check_job,
    cron_schedule="41 4 * * *",
    default_status=_ON,
    description="Compare the whole catalog with what it was made from.",
)

daily_tidying = dg.ScheduleDefinition(
    name="daily_tidying",
    job=tidy_job,
    cron_schedule="59 3 * * *",
    default_status=_ON,
    description="Delete runs that nobody needs any more.",
)

schedules = (hourly_overview, hourly_plan, daily_settling, daily_checks, daily_tidying)
