"""What a changed rule had dropped, brought back: a partition for each stretch that is stale."""

from collections.abc import Iterator

import dagster as dg

from voyager_assets.assets.header_pass import Progress
from voyager_assets.assets.metadata import tell_stretch
from voyager_assets.assets.stages import OWNERS, RELEASES, materializations
from voyager_assets.automation import HISTORY_POOL, PARTITIONS_PER_RUN
from voyager_assets.recoveries import RULE_RECOVERY, parse_recovery_key, recoveries
from voyager_assets.resources import Catalog, Clock, NewsServer, OverviewSpool, open_pass
from voyager_assets.retries import core_errors, raise_for
from voyager_core.domain.ranges import partition_key
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.recover import is_stale, recover_stretches
from voyager_core.header_pass.run import PassTools, Stage, StretchReport
from voyager_core.header_pass.sharing import HISTORY

Failure = tuple[str, VoyagerError]


@dg.multi_asset(
    name=RULE_RECOVERY,
    specs=[
        dg.AssetSpec(
            RULE_RECOVERY,
            deps=["rule_set"],
            group_name="header_pass",
            kinds={"rust", "postgres"},
            owners=OWNERS,
            code_version="1",
            skippable=True,
            description="Stretches in which a rule that was changed or taken back had dropped "
            "something. A partition that is missing is stale: its key names the rule, the rule "
            "set from which on it is another, and the stretch. Materializing it reads only the "
            "spans where the rule had dropped something, and adds what is no longer dropped, "
            "once.",
        )
    ],
    partitions_def=recoveries,
    backfill_policy=dg.BackfillPolicy.multi_run(PARTITIONS_PER_RUN),
    pool=HISTORY_POOL,
)
def rule_recovery(
    context: dg.AssetExecutionContext,
    news: NewsServer,
    catalog: Catalog,
    spool: OverviewSpool,
    clock: Clock,
) -> Iterator[dg.AssetMaterialization]:
    """Recovers each stretch and tells of it as it is through."""
    failures: list[Failure] = []
    told = Progress(context.log.info).tell
    with (
        core_errors(context),
        open_pass(news, catalog, spool, clock, lane=HISTORY, after_span=told) as tools,
    ):
        for key in context.partition_keys:
            yield from _recover(tools, key, failures)
            for event in _fresh(tools, key):
                # The page of the stretch says no longer that it is stale.
                context.instance.report_runless_asset_event(event)
    raise_for(context, failures)


def _recover(
    tools: PassTools, key: str, failures: list[Failure]
) -> Iterator[dg.AssetMaterialization]:
    rule, _, group, index = parse_recovery_key(key)
    for report in recover_stretches(tools, [(group, index)], rule):
        failures.extend(report.failures)
        if not report.failures:
            yield dg.AssetMaterialization(
                RULE_RECOVERY, partition=key, metadata=_told(tools, report)
            )


def _fresh(tools: PassTools, key: str) -> Iterator[dg.AssetMaterialization]:
    """Yields what the releases of a stretch are now, unless something of it is still stale."""
    _, _, group, index = parse_recovery_key(key)
    if is_stale(tools.conn, tools.rules, group, index):
        return
    told, resume = tell_stretch(tools.conn, StretchReport(group, index, []), Stage.STORE)
    releases = {RELEASES: told[RELEASES]}
    yield from materializations(partition_key(group, index), releases, resume=resume)


def _told(tools: PassTools, report: StretchReport) -> dict[str, dg.MetadataValue]:
    stored = [each for each in report.outcomes if each.stored]
    return {
        "rules_version": dg.MetadataValue.int(tools.rules.version),
        "spans_read": dg.MetadataValue.int(len(report.outcomes)),
        "spans_recovered": dg.MetadataValue.int(len(stored)),
        "spans_done_by_others": dg.MetadataValue.int(len(report.outcomes) - len(stored)),
        "articles_recovered": dg.MetadataValue.int(sum(each.recovered for each in stored)),
        "chunk_bytes": dg.MetadataValue.int(sum(each.chunk_bytes for each in stored)),
        "lines": dg.MetadataValue.int(report.lines),
        "cpu_seconds": dg.MetadataValue.float(round(report.cpu_seconds, 3)),
    }
