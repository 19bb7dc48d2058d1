"""Encodes the parts of a file for posting, as the yEnc draft 1.3 describes it.

The lines that come back are those of an article body before dot-stuffing: a line may begin
with a dot, and the news server that sends it doubles that dot.
"""

import binascii
from dataclasses import dataclass

LINE = 128
# NUL, LF, CR and the escape itself are critical after 42 is added to every byte.
_SHIFT = bytes((value + 42) % 256 for value in range(256))
_CRITICAL = (b"\x00", b"\n", b"\r")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file, before it is encoded.

    `offset` counts bytes from 0; `size` is the whole file's; `file_crc` its CRC-32.
    """

    name: str
    number: int
    total: int
    offset: int
    size: int
    data: bytes
    file_crc: int


def encode(part: Part) -> bytes:
    """Returns the article body: `=ybegin`, `=ypart` when there are several parts, data, `=yend`."""
    crc = binascii.crc32(part.data)
    name = part.name.encode("utf-8", "surrogateescape")
    if part.total == 1:
        head = b"=ybegin line=%d size=%d name=%s\r\n" % (LINE, part.size, name)
        tail = b"=yend size=%d crc32=%08x\r\n" % (len(part.data), crc)
    else:
        head = b"=ybegin part=%d total=%d line=%d size=%d name=%s\r\n" % (
            part.number,
            part.total,
            LINE,
            part.size,
            name,
        ) + b"=ypart begin=%d end=%d\r\n" % (part.offset + 1, part.offset + len(part.data))
        tail = b"=yend size=%d part=%d pcrc32=%08x" % (len(part.data), part.number, crc)
        # The whole file's checksum is known at the last part only, as posting tools write it.
        if part.number == part.total:
            tail += b" crc32=%08x" % part.file_crc
        tail += b"\r\n"
    return head + encode_lines(part.data) + tail


def encode_lines(data: bytes) -> bytes:
    """Returns the bytes in yEnc lines of 128 characters, each ending with CR LF.

    A line is 129 characters long when its last one is escaped: an escape is never cut.
    """
    shifted = data.translate(_SHIFT).replace(b"=", b"=}")
    for critical in _CRITICAL:
        shifted = shifted.replace(critical, bytes((0x3D, critical[0] + 64)))
    lines = []
    at = 0
    while at < len(shifted):
        end = at + LINE
        if shifted[end - 1 : end] == b"=":
            end += 1
        lines.append(shifted[at:end])
        at = end
    return b"".join(line + b"\r\n" for line in lines)
