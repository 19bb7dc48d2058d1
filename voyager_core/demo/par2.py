"""Writes the two small files of a PAR 2.0 set: its index and one recovery block.

Recovery block 0 is the exclusive or of all slices of all files (every factor of exponent 0
is 1), so that one lost slice can be repaired without any arithmetic in a Galois field.
Source: the Parity Volume Set Specification 2.0.
"""

import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

_MAGIC = b"PAR2\x00PKT"
_MAIN = b"PAR 2.0\x00Main\x00\x00\x00\x00"
_FILE = b"PAR 2.0\x00FileDesc"
_SLICES = b"PAR 2.0\x00IFSC\x00\x00\x00\x00"
_RECOVERY = b"PAR 2.0\x00RecvSlic"
_CREATOR = b"PAR 2.0\x00Creator\x00"
_CLIENT = b"Voyager sample posts"


@dataclass(frozen=True, slots=True)
class Par2Set:
    """The bytes of `name.par2` and of `name.vol0+1.par2`."""

    index: bytes
    volume: bytes


def write_set(files: Sequence[tuple[str, bytes]], *, slice_size: int) -> Par2Set:
    """Returns the parity files of some files; `slice_size` is in bytes, a multiple of 4.

    Raises:
        ValueError: the slice size is no positive multiple of 4, or there is no file.
    """
    if slice_size < 4 or slice_size % 4 or not files:
        msg = f"no parity for {len(files)} files in slices of {slice_size} bytes"
        raise ValueError(msg)
    described = [(_file_id(name, data), name, data) for name, data in files]
    # Ids are sorted as little-endian numbers.
    described.sort(key=lambda item: item[0][::-1])
    main = slice_size.to_bytes(8, "little") + len(described).to_bytes(4, "little")
    main += b"".join(file_id for file_id, _, _ in described)
    set_id = hashlib.md5(main, usedforsecurity=False).digest()
    parity = 0
    packets = [_packet(set_id, _MAIN, main)]
    for file_id, name, data in described:
        slices = _slices(data, slice_size)
        body = file_id + _md5(data) + _md5(data[:16384]) + len(data).to_bytes(8, "little")
        packets.append(_packet(set_id, _FILE, body + _padded(name.encode())))
        sums = b"".join(_md5(one) + binascii.crc32(one).to_bytes(4, "little") for one in slices)
        packets.append(_packet(set_id, _SLICES, file_id + sums))
        for one in slices:
            parity ^= int.from_bytes(one, "little")
    packets.append(_packet(set_id, _CREATOR, _padded(_CLIENT)))
    index = b"".join(packets)
    block = (0).to_bytes(4, "little") + parity.to_bytes(slice_size, "little")
    return Par2Set(index, _packet(set_id, _RECOVERY, block) + index)


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _file_id(name: str, data: bytes) -> bytes:
    return _md5(_md5(data[:16384]) + len(data).to_bytes(8, "little") + name.encode())


def _padded(text: bytes) -> bytes:
    return text + b"\x00" * (-len(text) % 4)


def _slices(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size].ljust(size, b"\x00") for at in range(0, len(data), size)]


def _packet(set_id: bytes, kind: bytes, body: bytes) -> bytes:
    signed = set_id + kind + body
    return _MAGIC + (8 + 8 + 16 + len(signed)).to_bytes(8, "little") + _md5(signed) + signed
