"""Articles that arrive after higher numbers did: found at the newest end, asked for again."""

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import polars as pl

import voyager_native
from voyager_core.catalog.groups import priorities
from voyager_core.catalog.holes import Hole, due_holes, store_late
from voyager_core.domain.ranges import Span
from voyager_core.errors import TransientError
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import ParsedSpan, parse_span
from voyager_core.header_pass.tools import PassTools
from voyager_core.nntp.errors import GroupGone

logger = logging.getLogger(__name__)

LATE_NUMBERS = 100_000
"""How far behind the newest number an article may still appear."""

AGAIN_AFTER = (timedelta(minutes=4), timedelta(minutes=20), timedelta(hours=2))
"""When a missing number is asked for again, each time counted from the time before."""

LONGEST_WAIT = sum(AGAIN_AFTER, timedelta())
"""How long a file waits for a part that is late."""

# Server and catalog bear so much: what is missing in more pieces is the server's way to number.
_MOST_RUNS = 2_000
_MOST_COMMANDS = 20
_MOST_HOLES = 200
_NEAR = 2_000

Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LateReport:
    """What asking again brought.

    Attributes:
        asked: spans with missing numbers that were asked for again.
        lines: articles that had arrived meanwhile.
        failed: spans that could not be asked for; they come again.
    """

    asked: int = 0
    lines: int = 0
    failed: int = 0


def holes_in(span: Span, blocks: Iterable[bytes], *, newest: int) -> list[Run]:
    """Returns the numbers of a span without a line, as far as they may still get one.

    Args:
        span: what was read.
        blocks: its blocks, at least those near its end.
        newest: the newest number of the group; only `LATE_NUMBERS` before it are looked at.
    """
    first = max(span.low, newest - LATE_NUMBERS + 1)
    if first > span.high:
        return []
    seen = pl.concat([pl.Series([0], dtype=pl.UInt64), *map(_numbers, blocks)])
    inside = seen.filter((seen >= first) & (seen <= span.high)).unique().sort().to_list()
    runs: list[Run] = []
    for number in [*inside, span.high + 1]:
        if number > first:
            runs.append((first, number - 1))
        first = number + 1
    return runs[-_MOST_RUNS:]


def keep_open(parsed: ParsedSpan, holes: Sequence[Run]) -> ParsedSpan:
    """Returns the span with the files as fragments of which a part may be in a hole."""
    if not holes:
        return parsed
    return replace(parsed, files=_as_fragments(parsed.files, holes[0][0], holes[-1][1]))


def without_numbers(block: bytes, runs: Sequence[Run]) -> bytes:
    """Returns a block as lines without those of some numbers, given in order.

    A block that does not inflate is returned as it is.
    """
    try:
        text = voyager_native.inflate(block)
    except ValueError:
        return block
    starts, ends = [low for low, _ in runs], [high for _, high in runs]
    kept = []
    for number, line in _lines(text):
        place = bisect_right(starts, number) - 1
        if place < 0 or number > ends[place]:
            kept.append(line + b"\r\n")
    return b"".join(kept)


def ask_again(tools: PassTools) -> LateReport:
    """Asks for numbers again whose time has come, and adds what has arrived.

    Raises:
        VoyagerError: the server or the database cannot be used.
    """
    now = tools.clock()
    asked = lines = failed = 0
    for hole in due_holes(tools.conn, at=now, limit=_MOST_HOLES):
        try:
            text = b"".join(_late_lines(tools, hole))
        except GroupGone:
            continue
        except TransientError as error:
            logger.warning("%s %d-%d: %s", hole.group, hole.low, hole.high, error)
            failed += 1
            if failed > 2:
                break
            continue
        asked += 1
        lines += _store(tools, hole, text)
    return LateReport(asked, lines, failed)


def _store(tools: PassTools, hole: Hole, text: bytes) -> int:
    now = tools.clock()
    span = Span(hole.group, hole.low, hole.high)
    parsed = parse_span(span, [text] if text else [], groups=priorities(tools.conn), now=now)
    parsed = replace(parsed, files=_as_fragments(parsed.files, span.low, span.high))
    found = sorted(set(_numbers(text).to_list())) if text else []
    tries = hole.tries + 1
    next_at = now + AGAIN_AFTER[tries] if tries < len(AGAIN_AFTER) else None
    stored = store_late(
        tools.conn,
        hole,
        build_span(parsed, tools.rules, now=now),
        found=[(number, number) for number in found],
        read_lines=parsed.stats["lines"],
        rejects=dict(parsed.rejects.select("reason", "count").iter_rows()),
        versions=tools.versions,
        next_at=next_at,
    )
    return parsed.stats["lines"] if stored.stored else 0


def _late_lines(tools: PassTools, hole: Hole) -> Iterator[bytes]:
    """Yields the lines of missing numbers that the server shows now, each once."""
    missing = [(low, high) for low, high in hole.missing]
    taken: set[int] = set()
    for low, high in _commands(missing):
        block = tools.client.overview(hole.group, low, high)
        if not block.lines:
            continue
        wanted = iter(missing)
        run = next(wanted, None)
        for number, line in sorted(_lines(voyager_native.inflate(block.raw))):
            while run is not None and run[1] < number:
                run = next(wanted, None)
            if run is not None and run[0] <= number and number not in taken:
                taken.add(number)
                yield line + b"\r\n"


def _commands(missing: Sequence[Run]) -> list[Run]:
    """Returns what to ask for: missing numbers near each other in one command, a few in all."""
    joined: list[Run] = []
    near = _NEAR
    while True:
        joined = []
        for low, high in missing:
            if joined and low - joined[-1][1] <= near:
                joined[-1] = (joined[-1][0], high)
            else:
                joined.append((low, high))
        if len(joined) <= _MOST_COMMANDS:
            return joined
        near *= 4


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    for line in text.split(b"\n"):
        number = line.partition(b"\t")[0].strip()
        if number.isdigit() and len(number) < 20:
            yield int(number), line.rstrip(b"\r")


def _numbers(block: bytes) -> pl.Series:
    frame = pl.DataFrame(voyager_native.parse_lines(voyager_native.inflate(block)))
    return frame["number"].cast(pl.UInt64).drop_nulls()


def _as_fragments(files: pl.DataFrame, low: int, high: int) -> pl.DataFrame:
    """Marks files that are not whole and that can have a part between two numbers."""
    total = pl.col("parts_total").cast(pl.Int64)
    found = pl.col("parts_found").cast(pl.Int64)
    first = pl.col("first_number").cast(pl.Int64)
    last = pl.col("last_number").cast(pl.Int64)
    # As the engine reckons how far missing parts can be.
    apart = pl.max_horizontal(pl.lit(1), (last - first) // pl.max_horizontal(pl.lit(1), found - 1))
    reach = (total - found) * apart * 4 + 2000
    incomplete = (total > 0) & (found < total)
    near = (first - reach <= high) & (last + reach >= low)
    opened = incomplete & near
    reach_low = pl.max_horizontal(pl.lit(1), first - reach).cast(pl.UInt64)
    reach_high = (last + reach).cast(pl.UInt64)
    fresh = opened & ~pl.col("is_fragment")
    return files.with_columns(
        reach_low=pl.when(fresh).then(reach_low).otherwise("reach_low"),
        reach_high=pl.when(fresh).then(reach_high).otherwise("reach_high"),
        is_fragment=pl.col("is_fragment") | opened,
    )
