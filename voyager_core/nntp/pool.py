"""The connections to one news server, shared by many tasks of one event loop.

A pool is one server: article numbers are per server, so header work of a group must stay
with the pool that it began with.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from voyager_core.nntp.account import Compression, NewsAccount
from voyager_core.nntp.back_off import BackOff
from voyager_core.nntp.connecting import tls_context
from voyager_core.nntp.connection import Connection, Deadlines
from voyager_core.nntp.errors import (
    AuthFailed,
    ConnectFailed,
    Cut,
    Garbage,
    NewsError,
    TlsFailed,
    TooManyConnections,
    TransientNewsFailure,
    WrongOverview,
)
from voyager_core.nntp.overview import GroupMarks, OverviewBlock
from voyager_core.nntp.profile import ServerProfile
from voyager_core.nntp.session import Session, open_session

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


@dataclass(slots=True)
class PoolStats:
    """What a pool has done so far.

    Attributes:
        opened: connections made.
        refused: connections that the server refused as too many.
        failed: connections that could not be made for another reason.
        commands: commands run.
    """

    opened: int = 0
    refused: int = 0
    failed: int = 0
    commands: int = 0


class Pool:
    """Connections to one server, opened when needed and kept for the next command.

    All methods belong to one event loop and may be called from any number of tasks. Every
    command raises the errors of `voyager_core.nntp.errors`. A cancelled command closes its
    connection. A wrong login or certificate fails every later command at once, so that a
    provider does not lock the account.
    """

    def __init__(
        self,
        account: NewsAccount,
        *,
        deadlines: Deadlines | None = None,
        back_off: BackOff | None = None,
        connect_attempts: int = 5,
        idle_seconds: float = 60.0,
        rng: random.Random | None = None,
    ) -> None:
        """Prepares a pool; connections are made when commands need them.

        Args:
            account: the server, the login, and how many connections are allowed.
            deadlines: how long the server may take.
            back_off: waits between attempts to connect.
            connect_attempts: attempts in a row before the commands that wait fail.
            idle_seconds: a connection unused for longer is not trusted any more.
            rng: spreads the waits.
        """
        self.account = account
        self.profile = ServerProfile(wanted=account.compress)
        self.stats = PoolStats()
        self._deadlines = deadlines or Deadlines()
        self._back_off = back_off or BackOff()
        self._connect_attempts = connect_attempts
        self._idle_seconds = idle_seconds
        self._rng = rng or random.Random()  # noqa: S311 - spreads waits, no secret
        self._tls = tls_context(account)
        self._limit = account.connections
        self._sessions: set[Session] = set()
        self._idle: list[tuple[float, Session]] = []
        # Connections that say goodbye; closing the pool waits for them.
        self._leaving: list[Connection] = []
        self._opening = 0
        self._failures = 0
        self._held_until = 0.0
        # A dict keeps the order in which they came.
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._fatal: NewsError | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        """Returns the pool."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes all connections."""
        await self.close()

    @property
    def limit(self) -> int:
        """How many connections may be open."""
        return self._limit

    @property
    def open_connections(self) -> int:
        """How many connections are open or being opened."""
        return len(self._sessions) + self._opening

    def resize(self, limit: int) -> None:
        """Changes how many connections may be open; surplus ones close when they are idle."""
        self._limit = max(1, limit)
        while self.open_connections > self._limit and self._idle:
            self._drop(self._idle.pop(0)[1])
        self._wake()

    async def list_active(self, pattern: str = "*") -> list[GroupMarks]:
        """Returns the groups that match a wildmat (`alt.binaries.*,!*.test`), with their marks."""
        return await self._run(lambda session: session.list_active(pattern))

    async def group(self, name: str) -> GroupMarks:
        """Returns the water marks of a group.

        Raises:
            GroupGone: the server does not carry it.
        """
        return await self._run(lambda session: session.group_marks(name), name)

    async def overview(
        self, group: str, low: int, high: int, *, plain: bool = False, unread: bool = False
    ) -> OverviewBlock:
        """Returns the overview of the article numbers `low … high` (both included).

        A range without articles is an empty block, not an error.

        Args:
            group: the group.
            low: first article number.
            high: last article number.
            plain: ask without compression, on a new connection that is closed afterwards; for
                a range whose compressed reply is damaged again and again. A form that the
                account forces is kept.
            unread: the block may be left unread; see `OverviewBlock.unread`.

        Raises:
            GroupGone: the server does not carry the group.
            WrongOverview: the reply is whole but answers another range.
            ValueError: there is no such range.
        """
        if low < 1 or high < low:
            msg = f"no range of article numbers: {low}-{high}"
            raise ValueError(msg)
        if plain and self.account.compress is Compression.AUTO:
            self._drop_idle()
            return await self._run(lambda session: self._plain_overview(session, group, low, high))
        return await self._run(
            lambda session: self._overview(session, group, low, high, unread=unread), group
        )

    async def article(self, message_id: str) -> bytes:
        """Returns an article, head and body, without doubled dots.

        Raises:
            ArticleMissing: the server does not have it.
        """
        return await self._run(lambda session: session.article("ARTICLE", message_id))

    async def head(self, message_id: str) -> bytes:
        """Returns the header lines of an article.

        Raises:
            ArticleMissing: the server does not have it.
        """
        return await self._run(lambda session: session.article("HEAD", message_id))

    async def body(self, message_id: str) -> bytes:
        """Returns the body of an article (yEnc as posted), without doubled dots.

        Raises:
            ArticleMissing: the server does not have it.
        """
        return await self._run(lambda session: session.article("BODY", message_id))

    async def has(self, message_id: str) -> bool:
        """Tells whether the server has an article, without reading it."""
        return await self._run(lambda session: session.stat(message_id))

    async def date(self) -> datetime:
        """Returns the server's clock (UTC)."""
        return await self._run(lambda session: session.date())

    async def capabilities(self) -> list[str]:
        """Returns the server's capabilities; empty when it does not know the command."""
        return await self._run(lambda session: session.capabilities())

    async def close(self) -> None:
        """Says goodbye and closes every connection; commands that run or wait fail."""
        self._closed = True
        for session in list(self._sessions):
            self._drop(session)
        self._idle.clear()
        self._wake()
        leaving = [each for each in self._leaving if not each.is_gone]
        if not leaving:
            return
        ends = [asyncio.ensure_future(connection.wait_closed()) for connection in leaving]
        # A polite end needs the server; one that does not answer is not waited for.
        for seconds in (0.5, 0.5):
            await asyncio.wait(ends, timeout=seconds)
            for connection in leaving:
                connection.close()
        for end in ends:
            end.cancel()

    async def _overview(
        self, session: Session, group: str, low: int, high: int, *, unread: bool
    ) -> OverviewBlock:
        try:
            block = await session.overview(group, low, high, unread=unread)
        except Garbage as error:
            form = session.compression
            damaged = form is not None and not isinstance(error, WrongOverview)
            if damaged and self.profile.note_damaged(form or Compression.NONE):
                self._drop_idle()
            raise
        if session.compression is not None:
            self.profile.note_whole(session.compression)
        return block

    async def _plain_overview(
        self, session: Session, group: str, low: int, high: int
    ) -> OverviewBlock:
        try:
            return await session.overview(group, low, high, plain=True)
        finally:
            session.connection.quit()

    async def _run(self, work: Callable[[Session], Awaitable[_T]], group: str | None = None) -> _T:
        session = await self._check_out(group)
        try:
            return await self._run_on(session, work)
        except Cut:
            # A server may hang up on an idle connection; that is seen at the next command.
            if not session.reused or session.connection.reply_begun or self._closed:
                raise
            self._drop_idle()
        session = await self._check_out(group)
        return await self._run_on(session, work)

    async def _run_on(self, session: Session, work: Callable[[Session], Awaitable[_T]]) -> _T:
        self.stats.commands += 1
        try:
            return await work(session)
        except TooManyConnections:
            self._note_refused()
            raise
        finally:
            self._check_in(session)

    async def _check_out(self, group: str | None) -> Session:
        while True:
            if self._closed:
                msg = f"the connections to {self.account} are closed"
                raise Cut(msg)
            if self._fatal is not None:
                raise type(self._fatal)(str(self._fatal), code=self._fatal.code)
            session = self._take_idle(group)
            if session is not None:
                return session
            if self._may_open():
                session = await self._open()
                if session is not None:
                    return session
            else:
                await self._wait()

    def _take_idle(self, group: str | None) -> Session | None:
        oldest = asyncio.get_running_loop().time() - self._idle_seconds
        for since, session in list(self._idle):
            if since < oldest or not session.usable:
                self._idle.remove((since, session))
                self._drop(session)
        if not self._idle:
            return None
        entry = next((each for each in reversed(self._idle) if each[1].group == group), None)
        entry = entry or self._idle[-1]
        self._idle.remove(entry)
        return entry[1]

    def _may_open(self) -> bool:
        if self.open_connections >= self._limit:
            return False
        if self._failures == 0:
            return True
        # After a refusal the pool grows one by one.
        return self._opening == 0 and asyncio.get_running_loop().time() >= self._held_until

    async def _open(self) -> Session | None:
        """Opens a connection; None when the server refused and another try may follow."""
        self._opening += 1
        try:
            session = await open_session(self.account, self.profile, self._deadlines, self._tls)
        except (AuthFailed, TlsFailed) as error:
            self._fatal = error
            raise
        except TooManyConnections as error:
            self.stats.refused += 1
            self._note_refused()
            self._give_up_after_attempts(error)
            return None
        except TransientNewsFailure as error:
            self.stats.failed += 1
            self._note_failure()
            self._give_up_after_attempts(error)
            return None
        finally:
            self._opening -= 1
            self._wake()
        self.stats.opened += 1
        self._sessions.add(session)
        self._held_until = 0.0
        # Still one by one below the limit: the server has refused before.
        self._failures = min(self._failures, 1) if self.open_connections < self._limit else 0
        if self._closed:
            self._drop(session)
            return None
        return session

    def _note_refused(self) -> None:
        if self._failures == 0:
            logger.warning(
                "%s refuses more connections with %d open, of %d allowed by the account",
                self.account,
                len(self._sessions),
                self._limit,
            )
        self._note_failure()

    def _note_failure(self) -> None:
        now = asyncio.get_running_loop().time()
        # Refusals of connections that were opened together count as one.
        if now >= self._held_until:
            self._failures += 1
            self._held_until = now + self._back_off.delay(self._failures, self._rng)

    def _give_up_after_attempts(self, error: NewsError) -> None:
        """Raises the error, for everybody who waits as well, after enough failed attempts.

        While other connections work, the commands wait for those.
        """
        if self._sessions or self._failures < self._connect_attempts:
            return
        for waiter in self._waiters:
            if not waiter.done():
                failure = type(error)(str(error), code=error.code)
                waiter.set_exception(failure)
        kind = type(error) if isinstance(error, TooManyConnections) else ConnectFailed
        msg = f"{error} ({self._failures} attempts)" if self._failures > 1 else str(error)
        raise kind(msg, code=error.code) from error

    async def _wait(self) -> None:
        """Returns when a connection became free or may be opened."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        waiter.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._waiters[waiter] = None
        held = self._held_until - loop.time()
        timer = loop.call_later(held, self._wake) if held > 0 else None
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)
            if timer is not None:
                timer.cancel()

    def _check_in(self, session: Session) -> None:
        if session not in self._sessions:
            session.connection.close()
        elif session.usable and self.open_connections <= self._limit:
            session.reused = True
            self._idle.append((asyncio.get_running_loop().time(), session))
        else:
            self._drop(session)
        self._wake()

    def _drop(self, session: Session) -> None:
        session.connection.quit()
        self._sessions.discard(session)
        self._leaving = [each for each in self._leaving if not each.is_gone]
        self._leaving.append(session.connection)

    def _drop_idle(self) -> None:
        for _, session in self._idle:
            self._drop(session)
        self._idle.clear()
        self._wake()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
