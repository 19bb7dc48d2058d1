"""A scripted news server on loopback: it speaks NNTP as providers do, and fails on request.

    from tests.support.newsserver import Group, NewsServer, Rule, made_lines

    lines = made_lines(4_000_000_001, 1000)              # plausible overview lines
    with NewsServer([Group("alt.binaries.test", lines)], compress=["gzip"]) as server:
        account = NewsAccount.from_url(server.url("connections=4"))
        ...
    assert server.count("XOVER") == 10                   # what clients asked, in server.log

It runs in a thread of its own, on port 0 of 127.0.0.1. Article numbers are 64-bit. Knobs:

    groups          Group(name, lines | function, low=, high=, flag=)
    articles        {"<id>": b"head\r\n\r\nbody"} for ARTICLE, HEAD, BODY, STAT
    user, password  a login is required
    compress        what it knows: "gzip-terminator", "gzip", "xzver", "xzver-yenc", "deflate"
    form            how XFEATURE and XZVER replies are compressed: "zlib", "gzip", "deflate"
    capabilities    False: CAPABILITIES is unknown, as on old servers
    mode_reader     True: nothing but CAPABILITIES works before MODE READER
    verbs           overview commands it knows: ("XOVER", "OVER")
    max_connections further ones get 502 and are closed
    tls             an ssl.SSLContext for nntps

Faults are data. Every rule that matches a command takes part in its reply, in order:

    Rule("XOVER", "cut", 0.5)                    # the first XOVER: half a reply, then close
    Rule("XOVER", "stall", 9, skip=3, times=None)    # from the fourth on: 9 bytes, then silence
    Rule("*", "reply", "400 going down", connection=2)  # anything on the second connection
    Rule("connect", "reply", "502 too many")     # instead of the greeting

`rule.acted` counts how often a rule acted.

    do           value
    reply        status line to send instead of the real reply (400 and 502 close)
    raw          bytes to send instead of the real reply
    close        none: closes without a reply
    cut          bytes (int) or part (float) of the real reply to send, then closes
    stall        the same, then silence; the connection stays open
    drip         size of the pieces that the reply is sent in
    damage       where in the body (part, float) a byte is flipped
    garbage      bytes to send instead of the body, behind the right status line
    form         "zlib", "gzip", "deflate", "yenc" or "plain", whatever was agreed
    stored       none: compression level 0, so that dots and line ends stand in the stream
    terminator   "inside", "behind", "both" or "none", whatever was agreed
    unmarked     none: a compressed reply without [COMPRESS=GZIP] in its status line
    stray_dot    none: one more `.` line behind the reply
    more         lines to add behind the range
    fewer        lines to leave out at the end
    shift        number to add to every article number
    twice        none: every line two times
    poison       a line to add at the end
"""

import asyncio
import contextlib
import fnmatch
import re
import ssl
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tests.support.newsreplies import (
    CRLF,
    Answer,
    Group,
    Rule,
    apply_rule,
    made_line,
    made_lines,
    yenc_block,
)

__all__ = ["Group", "NewsServer", "Rule", "made_line", "made_lines", "silent_server", "yenc_block"]

_CLOSING = ("400", "502")


@dataclass
class Asked:
    """A command that a client sent."""

    connection: int
    verb: str
    argument: str


class NewsServer:
    """The server; a context manager. Its attributes may be changed while it runs."""

    def __init__(
        self,
        groups: Sequence[Group] = (),
        *,
        articles: dict[str, bytes] | None = None,
        user: str | None = None,
        password: str | None = None,
        compress: Sequence[str] = (),
        form: str = "zlib",
        capabilities: bool = True,
        mode_reader: bool = False,
        verbs: Sequence[str] = ("XOVER", "OVER"),
        max_connections: int | None = None,
        tls: ssl.SSLContext | None = None,
        rules: Sequence[Rule] = (),
    ) -> None:
        self.groups = {group.name: group for group in groups}
        self.articles = dict(articles or {})
        self.user = user
        self.password = password
        self.compress = list(compress)
        self.form = form
        self.capabilities = capabilities
        self.mode_reader = mode_reader
        self.verbs = list(verbs)
        self.max_connections = max_connections
        self.tls = tls
        self.rules = list(rules)
        self.log: list[Asked] = []
        self.connections = 0
        self.open = 0
        self.most_open = 0
        self.port = 0
        self.errors: list[BaseException] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._asked = threading.Condition()
        self._stop: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="newsserver", daemon=True)
        self._thread.start()
        assert self._ready.wait(10), "the news server did not start"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the news server did not stop"
        if self.errors:
            raise self.errors[0]

    def url(self, options: str = "", *, host: str = "127.0.0.1") -> str:
        """Returns the news URL for clients, with the server's login."""
        login = f"{self.user}:{self.password}@" if self.user else ""
        scheme = "nntps" if self.tls else "nntp"
        return f"{scheme}://{login}{host}:{self.port}" + (f"?{options}" if options else "")

    def count(self, verb: str) -> int:
        """Returns how often a command was sent."""
        return sum(asked.verb == verb for asked in self.log)

    def asked(self, verb: str) -> list[str]:
        """Returns the arguments that a command was sent with, in order."""
        return [asked.argument for asked in self.log if asked.verb == verb]

    def wait_for(self, verb: str, times: int = 1) -> None:
        """Returns once a command was sent so often; in asynchronous tests, in a thread."""
        with self._asked:
            arrived = self._asked.wait_for(lambda: self.count(verb) >= times, 20)
        assert arrived, f"{verb} was not sent {times} times"

    def note(self, asked: Asked) -> None:
        """Puts a command into the log."""
        with self._asked:
            self.log.append(asked)
            self._asked.notify_all()

    def drop_connections(self) -> None:
        """Hangs up on everybody."""
        assert self._loop is not None
        done = threading.Event()

        def drop() -> None:
            for task in self._tasks:
                task.cancel()
            done.set()

        self._loop.call_soon_threadsafe(drop)
        done.wait(10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(
            self._accept, "127.0.0.1", 0, ssl=self.tls, limit=1 << 20
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await _Client(self, reader, writer, self.connections).serve()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        except BaseException as error:  # noqa: BLE001 - shown by __exit__
            self.errors.append(error)
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.transport.abort()


class _Client:
    """One connection."""

    def __init__(
        self,
        server: NewsServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        number: int,
    ) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer
        self.number = number
        self.logged_in = server.user is None
        self.reader_mode = not server.mode_reader
        self.user: str | None = None
        self.group: Group | None = None
        self.xfeature: str | None = None
        self.deflate = None
        self.inflate = None
        self.pending = b""
        self.sent = b""

    async def serve(self) -> None:
        limit = self.server.max_connections
        greeting = Answer(b"200 test server ready")
        if limit is not None and self.server.open > limit:
            greeting = Answer(b"502 too many connections for your user")
        if not await self.send("connect", "", greeting) or greeting.status.startswith(b"502"):
            return
        while line := await self.read_line():
            text = line.decode("utf-8", "surrogateescape").strip("\r\n")
            verb, _, argument = text.partition(" ")
            verb, argument = verb.upper(), argument.strip()
            self.server.note(Asked(self.number, verb, argument))
            answer = self.answer(verb, argument)
            if not await self.send(verb, argument, answer):
                return
            if verb == "COMPRESS" and self.sent.startswith(b"206"):
                self.deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
                self.inflate = zlib.decompressobj(-15)
            if verb == "QUIT":
                return

    async def read_line(self) -> bytes:
        while self.inflate is not None and b"\n" not in self.pending:
            data = await self.reader.read(65536)
            if not data:
                return b""
            self.pending += self.inflate.decompress(data)
        if self.inflate is None:
            return await self.reader.readline()
        line, _, self.pending = self.pending.partition(b"\n")
        return line + b"\n"

    async def write(self, data: bytes) -> None:
        if self.deflate is not None and data:
            data = self.deflate.compress(data) + self.deflate.flush(zlib.Z_SYNC_FLUSH)
        self.writer.write(data)
        await self.writer.drain()

    async def send(self, verb: str, argument: str, answer: Answer) -> bool:
        """Sends a reply as the rules want it; returns whether the connection goes on."""
        rules = [each for each in self.server.rules if each.takes(verb, argument, self.number)]
        for rule in rules:
            apply_rule(rule, answer)
        data, ending, piece = answer.wire(), "go on", 0
        for rule in rules:
            if rule.do == "reply":
                data = rule.value.encode() + CRLF
                ending = "close" if rule.value.startswith(_CLOSING) else "go on"
            elif rule.do == "raw":
                data = rule.value
            elif rule.do == "close":
                data, ending = b"", "close"
            elif rule.do in {"cut", "stall"}:
                part = rule.value or 0
                data = data[: int(len(data) * part) if isinstance(part, float) else part]
                ending = "close" if rule.do == "cut" else "stall"
            elif rule.do == "drip":
                piece = rule.value
        self.sent = data[:100]
        for start in range(0, len(data), piece or max(len(data), 1)):
            await self.write(data[start : start + (piece or len(data))])
            if piece:
                await asyncio.sleep(0)
        if ending == "stall":
            # Reads on so that the client's end of the connection is seen.
            while await self.reader.read(65536):
                pass
        return ending == "go on"

    def answer(self, verb: str, argument: str) -> Answer:
        if verb == "QUIT":
            return Answer(b"205 bye")
        if verb == "CAPABILITIES":
            return self.capabilities()
        if verb == "MODE":
            self.reader_mode = True
            return Answer(b"200 reader mode")
        if not self.reader_mode:
            return Answer(b"500 what?")
        if verb == "AUTHINFO":
            return self.authinfo(argument)
        if not self.logged_in:
            return Answer(b"480 authentication required")
        handler = getattr(self, f"do_{verb.lower()}", None)
        if handler is None or (verb in {"XOVER", "OVER"} and verb not in self.server.verbs):
            return Answer(b"500 unknown command")
        return handler(argument)

    def capabilities(self) -> Answer:
        if not self.server.capabilities:
            return Answer(b"500 unknown command")
        known = ["VERSION 2", "READER" if self.reader_mode else "MODE-READER", *self.server.verbs]
        known += [f"COMPRESS {form.upper()}" for form in self.server.compress if form == "deflate"]
        return Answer(b"101 capabilities", [line.encode() for line in known])

    def authinfo(self, argument: str) -> Answer:
        what, _, value = argument.partition(" ")
        if what.upper() == "USER":
            self.user = value
            return Answer(b"381 password required")
        if self.user == self.server.user and value == self.server.password:
            self.logged_in = True
            return Answer(b"281 welcome")
        return Answer(b"481 wrong user or password")

    def do_date(self, _: str) -> Answer:
        return Answer(b"111 20300102030405")

    def do_xfeature(self, argument: str) -> Answer:
        words = argument.upper().split()
        wanted = "gzip-terminator" if words[2:] == ["TERMINATOR"] else "gzip"
        if words[:2] != ["COMPRESS", "GZIP"] or wanted not in self.server.compress:
            return Answer(b"501 unknown feature")
        self.xfeature = wanted
        return Answer(b"290 feature enabled")

    def do_compress(self, argument: str) -> Answer:
        if "deflate" not in self.server.compress or argument.upper() != "DEFLATE":
            return Answer(b"503 unknown compression")
        return Answer(b"206 compression active")

    def do_list(self, argument: str) -> Answer:
        what, _, pattern = argument.partition(" ")
        if what.upper() not in {"", "ACTIVE"}:
            return Answer(b"503 unknown list")
        lines = [
            f"{group.name} {group.high:010d} {group.low:010d} {group.flag}".encode()
            for group in self.server.groups.values()
            if not pattern or _matches(pattern, group.name)
        ]
        return self.compressible(Answer(b"215 list of groups", lines, "list"))

    def do_group(self, argument: str) -> Answer:
        group = self.server.groups.get(argument)
        if group is None:
            return Answer(b"411 no such group")
        self.group = group
        return Answer(f"211 {group.count} {group.low} {group.high} {group.name}".encode())

    def do_listgroup(self, argument: str) -> Answer:
        name = argument.split(" ", 1)[0]
        answer = self.do_group(name) if name else Answer(b"412 no group selected")
        if self.group is None or answer.status.startswith(b"411"):
            return answer
        lines = self.group.overview(self.group.low, self.group.high)
        status = f"211 {len(lines)} {self.group.low} {self.group.high} {self.group.name}"
        return Answer(status.encode(), [line.split(b"\t", 1)[0] for line in lines])

    def do_xover(self, argument: str) -> Answer:
        answer = self.overview(argument)
        return answer if answer.lines is None else self.compressible(answer)

    do_over = do_xover

    def do_xzver(self, argument: str) -> Answer:
        forms = [form for form in self.server.compress if form.startswith("xzver")]
        if not forms:
            return Answer(b"500 unknown command")
        answer = self.overview(argument)
        if answer.lines is not None:
            yenc = forms[0] == "xzver-yenc"
            answer.form = "yenc" if yenc else self.server.form
            answer.terminator, answer.marked = "inside", not yenc
        return answer

    def overview(self, argument: str) -> Answer:
        if self.group is None:
            return Answer(b"412 no group selected")
        match = re.fullmatch(r"(\d+)(-)?(\d+)?", argument)
        if match is None:
            return Answer(b"501 bad range")
        low = int(match[1])
        high = int(match[3]) if match[3] else (self.group.high if match[2] else low)
        lines = self.group.overview(low, high)
        if not lines:
            return Answer(b"423 no articles in that range")
        return Answer(b"224 overview follows", lines, "overview")

    def compressible(self, answer: Answer) -> Answer:
        if self.xfeature is not None:
            answer.form = self.server.form
            answer.terminator = "inside" if self.xfeature == "gzip-terminator" else "behind"
        return answer

    def do_stat(self, argument: str) -> Answer:
        if argument not in self.server.articles:
            return Answer(b"430 no such article")
        return Answer(f"223 0 {argument}".encode())

    def do_article(self, argument: str) -> Answer:
        return self.article(argument, "220", slice(0, 2))

    def do_head(self, argument: str) -> Answer:
        return self.article(argument, "221", slice(0, 1))

    def do_body(self, argument: str) -> Answer:
        return self.article(argument, "222", slice(1, 2))

    def article(self, argument: str, code: str, parts: slice) -> Answer:
        stored = self.server.articles.get(argument)
        if stored is None:
            return Answer(b"430 no such article")
        wanted = stored.split(CRLF + CRLF, 1)[parts]
        lines = (CRLF + CRLF).join(wanted).split(CRLF)
        return Answer(f"{code} 0 {argument}".encode(), lines)


def _matches(pattern: str, name: str) -> bool:
    matched = False
    for part in pattern.split(","):
        if fnmatch.fnmatchcase(name, part.removeprefix("!")):
            matched = not part.startswith("!")
    return matched


@contextlib.contextmanager
def silent_server():
    """Yields the URL of a port that accepts connections and never says a word."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"nntp://127.0.0.1:{listener.getsockname()[1]}"
