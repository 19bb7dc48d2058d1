"""What a changed rule left stale, as Dagster partitions.

A partition such as `disguised_program@2/alt.binaries.x/000012` is one stretch in which one rule
had dropped something; the number is the rule set from which on the rule is what it is now. A
partition without a materialization is stale. So the partitions page of the asset `rule_recovery`
lists exactly what is to be read again, and why, and its button "Materialize" with "all missing"
starts a backfill of just these.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.recovery import StaleStretch
from voyager_core.catalog.rulesets import recorded_rulesets
from voyager_core.domain.ranges import parse_partition_key, partition_key
from voyager_core.domain.rulesets import RuleSet, changed_since, why_changed
from voyager_core.header_pass.recover import find_stale

RULE_RECOVERY = "rule_recovery"

MOST_CHANGES = 60
"""Partitions of one tick: each tells the page of its stretch why that is stale."""

recoveries = dg.DynamicPartitionsDefinition(name="recovery")

_KEY = re.compile(r"(?P<rule>\w+)@(?P<since>\d+)/(?P<stretch>.+)")


@dataclass(frozen=True, slots=True)
class Stale:
    """A stretch that a changed rule left stale.

    Attributes:
        stretch: what is stale there.
        since: the rule set from which on the rule is what it is now.
        why: what became of the rule.
    """

    stretch: StaleStretch
    since: int
    why: str

    @property
    def key(self) -> str:
        """The partition key."""
        return recovery_key(self.stretch.rule, self.since, self.stretch.group, self.stretch.index)

    @property
    def text(self) -> str:
        """Why it is stale, in a sentence."""
        each = self.stretch
        return (
            f"{each.rule} was {self.why} in rule set {self.since}; it had dropped"
            f" {each.articles:,} articles of {each.files:,} files here"
        )


def recovery_key(rule: str, since: int, group: str, index: int) -> str:
    """Returns the partition key of a stretch that is stale for a rule."""
    return f"{rule}@{since}/{partition_key(group, index)}"


def parse_recovery_key(key: str) -> tuple[str, int, str, int]:
    """Returns rule, rule set version, group and stretch of a partition key.

    Raises:
        ValueError: the text is no such key.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        msg = f"not a key of a recovery: {key!r} (expected rule@2/group/000012)"
        raise ValueError(msg)
    return match["rule"], int(match["since"]), *parse_partition_key(match["stretch"])


def stale_now(conn: Connection, rules: RuleSet) -> list[Stale]:
    """Returns what changed rules left stale, by rule and in the order of history.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    found = find_stale(conn, rules)
    rulesets = recorded_rulesets(conn) if found else {}
    since = {rule: changed_since(rule, rulesets, rules) for rule in {each.rule for each in found}}
    return [
        Stale(
            each,
            since[each.rule],
            why_changed(each.rule, rulesets[max(each.versions)], rules) or "changed",
        )
        for each in found
    ]


@dataclass(frozen=True, slots=True)
class Synced:
    """What became of Dagster's keys.

    Attributes:
        new: stretches that got a partition now.
        shown: all stale stretches that have one.
    """

    new: Sequence[Stale]
    shown: Sequence[Stale]


def sync_recoveries(
    instance: dg.DagsterInstance, stale: Iterable[Stale], *, most: int = MOST_CHANGES
) -> Synced:
    """Makes Dagster's keys those that are stale or recovered, a part of them at a time.

    Keys that were never materialized and are not stale any more (somebody recovered them in
    another way, or the rule is in force again) are taken out.

    Args:
        instance: Dagster's.
        stale: what is stale now.
        most: keys to add, and to take out, now; the rest follows with the next calls.
    """
    name = recoveries.name or ""
    wanted = {each.key: each for each in stale}
    known = set(instance.get_dynamic_partitions(name))
    if gone := known - wanted.keys():
        done = instance.get_materialized_partitions(dg.AssetKey(RULE_RECOVERY))
        for key in sorted(gone - done)[:most]:
            instance.delete_dynamic_partition(name, key)
    new = [each for key, each in wanted.items() if key not in known][:most]
    if new:
        instance.add_dynamic_partitions(name, [each.key for each in new])
    return Synced(new, [*(wanted[key] for key in wanted if key in known), *new])


def observe(instance: dg.DagsterInstance, stale: Sequence[Stale]) -> None:
    """Tells on the pages of the stretches themselves that, and why, their releases are stale."""
    for each in stale:
        instance.report_runless_asset_event(
            dg.AssetObservation(
                "releases",
                partition=partition_key(each.stretch.group, each.stretch.index),
                description=each.text,
                metadata=_numbers(each),
            )
        )


def stale_table(stale: Sequence[Stale]) -> dg.MetadataValue:
    """Returns a table of the changed rules: how much each left stale, and why."""
    rows: dict[tuple[str, int, str], list[int]] = {}
    for each in stale:
        row = rows.setdefault((each.stretch.rule, each.since, each.why), [0, 0, 0, 0])
        numbers = (1, each.stretch.ranges, each.stretch.articles, each.stretch.files)
        row[:] = [one + other for one, other in zip(row, numbers, strict=True)]
    if not rows:
        return dg.MetadataValue.null()
    names = ("stretches", "ranges", "articles", "files")
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {"rule": rule, "since": since, "why": why, **dict(zip(names, row, strict=True))}
            )
            for (rule, since, why), row in sorted(rows.items())
        ]
    )


def _numbers(each: Stale) -> Mapping[str, dg.MetadataValue]:
    return {
        "stale_because": dg.MetadataValue.text(each.text),
        "recovery_partition": dg.MetadataValue.text(each.key),
        "ranges_stale": dg.MetadataValue.int(each.stretch.ranges),
        "articles_to_recover": dg.MetadataValue.int(each.stretch.articles),
    }
