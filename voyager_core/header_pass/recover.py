"""Bring back what a changed rule had dropped, by reading only the ranges where it did.

Dropped files are counted and not stored, so a rule that was wrong is repaired by reading the
headers again: the rule set of then and the rule set of now are applied to the same files, and
what only the old one dropped is added.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SettingMismatch
from voyager_core.catalog.groups import priorities
from voyager_core.catalog.ranges import RangeRow, ranges_of, todo
from voyager_core.catalog.rulecounts import list_rulesets
from voyager_core.catalog.spans import store_recovery
from voyager_core.catalog.stretches import OpenRange
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import BLOCKED, DISGUISED_PROGRAM, REPOST_REMNANT, RuleSet
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.build import BuiltSpan, build_files
from voyager_core.header_pass.fetch import FetchedSpan, fetch_spans
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.rules import apply_rules, count_drops, sample_rules
from voyager_core.header_pass.run import (
    PassTools,
    SpanOutcome,
    StretchReport,
    is_everywhere,
    note_failure,
    parse_fetched,
    rejects_of,
    unforeseen,
)

# What a rule looks at, by the names of the rule set's content.
_LOOKS_AT = {
    BLOCKED: ("blocked_digests",),
    DISGUISED_PROGRAM: (),
    REPOST_REMNANT: ("remnant_share",),
}


def changed_rules(before: RuleSet, now: RuleSet) -> list[str]:
    """Returns the rules in force before that are gone or look at something else now."""
    return [
        rule
        for rule in before.dropped
        if rule not in now.dropped
        or any(getattr(before, name) != getattr(now, name) for name in _LOOKS_AT[rule])
    ]


def ruleset_from(version: int, content: Mapping[str, Any]) -> RuleSet:
    """Returns the rule set of a row of the catalog's `ruleset` table.

    Raises:
        SettingMismatch: it has another form, or rules that this version does not know.
    """
    try:
        values = dict(content)
        values["dropped"] = tuple(values["dropped"])
        values["blocked_digests"] = frozenset(values["blocked_digests"])
        return RuleSet(version=version, **values)
    except (KeyError, TypeError, ValueError) as error:
        msg = f"rule set {version} of the catalog cannot be used by this version: {error}"
        raise SettingMismatch(msg) from error


def recorded_rulesets(conn: Connection) -> dict[int, RuleSet]:
    """Returns the rule sets that ranges were indexed with, by version; unusable ones are left out.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    found: dict[int, RuleSet] = {}
    for row in list_rulesets(conn):
        try:
            found[row.version] = ruleset_from(row.version, row.content)
        except SettingMismatch:
            continue
    return found


@dataclass(frozen=True, slots=True)
class _Recovery:
    rule: str
    before: Mapping[int, RuleSet]
    groups: Mapping[str, int]


def recover_stretches(
    tools: PassTools, stretches: Sequence[tuple[str, int]], rule: str
) -> Iterator[StretchReport]:
    """Adds what a rule had dropped in these stretches and no longer drops.

    Only ranges in which the rule dropped something are read; each is recovered once for each
    version of the rule set.

    Args:
        tools: catalog, server, spool and the rules in force now.
        stretches: `(group, index)` of each.
        rule: the rule's name.

    Raises:
        VoyagerError: a fault that every range would meet.
    """
    recovery = _Recovery(rule, recorded_rulesets(tools.conn), priorities(tools.conn))
    for group, index in stretches:
        lows = [row.low for row in ranges_of(tools.conn, group, index)]
        rows = todo(tools.conn, group, lows, rule=rule, version=tools.versions.rules)
        yield StretchReport(group, index, list(_recover_ranges(tools, rows, recovery)))


def _recover_ranges(
    tools: PassTools, rows: Sequence[RangeRow], recovery: _Recovery
) -> Iterator[SpanOutcome]:
    places = [_place(row) for row in rows]
    spans = [Span(each.group, each.low, each.until) for each in places]
    started = time.process_time()
    with fetch_spans(tools.news, tools.spool, spans, tools.options) as fetcher:
        for row, place, span in zip(rows, places, spans, strict=True):
            tools.before_span()
            try:
                with unforeseen(span):
                    then = _rules_of(row, recovery)
                    outcome = _recover(tools, place, next(fetcher), then=then, recovery=recovery)
            except VoyagerError as error:
                if is_everywhere(error):
                    raise
                note_failure(tools, row.range_id, span, error)
                outcome = SpanOutcome(place, span, error=error)
            ended = time.process_time()
            outcome = replace(outcome, cpu_seconds=ended - started)
            started = ended
            tools.after_span(outcome)
            yield outcome


def _recover(
    tools: PassTools,
    place: OpenRange,
    fetched: FetchedSpan,
    *,
    then: RuleSet,
    recovery: _Recovery,
) -> SpanOutcome:
    now = tools.clock()
    parsed = parse_fetched(fetched, fetched.span, groups=recovery.groups, now=now)
    built = freed_by(parsed.files, recovery.rule, before=then, rules=tools.rules, now=now)
    stored = store_recovery(
        tools.conn,
        fetched.span,
        built,
        range_id=place.range_id,
        rule=recovery.rule,
        versions=tools.versions,
    )
    fetched.release(capture=place.capture)
    return SpanOutcome(
        place,
        fetched.span,
        stored=stored.stored,
        refused=not stored.stored,
        fetched_lines=fetched.report.lines,
        lines=parsed.stats["lines"],
        kept=parsed.stats["kept"],
        rejected=rejects_of(parsed),
        block_bytes=fetched.report.block_bytes,
        chunk_bytes=stored.chunk_bytes,
    )


def freed_by(
    files: pl.DataFrame, rule: str, *, before: RuleSet, rules: RuleSet, now: datetime
) -> BuiltSpan:
    """Returns what the catalog stores of the files that a rule had dropped.

    Args:
        files: every file of the range, as parsed.
        rule: the rule's name.
        before: the rule set that the range was indexed with.
        rules: the rule set in force.
        now: the time.
    """
    identified = identify_releases(files)
    dropped = apply_rules(identified, before).filter(pl.col("dropped_by") == rule)
    again = apply_rules(identified, rules).join(
        dropped.select("file_key", "generation"), on=["file_key", "generation"], how="semi"
    )
    kept = again.filter(pl.col("dropped_by").is_null())
    built = build_files(kept.filter(~pl.col("is_fragment")).drop("dropped_by"), now=now)
    return replace(
        built,
        fragments=kept.filter("is_fragment"),
        rule_counts=count_drops(again),
        rule_samples=sample_rules(again, rules),
    )


def _rules_of(row: RangeRow, recovery: _Recovery) -> RuleSet:
    rules = recovery.before.get(row.rules_version or 0)
    if rules is None:
        msg = f"{row.group} {row.low}: its rule set {row.rules_version} is not in the catalog"
        raise SettingMismatch(msg)
    return rules


def _place(row: RangeRow) -> OpenRange:
    """Returns all that is indexed of a range, as something to read."""
    return OpenRange(
        range_id=row.range_id,
        group=row.group,
        low=row.low,
        high=row.high,
        resume_at=row.low,
        until=row.resume_at - 1,
        newest=row.resume_at,
        stored_at=row.stored_at,
        capture=row.capture,
    )
