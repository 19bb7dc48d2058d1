"""Take over crossposts from a removed newsgroup, by reading only the ranges that left it some."""

import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import voyager_native
from voyager_core.catalog.groups import priorities
from voyager_core.catalog.ranges import RangeRow, ranges_of
from voyager_core.catalog.reowned import (
    PREFIX,
    RemovedOwner,
    orphaned_ranges,
    owners_of_range,
    removed_owner,
)
from voyager_core.catalog.stretches import OpenRange
from voyager_core.catalog.taken_over import store_taken_over
from voyager_core.domain.ranges import Span
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fetch import FetchedSpan
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.run import (
    PassTools,
    SpanOutcome,
    StretchReport,
    is_everywhere,
    note_failure,
    rejects_of,
    unforeseen,
)


def take_over_stretches(
    tools: PassTools, stretches: Sequence[tuple[str, int]], owner: str
) -> Iterator[StretchReport]:
    """Adds the crossposts that these stretches had left to a group which was removed since.

    What the removed group has read itself stays its own; each range is read once a removal.

    Args:
        tools: catalog, server, spool and rules.
        stretches: `(group, index)` of each.
        owner: the removed group.

    Raises:
        VoyagerError: a fault that every range would meet.
    """
    gone = removed_owner(tools.conn, owner)
    for group, index in stretches:
        rows = {row.range_id: row for row in ranges_of(tools.conn, group, index)}
        wanted = [] if gone is None else orphaned_ranges(tools.conn, owner, list(rows))
        outcomes = [] if gone is None else _take_over(tools, [rows[key] for key in wanted], gone)
        yield StretchReport(group, index, list(outcomes))


def _take_over(
    tools: PassTools, rows: Sequence[RangeRow], gone: RemovedOwner
) -> Iterator[SpanOutcome]:
    groups = priorities(tools.conn)
    spans = [Span(row.group, row.low, row.resume_at - 1) for row in rows]
    started = time.process_time()
    ids = [row.range_id for row in rows]
    with tools.fetch(ids, spans) as fetcher:
        for row, span in zip(rows, spans, strict=True):
            place = _place(row)
            tools.before_span()
            try:
                with unforeseen(span):
                    outcome = _read_again(tools, place, next(fetcher), gone=gone, groups=groups)
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


def _read_again(
    tools: PassTools,
    place: OpenRange,
    fetched: FetchedSpan,
    *,
    gone: RemovedOwner,
    groups: Mapping[str, int],
) -> SpanOutcome:
    owners = {**owners_of_range(tools.conn, place.range_id), gone.name: gone.priority}
    now = tools.clock()
    fetched = tools.whole(place.range_id, fetched)
    left = (left_to(voyager_native.inflate(block), gone, owners) for block in fetched.blocks())
    parsed = parse_span(fetched.span, left, groups=groups, now=now)
    reason, rejected = PREFIX + gone.name, rejects_of(parsed)
    moved = {**rejected, reason: rejected.get(reason, 0) - parsed.stats["lines"]}
    stored = store_taken_over(
        tools.conn,
        fetched.span,
        build_span(parsed, tools.rules, now=now),
        range_id=place.range_id,
        owner=gone,
        versions=tools.versions,
        moved=moved,
    )
    fetched.release(capture=place.capture)
    return SpanOutcome(
        place,
        fetched.span,
        stored=stored.stored,
        refused=not stored.stored,
        fetched_lines=parsed.stats["lines"],
        lines=parsed.stats["lines"],
        kept=parsed.stats["kept"],
        rejected=rejected,
        block_bytes=fetched.report.block_bytes,
        chunk_bytes=stored.chunk_bytes,
    )


def left_to(text: bytes, gone: RemovedOwner, owners: Mapping[str, int]) -> bytes:
    """Returns the overview lines that were left to a removed group, which never read them.

    Args:
        text: overview lines, inflated.
        gone: the removed group.
        owners: the groups that owned crossposts then, the removed one among them.
    """
    mark = f" {gone.name}:".encode()
    lows = [low for low, _ in gone.read]
    kept: list[bytes] = []
    for line in text.split(b"\n"):
        if mark not in line:
            continue
        numbers = _xref(line)
        number = numbers.get(gone.name)
        if number is None:
            continue
        known = [name for name in numbers if name in owners]
        if min(known, key=owners.__getitem__) != gone.name:
            continue
        place = bisect_right(lows, number) - 1
        if place < 0 or number >= gone.read[place][1]:
            kept.append(line.rstrip(b"\r"))
    return b"\r\n".join([*kept, b""])


def _xref(line: bytes) -> dict[str, int]:
    """Returns group and number of each place that the last `Xref:` of a line names."""
    numbers: dict[str, int] = {}
    for token in line.rpartition(b"\t")[2].split():
        name, colon, number = token.rpartition(b":")
        if colon and number.isdigit() and len(number) < 20:
            numbers[name.decode("utf-8", "replace")] = int(number)
    return numbers


def _place(row: RangeRow) -> OpenRange:
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
