"""The header pass over stretches of history: five assets, one step, a stretch at a time."""

import time
from collections.abc import Callable, Iterator, Sequence

import dagster as dg
from pydantic import Field

from voyager_assets.assets.metadata import tell_stretch
from voyager_assets.assets.pass_checks import PassChecks, check_specs
from voyager_assets.assets.stages import (
    PARSED_HEADERS,
    SPOOLED_OVERVIEW,
    materializations,
    specs,
)
from voyager_assets.automation import HISTORY_POOL, PARTITIONS_PER_RUN
from voyager_assets.partitions import stretches
from voyager_assets.resources import Catalog, Clock, NewsServer, OverviewSpool, open_pass
from voyager_assets.retries import core_errors, raise_for
from voyager_core.domain.ranges import parse_partition_key
from voyager_core.header_pass.recover import recover_stretches
from voyager_core.header_pass.reowned import take_over_stretches
from voyager_core.header_pass.run import (
    PassTools,
    SpanOutcome,
    Stage,
    StretchReport,
    index_stretches,
)
from voyager_core.header_pass.sharing import HISTORY

SECONDS_BETWEEN_WORDS = 60.0

Event = dg.AssetMaterialization | dg.AssetCheckResult


class PassConfig(dg.Config):
    """What a run of the header pass does."""

    rule: str = Field(
        default="",
        description="Empty: index what is not indexed yet. A rule's name: read the spans again "
        "in which it had dropped something, and add what is no longer dropped. *: of every "
        "changed rule.",
    )
    removed_group: str = Field(
        default="",
        description="The name of a removed newsgroup: read the ranges again that left crossposts "
        "to it, and add those that it never read.",
    )


@dg.multi_asset(
    name="header_pass",
    specs=specs(),
    check_specs=check_specs(),
    partitions_def=stretches,
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.multi_run(PARTITIONS_PER_RUN),
    pool=HISTORY_POOL,
)
def header_pass(  # noqa: PLR0917 - Dagster gives each resource by name
    context: dg.AssetExecutionContext,
    config: PassConfig,
    news: NewsServer,
    catalog: Catalog,
    spool: OverviewSpool,
    clock: Clock,
) -> Iterator[Event]:
    """Indexes what is left of each stretch and tells of each one as it is through."""
    reports: list[StretchReport] = []
    stage = stage_of({key.to_user_string() for key in context.selected_asset_keys})
    told = Progress(context.log.info).tell
    with (
        core_errors(context),
        open_pass(news, catalog, spool, clock, lane=HISTORY, stage=stage, after_span=told) as tools,
    ):
        checks = PassChecks(tools.conn)
        for report in _reports(tools, context.partition_keys, config):
            reports.append(report)
            checks.add(report)
            yield from _events(context, tools, report)
        yield from checks.results(context.selected_asset_check_keys)
    raise_for(context, [failure for report in reports for failure in report.failures])


class Progress:
    """Tells of long work once a minute, since a stretch of many ranges takes hours."""

    def __init__(
        self, say: Callable[[str], None], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._monotonic = monotonic
        self._said_at = monotonic()
        self._ranges = 0
        self._lines = 0

    def tell(self, outcome: SpanOutcome) -> None:
        """Counts a span, and says something when the last word is long ago."""
        self._ranges += 1
        self._lines += outcome.lines
        if self._monotonic() - self._said_at >= SECONDS_BETWEEN_WORDS:
            self._said_at = self._monotonic()
            self._say(f"{self._ranges} ranges, {self._lines:,} lines so far; at {outcome.span}")


def stage_of(selected: set[str]) -> Stage:
    """Returns how far a pass goes for a selection of assets; the last three are stored together."""
    if selected <= {SPOOLED_OVERVIEW}:
        return Stage.FETCH
    if selected <= {SPOOLED_OVERVIEW, PARSED_HEADERS}:
        return Stage.PARSE
    return Stage.STORE


def _reports(tools: PassTools, keys: Sequence[str], config: PassConfig) -> Iterator[StretchReport]:
    places = [parse_partition_key(key) for key in keys]
    if config.removed_group:
        return take_over_stretches(tools, places, config.removed_group)
    if config.rule:
        return recover_stretches(tools, places, "" if config.rule == "*" else config.rule)
    return index_stretches(tools, places)


def _events(
    context: dg.AssetExecutionContext, tools: PassTools, report: StretchReport
) -> Iterator[dg.AssetMaterialization]:
    if report.failures:
        context.log.warning("%s is not complete: %s", report.key, report.failures)
        return
    told, resume = tell_stretch(tools.conn, report, tools.stage)
    selected = {key.to_user_string() for key in context.selected_asset_keys}
    context.log.info("%s is through: %d lines in this pass", report.key, report.lines)
    chosen = {stage: values for stage, values in told.items() if stage in selected}
    yield from materializations(report.key, chosen, resume=resume)
