"""The fetcher: keeps the account's connections busy, some ranges ahead of whoever indexes.

It brings what passes wait for, and beyond that the next ranges of the history, into the spool. It
stops where the spool is full or the disk nearly is, and goes on by itself. Fetchers need the
catalog, the account and the spool; workers then need no account.
"""

import concurrent.futures
import logging
import time
from asyncio import Event
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from threading import Event as ThreadEvent

from voyager_core.catalog import stretches as ledger
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.connection_shares import holders
from voyager_core.catalog.demand import Demand, demands, report_failures
from voyager_core.catalog.ranges import get_range
from voyager_core.domain.ranges import Span
from voyager_core.errors import PermanentError, VoyagerError
from voyager_core.header_pass.fetch_blocks import FetchOptions, FetchReport, fetch_span
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.errors import (
    AuthFailed,
    ConnectFailed,
    GroupGone,
    TlsFailed,
    TooManyConnections,
)
from voyager_core.storage.errors import SpoolFull, StorageUnusable
from voyager_core.storage.spool import Spool

logger = logging.getLogger(__name__)

AHEAD_OF_EACH = 2
# Spans under way at a time: each waits until the one before has handed out its blocks.
_MOST_UNDER_WAY = 8
_LOOK_AHEAD_SECONDS = 20.0
_FAILED_SECONDS = 60.0
_SWEEP_SECONDS = 3600.0
_FORGET_SECONDS = 14 * 86_400
_FULL_SECONDS = 5.0
_MOST_REMEMBERED = 1000
_EVERYWHERE = (AuthFailed, ConnectFailed, StorageUnusable, TlsFailed, TooManyConnections)

_AHEAD = "ahead"
_Key = tuple[int, int, int]


def _nothing() -> None:
    """Does nothing."""


@dataclass(frozen=True, slots=True)
class PrefetchTools:
    """What a fetcher works with.

    Attributes:
        conn: the catalog.
        client: an entered client of the account.
        spool: where blocks go.
        options: how spans are fetched.
        reach: article numbers that the live tail catches up by itself.
        shard: `(i, n)`: this fetcher brings the i-th of n parts of the ranges.
        adjust: called often, to share the account's connections.
        monotonic: seconds.
        wall: epoch seconds.
    """

    conn: Connection
    client: NewsClient
    spool: Spool
    options: FetchOptions
    reach: int
    shard: tuple[int, int] = (1, 1)
    adjust: Callable[[], None] = _nothing
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


@dataclass(slots=True)
class _Work:
    span: Span
    handed_out: Event
    future: concurrent.futures.Future[FetchReport]
    demanded: bool


@dataclass(slots=True)
class PrefetchStats:
    """What a fetcher has done.

    Attributes:
        spans: spans brought whole; those that were there already are none.
        wire_bytes: bytes received.
        failures: spans that did not come.
        full: times at which there was no room.
        evicted: spans fetched ahead that made room for one that is waited for.
    """

    spans: int = 0
    wire_bytes: int = 0
    failures: int = 0
    full: int = 0
    evicted: int = 0


@dataclass(slots=True)
class Prefetcher:
    """`Prefetcher(tools).run(stop)`; or `step` for one round."""

    tools: PrefetchTools
    stats: PrefetchStats = field(default_factory=PrefetchStats)
    _under_way: dict[_Key, _Work] = field(default_factory=dict)
    # What is in the spool, with what it was asked for; another request looks again.
    _there: dict[_Key, object] = field(default_factory=dict)
    # Spans with blocks that came unread: one that is fetched again was damaged, so it is read.
    _brought: dict[_Key, None] = field(default_factory=dict)
    _failed: dict[_Key, float] = field(default_factory=dict)
    _ahead: list[ledger.OpenRange] = field(default_factory=list)
    _looked_at: float | None = None
    _swept_at: float | None = None
    _full_until: float = 0.0
    _typical_bytes: int = 1

    def run(self, stop: ThreadEvent, *, poll_seconds: float = 0.5) -> None:
        """Fetches until told to stop.

        Args:
            stop: set to end; what is under way is cancelled, whole blocks stay.
            poll_seconds: how often to look for new requests.

        Raises:
            VoyagerError: the account, the database or the spool cannot be used.
        """
        try:
            while not stop.is_set():
                self.step(wait_seconds=poll_seconds)
                if not self._under_way:
                    stop.wait(poll_seconds)
        finally:
            self.close()

    def step(self, *, wait_seconds: float = 0.0) -> bool:
        """Does one round: takes up new requests, notes what has come.

        Args:
            wait_seconds: how long to wait for something that is under way.

        Returns:
            Whether anything is under way.

        Raises:
            VoyagerError: the account, the database or the spool cannot be used.
        """
        self._sweep()
        self.tools.adjust()
        asked = demands(self.tools.conn, shard=self.tools.shard)
        wanted = list(self._wanted(asked))
        keys = {key for key, _, _ in wanted}
        self._there = {key: value for key, value in self._there.items() if key in keys}
        if self.tools.monotonic() >= self._full_until:
            for key, span, mark in wanted:
                if len(self._under_way) >= _MOST_UNDER_WAY:
                    break
                self._begin(key, span, mark)
        futures = [work.future for work in self._under_way.values()]
        concurrent.futures.wait(
            futures, wait_seconds, return_when=concurrent.futures.FIRST_COMPLETED
        )
        self._reap(asked)
        return bool(self._under_way)

    def close(self) -> None:
        """Cancels what is under way and waits for its end; safe to repeat."""
        works = list(self._under_way.values())
        self._under_way.clear()
        for work in works:
            work.future.cancel()
        concurrent.futures.wait([work.future for work in works], 10)

    def _wanted(self, asked: list[Demand]) -> Iterator[tuple[_Key, Span, object]]:
        """Yields spans by urgency: those waited for, then the next ones of the history."""
        demanded: set[int] = set()
        for each in asked:
            demanded.add(each.range_id)
            key = (each.range_id, each.low, each.high)
            yield key, Span(each.group, each.low, each.high), each.asked_at
        workers = max(1, holders(self.tools.conn)["history"])
        most = AHEAD_OF_EACH * workers
        found = 0
        for following in self._next_ranges(most + len(demanded)):
            if found >= most:
                return
            if following.range_id not in demanded:
                found += 1
                span = Span(following.group, following.resume_at, following.until)
                yield (following.range_id, span.low, span.high), span, _AHEAD

    def _next_ranges(self, most: int) -> list[ledger.OpenRange]:
        now = self.tools.monotonic()
        if self._looked_at is not None and now - self._looked_at < _LOOK_AHEAD_SECONDS:
            return self._ahead
        self._looked_at = now
        part, parts = self.tools.shard
        self._ahead = []
        for each in ledger.open_stretches(
            self.tools.conn, reach=self.tools.reach, limit=most * parts
        ):
            ranges = ledger.open_ranges(self.tools.conn, each.group, each.index)
            self._ahead.extend(one for one in ranges if one.range_id % parts == part - 1)
            if len(self._ahead) >= most:
                break
        return self._ahead

    def _begin(self, key: _Key, span: Span, mark: object) -> None:
        if key in self._under_way:
            return
        if mark == _AHEAD:
            if key in self._there or not self._is_worth_it(key):
                return
        elif self._there.get(key) == mark:
            return
        before = [work.handed_out for work in self._under_way.values()]
        handed_out = Event()
        options = replace(
            self.tools.options, unread=self.tools.options.unread and key not in self._brought
        )
        future = self.tools.client.start(self._fetch(before, span, handed_out, options))
        self._under_way[key] = _Work(span, handed_out, future, mark != _AHEAD)
        self._there[key] = mark

    def _is_worth_it(self, key: _Key) -> bool:
        """Tells whether a span that nobody waits for yet should be fetched now."""
        if self._failed.get(key, 0.0) > self.tools.monotonic():
            return False
        row = get_range(self.tools.conn, key[0])
        if row is None or row.resume_at != key[1] or row.state == "done":
            # Somebody was faster than this list of the next ranges.
            return False
        try:
            self.tools.spool.check_room(self._typical_bytes)
        except SpoolFull as error:
            self._pause(error)
            return False
        return True

    async def _fetch(
        self, before: list[Event], span: Span, handed_out: Event, options: FetchOptions
    ) -> FetchReport:
        # Earlier spans have all connections until they have no more blocks to hand out.
        try:
            for each in before:
                await each.wait()
            return await fetch_span(
                self.tools.client.pool,
                self.tools.spool,
                span,
                options,
                handed_out=handed_out,
            )
        finally:
            handed_out.set()

    def _reap(self, asked: list[Demand]) -> None:
        failed: list[tuple[int, int, int, str, str]] = []
        for key, work in list(self._under_way.items()):
            if not work.future.done():
                continue
            del self._under_way[key]
            try:
                report = work.future.result()
            except concurrent.futures.CancelledError:
                self._there.pop(key, None)
            except SpoolFull as error:
                self._there.pop(key, None)
                self._make_room(asked, error, urgent=work.demanded)
            except _EVERYWHERE:
                self._there.pop(key, None)
                raise
            except VoyagerError as error:
                self._there.pop(key, None)
                self._failed[key] = self.tools.monotonic() + _FAILED_SECONDS
                self.stats.failures += 1
                logger.warning("%s did not come: %s", work.span, error)
                failed.append((*key, _kind(error), str(error)))
            else:
                self.stats.spans += report.fetched > 0
                if report.unread and report.fetched:
                    self._remember(key)
                self._typical_bytes = max(1, report.block_bytes)
                self._full_until = 0.0
                self.stats.wire_bytes += report.wire_bytes
                logger.info("%s: %d lines, %d bytes", work.span, report.lines, report.wire_bytes)
        report_failures(self.tools.conn, failed)

    def _remember(self, key: _Key) -> None:
        self._brought[key] = None
        if len(self._brought) > _MOST_REMEMBERED:
            del self._brought[next(iter(self._brought))]

    def _make_room(self, asked: list[Demand], error: SpoolFull, *, urgent: bool) -> None:
        """Gives up a span that was fetched ahead for one that is waited for, else pauses."""
        demanded = {(each.range_id, each.low, each.high) for each in asked}
        ahead = [key for key in self._there if key not in demanded and key not in self._under_way]
        if urgent and ahead:
            key = ahead[-1]
            group = next((one.group for one in self._ahead if one.range_id == key[0]), None)
            del self._there[key]
            if group is not None and self.tools.spool.delete(Span(group, key[1], key[2])):
                self.stats.evicted += 1
                self._failed[key] = self.tools.monotonic() + _FAILED_SECONDS
                return
        self._pause(error)

    def _pause(self, error: SpoolFull) -> None:
        if not self._full_until:
            logger.warning("fetching pauses until there is room: %s", error)
        self.stats.full += 1
        self._full_until = self.tools.monotonic() + _FULL_SECONDS

    def _sweep(self) -> None:
        now = self.tools.monotonic()
        if self._swept_at is None or now - self._swept_at >= _SWEEP_SECONDS:
            self._swept_at = now
            self.tools.spool.sweep(forget_before=self.tools.wall() - _FORGET_SECONDS)


def _kind(error: VoyagerError) -> str:
    if isinstance(error, GroupGone):
        return GroupGone.__name__
    return "permanent" if isinstance(error, PermanentError) else "transient"
