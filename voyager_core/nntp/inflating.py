"""Inflating a stream whose end is not known, in bounded steps."""

from collections.abc import Iterator
from enum import Enum
from typing import cast

from isal import isal_zlib

from voyager_core.nntp.errors import Garbage

# Most text of one step: bounds memory when a few bytes inflate to gigabytes.
_STEP = 4 << 20
_GZIP = b"\x1f\x8b"
# The stub of isal declares the class as an instance.
_InflateError = cast("type[Exception]", isal_zlib.IsalError)


class Encoding(Enum):
    """How the bytes of a block are compressed."""

    ZLIB = "zlib"
    GZIP = "gzip"
    RAW = "deflate"


_WINDOW_BITS = {Encoding.ZLIB: 15, Encoding.GZIP: 31, Encoding.RAW: -15}


def encoding_of(start: bytes) -> Encoding | None:
    """Returns the form of a stream that has a header; None when its first bytes are none."""
    if start.startswith(_GZIP):
        return Encoding.GZIP
    return Encoding.ZLIB if _is_zlib(start) else None


def _is_zlib(start: bytes) -> bool:
    """Tells whether two bytes head a zlib stream (RFC 1950) without a preset dictionary."""
    if len(start) < 2:
        return False
    cmf, flags = start[0], start[1]
    right_sum = (cmf << 8 | flags) % 31 == 0
    return cmf & 0x0F == 8 and cmf >> 4 <= 7 and right_sum and not flags & 0x20


class Inflater:
    """A streaming inflater that says where the stream ended.

    Attributes:
        behind: bytes that followed the end of the stream.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.behind = b""
        self._encoding = encoding
        self._stream = isal_zlib.decompressobj(_WINDOW_BITS[encoding])

    @property
    def finished(self) -> bool:
        """Whether the end of the stream was seen (and its checksum was right)."""
        return self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the text of the next bytes, at most 4 MiB at a time; exhaust it.

        Raises:
            Garbage: the stream is damaged.
        """
        rest = data
        while True:
            try:
                text = self._stream.decompress(rest, _STEP)
            except _InflateError as error:
                msg = f"the {self._encoding.value} stream of the reply does not inflate ({error})"
                raise Garbage(msg) from error
            if text:
                yield text
            if self._stream.eof:
                self.behind = self._stream.unused_data
                return
            rest = self._stream.unconsumed_tail
            # A full step can leave text inside the inflater after it took all input.
            if not rest and len(text) < _STEP:
                return
