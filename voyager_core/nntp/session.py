"""A connection that has been set up: logged in, compression agreed, a group selected."""

import logging
import re
import ssl
from datetime import UTC, datetime

from voyager_core.nntp.account import Compression, NewsAccount
from voyager_core.nntp.commands import CAPABILITIES, overview_request
from voyager_core.nntp.connecting import connect
from voyager_core.nntp.connection import Connection, Deadlines
from voyager_core.nntp.errors import (
    NewsError,
    ProtocolError,
    TransientNewsFailure,
    Unsupported,
    refusal,
)
from voyager_core.nntp.framing import Limits
from voyager_core.nntp.inflating import Inflater
from voyager_core.nntp.overview import (
    GroupMarks,
    OverviewBlock,
    check_block,
    empty_block,
    parse_active,
    parse_group,
    wildmat,
)
from voyager_core.nntp.profile import ServerProfile
from voyager_core.nntp.protocol import BodyForm, Reply, Request, check_argument, unstuff

logger = logging.getLogger(__name__)

_XFEATURE = {
    Compression.GZIP_TERMINATOR: "XFEATURE COMPRESS GZIP TERMINATOR",
    Compression.GZIP: "XFEATURE COMPRESS GZIP",
}
_EMPTY_RANGE = frozenset({420, 423})
# Real articles stay below a few megabytes; 64 MiB is what no honest server sends.
_ARTICLE_LIMITS = Limits(text_bytes=64 << 20)
_LIST_LIMITS = Limits(text_bytes=512 << 20)
_DATE = re.compile(r"(\d{14})\b")


class Session:
    """One connection and what the server knows of it. One command at a time.

    Every method raises the errors of `voyager_core.nntp.errors`. After one that is no plain
    refusal the connection is closed and `usable` is False.
    """

    def __init__(
        self, connection: Connection, account: NewsAccount, profile: ServerProfile
    ) -> None:
        """Wraps a new connection; `open_session` makes it ready.

        Args:
            connection: a connection whose greeting is not read yet.
            account: who logs in.
            profile: what is known of the server, shared with its other connections.
        """
        self.connection = connection
        self.compression: Compression | None = None
        self.group: str | None = None
        self.reused = False
        self._account = account
        self._profile = profile
        login = (account.password, account.user)
        self._secrets = [each.get_secret_value() for each in login if each is not None]
        connection.hide(*self._secrets)

    @property
    def usable(self) -> bool:
        """Whether another command can be sent."""
        return self.connection.usable

    async def begin(self) -> None:
        """Reads the greeting, switches to reader mode when needed, and logs in."""
        greeting = await self.connection.greeting()
        if greeting.code not in {200, 201}:
            raise self._refused(greeting, "the connection")
        await self._reader_mode()
        if self._account.user is not None:
            await self._log_in()
            if self._profile.mode_reader is None:
                await self._reader_mode()

    async def group_marks(self, group: str) -> GroupMarks:
        """Selects a group and returns its water marks.

        Raises:
            GroupGone: the server does not carry it.
        """
        name = check_argument(group, what="the group").decode()
        reply = await self._ask(Request(f"GROUP {name}".encode(), f"GROUP {name}"))
        if reply.code != 211:
            self.group = None
            raise self._refused(reply, f"GROUP {name}")
        marks = parse_group(name, reply.text)
        if marks is None:
            self.connection.close()
            raise self._unfitting(reply, f"GROUP {name}")
        self.group = name
        return marks

    async def overview(
        self, group: str, low: int, high: int, *, plain: bool = False, unread: bool = False
    ) -> OverviewBlock:
        """Returns the overview of a range, as received.

        Args:
            group: the group.
            low: first article number.
            high: last article number.
            plain: agree on no compression, on a connection that has not agreed on any yet.
            unread: the block may be left unread; see `OverviewBlock.unread`.

        Raises:
            GroupGone: the server does not carry the group.
            WrongOverview: the reply is whole but answers another range.
        """
        if plain and self.compression is None:
            self.compression = Compression.NONE
        await self._agree_on_compression()
        if self.group != group:
            await self.group_marks(group)
        before = self.connection.received_bytes
        reply = await self._ask_overview(low, high, unread=unread)
        if self.compression is Compression.XZVER and reply.code in {500, 501, 503}:
            # It answered the probe but does not know the command after all.
            self._profile.give_up(Compression.XZVER)
            self.compression = None
            await self._agree_on_compression()
            reply = await self._ask_overview(low, high)
        if reply.code == 412:
            # The server forgot the group, as some do after a long pause.
            await self.group_marks(group)
            reply = await self._ask_overview(low, high)
        shown = f"the overview of {group} {low}-{high}"
        if reply.code in _EMPTY_RANGE:
            return empty_block(group, low, high)
        if reply.body is None:
            raise self._refused(reply, shown)
        received = self.connection.received_bytes - before
        try:
            block = check_block(group, low, high, reply.body, wire_bytes=received)
        except BaseException:
            self.connection.close()
            raise
        if block.stray_lines:
            # It may answer another command; whoever asks again gets a new connection.
            self.connection.quit()
        return block

    async def list_active(self, pattern: str) -> list[GroupMarks]:
        """Returns the groups that match a wildmat, with their water marks."""
        wanted = check_argument(pattern, what="the group pattern").decode()
        shown = f"LIST ACTIVE {wanted}"
        reply, filtered = await self._ask_list(shown), True
        if reply.code in {500, 501, 503}:
            # Old servers take no pattern, or only the bare command.
            reply, filtered = await self._ask_list("LIST"), False
        if reply.body is None:
            raise self._refused(reply, shown)
        text = reply.body.data
        if reply.body.encoding is not None:
            text = b"".join(Inflater(reply.body.encoding).feed(text))
        groups, unread = parse_active(text)
        if unread:
            logger.warning("%s: %d lines cannot be read and are left out", shown, unread)
        return groups if filtered else [marks for marks in groups if wildmat(wanted, marks.name)]

    async def _ask_list(self, command: str) -> Reply:
        request = Request(
            command.encode(), command, BodyForm.LIST, frozenset({215}), limits=_LIST_LIMITS
        )
        return await self._ask(request)

    async def article(self, verb: str, message_id: str) -> bytes:
        """Returns what ARTICLE, HEAD or BODY has of an article, dots unstuffed.

        Raises:
            ArticleMissing: the server does not have it.
        """
        name = message_id if message_id.startswith("<") else f"<{message_id}>"
        wire = check_argument(name, what="the message-id", max_bytes=500)
        shown = f"{verb} {name}"
        code = {"ARTICLE": 220, "HEAD": 221, "BODY": 222}[verb]
        request = Request(
            verb.encode() + b" " + wire,
            shown,
            BodyForm.TEXT,
            frozenset({code}),
            limits=_ARTICLE_LIMITS,
        )
        reply = await self._ask(request)
        if reply.body is None:
            raise self._refused(reply, shown)
        return unstuff(reply.body.data)

    async def stat(self, message_id: str) -> bool:
        """Tells whether the server has an article, without reading it."""
        name = message_id if message_id.startswith("<") else f"<{message_id}>"
        wire = check_argument(name, what="the message-id", max_bytes=500)
        reply = await self._ask(Request(b"STAT " + wire, f"STAT {name}"))
        if reply.code in {430, 420, 423, 451}:
            return False
        if reply.code != 223:
            raise self._refused(reply, f"STAT {name}")
        return True

    async def date(self) -> datetime:
        """Returns the server's clock (UTC)."""
        reply = await self._ask(Request(b"DATE", "DATE"))
        if reply.code != 111:
            raise self._refused(reply, "DATE")
        match = _DATE.search(reply.text)
        try:
            return datetime.strptime(match[1] if match else "", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            self.connection.close()
            raise self._unfitting(reply, "DATE") from None

    async def capabilities(self) -> list[str]:
        """Returns the server's capabilities; empty when it does not know the command."""
        reply = await self._ask(CAPABILITIES)
        if reply.body is None:
            return []
        return unstuff(reply.body.data).decode("latin-1").splitlines()

    async def _ask(self, request: Request) -> Reply:
        return await self.connection.ask(request)

    def _refused(self, reply: Reply, shown: str, *, login: bool = False) -> NewsError:
        error = refusal(
            asked=shown,
            server=self.connection.server,
            code=reply.code,
            text=self._shown_text(reply),
            login=login,
        )
        # After 400 and 502 the server hangs up; after a reply that does not fit, what follows
        # on the connection is unknown.
        if reply.code in {400, 502} or isinstance(error, ProtocolError):
            self.connection.close()
        return error

    def _unfitting(self, reply: Reply, shown: str) -> ProtocolError:
        said = f"{reply.code} {self._shown_text(reply)[:200]}"
        msg = (
            f"{self.connection.server} answered {shown} with “{said}”, "
            "which cannot be read; the connection is opened again"
        )
        return ProtocolError(msg, code=reply.code)

    def _shown_text(self, reply: Reply) -> str:
        """Returns what the server said, without the login that some servers repeat.

        It ends on terminals, in logs and in the catalog, which takes no NUL.
        """
        text = reply.text
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)

    async def _reader_mode(self) -> None:
        """Sends MODE READER where CAPABILITIES asks for it or is not known at all."""
        needed = self._profile.mode_reader
        if needed is None:
            reply = await self._ask(CAPABILITIES)
            if reply.code == 480:
                return
            if reply.code == 400:
                raise self._refused(reply, CAPABILITIES.shown)
            if reply.body is None:
                needed = True
            else:
                offered = unstuff(reply.body.data).upper().splitlines()
                needed = any(line.split()[:1] == [b"MODE-READER"] for line in offered)
        if needed:
            reply = await self._ask(Request(b"MODE READER", "MODE READER"))
            if reply.code == 480:
                return
            if reply.code in {400, 502}:
                raise self._refused(reply, "MODE READER")
        self._profile.mode_reader = needed

    async def _log_in(self) -> None:
        user, password = self._account.user, self._account.password
        if user is None or password is None:
            return
        line = b"AUTHINFO USER " + user.get_secret_value().encode()
        reply = await self._ask(Request(line, "AUTHINFO USER"))
        shown = "AUTHINFO USER"
        if reply.code == 381:
            line = b"AUTHINFO PASS " + password.get_secret_value().encode()
            shown = "AUTHINFO PASS"
            reply = await self._ask(Request(line, shown))
        already = reply.code == 502 and "already" in reply.text.lower()
        # A server without logins does not know the command; it says 480 later if it minds.
        unknown = shown == "AUTHINFO USER" and reply.code in {500, 501, 503}
        if reply.code // 10 != 28 and not already and not unknown:
            error = self._refused(reply, shown, login=True)
            self.connection.close()
            raise error

    async def _agree_on_compression(self) -> None:
        if self.compression is not None:
            return
        if self._profile.compression is not None:
            await self._compress_with(self._profile.candidates())
            return
        async with self._profile.probing:
            await self._compress_with(self._profile.candidates())

    async def _compress_with(self, forms: list[Compression]) -> None:
        """Agrees on the first form that the server takes.

        Raises:
            Unsupported: the only form that the account allows is not known to the server.
        """
        for form in forms:
            try:
                taken = await self._takes(form)
            except TransientNewsFailure:
                self._profile.note_probe_failed(form)
                raise
            if taken:
                self.compression = form
                self._profile.compression = form
                return
        wanted = self._profile.wanted.value
        msg = (
            f"{self.connection.server} does not know the compression {wanted} that the news URL "
            "asks for; use ?compress=auto"
        )
        raise Unsupported(msg)

    async def _takes(self, form: Compression) -> bool:
        if form is Compression.NONE:
            return True
        if form is Compression.XZVER:
            # Without a group the answer is 412 where the command is known, 500 where it is not.
            request = overview_request("XZVER", 1, 1)
            reply = await self._ask(request)
            return reply.code in {224, 412, 420, 423}
        command = _XFEATURE.get(form, "COMPRESS DEFLATE")
        reply = await self._ask(Request(command.encode(), command))
        if reply.code in {400, 480}:
            raise self._refused(reply, command)
        taken = reply.code == 206 if form is Compression.DEFLATE else reply.code // 100 == 2
        if taken and form is Compression.DEFLATE:
            self.connection.start_deflate()
        return taken

    async def _ask_overview(self, low: int, high: int, *, unread: bool = False) -> Reply:
        if self.compression is Compression.XZVER:
            return await self._ask(overview_request("XZVER", low, high, unread=unread))
        verb = self._profile.overview_verb or "XOVER"
        reply = await self._ask(overview_request(verb, low, high, unread=unread))
        if reply.code in {500, 501} and self._profile.overview_verb is None:
            verb = "OVER"
            reply = await self._ask(overview_request(verb, low, high))
        if reply.code in {224, 420, 423}:
            self._profile.overview_verb = verb
        return reply


async def open_session(
    account: NewsAccount,
    profile: ServerProfile,
    deadlines: Deadlines,
    tls: ssl.SSLContext | None,
) -> Session:
    """Returns a session that is logged in.

    Raises:
        NewsError: of the class that says why not; nothing is left open.
    """
    session = Session(await connect(account, deadlines, tls), account, profile)
    try:
        await session.begin()
    except BaseException:
        session.connection.close()
        raise
    return session
