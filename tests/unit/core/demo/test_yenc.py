"""The encoder against a decoder written from the draft, byte by byte."""

import binascii
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.yenc_decoder import decode_lines
from voyager_core.demo.yenc import Part, encode, encode_lines


def part(data: bytes, *, number: int = 1, total: int = 1, name: str = "a b.bin") -> Part:
    whole = b"x" * 10 + data
    return Part(name, number, total, 10, len(whole), data, binascii.crc32(whole))


@given(st.binary(max_size=2000))
def test_lines_decode_to_the_same_bytes(data):
    assert decode_lines(encode_lines(data)) == data


@given(st.binary(min_size=1, max_size=2000))
def test_lines_hold_128_characters_or_129_when_the_last_is_escaped(data):
    lines = encode_lines(data).split(b"\r\n")
    assert lines.pop() == b""
    for line in lines:
        assert b"\x00" not in line
        assert b"\n" not in line
        assert b"\r" not in line
        assert len(line) <= 128 or (len(line) == 129 and line[127:128] == b"=")
    assert all(len(line) >= 128 for line in lines[:-1])


@pytest.mark.parametrize("escape", [214, 224, 227, 19])
def test_critical_bytes_at_the_end_of_a_line_are_not_cut(escape):
    data = b"a" * 127 + bytes((escape,)) + b"b" * 200
    lines = encode_lines(data).split(b"\r\n")
    assert len(lines[0]) == 129
    assert decode_lines(encode_lines(data)) == data


def test_a_part_states_its_place_and_its_checksum():
    body = encode(part(b"hello", number=2, total=3))
    lines = body.split(b"\r\n")
    assert lines[0] == b"=ybegin part=2 total=3 line=128 size=15 name=a b.bin"
    assert lines[1] == b"=ypart begin=11 end=15"
    assert lines[-2] == b"=yend size=5 part=2 pcrc32=%08x" % binascii.crc32(b"hello")


def test_the_last_part_has_the_checksum_of_the_file_too():
    body = encode(part(b"hello", number=3, total=3))
    whole = binascii.crc32(b"x" * 10 + b"hello")
    assert re.search(rb"pcrc32=[0-9a-f]{8} crc32=(%08x)\r\n$" % whole, body)


def test_a_file_of_one_part_has_no_part_lines():
    body = encode(Part("n", 1, 1, 0, 5, b"hello", binascii.crc32(b"hello")))
    assert b"=ypart" not in body
    assert body.startswith(b"=ybegin line=128 size=5 name=n\r\n")
    assert body.endswith(b"=yend size=5 crc32=%08x\r\n" % binascii.crc32(b"hello"))
