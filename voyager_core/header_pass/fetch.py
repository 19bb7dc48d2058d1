"""From the news server into the spool: the overview blocks of spans, ahead of the header pass."""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from voyager_core.domain.ranges import Span
from voyager_core.errors import TransientError
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.errors import TransientNewsFailure
from voyager_core.nntp.overview import OverviewBlock
from voyager_core.nntp.pool import BackOff, Pool
from voyager_core.storage.blocks import BlockFacts
from voyager_core.storage.errors import SpoolFull
from voyager_core.storage.spool import Spool

logger = logging.getLogger(__name__)

DEFAULT_BLOCK_SIZE = 100_000


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
    """

    block_size: int = DEFAULT_BLOCK_SIZE
    connections: int | None = None
    attempts: int = 5
    back_off: BackOff = field(default_factory=lambda: BackOff(1.0, 2.0, 30.0))
    ahead: int | None = None


@dataclass(frozen=True, slots=True)
class FetchReport:
    """What fetching a span took.

    Attributes:
        blocks: blocks that cover the span.
        fetched: blocks that came from the server now; the others were on disk.
        empty: blocks without a line.
        lines: overview lines.
        holes: numbers without a line: articles that the server does not have.
        stray_lines: lines with numbers outside their block, left for the engine to reject.
        retries: attempts that failed before one succeeded.
        block_bytes: size of all blocks, compressed.
        text_bytes: size of their text, inflated.
        wire_bytes: bytes received now.
        seconds: wall time.
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
    lines = sum(info.facts.lines for info in infos)
    stray = sum(info.facts.stray_lines for info in infos)
    return FetchReport(
        blocks=len(infos),
        fetched=tally.fetched,
        empty=sum(info.facts.lines == 0 for info in infos),
        lines=lines,
        holes=max(0, span.size - (lines - stray)),
        stray_lines=stray,
        retries=tally.retries,
        block_bytes=sum(info.size_bytes for info in infos),
        text_bytes=sum(info.facts.text_bytes for info in infos),
        wire_bytes=tally.wire_bytes,
        seconds=time.monotonic() - started,
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
            )
            await asyncio.to_thread(self._spool.write, block_span, block.raw, facts)
            self._tally.fetched += 1
            self._tally.wire_bytes += block.wire_bytes
            self._tally.largest = max(self._tally.largest, len(block.raw))

    async def _fetch(self, block: Span) -> OverviewBlock:
        attempts = self._options.attempts
        for attempt in range(1, attempts + 1):
            try:
                return await self._pool.overview(block.group, block.low, block.high)
            except TransientNewsFailure as error:
                if attempt == attempts:
                    msg = f"the block {block} did not come in {attempts} attempts; last: {error}"
                    raise BlockNotFetched(msg) from error
                logger.info("block %s, attempt %d: %s", block, attempt, error)
                self._tally.retries += 1
                await asyncio.sleep(self._options.back_off.delay(attempt, self._rng))
        msg = f"the block {block} was not asked for: no attempts are allowed"
        raise BlockNotFetched(msg)


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


@dataclass(frozen=True, slots=True)
class FetchedSpan:
    """A span whose blocks are in the spool.

    Attributes:
        span: the article numbers.
        report: what fetching it took.
    """

    span: Span
    report: FetchReport
    _spool: Spool = field(repr=False)
    _server: str = field(repr=False)

    def blocks(self) -> Iterator[bytes]:
        """Yields the blocks in order, as received, each read when it is asked for.

        Raises:
            BlockMissing: a block is gone or torn; fetch the span again.
        """
        return self._spool.blocks(self.span, server=self._server)

    def release(self, *, capture: bool = False) -> int:
        """Gives up the blocks once the span is stored; captured ones move to the corpus.

        Returns:
            The bytes freed in the spool.
        """
        return self._spool.release(self.span, capture=capture)


@dataclass(slots=True)
class _Pending:
    span: Span
    future: Future[FetchReport]
    handed_out: asyncio.Event


class SpanFetcher:
    """Spans in order, each fetched while those before it are worked on.

    An iterator and a context manager. An error belongs to one span: the next `next()` goes on
    with the span after it. Leaving the context cancels what is being fetched.
    """

    def __init__(
        self,
        client: NewsClient,
        spool: Spool,
        spans: Iterable[Span],
        options: FetchOptions | None = None,
    ) -> None:
        """Begins to fetch.

        Args:
            client: an entered client of the server that the numbers belong to.
            spool: where the blocks go.
            spans: the spans, in order; taken from a few ahead of use.
            options: block size, parallelism, attempts.
        """
        self._client = client
        self._spool = spool
        self._spans = iter(spans)
        self._options = options or FetchOptions()
        self._pending: deque[_Pending] = deque()
        self._spool.sweep()

    def __enter__(self) -> Self:
        """Returns the iterator."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Cancels what is being fetched; whole blocks stay in the spool."""
        self.close()

    def __iter__(self) -> Self:
        """Returns the iterator itself."""
        return self

    def __next__(self) -> FetchedSpan:
        """Returns the next span once all its blocks are in the spool.

        Raises:
            BlockNotFetched: a block did not come whole in any attempt.
            SpoolFull: no room, although the spans before it were given up.
            NewsError: another fault of the server; see `fetch_span`.
        """
        self._fill()
        if not self._pending:
            raise StopIteration
        head = self._pending.popleft()
        try:
            report = self._result(head)
        except BaseException:
            head.future.cancel()
            raise
        return FetchedSpan(head.span, report, self._spool, self._client.account.host)

    def close(self) -> None:
        """Cancels what is being fetched; safe to repeat."""
        while self._pending:
            self._pending.pop().future.cancel()

    def _result(self, head: _Pending) -> FetchReport:
        try:
            return head.future.result()
        except SpoolFull:
            # It was fetched ahead while the spans before it still took their room.
            logger.info("the spool was full ahead of %s; fetching it now", head.span)
        return self._client.run(
            fetch_span(self._client.pool, self._spool, head.span, self._options)
        )

    def _fill(self) -> None:
        while len(self._pending) <= self._ahead():
            span = next(self._spans, None)
            if span is None:
                return
            before = self._pending[-1].handed_out if self._pending else None
            handed_out = asyncio.Event()
            future = self._client.start(self._fetch_after(before, span, handed_out))
            self._pending.append(_Pending(span, future, handed_out))

    def _ahead(self) -> int:
        if self._options.ahead is not None:
            return self._options.ahead
        if not self._pending:
            return 1
        connections = self._options.connections or self._client.account.connections
        blocks = -(-self._pending[0].span.size // self._options.block_size)
        return max(1, min(_MOST_AHEAD, -(-connections // blocks)))

    async def _fetch_after(
        self, before: asyncio.Event | None, span: Span, handed_out: asyncio.Event
    ) -> FetchReport:
        # The span before takes all connections until it has no more blocks to hand out.
        if before is not None:
            await before.wait()
        return await fetch_span(
            self._client.pool, self._spool, span, self._options, handed_out=handed_out
        )


# Spans ahead at most: the tail's spans can be a few articles each.
_MOST_AHEAD = 8


def fetch_spans(
    client: NewsClient,
    spool: Spool,
    spans: Iterable[Span],
    options: FetchOptions | None = None,
) -> SpanFetcher:
    """Returns the spans in order, each fetched while those before it are worked on.

    ```python
    with NewsClient(account) as news, fetch_spans(news, spool, spans) as fetcher:
        for fetched in fetcher:
            parsed = parse_span(fetched.span, fetched.blocks(), ...)
            ...                                     # one transaction
            fetched.release(capture=False)
    ```
    """
    return SpanFetcher(client, spool, spans, options)
