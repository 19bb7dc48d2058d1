"""CPU of fetching overview blocks into the spool, against inflating the same blocks alone.

    python benches/bench_fetch.py [--blocks 20] [--lines 100000] [--connections 10] [--tls] [--json]
                                  [--unread]

A child process serves the same compressed block for every range, at next to no cost. The
fetching process finds each reply's end by inflating it, counts lines, checks numbers, and
writes the block with its manifest to a fresh spool. Prints CPU seconds of both and their ratio
(`fetch_to_inflate`), and the rate that one core could sustain. With `--unread` the terminator comes
behind the stream, and of each connection only the first block is inflated.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import multiprocessing.connection
import random
import resource
import ssl
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import voyager_native
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fetch import FetchOptions, fetch_span
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.inflating import Encoding, Inflater
from voyager_core.nntp.pool import Pool
from voyager_core.storage.facts import read_facts
from voyager_core.storage.spool import Spool

GROUP = "alt.binaries.test"


def made_text(low: int, count: int) -> bytes:
    """Returns overview lines that compress about as real ones do (3.5 to 4.5 times)."""
    rng = random.Random(1)
    lines = []
    for number in range(low, low + count):
        file, part = divmod(number, 80)
        lines.append(
            b'%d\t[%d/99] - "%024x.part%02d.rar" yEnc (%d/80) 61440000\t'
            b"%x <%x@ngPost.com>\tWed, 01 Jan 2025 %02d:%02d:%02d GMT\t<%024x@nyuu>\t\t%d\t%d\t"
            b"Xref: news.test.invalid %s:%d\r\n"
            % (
                number,
                file % 99 + 1,
                file * 0x9E3779B97F4A7C15 % (1 << 96),
                file % 99 + 1,
                part + 1,
                file,
                file,
                number // 3600 % 24,
                number // 60 % 60,
                number % 60,
                rng.getrandbits(96),
                rng.randrange(740_000, 741_000),
                rng.randrange(5600, 5700),
                GROUP.encode(),
                number,
            )
        )
    return b"".join(lines)


def renumbering_server(
    pipe: multiprocessing.connection.Connection,
    low: int,
    count: int,
    certificate: str | None,
    *,
    behind: bool,
) -> None:
    """Serves one block per range of a span; all were made before the first connection."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"200 ready\r\n")
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                verb, _, argument = line.strip().partition(b" ")
                writer.write(fixed.get(verb, b""))
                if verb == b"XOVER":
                    writer.write(blocks[int(argument.split(b"-")[0])])
                await writer.drain()
        writer.close()

    async def serve() -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        if tls is not None:
            tls.load_cert_chain(certificate)
        server = await asyncio.start_server(client, "127.0.0.1", 0, ssl=tls)
        pipe.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(pipe.recv)

    fixed = {
        b"CAPABILITIES": b"101 list\r\nREADER\r\n.\r\n",
        b"XFEATURE": b"290 enabled\r\n",
        b"GROUP": b"211 1 1 9999999999 group\r\n",
        b"XOVER": b"224 overview [COMPRESS=GZIP]\r\n",
        b"QUIT": b"205 bye\r\n",
    }
    # Different numbers at both ends, the same lines between them: the check passes, and the
    # server compresses only once for all ranges.
    text = made_text(low, count)
    blocks = {}
    for start in range(low, low + pipe.recv() * count, count):
        body = text.replace(b"%d\t" % low, b"%d\t" % start, 1)
        head, _, last = body.removesuffix(b"\r\n").rpartition(b"\r\n")
        last = b"%d\t" % (start + count - 1) + last.split(b"\t", 1)[1]
        dot = b".\r\n"
        body = head + b"\r\n" + last + b"\r\n"
        blocks[start] = zlib.compress(body, 1) + dot if behind else zlib.compress(body + dot, 1)
    asyncio.run(serve())


def self_signed(folder: Path) -> str:
    """Returns a file with a key and a certificate."""
    file = folder / "server.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    command += f" -subj /CN=localhost -keyout {file} -out {folder / 'cert.pem'}"
    subprocess.run(command.split(), check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + (folder / "cert.pem").read_bytes())
    return str(file)


def fetch(port: int, spool: Spool, span: Span, options: argparse.Namespace) -> tuple[float, int]:
    """Returns the CPU seconds of fetching a span and the bytes received."""
    scheme = "nntps" if options.tls else "nntp"
    url = f"{scheme}://127.0.0.1:{port}?connections={options.connections}&verify=off"

    async def run() -> int:
        async with Pool(NewsAccount.from_url(url)) as pool:
            report = await fetch_span(
                pool, spool, span, FetchOptions(options.lines, unread=options.unread)
            )
            assert report.holes == 0, report
            return report.wire_bytes

    started = time.process_time()
    received = asyncio.run(run())
    return time.process_time() - started, received


def inflate(spool: Spool, span: Span) -> float:
    """Returns the CPU seconds of inflating the blocks of a span, and nothing else."""
    blocks = list(spool.blocks(span))
    started = time.process_time()
    for block in blocks:
        for _ in Inflater(Encoding.ZLIB).feed(block):
            pass
    return time.process_time() - started


def inflate_natively(spool: Spool, span: Span) -> float:
    """Returns the CPU seconds of libdeflate, the yardstick of the header pass."""
    return sum(voyager_native.inflate_ns(list(spool.blocks(span)), repeats=2)) / 1e9


def peak_megabytes() -> float:
    """Returns the most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=10)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--unread", action="store_true", help="inflate no more than is needed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    low = 5_000_000_000 // options.lines * options.lines + 1
    span = Span(GROUP, low, low + options.blocks * options.lines - 1)
    with tempfile.TemporaryDirectory() as folder:
        certificate = self_signed(Path(folder)) if options.tls else None
        ours, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        server = context.Process(
            target=renumbering_server,
            args=(theirs, low, options.lines, certificate),
            kwargs={"behind": options.unread},
            daemon=True,
        )
        server.start()
        ours.send(options.blocks)
        port = ours.recv()
        spool = Spool(Path(folder) / "spool")
        before = peak_megabytes()
        fetched, received = fetch(port, spool, span, options)
        peak = peak_megabytes() - before
        inflated = min(inflate(spool, span) for _ in range(2))
        native = inflate_natively(spool, span)
        ours.send(None)
        server.join()
        infos = spool.infos(span)
        facts = [
            read_facts(block, i.facts) for i, block in zip(infos, spool.blocks(span), strict=True)
        ]
        text = sum(each.text_bytes for each in facts)
    result = {
        "blocks": options.blocks,
        "lines": span.size,
        "wire_bytes": received,
        "text_bytes": text,
        "fetch_cpu_seconds": round(fetched, 4),
        "inflate_isal_cpu_seconds": round(inflated, 4),
        "inflate_libdeflate_cpu_seconds": round(native, 4),
        "fetch_to_inflate": round(fetched / inflated, 3),
        "fetch_to_libdeflate": round(fetched / native, 3),
        "megabytes_a_second_a_core": round(received / fetched / 1e6, 1),
        "peak_megabytes_above_imports": round(peak, 1),
    }
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:34} {value}")


if __name__ == "__main__":
    main()
