"""The loopback news server of the sample posts: `python -m voyager_core.demo.server`."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from voyager_core.demo.posts import build_corpus
from voyager_core.demo.session import Login, Session
from voyager_core.errors import reason_of

# The longest command of RFC 3977 is 512 octets; message-ids of real NZBs fit in a few hundred.
_LONGEST_COMMAND = 8192


class Server:
    """Listens, and answers each connection with a session of its own."""

    def __init__(self, make_session: Callable[[], Session]) -> None:
        self._make_session = make_session
        self._listener: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, *, host: str = "127.0.0.1", port: int = 0) -> tuple[str, int]:
        """Starts to listen; port 0 takes a free one. Returns the address.

        Raises:
            OSError: the port is taken.
        """
        self._listener = await asyncio.start_server(self._serve, host, port, limit=_LONGEST_COMMAND)
        bound = self._listener.sockets[0].getsockname()
        return str(bound[0]), int(bound[1])

    async def stop(self) -> None:
        """Stops listening and ends every connection."""
        if self._listener is not None:
            self._listener.close()
        # Closed from here rather than cancelled: asyncio of 3.11 complains of cancelled ones.
        for writer in self._open.values():
            writer.transport.abort()
        if self._open:
            await asyncio.wait(self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            await self._converse(reader, writer)
        finally:
            writer.close()
            del self._open[task]

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers commands until the reader quits; one that goes away is no error."""
        session = self._make_session()
        writer.write(session.greeting())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await writer.drain()
                try:
                    line = await reader.readuntil(b"\n")
                except asyncio.LimitOverrunError:
                    writer.write(b"501 the command is too long\r\n")
                    break
                reply = session.handle(line)
                writer.write(reply.data)
                if reply.closes:
                    break
            await writer.drain()


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the server's clock


async def _run(host: str, port: int, login: Login | None) -> None:
    corpus = build_corpus()
    server = Server(lambda: Session(corpus, _now, login=login))
    address = await server.start(host=host, port=port)
    articles = sum(len(group.articles) for group in corpus.groups.values())
    print(f"sample posts: {articles} articles on {address[0]}:{address[1]}", flush=True)  # noqa: T201
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    await server.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until SIGTERM or SIGINT; returns 1 when the port cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0 takes a free one")
    parser.add_argument("--user", help="ask for this user")
    parser.add_argument("--password", default="", help="and this password")
    options = parser.parse_args(arguments)
    login = Login(options.user, options.password) if options.user else None
    try:
        asyncio.run(_run(options.host, options.port, login))
    except OSError as error:
        why = reason_of(error)
        print(f"the news server cannot listen on port {options.port}: {why}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
