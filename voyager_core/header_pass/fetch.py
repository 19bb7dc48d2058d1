"""Spans in order, their overview blocks fetched into the spool ahead of the header pass."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from types import TracebackType
from typing import Self

from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fetch_blocks import (
    DEFAULT_BLOCK_SIZE,
    BlockNotFetched,
    FetchOptions,
    FetchReport,
    fetch_span,
)
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.errors import Cut
from voyager_core.storage.errors import SpoolFull
from voyager_core.storage.facts import read_facts
from voyager_core.storage.spool import Spool

__all__ = [
    "DEFAULT_BLOCK_SIZE",
    "BlockNotFetched",
    "FetchOptions",
    "FetchReport",
    "FetchedSpan",
    "SpanFetcher",
    "fetch_span",
    "fetch_spans",
]

logger = logging.getLogger(__name__)

# Blocks that nobody came back to for so long are removed when fetching begins.
FORGET_SECONDS = 14 * 86_400
# Spans ahead at most: the tail's spans can be a few articles each.
_MOST_AHEAD = 8


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
    _server: str | None = field(repr=False)

    def blocks(self, *, since: int = 0) -> Iterator[bytes]:
        """Yields the blocks in order, as received, each read when it is asked for.

        Args:
            since: only the blocks that hold this number or later ones.

        Raises:
            BlockMissing: a block is gone or torn; fetch the span again.
        """
        span = self.span
        if since > span.low:
            infos = self._spool.infos(span, server=self._server)
            low = next((info.low for info in infos if info.high >= since), None)
            if low is None:
                return iter(())
            span = Span(span.group, low, span.high)
        return self._spool.blocks(span, server=self._server)

    def last_number(self) -> int:
        """Returns the article number of the last line; 0 when there is no line."""
        for info in reversed(self._spool.infos(self.span, server=self._server)):
            facts = info.facts
            if facts.unread:
                facts = read_facts(next(self.blocks(since=info.low)), facts)
            if facts.last_number is not None:
                return facts.last_number
        return 0

    def count_lines(self) -> int:
        """Returns how many lines there are; blocks that came unread are read for it."""
        if not self.report.unread:
            return self.report.lines
        infos = self._spool.infos(self.span, server=self._server)
        return sum(
            read_facts(block, info.facts).lines
            for info, block in zip(infos, self.blocks(), strict=True)
        )

    def release(self, *, since: int | None = None, capture: bool = False) -> int:
        """Gives up the blocks once the span is stored; captured ones move to the corpus.

        Args:
            since: also the blocks from this number on that a pass left which ended in between.
            capture: keep them in the corpus.

        Returns:
            The bytes freed in the spool.
        """
        low = self.span.low if since is None else min(since, self.span.low)
        return self._spool.release(Span(self.span.group, low, self.span.high), capture=capture)


@dataclass(slots=True)
class _Pending:
    span: Span
    task: asyncio.Task[FetchReport]
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
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Begins to fetch.

        Args:
            client: an entered client of the server that the numbers belong to.
            spool: where the blocks go.
            spans: the spans, in order; taken from a few ahead of use.
            options: block size, parallelism, attempts.
            clock: epoch seconds.
        """
        self._client = client
        self._spool = spool
        self._spans: Iterator[Span] = iter(spans)
        self._options = options or FetchOptions()
        self._pending: deque[_Pending] = deque()
        self._spool.sweep(forget_before=clock() - FORGET_SECONDS)

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
        report = self._result(head)
        return FetchedSpan(head.span, report, self._spool, self._client.account.host)

    def close(self) -> None:
        """Cancels what is being fetched, and returns when it has ended; safe to repeat."""
        tasks = [each.task for each in self._pending]
        self._pending.clear()
        if tasks:
            # A client that was closed has ended its tasks already.
            with suppress(Cut):
                self._client.run(_end(tasks))

    def _result(self, head: _Pending) -> FetchReport:
        try:
            return self._client.run(_result_of(head.task))
        except SpoolFull as error:
            # What was fetched ahead, or the spans before it, took the room that it needs.
            logger.warning("no more spans are fetched ahead: %s", error)
        self._give_back()
        return self._client.run(
            fetch_span(self._client.pool, self._spool, head.span, self._options)
        )

    def _give_back(self) -> None:
        """Stops fetching ahead and frees the room that it took."""
        self._options = replace(self._options, ahead=0)
        waiting = [each.span for each in self._pending]
        self.close()
        for span in waiting:
            self._spool.delete(span)
        self._spans = chain(waiting, self._spans)

    def _fill(self) -> None:
        while len(self._pending) <= self._ahead():
            span = next(self._spans, None)
            if span is None:
                return
            before = self._pending[-1].handed_out if self._pending else None
            handed_out = asyncio.Event()
            task = self._client.run(self._begin(before, span, handed_out))
            self._pending.append(_Pending(span, task, handed_out))

    def _ahead(self) -> int:
        if self._options.ahead is not None:
            return self._options.ahead
        if not self._pending:
            return 1
        connections = self._options.connections or self._client.account.connections
        blocks = -(-self._pending[0].span.size // self._options.block_size)
        return max(1, min(_MOST_AHEAD, -(-connections // blocks)))

    async def _begin(
        self, before: asyncio.Event | None, span: Span, handed_out: asyncio.Event
    ) -> asyncio.Task[FetchReport]:
        return asyncio.create_task(self._fetch_after(before, span, handed_out))

    async def _fetch_after(
        self, before: asyncio.Event | None, span: Span, handed_out: asyncio.Event
    ) -> FetchReport:
        # The span before takes all connections until it has no more blocks to hand out.
        if before is not None:
            await before.wait()
        return await fetch_span(
            self._client.pool, self._spool, span, self._options, handed_out=handed_out
        )


async def _result_of(task: asyncio.Task[FetchReport]) -> FetchReport:
    return await task


async def _end(tasks: list[asyncio.Task[FetchReport]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


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
