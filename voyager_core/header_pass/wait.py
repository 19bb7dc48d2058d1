"""Spans in order, as fetchers bring their blocks into the spool."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.connection_shares import holders
from voyager_core.catalog.demand import ask, keep_asking, withdraw
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.domain.ranges import Span
from voyager_core.errors import PermanentError, TransientError, VoyagerError
from voyager_core.header_pass.fetch import FetchedSpan, FetchOptions, SpanFetcher
from voyager_core.header_pass.fetch_blocks import BlockNotFetched, report_of
from voyager_core.nntp.client import NewsClient
from voyager_core.nntp.errors import GroupGone
from voyager_core.storage.spool import Spool

logger = logging.getLogger(__name__)

# Spans that a pass asks for beyond the one it needs now.
AHEAD = 2
# Seconds without any fetcher until a pass fetches for itself, or gives up.
_WITHOUT_FETCHER = 5.0
_PATIENCE_SECONDS = 1800.0
# Seconds without a further block, although fetchers are there: perhaps not the one of this shard.
_STALLED = 300.0
_FIRST_POLL, _LONGEST_POLL = 0.05, 1.0


class FetcherGone(TransientError):  # noqa: N818 - reads as what happened
    """Nobody fetches what this pass needs; no range is to blame."""


class FetchRefused(PermanentError):  # noqa: N818 - reads as what happened
    """A fetcher could not bring a span, and trying again does not help."""


def fetcher_lives(conn: Connection) -> bool:
    """Tells whether a fetcher works for this catalog at this moment.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return holders(conn)["fetcher"] > 0


class SpanWaiter:
    """Spans in order, each handed out as soon as all its blocks are in the spool.

    An iterator and a context manager, as `SpanFetcher` is. Where the fetchers end, the rest is
    fetched with the pass's own account, if it has one.
    """

    def __init__(
        self,
        conn: Connection,
        spool: Spool,
        wanted: Sequence[tuple[int, Span]],
        *,
        client: NewsClient | None,
        options: FetchOptions,
        patience_seconds: float = _PATIENCE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Asks for nothing yet.

        Args:
            conn: the catalog.
            spool: where fetchers put blocks.
            wanted: each span with its range.
            client: the pass's own account, None without one.
            options: how spans are fetched with it.
            patience_seconds: how long to wait for fetchers that are not there.
            sleep: waits for so many seconds.
            monotonic: seconds.
        """
        self._conn = conn
        self._spool = spool
        self._left = list(wanted)
        self._client = client
        self._options = options
        self._patience = patience_seconds
        self._sleep = sleep
        self._monotonic = monotonic
        self._asked: list[tuple[int, int]] = []
        self._own: SpanFetcher | None = None

    def __enter__(self) -> Self:
        """Returns the iterator."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the requests; blocks that came stay in the spool."""
        self.close()

    def __iter__(self) -> Self:
        """Returns the iterator itself."""
        return self

    def __next__(self) -> FetchedSpan:
        """Returns the next span once all its blocks are in the spool.

        Raises:
            BlockNotFetched: a block did not come whole in any attempt.
            GroupGone: the server does not carry the group.
            FetchRefused: another fault that trying again does not mend.
            FetcherGone: no fetcher is there any more, nor an account.
        """
        if self._own is not None:
            return next(self._own)
        if not self._left:
            raise StopIteration
        range_id, span = self._left[0]
        soon = self._left[: 1 + AHEAD]
        ask(self._conn, [(key, each.low, each.high) for key, each in soon])
        self._asked = [(key, each.low) for key, each in soon]
        try:
            if not self._wait_for(range_id, span):
                return next(self._fetch_myself())
        except VoyagerError:
            self._left.pop(0)
            raise
        self._left.pop(0)
        withdraw(self._conn, [(range_id, span.low)])
        return self._fetched(span)

    def close(self) -> None:
        """Ends the requests; safe to repeat."""
        if self._own is not None:
            self._own.close()
        asked, self._asked = self._asked, []
        with suppress(CatalogUnavailable):
            withdraw(self._conn, asked)

    def _wait_for(self, range_id: int, span: Span) -> bool:
        """Returns True when the span is there, False when it is to be fetched by this pass."""
        server = None if self._client is None else self._client.account.host
        alone_since: float | None = None
        moved_at, held = self._monotonic(), -1
        poll = _FIRST_POLL
        while not self._spool.covers(span, server=server):
            if failure := keep_asking(self._conn, self._asked).get((range_id, span.low)):
                raise _error(*failure)
            now = self._monotonic()
            if (found := self._spool.held(span)) > held:
                moved_at, held = now, found
            if fetcher_lives(self._conn):
                alone_since = None
            elif alone_since is None:
                alone_since = now
            alone = -1.0 if alone_since is None else now - alone_since
            stalled = now - moved_at
            if self._client is not None and (alone >= _WITHOUT_FETCHER or stalled >= _STALLED):
                return False
            if max(alone, stalled) >= self._patience:
                msg = f"{span}: no fetcher has brought anything for {stalled:.0f} seconds"
                raise FetcherGone(msg)
            self._sleep(poll)
            poll = min(_LONGEST_POLL, poll * 1.5)
        return True

    def _fetch_myself(self) -> SpanFetcher:
        if self._client is None:
            msg = "no fetcher and no account"
            raise FetcherGone(msg)
        logger.warning("no fetcher brings what is needed; this pass fetches for itself")
        spans = [span for _, span in self._left]
        self._own = SpanFetcher(self._client, self._spool, spans, self._options)
        return self._own

    def _fetched(self, span: Span) -> FetchedSpan:
        server = None if self._client is None else self._client.account.host
        report = report_of(span, self._spool.infos(span, server=server))
        return FetchedSpan(span, report, self._spool, server)


def _error(kind: str, text: str) -> VoyagerError:
    if kind == GroupGone.__name__:
        return GroupGone(text)
    return FetchRefused(text) if kind == "permanent" else BlockNotFetched(text)
