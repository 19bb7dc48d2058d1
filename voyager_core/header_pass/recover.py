"""Bring back what a changed rule had dropped, by reading only the spans where it did.

Dropped files are counted and not stored, so a rule that was wrong is repaired by reading the
headers again: the rule sets of then and the rule set of now are applied to the same files, and
what is no longer dropped is added. A span is read again with the bounds that it was indexed
with, because some rules look at all files of a span.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SettingMismatch
from voyager_core.catalog.groups import priorities
from voyager_core.catalog.holes import still_missing
from voyager_core.catalog.recovery import (
    StaleSpan,
    StaleStretch,
    StaleVersions,
    stale_spans,
    stale_stretches,
    store_recovery,
    stored_among,
)
from voyager_core.catalog.remnants import remnants_of
from voyager_core.catalog.reowned import owners_of_range, removed_owner
from voyager_core.catalog.rulesets import recorded_rulesets
from voyager_core.catalog.stretches import OpenRange
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet, changed_rules
from voyager_core.errors import VoyagerError
from voyager_core.header_pass import stems
from voyager_core.header_pass.build import BuiltSpan, build_files
from voyager_core.header_pass.candidates import find_candidates
from voyager_core.header_pass.fetch import FetchedSpan
from voyager_core.header_pass.fragments import set_aside_frame
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.late import keep_open, without_numbers
from voyager_core.header_pass.parse import ParsedSpan, parse_span
from voyager_core.header_pass.reowned import left_to
from voyager_core.header_pass.retries import dropped_share, retries
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

_KEY = ["release_key", "session"]


@dataclass(frozen=True, slots=True)
class Freed:
    """What changed rules bring back of a span.

    Attributes:
        built: what the catalog adds; `rule_counts` is all that is still dropped in the span.
        by_rule: articles and files brought back, by the rule that had dropped them.
    """

    built: BuiltSpan
    by_rule: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Recovery:
    rule: str
    rulesets: Mapping[int, RuleSet]
    groups: Mapping[str, int]


def stale_versions(rulesets: Mapping[int, RuleSet], now: RuleSet) -> dict[str, list[int]]:
    """Returns by rule the versions in which it was in force and not what it is now."""
    stale: dict[str, list[int]] = {}
    for version, before in sorted(rulesets.items()):
        if version < now.version:
            for rule in changed_rules(before, now):
                stale.setdefault(rule, []).append(version)
    return stale


def find_stale(conn: Connection, now: RuleSet, *, limit: int = 100_000) -> list[StaleStretch]:
    """Returns the stretches in which changed rules had dropped something.

    Args:
        conn: the catalog.
        now: the rule set in force.
        limit: the most rows to return.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return stale_stretches(conn, stale_versions(recorded_rulesets(conn), now), limit=limit)


def is_stale(conn: Connection, now: RuleSet, group: str, index: int) -> bool:
    """Tells whether any changed rule left a stretch stale.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    versions = stale_versions(recorded_rulesets(conn), now)
    return bool(stale_spans(conn, versions, group, index))


def recover_stretches(
    tools: PassTools, stretches: Sequence[tuple[str, int]], rule: str
) -> Iterator[StretchReport]:
    """Adds what rules had dropped in these stretches and no longer drop.

    Only spans in which the given rule had dropped something are read; each is brought to the
    rule set in force once, whoever else works on it.

    Args:
        tools: catalog, server, spool and the rules in force now.
        stretches: `(group, index)` of each.
        rule: the rule's name; empty: every changed rule.

    Raises:
        VoyagerError: a fault that every range would meet.
    """
    rulesets = {**recorded_rulesets(tools.conn), tools.rules.version: tools.rules}
    recovery = _Recovery(rule, rulesets, priorities(tools.conn))
    stale = stale_versions(rulesets, tools.rules)
    wanted: StaleVersions = {name: stale[name] for name in stale if rule in {"", name}}
    for group, index in stretches:
        spans = stale_spans(tools.conn, wanted, group, index)
        yield StretchReport(group, index, list(_recover_spans(tools, spans, recovery)))


def _recover_spans(
    tools: PassTools, stale_ones: Sequence[StaleSpan], recovery: _Recovery
) -> Iterator[SpanOutcome]:
    started = time.process_time()
    spans = [each for each in stale_ones if not each.set_aside]
    ids = [each.range_id for each in spans]
    with tools.fetch(ids, [each.span for each in spans]) as fetcher:
        for stale in stale_ones:
            place = _place(stale)
            tools.before_span()
            try:
                with unforeseen(stale.span):
                    if stale.set_aside:
                        outcome = _take_back(tools, stale, recovery)
                    else:
                        outcome = _recover(tools, stale, next(fetcher), recovery)
            except VoyagerError as error:
                if is_everywhere(error):
                    raise
                note_failure(tools, stale.range_id, stale.span, error)
                outcome = SpanOutcome(place, stale.span, error=error)
            ended = time.process_time()
            outcome = replace(outcome, cpu_seconds=ended - started)
            started = ended
            tools.after_span(outcome)
            yield outcome


def _recover(
    tools: PassTools, stale: StaleSpan, fetched: FetchedSpan, recovery: _Recovery
) -> SpanOutcome:
    now = tools.clock()
    before = _rules_of(stale, recovery)
    # What may still arrive is added by those who ask for it again, and files wait for it.
    missing = still_missing(tools.conn, stale.range_id, stale.low, stale.high)
    parsed = keep_open(_parse(tools, stale, fetched, recovery.groups, missing), missing)
    freed = freed_by(
        parsed.files,
        before=before,
        rules=tools.rules,
        now=now,
        stored=lambda ids: stored_among(tools.conn, stale, ids),
        other_parser=stale.parser_version != tools.versions.parser,
    )
    by_rule = _with_asked(freed.by_rule, recovery)
    stored = store_recovery(tools.conn, stale, freed.built, freed=by_rule, versions=tools.versions)
    fetched.release(capture=stale.capture)
    return SpanOutcome(
        _place(stale),
        fetched.span,
        stored=stored.stored,
        refused=not stored.stored,
        fetched_lines=fetched.report.lines or parsed.stats["lines"],
        lines=parsed.stats["lines"],
        kept=parsed.stats["kept"],
        rejected=rejects_of(parsed),
        block_bytes=fetched.report.block_bytes,
        chunk_bytes=stored.chunk_bytes,
        recovered=sum(articles for articles, _ in freed.by_rule.values()),
    )


def _take_back(tools: PassTools, stale: StaleSpan, recovery: _Recovery) -> SpanOutcome:
    """Adds what was set aside while cut files were put together, as far as rules now let it."""
    before = _rules_of(stale, recovery)
    kept = remnants_of(tools.conn, stale.span_drop_id)
    files = set_aside_frame(each.file for each in kept).with_columns(
        _id=pl.Series([each.remnant_id for each in kept], dtype=pl.Int64)
    )
    # One rule sets aside; after a change of rules another one may be what holds a file back.
    then = _decided(files, before[-1])["dropped_by"] if len(before) > 1 else pl.lit(REPOST_REMNANT)
    decided = _decided(files, tools.rules).with_columns(_then=then)
    free = decided.filter(pl.col("dropped_by").is_null())
    still = decided.filter(pl.col("dropped_by").is_not_null()).drop("_id", "fullest", "_then")
    built = replace(
        build_files(free.drop("_id", "fullest", "_then", "dropped_by"), now=tools.clock()),
        rule_counts=count_drops(still, tools.rules),
    )
    by_rule = _by_rule(free.with_columns(pl.col("_then").fill_null(REPOST_REMNANT)))
    stored = store_recovery(
        tools.conn,
        stale,
        built,
        freed=_with_asked(by_rule, recovery),
        versions=tools.versions,
        taken_back=free["_id"].to_list(),
    )
    return SpanOutcome(
        _place(stale),
        stale.span,
        stored=stored.stored,
        refused=not stored.stored,
        chunk_bytes=stored.chunk_bytes,
        recovered=sum(articles for articles, _ in by_rule.values()),
    )


def _decided(files: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Returns files that were set aside with `dropped_by`: what keeps each out, or null."""
    return apply_rules(files, rules).with_columns(
        dropped_by=pl.when(retries(dropped_share(rules)))
        .then(pl.lit(REPOST_REMNANT))
        .otherwise(pl.col("dropped_by"))
    )


def _by_rule(free: pl.DataFrame) -> dict[str, tuple[int, int]]:
    """Returns the articles and files brought back, by the rule that had dropped them (`_then`)."""
    counted = free.group_by("_then", maintain_order=True).agg(
        pl.col("parts_found").cast(pl.UInt64).sum(), pl.len()
    )
    return {rule: (articles, count) for rule, articles, count in counted.iter_rows()}


def _with_asked(
    by_rule: Mapping[str, tuple[int, int]], recovery: _Recovery
) -> Mapping[str, tuple[int, int]]:
    """Returns the same with the rule that was asked for, also when it brings back nothing."""
    return {recovery.rule: (0, 0), **by_rule} if recovery.rule else by_rule


def _parse(
    tools: PassTools,
    stale: StaleSpan,
    fetched: FetchedSpan,
    groups: Mapping[str, int],
    missing: Sequence[tuple[int, int]],
) -> ParsedSpan:
    """Returns the files of the lines that the span was made of, by the owners of then."""
    owners = owners_of_range(tools.conn, stale.range_id)
    if not stale.owner and missing:
        fetched = tools.whole(stale.range_id, fetched)
        there = (without_numbers(block, missing) for block in fetched.blocks())
        return parse_span(fetched.span, there, groups=owners, now=tools.clock())
    if not stale.owner:
        return parse_fetched(
            fetched,
            fetched.span,
            groups=owners,
            now=tools.clock(),
            again=lambda: tools.fetch_again(stale.range_id, fetched.span),
        )
    fetched = tools.whole(stale.range_id, fetched)
    gone = removed_owner(tools.conn, stale.owner)
    lines: Iterator[bytes] = iter(())
    if gone is not None:
        then = {**owners, gone.name: gone.priority}
        lines = (left_to(voyager_native.inflate(block), gone, then) for block in fetched.blocks())
    return parse_span(fetched.span, lines, groups=groups, now=tools.clock())


def freed_by(
    files: pl.DataFrame,
    *,
    before: Sequence[RuleSet],
    rules: RuleSet,
    now: datetime,
    stored: Callable[[Collection[str]], set[str]],
    other_parser: bool,
) -> Freed:
    """Returns what the catalog stores of the files that changed rules had dropped.

    Args:
        files: every file of the span, as parsed.
        before: the rule sets that the span went through, oldest first; what every one of them
            drops is what the catalog lacks.
        rules: the rule set in force.
        now: the time.
        stored: returns which articles the catalog has.
        other_parser: whether another parser had read the span: it may have kept what this one
            takes for dropped. So may a span have kept a remnant while numbers were missing.
    """
    files = identify_releases(files).with_row_index("_row")
    then = [apply_rules(files, each)["dropped_by"] for each in before]
    applied = apply_rules(files, rules)
    lacking = applied.with_columns(
        _then=then[-1], _lacks=pl.all_horizontal(*(each.is_not_null() for each in then))
    )
    gone = lacking.filter("_lacks")
    free = gone.filter(pl.col("dropped_by").is_null())
    doubtful = free if other_parser else free.filter(pl.col("_then") == REPOST_REMNANT)
    if not doubtful.is_empty():
        known = stored(doubtful["first_message_id"].to_list())
        free = free.filter(~pl.col("first_message_id").is_in(list(known)))
    still = gone.filter(pl.col("dropped_by").is_not_null())
    extra = ["_row", "_then", "_lacks"]
    built = build_files(free.filter(~pl.col("is_fragment")).drop("dropped_by", *extra), now=now)
    # Whose rule of then differs is new to the samples of this one.
    moved = still.filter(pl.col("dropped_by") != pl.col("_then")).drop(extra)
    return Freed(
        replace(
            built,
            # What the catalog has already tells of which post the rest is.
            files=lacking.with_columns(
                release_key=pl.when(pl.col("_lacks") & pl.col("dropped_by").is_not_null())
                .then(None)
                .otherwise("release_key")
            ),
            candidates=_candidates(lacking, free),
            fragments=free.filter("is_fragment"),
            rule_counts=count_drops(still.drop(extra), rules),
            rule_samples=sample_rules(moved, rules),
        ),
        _by_rule(free),
    )


def _candidates(files: pl.DataFrame, free: pl.DataFrame) -> pl.DataFrame:
    """Returns the candidates among the files brought back, of the releases as they are now."""
    touched = free.select(_KEY).unique()
    stored = files.filter(
        ~pl.col("is_fragment") & (~pl.col("_lacks") | pl.col("dropped_by").is_null())
    ).join(touched, on=_KEY, how="semi")
    found = find_candidates(stems.with_kinds(stored))
    return found.join(free.select("file_key"), on="file_key", how="semi")


def _rules_of(stale: StaleSpan, recovery: _Recovery) -> list[RuleSet]:
    missing = [version for version in stale.versions if version not in recovery.rulesets]
    if missing:
        msg = (
            f"{stale.span}: its rule set {missing[0]} is not in the catalog,"
            " or has rules that this version does not know"
        )
        raise SettingMismatch(msg)
    return [recovery.rulesets[version] for version in stale.versions]


def _place(stale: StaleSpan) -> OpenRange:
    """Returns the range of a span, as something to read."""
    return OpenRange(
        range_id=stale.range_id,
        group=stale.group,
        low=stale.range_low,
        high=stale.range_high,
        resume_at=stale.low,
        until=stale.high,
        newest=stale.high,
        stored_at=None,
        capture=stale.capture,
    )
