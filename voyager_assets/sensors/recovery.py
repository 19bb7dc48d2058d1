"""Starts backfills of what changed rules left stale."""

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from voyager_assets.automation import RECOVERY_LANE, RULE_TAG
from voyager_assets.backfills import backfills_under_way, start_backfill
from voyager_assets.recoveries import (
    RULE_RECOVERY,
    Stale,
    observe,
    recoveries,
    stale_now,
    sync_recoveries,
)
from voyager_assets.resources import Catalog, Clock
from voyager_assets.sensors.pacing import NotNow, asking
from voyager_assets.sensors.waves import Tried, Wanted, choose, read_cursor, write_cursor
from voyager_core.catalog.rulesets import rules_in_force

SENSOR = "recover_stale_rules"
WHY_TAG = "voyager/why"

# Partitions of one backfill: its row is written anew with each wave of runs.
MOST_KEYS = 5_000


@dataclass(frozen=True, slots=True)
class _Wanted(Wanted):
    """A stale stretch, under the key of its recovery."""

    recovery_key: str = ""

    @property
    def key(self) -> str:
        return self.recovery_key


@dg.sensor(
    name=SENSOR,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="When a rule was changed or taken back: adds a partition of `rule_recovery` for "
    "each stretch in which it had dropped something, and starts a backfill of them.",
)
def stale_rules_sensor(
    context: dg.SensorEvaluationContext, catalog: Catalog, clock: Clock
) -> dg.SensorResult | dg.SkipReason:
    """Keeps the partitions of recoveries up to date and starts a backfill for each rule."""
    try:
        with asking(catalog) as conn:
            stale = stale_now(conn, rules_in_force(conn))
    except NotNow as reason:
        return dg.SkipReason(str(reason))
    synced = sync_recoveries(context.instance, stale)
    observe(context.instance, synced.new)
    if not stale:
        return dg.SkipReason("no range is stale")
    ready, tried = _ready(context, synced.shown, clock)
    started = [_start(context, rule, ready, tried, clock) for rule in sorted(ready)]
    waiting = f"{len(stale)} stale stretches wait for their backfill"
    if hidden := len(stale) - len(synced.shown):
        waiting += f", {hidden} of them for their partition"
    text = ", ".join(started) or waiting
    return dg.SensorResult(skip_reason=dg.SkipReason(text), cursor=write_cursor(tried))


def _ready(
    context: dg.SensorEvaluationContext, stale: Sequence[Stale], clock: Clock
) -> tuple[dict[str, list[Stale]], dict[str, Tried]]:
    """Returns by rule what to start now; one backfill of a rule at a time, failures later."""
    busy = {tags.get(RULE_TAG) for tags in backfills_under_way(context.instance, RULE_RECOVERY)}
    by_key = {each.key: each for each in stale}
    wanted = [
        _Wanted(each.stretch.group, each.stretch.index, each.stretch.articles, recovery_key=key)
        for key, each in by_key.items()
    ]
    chosen, tried = choose(wanted, read_cursor(context.cursor), now=clock.now())
    ready: dict[str, list[Stale]] = {}
    for each in chosen:
        rule = by_key[each.key].stretch.rule
        # A backfill that a person started has no rule: it may be any of them.
        if rule not in busy and None not in busy and len(ready.get(rule, [])) < MOST_KEYS:
            ready.setdefault(rule, []).append(by_key[each.key])
    return ready, tried


def _start(
    context: dg.SensorEvaluationContext,
    rule: str,
    ready: dict[str, list[Stale]],
    tried: dict[str, Tried],
    clock: Clock,
) -> str:
    stale = ready[rule]
    backfill = start_backfill(
        context.instance,
        RULE_RECOVERY,
        recoveries,
        [each.key for each in stale],
        at=clock.now(),
        title=f"Recover what {rule} had dropped: {stale[0].why} in rule set {stale[0].since}",
        tags={
            **RECOVERY_LANE,
            RULE_TAG: rule,
            WHY_TAG: f"{stale[0].why} in rule set {stale[0].since}",
            "dagster/sensor_name": SENSOR,
        },
    )
    for each in stale:
        times = tried[each.key].times + 1 if each.key in tried else 1
        tried[each.key] = Tried(clock.now(), times, each.stretch.articles)
    return f"backfill {backfill} of {len(stale)} stretches that {rule} left stale"
