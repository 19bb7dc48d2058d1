"""The one place where the code location is put together."""

from collections.abc import Mapping

import dagster as dg

from voyager_assets.assets.corpus import captured_ranges, corpus_parquet
from voyager_assets.assets.corpus_report import corpus_report
from voyager_assets.assets.header_pass import header_pass
from voyager_assets.assets.live_tail import live_tail
from voyager_assets.assets.newsgroups import newsgroups, rule_set
from voyager_assets.assets.range_ledger import range_ledger
from voyager_assets.assets.rule_recovery import rule_recovery
from voyager_assets.assets.settled_catalog import merged_fragments, settled_catalog
from voyager_assets.checks.catalog import catalog_checks
from voyager_assets.jobs import alert_job, asset_jobs, tidy_job
from voyager_assets.resources import build_resources
from voyager_assets.rule_jobs import retract_rule_job
from voyager_assets.schedules import schedules
from voyager_assets.sensors.alerts import lag_sensor
from voyager_assets.sensors.history import history_sensor
from voyager_assets.sensors.planning import plan_sensor
from voyager_assets.sensors.recovery import stale_rules_sensor
from voyager_assets.sensors.removed import removed_groups_sensor
from voyager_assets.sensors.settling import fragments_sensor, settling_sensor
from voyager_assets.sensors.tail import tail_sensor
from voyager_core.settings import Settings


def build_definitions(
    settings: Settings, *, resources: Mapping[str, object] | None = None
) -> dg.Definitions:
    """Returns everything that Dagster loads; nothing is connected to.

    Args:
        settings: in force for the resources.
        resources: resources to use instead, by name, for tests.
    """
    return dg.Definitions(
        assets=[
            newsgroups,
            rule_set,
            header_pass,
            rule_recovery,
            live_tail,
            merged_fragments,
            settled_catalog,
            range_ledger,
            captured_ranges,
            corpus_parquet,
            corpus_report,
        ],
        asset_checks=catalog_checks,
        jobs=[*asset_jobs, retract_rule_job, tidy_job, alert_job],
        schedules=schedules,
        sensors=[
            plan_sensor,
            history_sensor,
            tail_sensor,
            stale_rules_sensor,
            removed_groups_sensor,
            fragments_sensor,
            settling_sensor,
            lag_sensor,
        ],
        resources={**build_resources(settings), **(resources or {})},
        executor=dg.in_process_executor,
    )
