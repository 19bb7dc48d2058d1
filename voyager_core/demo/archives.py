"""Packs files into archives without compression: zip, tar, 7z and RAR 5 volumes.

Each function returns the same bytes for the same files. Compression is left out on purpose:
it would make the bytes depend on the library, and the samples need none.
"""

import binascii
import io
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

File = tuple[str, bytes]

_RAR_SIGNATURE = b"Rar!\x1a\x07\x01\x00"
_RAR_MAIN, _RAR_FILE, _RAR_END = 1, 2, 5
_7Z_SIGNATURE = b"7z\xbc\xaf\x27\x1c\x00\x04"


def zip_archive(files: Sequence[File]) -> bytes:
    """Returns a zip file that stores the files, dated 1980-01-01."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def tar_archive(files: Sequence[File]) -> bytes:
    """Returns a tar file of the files, dated 1970-01-01."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def cut(data: bytes, size: int) -> list[bytes]:
    """Returns the bytes in pieces of `size` bytes; of none, one empty piece."""
    return [data[at : at + size] for at in range(0, max(len(data), 1), size)]


def sfv(files: Sequence[File]) -> bytes:
    """Returns a checksum file: one `name CRC32` line a file, CR LF."""
    lines = [f"{name} {binascii.crc32(data):08X}\r\n" for name, data in files]
    return ("; written by the Voyager sample posts\r\n" + "".join(lines)).encode()


# 7z ------------------------------------------------------------------------------------------


def sevenzip_archive(files: Sequence[File]) -> bytes:
    """Returns a 7z archive with one folder a file and the Copy coder.

    Source: 7zFormat.txt of the LZMA SDK (public domain).

    Raises:
        ValueError: a file is empty (7z keeps those apart from the streams).
    """
    if not all(data for _, data in files):
        msg = "an empty file cannot be stored as a 7z stream"
        raise ValueError(msg)
    sizes = [len(data) for _, data in files]
    count = _7z_number(len(files))
    numbers = b"".join(_7z_number(size) for size in sizes)
    sums = b"".join(binascii.crc32(data).to_bytes(4, "little") for _, data in files)
    names = b"".join((name + "\x00").encode("utf-16-le") for name, _ in files)
    packed = b"\x06" + _7z_number(0) + count + b"\x09" + numbers + b"\x00"
    folders = b"\x07\x0b" + count + b"\x00" + b"\x01\x01\x00" * len(files)
    folders += b"\x0c" + numbers + b"\x00" + b"\x08\x0a\x01" + sums + b"\x00"
    listing = b"\x05" + count + b"\x11" + _7z_number(len(names) + 1) + b"\x00" + names + b"\x00"
    header = b"\x01\x04" + packed + folders + b"\x00" + listing + b"\x00"
    start = sum(sizes).to_bytes(8, "little") + len(header).to_bytes(8, "little")
    start += binascii.crc32(header).to_bytes(4, "little")
    opening = _7Z_SIGNATURE + binascii.crc32(start).to_bytes(4, "little") + start
    return opening + b"".join(data for _, data in files) + header


def _7z_number(value: int) -> bytes:
    """Returns 7z's variable-length number: leading ones of the first byte count the rest."""
    for extra in range(8):
        if value < 1 << (7 * (extra + 1)):
            mask = (0xFF00 >> extra) & 0xFF
            high = value >> (8 * extra)
            return bytes((mask | high,)) + (value & ((1 << (8 * extra)) - 1)).to_bytes(
                extra, "little"
            )
    return b"\xff" + value.to_bytes(8, "little")


# RAR 5 ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Piece:
    """The part of a stored file that one volume holds."""

    name: str
    whole: bytes
    start: int
    end: int

    @property
    def data(self) -> bytes:
        return self.whole[self.start : self.end]


def rar_volumes(files: Sequence[File], *, volume_size: int) -> list[bytes]:
    """Returns the volumes of a RAR 5 archive that stores the files.

    `volume_size` counts the stored bytes of a volume; its headers come on top.
    Source: the public "RAR 5.0 archive format" note; nothing is compressed.
    """
    volumes = list(_spread(files, volume_size))
    last = len(volumes) - 1
    written = []
    for number, pieces in enumerate(volumes):
        flags = (0x1 if last else 0) | (0x2 if number else 0)
        fields = _vint(flags) + (_vint(number) if number else b"")
        blocks = [_RAR_SIGNATURE, _rar_block(_RAR_MAIN, 0, fields)]
        blocks += [_rar_file(piece) for piece in pieces]
        blocks.append(_rar_block(_RAR_END, 0, _vint(0x1 if number < last else 0)))
        written.append(b"".join(blocks))
    return written


def _spread(files: Sequence[File], volume_size: int) -> list[list[_Piece]]:
    volumes: list[list[_Piece]] = [[]]
    room = volume_size
    for name, data in files:
        at = 0
        while at < len(data) or not at:
            if not room:
                volumes.append([])
                room = volume_size
            end = min(len(data), at + room)
            volumes[-1].append(_Piece(name, data, at, end))
            room -= end - at
            at = end
            if not data:
                break
    return volumes


def _rar_file(piece: _Piece) -> bytes:
    before, after = piece.start > 0, piece.end < len(piece.whole)
    # A part that goes on carries the checksum of the part, the last one that of the file.
    checksum = binascii.crc32(piece.data if after else piece.whole)
    name = piece.name.encode()
    fields = b"".join(
        (
            _vint(0x4),
            _vint(len(piece.whole)),
            _vint(0o100644),
            checksum.to_bytes(4, "little"),
            _vint(0),
            _vint(1),
            _vint(len(name)),
            name,
        )
    )
    flags = 0x2 | (0x8 if before else 0) | (0x10 if after else 0)
    return _rar_block(_RAR_FILE, flags, fields, size=len(piece.data)) + piece.data


def _rar_block(kind: int, flags: int, fields: bytes, *, size: int | None = None) -> bytes:
    body = _vint(kind) + _vint(flags) + (b"" if size is None else _vint(size)) + fields
    signed = _vint(len(body)) + body
    return binascii.crc32(signed).to_bytes(4, "little") + signed


def _vint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def numbered(stem: str, pieces: Sequence[bytes], pattern: str) -> list[File]:
    """Returns the pieces with names from a pattern such as `{stem}.part{n:02d}.rar`, n from 1."""
    return [
        (pattern.format(stem=stem, n=number), data) for number, data in enumerate(pieces, start=1)
    ]
