"""Slow senders are given up, and bodies are read whatever the application does."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests.integration.api_support import Server
from voyager_api import transport
from voyager_api.server import server_config
from voyager_api.transport import ReadBodies, TolerantProtocol
from voyager_core.settings import Settings

LARGE = 16 << 20


async def application(scope, receive, send):
    """Answers without reading the body, `/slow` not before four deadlines of its test.

    What `/large` sends is more than the system keeps for a client that takes nothing.
    """
    if scope["path"] == "/slow":
        await asyncio.sleep(0.2)
    body = bytes(LARGE) if scope["path"] == "/large" else b"ok"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def serving(loop: str = "auto") -> Iterator[int]:
    config = uvicorn.Config(
        ReadBodies(application),
        port=0,
        http=TolerantProtocol,
        loop=loop,
        lifespan="off",
        ws="none",
        log_config=None,
    )
    server = Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert server.listening.wait(10)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)


def exchange(port: int, *pieces: bytes) -> bytes:
    """Sends pieces and returns what comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        while piece := connection.recv(65536):
            received += piece
    return received


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"GET / HT",),
        (b"GET / HTTP/1.1\r\nHost: x\r\n",),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",),
    ],
)
def test_a_request_that_does_not_come_whole_ends_the_connection(monkeypatch, pieces):
    monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.2)
    with serving() as port:
        assert exchange(port, *pieces) == b""


def test_a_body_that_stops_coming_is_answered_before_the_deadline(monkeypatch):
    monkeypatch.setattr(transport, "_DRAIN_SECONDS", 0.1)
    with serving() as port:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"
        received = exchange(port, head)
    assert received.startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in received


@pytest.mark.parametrize(
    "framing",
    [b"Content-Length: 5\r\n\r\nabcde", b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"],
)
def test_the_next_request_on_the_connection_is_understood(framing):
    with serving() as port:
        received = exchange(
            port,
            b"POST / HTTP/1.1\r\nHost: x\r\n" + framing,
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        )
    assert received.count(b"HTTP/1.1 200") == 2


def test_a_request_of_two_lengths_is_the_last_on_its_connection():
    twofold = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with serving() as port:
        received = exchange(
            port, b"POST / HTTP/1.1\r\nHost: x\r\n" + twofold + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        )
    assert received.count(b"HTTP/1.1 200") == 1
    assert b"Connection: close" in received


def test_a_deadline_does_not_hit_a_request_that_is_being_answered(monkeypatch):
    monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.05)
    with serving() as port:
        request = b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        received = exchange(port, request)
    assert received.startswith(b"HTTP/1.1 200")
    assert b"ok" in received


@pytest.mark.parametrize("loop", ["asyncio", "auto"])
@pytest.mark.parametrize("request_line", [b"GET /large HTTP/1.1", b"GET /large HTTP/1.0"])
def test_a_client_that_takes_nothing_of_an_answer_loses_the_connection(
    monkeypatch, loop, request_line
):
    monkeypatch.setattr(transport, "STALL_SECONDS", 0.2)
    lost = threading.Event()
    end = TolerantProtocol.connection_lost

    def connection_lost(protocol, exc):
        end(protocol, exc)
        lost.set()

    monkeypatch.setattr(TolerantProtocol, "connection_lost", connection_lost)
    with serving(loop) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request_line + b"\r\nHost: x\r\n\r\n")
        assert lost.wait(10)


class Wire(asyncio.Transport):
    """Keeps what is written until somebody takes it."""

    def __init__(self):
        super().__init__()
        self.unsent, self.is_aborted = 0, False

    def set_write_buffer_limits(self, **limits):
        assert limits == {"high": 0}

    def get_write_buffer_size(self):
        return self.unsent

    def abort(self):
        self.is_aborted = True


class Clock:
    """An event loop's timers, which go off when the test says so."""

    def __init__(self):
        self.due = {}

    def call_later(self, seconds, callback):
        handle = Mock()
        handle.cancel = lambda: self.due.pop(handle, None)
        self.due[handle] = (seconds, callback)
        return handle

    def create_task(self, coroutine):
        coroutine.close()
        return Mock()

    def pass_by(self, seconds):
        for handle, (after, callback) in list(self.due.items()):
            if after == seconds:
                del self.due[handle]
                callback()


def connected(clock, wire):
    config = uvicorn.Config(application, http=TolerantProtocol, log_config=None)
    protocol = TolerantProtocol(config, ServerState(), {}, clock)
    protocol.connection_made(wire)
    return protocol


def test_only_the_request_line_is_made_ascii_wherever_the_bytes_are_cut():
    name, content = "größe".encode(), b"\xc3\xa9\xff" * 5
    whole = b"POST /echo?q=%b HTTP/1.1\r\nHost: x\r\nX-Name: %b\r\nContent-Length: %d\r\n\r\n"
    whole = whole % (name, name, len(content)) + content
    for cut in range(1, len(whole)):
        protocol = connected(Clock(), Wire())
        protocol.data_received(whole[:cut])
        protocol.data_received(whole[cut:])
        assert protocol.scope["query_string"] == b"q=gr%C3%B6%C3%9Fe"
        assert dict(protocol.scope["headers"])[b"x-name"] == name
        assert protocol.cycle.body == content, cut


def test_a_client_that_takes_an_answer_slowly_keeps_the_connection_until_it_stops():
    clock, wire = Clock(), Wire()
    protocol = connected(clock, wire)
    wire.unsent = 1000
    protocol.pause_writing()
    for left in (999, 500, 499):
        wire.unsent = left
        clock.pass_by(transport.STALL_SECONDS)
        assert not wire.is_aborted
    protocol.resume_writing()
    clock.pass_by(transport.STALL_SECONDS)
    assert not wire.is_aborted
    protocol.pause_writing()
    clock.pass_by(transport.STALL_SECONDS)
    assert wire.is_aborted


def test_an_idle_connection_outlives_what_clients_keep_and_their_number_is_bounded():
    config = server_config(Settings(_env_file=None), application)
    # .NET, Java and Go keep idle connections for a minute or more by default.
    assert config.timeout_keep_alive > 60
    assert config.limit_concurrency == transport.MAX_CONNECTIONS
