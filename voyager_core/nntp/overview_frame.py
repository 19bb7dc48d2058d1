"""Which form the body of an overview reply has, told by its first bytes.

The status line's `[COMPRESS=GZIP]` only says that it is compressed; servers send zlib,
gzip or raw deflate after it, or plain lines all the same. XZVER has a second form, yEnc
of a raw deflate stream.
"""

import re

from isal import isal_zlib

from voyager_core.nntp.errors import Garbage
from voyager_core.nntp.framing import (
    Body,
    CompressedFrame,
    Frame,
    Limits,
    LineMeter,
    PlainOverviewFrame,
    TextFrame,
    metered_body,
)
from voyager_core.nntp.inflating import Encoding, Inflater, encoding_of

_PLAIN = re.compile(rb"\d{1,20}\t|\.")
# A prefix that more bytes may still turn into `number TAB`.
_DIGITS = re.compile(rb"\d{1,20}")
_YENC = b"=ybegin "
# Undoes yEnc's shift by 42; escaped bytes are shifted by 64 more.
_SHIFT = bytes((byte - 42) & 0xFF for byte in range(256))
# Some writers extend the sign: the last eight digits count.
_CRC = re.compile(rb"\bp?crc32=[0-9a-fA-F]*?([0-9a-fA-F]{1,8})\b")


class OverviewFrame:
    """The body of an overview reply, in whatever form it comes."""

    def __init__(self, limits: Limits, *, compressed: bool, unread: Encoding | None = None) -> None:
        """Begins a body.

        Args:
            limits: what it may grow to.
            compressed: whether the status line or the command announced a compressed body.
            unread: a stream of this form may be taken without inflating it.
        """
        self._limits = limits
        self._unread = unread
        self._compressed = compressed
        self._start = b""
        self._frame: Frame | None = None

    def feed(self, data: bytes) -> bytes | None:
        """Takes bytes; returns what follows the body's end, or None while it goes on.

        Raises:
            Garbage: damaged, endless, or in none of the known forms.
        """
        if self._frame is None:
            self._start += data
            self._frame = choose_frame(
                self._start, self._limits, compressed=self._compressed, unread=self._unread
            )
            if self._frame is None:
                return None
            data = self._start
        return self._frame.feed(data)

    @property
    def lacks_only_terminator(self) -> bool:
        """Whether the body is whole but for a terminator that has not come."""
        return self._frame is not None and self._frame.lacks_only_terminator

    def body(self) -> Body:
        """Returns the whole body; only after its end."""
        if self._frame is None:
            msg = "the reply has no body yet"
            raise Garbage(msg)
        return self._frame.body()


def choose_frame(
    start: bytes, limits: Limits, *, compressed: bool, unread: Encoding | None = None
) -> Frame | None:
    """Returns the frame for a body that begins with `start`; None = too few bytes to tell.

    Digits and a tab are looked for first: `8` followed by some digits is a valid zlib header.
    """
    if _PLAIN.match(start):
        return PlainOverviewFrame(limits)
    if start.startswith(_YENC):
        return YencFrame(limits)
    if len(start) < 2 or _DIGITS.fullmatch(start) or _YENC.startswith(start):
        return None
    encoding = encoding_of(start) or (Encoding.RAW if compressed else None)
    if encoding is None:
        return PlainOverviewFrame(limits)
    return CompressedFrame(encoding, limits, unread=encoding is unread)


class YencFrame:
    """Lines of yEnc up to a lone dot; inside it a deflate stream (XZVER of Astraweb's kind)."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lines = TextFrame(limits)
        self._body: Body | None = None

    def feed(self, data: bytes) -> bytes | None:
        """Takes bytes; returns what follows the body's end, or None while it goes on.

        Raises:
            Garbage: no yEnc, a wrong checksum, or a stream that does not inflate.
        """
        rest = self._lines.feed(data)
        if rest is not None:
            self._body = self._open(self._lines.body())
        return rest

    def _open(self, text: Body) -> Body:
        stream, crc = yenc_decode(text.data)
        encoding = encoding_of(stream) or Encoding.RAW
        meter, text_crc = LineMeter(self._limits), 0
        inflater = Inflater(encoding)
        for piece in inflater.feed(stream):
            meter.feed(piece)
            text_crc = isal_zlib.crc32(piece, text_crc)
        if not inflater.finished:
            msg = "the yEnc body of the reply holds a stream that is cut short"
            raise Garbage(msg)
        # Servers differ in what they sum: the stream that yEnc carries, or the text in it.
        if crc is not None and crc not in {isal_zlib.crc32(stream), text_crc}:
            msg = "the yEnc body of the reply has a wrong checksum"
            raise Garbage(msg)
        stream = stream[: len(stream) - len(inflater.behind)]
        return metered_body(stream, encoding, meter, wire_bytes=text.wire_bytes, compressed=True)

    @property
    def lacks_only_terminator(self) -> bool:
        """Never: the stream is unwrapped after the terminator."""
        return False

    def body(self) -> Body:
        """Returns the stream without its yEnc wrapping."""
        if self._body is None:
            msg = "the reply has no body yet"
            raise Garbage(msg)
        return self._body


def yenc_decode(text: bytes) -> tuple[bytes, int | None]:
    """Returns the bytes in one dot-stuffed yEnc block, and the CRC-32 that its trailer names.

    Raises:
        Garbage: the header or the trailer is missing.
    """
    head, _, rest = text.partition(b"\r\n")
    data, found, trailer = rest.rpartition(b"\r\n=yend")
    if not found:
        found, trailer, data = rest[:5], rest[5:], b""
    if not head.startswith(_YENC) or found not in {b"\r\n=yend", b"=yend"}:
        msg = "the yEnc body of the reply has no =ybegin or =yend line"
        raise Garbage(msg)
    if data.startswith(b".."):
        data = data[1:]
    data = data.replace(b"\r\n..", b"\r\n.").replace(b"\r\n", b"")
    first, *escaped = data.split(b"=")
    pieces = [first]
    for piece in escaped:
        if not piece:
            msg = "the yEnc body of the reply has a broken escape"
            raise Garbage(msg)
        pieces.append(bytes(((piece[0] - 64) & 0xFF,)) + piece[1:])
    crc = _CRC.search(trailer)
    return b"".join(pieces).translate(_SHIFT), int(crc[1], 16) if crc else None
