"""A proxy in front of a plain news server that adds the compression providers have.

    with CompressingProxy("127.0.0.1", inn.port) as proxy:
        NewsAccount.from_url(f"nntp://joe:secret@127.0.0.1:{proxy.port}")
    assert proxy.compressed_replies > 0

It knows XFEATURE COMPRESS GZIP, with TERMINATOR (the terminator inside the stream) and
without (behind it), and XZVER, as zlib or as yEnc of raw deflate (`yenc=True`). Everything
else, posting included, passes through. The server's own COMPRESS and STARTTLS are hidden,
since the proxy could not read along.
"""

import asyncio
import threading
import zlib
from typing import Self

from tests.support.newsserver import yenc_block

CRLF = b"\r\n"
DOT = b".\r\n"
_BODY_CODES = {b"100", b"101", b"215", b"220", b"221", b"222", b"224", b"225", b"230", b"231"}
_COMPRESSIBLE = {b"XOVER", b"OVER", b"XHDR", b"HDR", b"LIST", b"LISTGROUP", b"NEWNEWS"}
_HIDDEN = (b"COMPRESS", b"STARTTLS")
_SEND = {b"340", b"335"}


class CompressingProxy:
    """The proxy, in a thread of its own; a context manager."""

    def __init__(self, host: str, port: int, *, yenc: bool = False) -> None:
        self.host = host
        self.upstream_port = port
        self.yenc = yenc
        self.port = 0
        self.compressed_replies = 0
        self.errors: list[BaseException] = []
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="gzproxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the proxy did not start"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the proxy did not stop"
        if self.errors:
            raise self.errors[0]

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 22)
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
        upstream = None
        try:
            from_server, upstream = await asyncio.open_connection(
                self.host, self.upstream_port, limit=1 << 27
            )
            await _Relay(self, reader, writer, from_server, upstream).run()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except BaseException as error:  # noqa: BLE001 - shown by __exit__
            self.errors.append(error)
        finally:
            self._tasks.discard(task)
            for end in (writer, upstream):
                if end is not None:
                    end.transport.abort()


class _Relay:
    """One client's connection."""

    def __init__(
        self,
        proxy: CompressingProxy,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        from_server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self.proxy = proxy
        self.reader = reader
        self.writer = writer
        self.from_server = from_server
        self.to_server = to_server
        self.feature: str | None = None

    async def run(self) -> None:
        self.writer.write(await self.from_server.readline())
        while line := await self.reader.readline():
            words = line.upper().split() or [b""]
            verb = words[0]
            if words[:3] == [b"XFEATURE", b"COMPRESS", b"GZIP"]:
                self.feature = "inside" if words[3:] == [b"TERMINATOR"] else "behind"
                self.writer.write(b"290 feature enabled\r\n")
            elif verb in _HIDDEN:
                self.writer.write(b"500 unknown command\r\n")
            else:
                plain = b"XOVER" + line[5:] if verb == b"XZVER" else line
                self.to_server.write(plain)
                await self.relay(verb)
            await self.writer.drain()
            if verb == b"QUIT":
                break

    async def relay(self, verb: bytes) -> None:
        status = await self.from_server.readline()
        code = status[:3]
        if code in _SEND:
            await self.relay_article(status)
            return
        has_body = code in _BODY_CODES or (code == b"211" and verb == b"LISTGROUP")
        if not has_body:
            self.writer.write(status)
            return
        text = await self.body()
        if verb == b"CAPABILITIES":
            text = self.capabilities(text)
        if verb == b"XZVER" and self.proxy.yenc:
            self.proxy.compressed_replies += 1
            deflater = zlib.compressobj(1, zlib.DEFLATED, -15)
            self.writer.write(status + yenc_block(deflater.compress(text) + deflater.flush()))
        elif verb == b"XZVER" or (self.feature and verb in _COMPRESSIBLE):
            self.proxy.compressed_replies += 1
            inside = verb == b"XZVER" or self.feature == "inside"
            stream = zlib.compress(text + DOT * inside, 1)
            self.writer.write(status.rstrip() + b" [COMPRESS=GZIP]\r\n")
            self.writer.write(stream + DOT * (not inside))
        else:
            self.writer.write(status + text + DOT)

    async def relay_article(self, status: bytes) -> None:
        self.writer.write(status)
        while line := await self.reader.readline():
            self.to_server.write(line)
            if line == DOT:
                break
            await self.to_server.drain()
        self.writer.write(await self.from_server.readline())

    async def body(self) -> bytes:
        """Returns the lines of a body, without the terminator."""
        lines = []
        while (line := await self.from_server.readline()) != DOT:
            if not line:
                raise ConnectionError
            lines.append(line)
        return b"".join(lines)

    def capabilities(self, text: bytes) -> bytes:
        kept = [line for line in text.split(CRLF) if line and not line.startswith(_HIDDEN)]
        added = [b"XZVER", b"XFEATURE-COMPRESS GZIP TERMINATOR"]
        return b"".join(line + CRLF for line in kept + added)
