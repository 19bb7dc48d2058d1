"""Archives and parity files, read back by the standard library or by small readers here."""

import binascii
import hashlib
import io
import tarfile
import wave
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.demo import archives, media, par2

FILES = [("one.bin", bytes(range(256)) * 40), ("two.txt", b"short"), ("empty", b"")]


def test_zip_and_tar_give_the_files_back():
    with zipfile.ZipFile(io.BytesIO(archives.zip_archive(FILES))) as archive:
        assert archive.testzip() is None
        assert [(name, archive.read(name)) for name in archive.namelist()] == FILES
    with tarfile.open(fileobj=io.BytesIO(archives.tar_archive(FILES))) as archive:
        read = [(member.name, archive.extractfile(member).read()) for member in archive]
    assert read == FILES


def vint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def rar_entries(volume: bytes):
    """Yields (type, header flags, fields, data) of the blocks of a RAR 5 volume."""
    assert volume.startswith(b"Rar!\x1a\x07\x01\x00")
    at = 8
    while at < len(volume):
        crc = int.from_bytes(volume[at : at + 4], "little")
        size, body = vint(volume, at + 4)
        end = body + size
        assert binascii.crc32(volume[at + 4 : end]) == crc
        kind, here = vint(volume, body)
        flags, here = vint(volume, here)
        length = 0
        if flags & 0x2:
            length, here = vint(volume, here)
        yield kind, flags, volume[here:end], volume[end : end + length]
        at = end + length


@given(st.integers(min_value=100, max_value=20_000))
def test_rar_volumes_hold_every_byte_once_and_say_where_they_go_on(volume_size):
    volumes = archives.rar_volumes(FILES, volume_size=volume_size)
    joined = b""
    for number, volume in enumerate(volumes):
        blocks = list(rar_entries(volume))
        assert [kind for kind, *_ in blocks] == [1, *[2] * (len(blocks) - 2), 5]
        for _, flags, _, data in blocks[1:-1]:
            assert len(data) <= volume_size
            joined += data
            # What starts in the middle comes first in its volume, what goes on comes last.
            assert not flags & 0x8 or data is blocks[1][3]
            assert not flags & 0x10 or data is blocks[-2][3]
        goes_on = vint(blocks[-1][2], 0)[0] & 0x1
        assert bool(goes_on) == (number < len(volumes) - 1)
    assert joined == b"".join(data for _, data in FILES)


def test_sevenzip_states_sizes_and_checksums_of_its_header():
    files = [file for file in FILES if file[1]]
    data = archives.sevenzip_archive(files)
    start = data[12:32]
    assert int.from_bytes(data[8:12], "little") == binascii.crc32(start)
    offset = int.from_bytes(start[:8], "little")
    size = int.from_bytes(start[8:16], "little")
    header = data[32 + offset :]
    assert len(header) == size
    assert int.from_bytes(start[16:], "little") == binascii.crc32(header)
    assert data[32 : 32 + offset] == b"".join(content for _, content in files)
    assert "one.bin\0two.txt\0".encode("utf-16-le") in header


def test_sevenzip_refuses_an_empty_file():
    with pytest.raises(ValueError, match="empty"):
        archives.sevenzip_archive(FILES)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_pieces_join_to_the_whole(size):
    data = b"0123456789"
    pieces = archives.cut(data, size)
    assert b"".join(pieces) == data
    assert all(len(piece) == size for piece in pieces[:-1])


def test_checksum_file_has_a_line_a_file():
    lines = archives.sfv(FILES).decode().split("\r\n")
    assert lines[2] == f"two.txt {binascii.crc32(b'short'):08X}"


def packets(data: bytes):
    at = 0
    while at < len(data):
        assert data[at : at + 8] == b"PAR2\0PKT"
        length = int.from_bytes(data[at + 8 : at + 16], "little")
        assert length % 4 == 0
        signed = data[at + 32 : at + length]
        assert hashlib.md5(signed).digest() == data[at + 16 : at + 32]
        yield signed[16:32].rstrip(b"\0"), signed[:16], signed[32:]
        at += length


def test_parity_describes_the_files():
    made = par2.write_set(FILES[:2], slice_size=1024)
    found = list(packets(made.index))
    main = next(body for kind, _, body in found if kind == b"PAR 2.0\0Main")
    assert {set_id for _, set_id, _ in found} == {hashlib.md5(main).digest()}
    described = [body for kind, _, body in found if kind == b"PAR 2.0\0FileDesc"]
    names = {body[56:].rstrip(b"\0").decode(): body for body in described}
    assert names.keys() == {"one.bin", "two.txt"}
    one = names["one.bin"]
    assert one[16:32] == hashlib.md5(FILES[0][1]).digest()
    assert one[32:48] == hashlib.md5(FILES[0][1][:16384]).digest()
    assert int.from_bytes(one[48:56], "little") == len(FILES[0][1])


def test_the_recovery_block_gives_a_lost_slice_back():
    size = 1024
    made = par2.write_set(FILES[:2], slice_size=size)
    block = next(b for kind, _, b in packets(made.volume) if kind == b"PAR 2.0\0RecvSlic")
    assert block[:4] == bytes(4)
    slices = [
        data[at : at + size].ljust(size, b"\0")
        for _, data in FILES[:2]
        for at in range(0, len(data), size)
    ]
    lost = slices.pop(3)
    for one in slices:
        block = block[:4] + bytes(a ^ b for a, b in zip(block[4:], one, strict=True))
    assert block[4:] == lost


@pytest.mark.parametrize(("files", "size"), [([], 1024), (FILES, 0), (FILES, 1022)])
def test_parity_refuses_what_it_cannot_describe(files, size):
    with pytest.raises(ValueError, match="no parity"):
        par2.write_set(files, slice_size=size)


def test_media_are_real_files_and_the_same_on_each_call():
    film = media.film("seed", frames=3)
    assert film == media.film("seed", frames=3)
    assert film != media.film("other", frames=3)
    assert film[:4] == b"RIFF"
    assert int.from_bytes(film[4:8], "little") == len(film) - 8
    assert film.count(b"00db") == 6
    with wave.open(io.BytesIO(media.tune("seed", seconds=2))) as sound:
        assert sound.getnframes() == 2 * sound.getframerate()
    book = media.book("Title", "Writer", seed="s", chapters=2)
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        assert archive.namelist()[0] == "mimetype"
        assert b"chapter02.xhtml" in archive.read("content.opf")
