"""The loopback news server of the sample posts: `python -m voyager_core.demo.server`."""

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from voyager_core.demo.posts import build_corpus
from voyager_core.demo.session import Login, Session

# The longest command of RFC 3977 is 512 octets; message-ids of real NZBs fit in a few hundred.
_LONGEST_COMMAND = 8192


async def serve_reader(
    make_session: Callable[[], Session],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Answers one connection until it ends; a reader that goes away is no error."""
    session = make_session()
    try:
        writer.write(session.greeting())
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
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def start_server(
    make_session: Callable[[], Session], *, host: str = "127.0.0.1", port: int = 0
) -> asyncio.Server:
    """Starts to listen; port 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    return await asyncio.start_server(
        partial(serve_reader, make_session), host, port, limit=_LONGEST_COMMAND
    )


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the server's clock


async def _run(host: str, port: int, login: Login | None) -> None:
    corpus = build_corpus()
    server = await start_server(lambda: Session(corpus, _now, login=login), host=host, port=port)
    bound = server.sockets[0].getsockname()
    articles = sum(len(group.articles) for group in corpus.groups.values())
    print(f"sample posts: {articles} articles on {bound[0]}:{bound[1]}", flush=True)  # noqa: T201
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


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
        print(f"the news server cannot listen on port {options.port}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
