"""The live tail: new articles of all groups, a few minutes after they were posted."""

from collections.abc import Iterator, Sequence

import dagster as dg

from voyager_assets.assets.metadata import (
    duration_or_none,
    lag_table,
    plans_table,
    tell_stretch,
    without_nulls,
)
from voyager_assets.assets.stages import GROUP, OWNERS, materializations
from voyager_assets.automation import TAIL_FRESHNESS, TAIL_POOL
from voyager_assets.partitions import add_stretches
from voyager_assets.resources import Catalog, Clock, NewsServer, OverviewSpool, open_pass
from voyager_assets.retries import core_errors, raise_for
from voyager_core.catalog.progress import GroupStatus, group_status
from voyager_core.catalog.progress import totals as totals_of
from voyager_core.catalog.stretches import all_stretches
from voyager_core.domain.ranges import parse_partition_key, partition_key
from voyager_core.header_pass.plan import totals
from voyager_core.header_pass.run import PassTools, StretchReport
from voyager_core.header_pass.sharing import TAIL
from voyager_core.header_pass.tail import TailReport, follow_tail


@dg.asset(
    group_name=GROUP,
    kinds={"nntp", "rust", "postgres"},
    owners=OWNERS,
    deps=["newsgroups"],
    code_version="1",
    pool=TAIL_POOL,
    freshness_policy=TAIL_FRESHNESS,
    description="Articles posted since the last look, in all newsgroups, indexed every two "
    "minutes. It writes the same ledger and catalog as the header pass; a stretch is materialized "
    "when one of its ranges begins or ends.",
)
def live_tail(
    context: dg.AssetExecutionContext,
    news: NewsServer,
    catalog: Catalog,
    spool: OverviewSpool,
    clock: Clock,
) -> Iterator[dg.MaterializeResult[None]]:
    """Looks at every group once and indexes what is new."""
    with (
        core_errors(context, retries=0),
        open_pass(news, catalog, spool, clock, lane=TAIL) as tools,
    ):
        report = follow_tail(tools, backfill_days=catalog.backfill_days)
        if totals(report.plans)["new_ranges"]:
            known = all_stretches(tools.conn)
            add_stretches(context.instance, [partition_key(*stretch) for stretch in known])
        for event in _touched(tools, report):
            # Not of this run: runs of the tail are deleted after some days.
            context.instance.report_runless_asset_event(event)
        statuses = group_status(tools.conn, at=clock.now())
    # Told before it fails: what was stored is stored, whatever became of other spans.
    yield dg.MaterializeResult(metadata=_metadata(report, statuses))
    raise_for(context, report.failures, retries=0)


def _touched(tools: PassTools, report: TailReport) -> Iterator[dg.AssetMaterialization]:
    """Yields the events of stretches in which a range began or ended."""
    for key in report.touched:
        group, index = parse_partition_key(key)
        mine = [each for each in report.outcomes if each.span.group == group]
        told, resume = tell_stretch(tools.conn, StretchReport(group, index, mine), tools.stage)
        yield from materializations(key, told, resume=resume)


def _metadata(report: TailReport, statuses: Sequence[GroupStatus]) -> dict[str, dg.MetadataValue]:
    numbers = {
        **totals(report.plans),
        "lines": report.lines,
        "kept": sum(each.kept for each in report.outcomes),
        "spans": len(report.outcomes),
        "spans_failed": len(report.failures),
        "stretches_touched": len(report.touched),
        "late_lines": report.late.lines,
        "late_spans_asked": report.late.asked,
        "holes": sum(each.holes for each in statuses),
        "lag": sum(each.lag for each in statuses),
        "most_lag": max((each.lag for each in statuses), default=0),
        "backlog": sum(each.backlog for each in statuses),
    }
    sums = totals_of(list(statuses))
    return {
        **{name: dg.MetadataValue.int(value) for name, value in numbers.items()},
        "cpu_seconds": dg.MetadataValue.float(round(report.cpu_seconds, 3)),
        "numbers_per_second": dg.MetadataValue.float(sums["rate"]),
        **without_nulls(
            {
                "eta": duration_or_none(sums["eta_seconds"] or None),
                "newsgroups": plans_table(report.plans),
                "lag_by_newsgroup": lag_table(statuses),
            }
        ),
    }
