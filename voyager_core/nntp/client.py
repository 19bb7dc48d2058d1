"""A news server for code that is not asynchronous: Dagster ops, the command line, the doctor."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.connection import Deadlines
from voyager_core.nntp.errors import Cut
from voyager_core.nntp.overview import GroupMarks, OverviewBlock
from voyager_core.nntp.pool import Pool

_T = TypeVar("_T")

# Longest wait for the loop's thread at the end; it is a daemon, so nothing hangs after it.
_STOP_SECONDS = 5.0


class NewsClient:
    """A pool and the event loop it lives in, in a thread of its own.

    A context manager. An interrupt (`KeyboardInterrupt`, Dagster's cancellation) in a call
    cancels what runs on the server and goes on to the caller; leaving the context closes
    every connection within seconds.

    Every call raises the errors of `voyager_core.nntp.errors`.
    """

    def __init__(
        self,
        account: NewsAccount,
        *,
        deadlines: Deadlines | None = None,
        pool: Callable[[], Pool] | None = None,
    ) -> None:
        """Prepares a client; nothing is connected yet.

        Args:
            account: the server, the login, and how many connections are allowed.
            deadlines: how long the server may take.
            pool: makes the pool, called in the loop's thread; unset: a pool with defaults.
        """
        self.account = account
        self._make_pool = pool or (lambda: Pool(account, deadlines=deadlines))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        """Starts the loop.

        Raises:
            TlsFailed: the file with trusted certificates cannot be used.
        """
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=loop.run_forever, name="news", daemon=True)
        self._thread.start()
        try:
            self._pool = self.run(self._start())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops what runs and closes every connection."""
        self.close()

    @property
    def pool(self) -> Pool:
        """The pool; its methods are only to be awaited inside `run` and `start`.

        Raises:
            Cut: the client is closed.
        """
        if self._pool is None:
            msg = f"the connections to {self.account} are closed"
            raise Cut(msg)
        return self._pool

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine in the loop and returns its result.

        Raises:
            BaseException: what the coroutine raises, or what interrupts the wait; then the
                coroutine is cancelled.
        """
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Starts a coroutine in the loop and returns its future.

        Raises:
            Cut: the client is closed.
        """
        if self._loop is None:
            work.close()
            msg = f"the connections to {self.account} are closed"
            raise Cut(msg)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def list_active(self, pattern: str = "*") -> list[GroupMarks]:
        """Returns the groups that match a wildmat, with their water marks."""
        return self.run(self.pool.list_active(pattern))

    def group(self, name: str) -> GroupMarks:
        """Returns the water marks of a group (GroupGone when it is not carried)."""
        return self.run(self.pool.group(name))

    def overview(self, group: str, low: int, high: int) -> OverviewBlock:
        """Returns the overview of a range of article numbers."""
        return self.run(self.pool.overview(group, low, high))

    def article(self, message_id: str) -> bytes:
        """Returns an article, head and body (ArticleMissing when it is gone)."""
        return self.run(self.pool.article(message_id))

    def head(self, message_id: str) -> bytes:
        """Returns the header lines of an article (ArticleMissing when it is gone)."""
        return self.run(self.pool.head(message_id))

    def body(self, message_id: str) -> bytes:
        """Returns the body of an article (ArticleMissing when it is gone)."""
        return self.run(self.pool.body(message_id))

    def has(self, message_id: str) -> bool:
        """Tells whether the server has an article."""
        return self.run(self.pool.has(message_id))

    def date(self) -> datetime:
        """Returns the server's clock (UTC)."""
        return self.run(self.pool.date())

    def capabilities(self) -> list[str]:
        """Returns the server's capabilities; empty when it does not know the command."""
        return self.run(self.pool.capabilities())

    def close(self) -> None:
        """Cancels what runs, closes every connection and ends the thread; safe to repeat."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is None or thread is None:
            return
        stopped = asyncio.run_coroutine_threadsafe(self._stop(), loop)
        try:
            stopped.result(timeout=_STOP_SECONDS)
        except (TimeoutError, asyncio.CancelledError):
            stopped.cancel()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_STOP_SECONDS)
            if not thread.is_alive():
                loop.close()
            self._pool = None

    async def _start(self) -> Pool:
        return self._make_pool()

    async def _stop(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._pool is not None:
            await self._pool.close()
        loop = asyncio.get_running_loop()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()
