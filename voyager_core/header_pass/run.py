"""Index ranges: fetch, parse, build and store, one span at a time, from where the ledger stands.

Every span is stored in one transaction that begins at its range's resume point. One that would
hold more than memory allows is indexed in parts, each a span by itself. Whatever ends a pass, the
next one asks the ledger and goes on from there; two passes over the same range do no harm, since
the slower one's spans are refused.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import voyager_native
from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.errors import CatalogRefused, CatalogUnavailable, MigrationError
from voyager_core.catalog.groups import priorities, record_gone
from voyager_core.catalog.ranges import MAX_ATTEMPTS, Versions, get_range, mark_failed
from voyager_core.catalog.spans import store_span
from voyager_core.catalog.stretches import OpenRange
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import PermanentError, VoyagerError
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fetch import FetchedSpan
from voyager_core.header_pass.late import AGAIN_AFTER, LATE_NUMBERS, holes_in, keep_open
from voyager_core.header_pass.parse import ParsedSpan, parse_parts, parse_span
from voyager_core.header_pass.tools import (
    TIMES_AGAIN,
    PassTools,
    SpanOutcome,
    Stage,
    StretchReport,
)
from voyager_core.header_pass.wait import FetcherGone
from voyager_core.nntp.errors import (
    AuthFailed,
    ConnectFailed,
    GroupGone,
    TlsFailed,
    TooManyConnections,
)
from voyager_core.storage.errors import BlockMissing, SpoolFull, StorageUnusable

__all__ = [
    "PassTools",
    "SpanOutcome",
    "Stage",
    "StretchReport",
    "UnforeseenError",
    "index_ranges",
    "index_stretches",
    "is_everywhere",
    "note_failure",
    "parse_fetched",
    "rejects_of",
    "unforeseen",
    "versions_of",
]

logger = logging.getLogger(__name__)

# A fault of the server, the disk or the database is no fault of the range that met it.
_EVERYWHERE = (
    AuthFailed,
    CatalogRefused,
    CatalogUnavailable,
    ConnectFailed,
    FetcherGone,
    MigrationError,
    SpoolFull,
    StorageUnusable,
    TlsFailed,
    TooManyConnections,
)
# One pass tries a range up to four times; the fifth pass that fails on it parks it.
_TRANSIENT_ATTEMPTS = 4 * MAX_ATTEMPTS
_PASSES_OVER_A_STRETCH = 3


class UnforeseenError(PermanentError):
    """A range met an error that should not exist; it waits for a person."""


def versions_of(rules: RuleSet) -> Versions:
    """Returns the versions that ranges indexed now are marked with."""
    return Versions(
        parser=voyager_native.PARSER_VERSION,
        rules=rules.version,
        codec=voyager_native.CODEC_VERSION,
    )


def index_stretches(
    tools: PassTools, stretches: Iterable[tuple[str, int]]
) -> Iterator[StretchReport]:
    """Indexes what is left of each stretch; yields a report as each one is through.

    A range that fails is noted in the ledger and the rest goes on; its error is in the report.

    Args:
        tools: catalog, server, spool and rules.
        stretches: `(group, index)` of each.

    Raises:
        VoyagerError: a fault that every range would meet: the server or the database is not
            there, the login is wrong, the disk is full.
    """
    plan = [
        (group, index, ledger.open_ranges(tools.conn, group, index)) for group, index in stretches
    ]
    outcomes = index_ranges(tools, [each for _, _, ranges in plan for each in ranges])
    for group, index, ranges in plan:
        mine = [next(outcomes) for _ in ranges]
        for _ in range(_PASSES_OVER_A_STRETCH):
            if not any(each.refused for each in mine):
                break
            # Somebody else works here too; what they have not done yet is still to do.
            failed = {each.range.range_id for each in mine if each.error is not None}
            left = [
                each
                for each in ledger.open_ranges(tools.conn, group, index)
                if each.range_id not in failed
            ]
            mine = [
                replace(each, refused=False) for each in mine if each.stored or not each.refused
            ]
            mine.extend(index_ranges(tools, left))
        yield StretchReport(group, index, mine)


def index_ranges(tools: PassTools, ranges: Sequence[OpenRange]) -> Iterator[SpanOutcome]:
    """Indexes each range, from its resume point on; yields what became of each.

    Raises:
        VoyagerError: see `index_stretches`.
    """
    groups = priorities(tools.conn)
    spans = [Span(each.group, each.resume_at, each.until) for each in ranges]
    started = time.process_time()
    ids = [each.range_id for each in ranges]
    with tools.fetch(ids, spans) as fetcher:
        for open_range, span in zip(ranges, spans, strict=True):
            tools.before_span()
            outcome: SpanOutcome | None = None
            try:
                with unforeseen(span):
                    for part in _index(tools, open_range, next(fetcher), groups):
                        outcome = part if outcome is None else outcome.followed_by(part)
            except VoyagerError as error:
                if is_everywhere(error):
                    raise
                at = span.low if outcome is None else outcome.span.high + 1
                outcome = replace(outcome or SpanOutcome(open_range, span), span=span)
                if isinstance(error, BlockMissing) and was_stored_meanwhile(tools, open_range, at):
                    outcome = replace(outcome, refused=True)
                else:
                    note_failure(tools, open_range.range_id, span, error)
                    outcome = replace(outcome, error=error)
            ended = time.process_time()
            outcome = replace(outcome or SpanOutcome(open_range, span), cpu_seconds=ended - started)
            started = ended
            tools.after_span(outcome)
            yield outcome


@contextmanager
def unforeseen(span: Span) -> Iterator[None]:
    """Makes any other error one of the range that met it, so that the other ranges go on.

    Raises:
        UnforeseenError: something is wrong in Voyager or in its libraries.
    """
    try:
        yield
    except VoyagerError:
        raise
    except Exception as error:
        logger.exception("%s met an error that nobody foresaw", span)
        msg = f"{span}: {type(error).__name__}: {error} (please report this; the log has more)"
        raise UnforeseenError(msg) from error


def is_everywhere(error: BaseException | None) -> bool:
    """Tells whether every other range would meet the same fault."""
    while error is not None:
        if isinstance(error, _EVERYWHERE):
            return True
        error = error.__cause__
    return False


def _index(
    tools: PassTools, open_range: OpenRange, fetched: FetchedSpan, groups: Mapping[str, int]
) -> Iterator[SpanOutcome]:
    """Yields what became of a span: of its one part, or of each as far as they are stored."""
    report = fetched.report
    whole = SpanOutcome(
        open_range, fetched.span, fetched_lines=report.lines, block_bytes=report.block_bytes
    )
    if tools.stage == Stage.FETCH:
        yield replace(whole, fetched_lines=fetched.count_lines())
        return
    span = shown_part(tools, open_range, fetched)
    if span is None:
        fetched.release()
        yield whole
        return
    read = 0
    for part, parsed in _parsed_parts(tools, open_range, fetched, span, groups):
        outcome = _store_part(tools, open_range, fetched, part, parsed)
        del parsed
        read += outcome.lines
        yield replace(
            outcome,
            fetched_lines=read if report.unread else report.lines,
            block_bytes=report.block_bytes,
        )
        if outcome.refused:
            return
    if tools.stage == Stage.STORE:
        # A block with numbers that will be asked for again must not be found on disk then.
        fetched.release(since=open_range.low, capture=open_range.capture and span == fetched.span)


def _store_part(
    tools: PassTools,
    open_range: OpenRange,
    fetched: FetchedSpan,
    part: Span,
    parsed: ParsedSpan,
) -> SpanOutcome:
    rejected = rejects_of(parsed)
    holes: list[tuple[int, int]] = []
    if (fetched.report.holes or fetched.report.unread) and tools.asks_again:
        newest = fetched.blocks(since=open_range.newest - LATE_NUMBERS + 1)
        holes = holes_in(part, newest, newest=open_range.newest)
        parsed = keep_open(parsed, holes)
    outcome = SpanOutcome(
        open_range,
        part,
        lines=parsed.stats["lines"],
        kept=parsed.stats["kept"],
        rejected=rejected,
    )
    if tools.stage == Stage.PARSE:
        return outcome
    stored = store_span(
        tools.conn,
        part,
        build_span(parsed, tools.rules, now=tools.clock()),
        range_id=open_range.range_id,
        read_lines=outcome.lines,
        versions=tools.versions,
        rejects=rejected,
        holes=holes,
        ask_again_at=tools.clock() + AGAIN_AFTER[0],
    )
    logger.info("%s: %d lines, %d kept, stored %s", part, outcome.lines, outcome.kept, stored)
    return replace(
        outcome, stored=stored.stored, refused=not stored.stored, chunk_bytes=stored.chunk_bytes
    )


def shown_part(tools: PassTools, open_range: OpenRange, fetched: FetchedSpan) -> Span | None:
    """Returns the part of a span that the server shows by now; None when that is nothing yet.

    The overview may lag behind the water mark. So numbers at the very end of a group that have
    no line are no holes at first: they are asked for again, for some time.
    """
    span = fetched.span
    if span.high < open_range.newest or tools.hole_patience_seconds <= 0:
        return span
    last = fetched.last_number()
    if last >= span.high:
        return span
    if last >= span.low:
        return Span(span.group, span.low, last)
    stored_at = open_range.stored_at
    patience = timedelta(seconds=tools.hole_patience_seconds)
    return None if stored_at is not None and tools.clock() < stored_at + patience else span


def parse_fetched(
    fetched: FetchedSpan,
    span: Span,
    *,
    groups: Mapping[str, int],
    now: datetime,
    again: Callable[[], FetchedSpan],
) -> ParsedSpan:
    """Returns the files of a fetched span, or of its first part.

    A block that does not inflate, although it did when it was fetched, is fetched anew once, and
    one that came unread until it was read when it came; if the new one does not inflate either, it
    is counted as undecodable and the span goes on.

    Args:
        fetched: the span's blocks.
        span: the part to read.
        groups: the indexed groups and their priority numbers.
        now: dates after it are taken as it.
        again: fetches the blocks anew that cannot be inflated.

    Raises:
        VoyagerError: what fetching raises.
    """
    parsed = parse_span(span, fetched.blocks(), groups=groups, now=now)
    for _ in range(TIMES_AGAIN):
        if not parsed.errors:
            return parsed
        _warn(span, parsed, "fetching that again")
        fetched = again()
        parsed = parse_span(span, fetched.blocks(), groups=groups, now=now)
        if not fetched.report.unread:
            break
    if parsed.errors:
        _warn(span, parsed, "counted as undecodable")
    return parsed


def _parsed_parts(
    tools: PassTools,
    open_range: OpenRange,
    fetched: FetchedSpan,
    span: Span,
    groups: Mapping[str, int],
) -> Iterator[tuple[Span, ParsedSpan]]:
    """Yields the parts of a span as `parse_parts`, blocks as `parse_fetched` reads them."""
    now, tries = tools.clock(), TIMES_AGAIN
    left = span
    while True:
        parts = parse_parts(left, fetched.blocks(), groups=groups, now=now, limits=tools.limits)
        for part, parsed in parts:
            if parsed.errors and tries:
                break
            if parsed.errors:
                _warn(part, parsed, "counted as undecodable")
            yield part, parsed
        else:
            return
        _warn(part, parsed, "fetching that again")
        del parsed
        left = Span(span.group, part.low, span.high)
        again = Span(span.group, part.low, fetched.span.high)
        fetched = tools.fetch_again(open_range.range_id, again)
        tries = tries - 1 if fetched.report.unread else 0


def _warn(span: Span, parsed: ParsedSpan, what: str) -> None:
    logger.warning("%s: %s; %s", span, "; ".join(parsed.errors[:3]), what)


def rejects_of(parsed: ParsedSpan) -> dict[str, int]:
    """Returns the lines that are in no file, by reason."""
    return dict(parsed.rejects.select("reason", "count").iter_rows())


def was_stored_meanwhile(tools: PassTools, open_range: OpenRange, at: int) -> bool:
    """Tells whether somebody else stored what begins at a number, and so took its blocks away."""
    row = get_range(tools.conn, open_range.range_id)
    return row is not None and row.resume_at > at


def note_failure(tools: PassTools, range_id: int, span: Span, error: VoyagerError) -> None:
    """Writes a range's failure into the ledger; a group that is gone waits as a whole."""
    logger.warning("%s failed: %s", span, error)
    if isinstance(error, GroupGone):
        record_gone(tools.conn, span.group, str(error), tools.clock())
        ledger.park_ranges(tools.conn, span.group, str(error))
        return
    # What cannot pass by itself waits for a person at once.
    most = 1 if isinstance(error, PermanentError) else _TRANSIENT_ATTEMPTS
    mark_failed(tools.conn, range_id, str(error), max_attempts=most)
