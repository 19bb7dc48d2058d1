"""Wire forms of overview replies, as servers send them, for the tests of this folder."""

import gzip
import itertools
import zlib

from tests.support.newsserver import made_lines, yenc_block
from voyager_core.nntp.framing import Limits
from voyager_core.nntp.protocol import BodyForm, Reply, ReplyReader, Request

CRLF = b"\r\n"
DOT = b".\r\n"
FIRST = 5_000_000_001
OVERVIEW = Request(b"XOVER", "XOVER", BodyForm.OVERVIEW, frozenset({224}))
XZVER = Request(b"XZVER", "XZVER", BodyForm.OVERVIEW, frozenset({224}), compressed=True)
ARTICLE = Request(b"ARTICLE", "ARTICLE", BodyForm.TEXT, frozenset({220}))
STATUS = Request(b"GROUP", "GROUP")
MARKED = b"224 overview follows [COMPRESS=GZIP]\r\n"
PLAIN = b"224 overview follows\r\n"


def text_of(count: int = 40, *, first: int = FIRST) -> bytes:
    """Returns overview lines with their line ends."""
    return b"".join(line + CRLF for line in made_lines(first, count))


def squeeze(text: bytes, form: str, *, level: int = 6) -> bytes:
    """Returns text in one of the forms that servers compress with."""
    if form == "gzip":
        return gzip.compress(text, level, mtime=0)
    if form == "zlib":
        return zlib.compress(text, level)
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15)
    return deflater.compress(text) + deflater.flush()


def inflate(data: bytes) -> bytes:
    """Returns the text of a block in any of the three forms, terminator cut off."""
    for bits in (15, 31, -15):
        try:
            text = zlib.decompress(data, bits)
        except zlib.error:
            continue
        return text.removesuffix(DOT) if text.endswith(b"\r\n" + DOT) or text == DOT else text
    raise AssertionError(data[:20])


def yenc(text: bytes) -> bytes:
    """Returns text as Astraweb's XZVER sends it."""
    return yenc_block(squeeze(text, "deflate"))


def feed(wire: bytes, *requests: Request, cuts: list[int] | None = None):
    """Returns the replies and the failure of a reader fed the bytes in pieces."""
    reader = ReplyReader()
    for request in requests:
        reader.expect(request)
    replies: list[Reply] = []
    edges = [0, *sorted(cuts or []), len(wire)]
    for start, end in itertools.pairwise(edges):
        replies += reader.feed(wire[start:end])
    return replies, reader


def tight(lines: int | None = None, text_bytes: int = 1 << 20) -> Request:
    """Returns an overview request with narrow limits."""
    return Request(
        b"XOVER",
        "XOVER",
        BodyForm.OVERVIEW,
        frozenset({224}),
        limits=Limits(text_bytes=text_bytes, lines=lines),
    )
