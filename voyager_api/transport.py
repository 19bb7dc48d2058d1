"""HTTP/1 as Voyager takes it: strict limits, tolerant of what people type.

uvicorn runs this instead of its own protocols, on h11, which keeps the case of header names on
the wire (NZ-17).
"""

import asyncio
from typing import Final
from urllib.parse import quote_from_bytes

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS: Final = 30.0
"""How long a client may take to send a request, and a new connection may stay silent."""

STALL_SECONDS: Final = 60.0
"""How long a client may take nothing of what is being sent to it."""

IDLE_SECONDS: Final = 75
"""How long a connection waits for its next request. Clients that keep connections for longer than
the server, as most do for a minute, now and then send into one that is just being closed."""

MAX_UNREAD_BODY: Final = 1 << 20
"""Bytes of a body that nobody asked for which are still taken off the wire."""

MAX_CONNECTIONS: Final = 1_000
"""Connections at one time; those beyond are told 503 and closed."""

_ASCII: Final = bytes(range(128))
_DRAIN_SECONDS: Final = 5.0
_OVER: Final = frozenset({h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR})


class TolerantProtocol(H11Protocol):
    """HTTP/1 that takes addresses with bare UTF-8, as people type them into curl.

    h11 refuses a byte above 127 in a request line; it is percent-encoded here instead. A request
    that does not arrive whole in `REQUEST_SECONDS` ends the connection, and so does an answer of
    which nothing is taken for `STALL_SECONDS`, so that slow clients cannot use up the server's
    connections.
    """

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0
    _is_in_line = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the clock of the first request."""
        super().connection_made(transport)
        # Told of every byte that waits: a connection is closed only after the last one went.
        transport.set_write_buffer_limits(high=0)
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Hands bytes on, in ASCII as far as the request line goes."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)
        if self._is_in_line and self.conn.their_state is h11.IDLE:
            line, end, rest = data.partition(b"\n")
            if not line.isascii():
                data = quote_from_bytes(line, safe=_ASCII).encode() + end + rest
            self._is_in_line = not end
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._is_in_line = True
        if self.conn.their_state in _OVER:
            self._stop_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clocks."""
        self._stop_clock()
        self._stop_watching()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answers what is no HTTP with a length, like every other answer (NZ-16)."""
        body = f"{msg}\n".encode("ascii")
        headers = [
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Content-Length", str(len(body)).encode()),
            (b"Connection", b"close"),
        ]
        head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def pause_writing(self) -> None:
        """Watches whether the client takes what waits for it."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Ends the watch: the client took everything."""
        self._stop_watching()
        super().resume_writing()

    def _watch(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(STALL_SECONDS, self._look_again)

    def _look_again(self) -> None:
        if self.transport.get_write_buffer_size() < self._unsent:
            self._watch()
        else:
            self.transport.abort()

    def _stop_watching(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        # A whole request is being answered while a later one waits in the buffer.
        if self.conn.their_state not in _OVER:
            self.transport.close()


class ReadBodies:
    """Takes the body of every request off the wire before it is answered.

    A connection that is closed with bytes unread is reset, and the client loses the answer. What
    is larger than `MAX_UNREAD_BODY`, or does not come, ends the connection after the answer, and
    so does a body of two lengths.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, announced=_announces_body(scope))

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (
                not await body.read_rest() or _announces_twice(scope)
            ):
                headers = [*message["headers"], (b"Connection", b"close")]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, body.receive, answer)


class _Body:
    """What arrived of one request's body."""

    def __init__(self, receive: Receive, *, announced: bool) -> None:
        self._receive = receive
        self._is_whole = not announced

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            self._is_whole = True
        return message

    async def read_rest(self) -> bool:
        """Reads what is left; returns whether nothing is."""
        size = 0
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self._is_whole and size < MAX_UNREAD_BODY:
                    size += len((await self.receive()).get("body", b""))
        except TimeoutError:
            return False
        return self._is_whole


def _announces_twice(scope: Scope) -> bool:
    """Tells whether the length is told in two ways, of which a proxy may have taken the other.

    What follows on the connection may then be somebody else's request (RFC 9112, 6.1).
    """
    return {b"transfer-encoding", b"content-length"} <= {name for name, _ in scope["headers"]}


def _announces_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")
        for name, value in scope["headers"]
    )
