"""From the news server into the spool: the overview blocks of one span."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from voyager_core.domain.ranges import Span
from voyager_core.errors import TransientError
from voyager_core.nntp.back_off import BackOff
from voyager_core.nntp.errors import Garbage, TransientNewsFailure
from voyager_core.nntp.overview import OverviewBlock
from voyager_core.nntp.pool import Pool
from voyager_core.storage.blocks import BlockFacts, BlockInfo
from voyager_core.storage.spool import Spool

logger = logging.getLogger(__name__)

DEFAULT_BLOCK_SIZE = 50_000
"""The text of a block, some 15 MB, is there beside what a span holds."""


class BlockNotFetched(TransientError):  # noqa: N818 - reads as what happened
    """A block did not come whole in any attempt; the message names it and the last reason."""


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How spans are fetched.

    Attributes:
        block_size: article numbers asked for in one command.
        connections: most blocks of a span at a time; None = as many as the account has.
        attempts: tries for a block before the span fails.
        back_off: waits between the tries of one block.
        ahead: spans fetched while one is worked on; None = enough to keep all connections busy.
        unread: take long blocks without inflating them, where the connection allows it: who reads
            them has to do so anyway, and asks again for one that is damaged.
    """

    block_size: int = DEFAULT_BLOCK_SIZE
    connections: int | None = None
    attempts: int = 5
    back_off: BackOff = field(default_factory=lambda: BackOff(1.0, 2.0, 30.0))
    ahead: int | None = None
    unread: bool = False


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What fetching a span took.

    Attributes:
        blocks: blocks that cover the span.
        fetched: blocks that came from the server now; the others were on disk.
        empty: blocks without a line.
        lines: overview lines, without those of unread blocks.
        holes: numbers without a line, outside unread blocks: articles that the server does not
            have.
        stray_lines: lines with numbers outside their block, left for the engine to reject.
        retries: attempts that failed before one succeeded.
        block_bytes: size of all blocks, compressed.
        text_bytes: size of their text, inflated.
        wire_bytes: bytes received now.
        seconds: wall time.
        unread: blocks that were not inflated when they came.
    """

    blocks: int
    fetched: int
    empty: int
    lines: int
    holes: int
    stray_lines: int
    retries: int
    block_bytes: int
    text_bytes: int
    wire_bytes: int
    seconds: float
    unread: int = 0


@dataclass(slots=True)
class _Tally:
    fetched: int = 0
    retries: int = 0
    wire_bytes: int = 0
    largest: int = 1


async def fetch_span(
    pool: Pool,
    spool: Spool,
    span: Span,
    options: FetchOptions | None = None,
    *,
    rng: random.Random | None = None,
    clock: Callable[[], float] = time.time,
    handed_out: asyncio.Event | None = None,
) -> FetchReport:
    """Fetches what the spool lacks of a span; blocks already there are checked and kept.

    Args:
        pool: the server that the group's numbers belong to.
        spool: where the blocks go, each whole or not at all.
        span: the article numbers.
        options: block size, parallelism, attempts.
        rng: spreads the waits between attempts.
        clock: epoch seconds, for the manifests.
        handed_out: set as soon as no block waits for a connection any more.

    Raises:
        BlockNotFetched: a block did not come whole in any attempt.
        SpoolFull: no room for a block; those written before stay.
        GroupGone: the server does not carry the group.
        NewsError: another fault that trying again does not mend.
        StorageUnusable: the spool's folder cannot be written to.
    """
    options = options or FetchOptions()
    started, tally = time.monotonic(), _Tally()
    server = pool.account.host
    fetcher = _BlockFetcher(
        pool,
        spool,
        options=options,
        tally=tally,
        rng=rng or random.Random(),  # noqa: S311 - spreads waits, no secret
        clock=clock,
    )
    try:
        missing = deque(
            await asyncio.to_thread(spool.missing, span, options.block_size, server=server)
        )
        workers = min(options.connections or pool.limit, len(missing))
        await _all_or_first_error([fetcher.work(missing, handed_out) for _ in range(workers)])
    finally:
        if handed_out is not None:
            handed_out.set()
    infos = await asyncio.to_thread(spool.infos, span, server=server)
    return replace(
        report_of(span, infos),
        fetched=tally.fetched,
        retries=tally.retries,
        wire_bytes=tally.wire_bytes,
        seconds=time.monotonic() - started,
    )


def report_of(span: Span, infos: Sequence[BlockInfo]) -> FetchReport:
    """Returns what is known of a span that is in the spool, given its blocks."""
    lines = sum(info.facts.lines for info in infos)
    stray = sum(info.facts.stray_lines for info in infos)
    unread = [info.high - info.low + 1 for info in infos if info.facts.unread]
    return FetchReport(
        blocks=len(infos),
        fetched=0,
        empty=sum(info.facts.lines == 0 and not info.facts.unread for info in infos),
        lines=lines,
        holes=max(0, span.size - sum(unread) - (lines - stray)),
        stray_lines=stray,
        retries=0,
        block_bytes=sum(info.size_bytes for info in infos),
        text_bytes=sum(info.facts.text_bytes for info in infos),
        wire_bytes=0,
        seconds=0.0,
        unread=len(unread),
    )


class _BlockFetcher:
    """Fetches single blocks of a span into the spool."""

    def __init__(
        self,
        pool: Pool,
        spool: Spool,
        *,
        options: FetchOptions,
        tally: _Tally,
        rng: random.Random,
        clock: Callable[[], float],
    ) -> None:
        self._pool = pool
        self._spool = spool
        self._options = options
        self._tally = tally
        self._rng = rng
        self._clock = clock

    async def work(self, missing: deque[Span], handed_out: asyncio.Event | None) -> None:
        """Takes blocks in order until none is left."""
        while missing:
            block_span = missing.popleft()
            if not missing and handed_out is not None:
                handed_out.set()
            await asyncio.to_thread(self._spool.check_room, self._tally.largest)
            block = await self._fetch(block_span)
            facts = BlockFacts(
                encoding=block.encoding.value,
                lines=block.lines,
                first_number=block.first_number,
                last_number=block.last_number,
                text_bytes=block.text_bytes,
                server=self._pool.account.host,
                fetched_at=int(self._clock()),
                stray_lines=block.stray_lines,
                unread=block.unread,
            )
            await _to_its_end(self._spool.write, block_span, block.raw, facts)
            self._tally.fetched += 1
            self._tally.wire_bytes += block.wire_bytes
            self._tally.largest = max(self._tally.largest, len(block.raw))

    async def _fetch(self, block: Span) -> OverviewBlock:
        attempts, odd, reason = self._options.attempts, None, "no attempts are allowed"
        damaged, cause = 0, None
        for attempt in range(1, attempts + 1):
            try:
                # A server may compress a range wrongly every time it is asked for it.
                plain = damaged >= 2
                unread = self._options.unread and attempt == 1
                reply = await self._pool.overview(
                    block.group, block.low, block.high, plain=plain, unread=unread
                )
            except TransientNewsFailure as error:
                reason, cause = str(error), error
                damaged += type(error) is Garbage
            else:
                if reply.stray_lines == 0 or (odd is not None and _same_lines(reply, odd)):
                    return reply
                # Twice the same stray lines are in the server's overview; once may be an
                # answer to something else.
                odd, reason = reply, f"{reply.stray_lines} lines outside it, others each time"
                cause = None
            if attempt < attempts:
                logger.info("block %s, attempt %d: %s", block, attempt, reason)
                self._tally.retries += 1
                await asyncio.sleep(self._options.back_off.delay(attempt, self._rng))
        msg = f"the block {block} did not come in {attempts} attempts; last: {reason}"
        raise BlockNotFetched(msg) from cause


def _same_lines(one: OverviewBlock, other: OverviewBlock) -> bool:
    return (one.lines, one.stray_lines, one.first_number, one.last_number, one.text_bytes) == (
        other.lines,
        other.stray_lines,
        other.first_number,
        other.last_number,
        other.text_bytes,
    )


async def _all_or_first_error(work: list[Coroutine[Any, Any, None]]) -> None:
    """Runs coroutines together; the first error cancels the others and is raised as it is."""
    tasks = [asyncio.create_task(each) for each in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _to_its_end(function: Callable[..., object], *args: object) -> None:
    """Runs a function in a thread; a cancellation waits until it is done.

    Whoever cancelled finds the spool at rest.
    """
    work = asyncio.ensure_future(asyncio.to_thread(function, *args))
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise
