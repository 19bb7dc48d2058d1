"""Framing: where a reply ends, whatever form its body has and however it arrives."""

import re
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.newsserver import made_lines
from tests.unit.core.nntp.wire import (
    ARTICLE,
    DOT,
    FIRST,
    MARKED,
    OVERVIEW,
    PLAIN,
    STATUS,
    XZVER,
    feed,
    inflate,
    squeeze,
    text_of,
    tight,
    yenc,
)
from voyager_core.nntp.errors import Cut, Garbage, NewsError, UnusableName
from voyager_core.nntp.inflating import Encoding
from voyager_core.nntp.protocol import check_argument, unstuff

TEXT = text_of()
FORMS = {"zlib": Encoding.ZLIB, "gzip": Encoding.GZIP, "deflate": Encoding.RAW}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("inside", [True, False])
def test_a_compressed_body_ends_with_its_stream_and_its_terminator(form, inside):
    stream = squeeze(TEXT + DOT * inside, form)
    wire = MARKED + stream + DOT * (not inside) + b"211 1 2 3 g\r\n"
    replies, reader = feed(wire, OVERVIEW, STATUS)
    assert [reply.code for reply in replies] == [224, 211]
    body = replies[0].body
    assert body.data == stream
    assert body.encoding is FORMS[form]
    assert inflate(body.data) == TEXT
    assert (body.lines, body.first_number, body.last_number) == (40, FIRST, FIRST + 39)
    assert body.text_bytes == len(TEXT)
    assert body.wire_bytes == len(stream) + 3 * (not inside)
    assert reader.failure is None


def test_plain_lines_are_kept_compressed():
    replies, _ = feed(PLAIN + TEXT + DOT, OVERVIEW)
    body = replies[0].body
    assert zlib.decompress(body.data) == TEXT
    assert (body.encoding, body.compressed) == (Encoding.ZLIB, False)
    assert (body.lines, body.first_number, body.last_number) == (40, FIRST, FIRST + 39)
    assert body.wire_bytes == len(TEXT) + 3


def test_plain_lines_are_understood_although_the_marker_says_compressed():
    replies, _ = feed(MARKED + TEXT + DOT, OVERVIEW)
    assert zlib.decompress(replies[0].body.data) == TEXT
    assert replies[0].body.compressed is False


def test_a_compressed_body_without_the_marker_is_understood():
    replies, _ = feed(PLAIN + squeeze(TEXT, "zlib") + DOT, OVERVIEW)
    assert inflate(replies[0].body.data) == TEXT


def test_a_dot_line_inside_the_compressed_bytes_is_no_end():
    text = b"".join(line + b".\r\n" for line in made_lines(FIRST, 20))
    stream = squeeze(text + DOT, "zlib", level=0)
    assert b"\r\n.\r\n" in stream[:-4]
    assert stream.count(b".\r\n") > 20
    replies, reader = feed(MARKED + stream + DOT, OVERVIEW)
    assert replies[0].body.data == stream
    assert replies[0].body.lines == 20
    assert reader.failure is None


def test_a_stray_dot_line_behind_a_compressed_body_is_skipped():
    wire = MARKED + squeeze(TEXT + DOT, "zlib") + DOT + b"211 1 2 3 g\r\n"
    replies, reader = feed(wire, OVERVIEW, STATUS)
    assert [reply.code for reply in replies] == [224, 211]
    assert reader.failure is None


def test_a_stray_dot_line_may_wait_until_the_next_command():
    replies, reader = feed(MARKED + squeeze(TEXT + DOT, "zlib") + DOT, OVERVIEW)
    assert reader.failure is None
    reader.expect(STATUS)
    assert [reply.code for reply in reader.feed(b"411 no\r\n")] == [411]
    assert len(replies) == 1


def test_two_stray_dot_lines_are_garbage():
    _, reader = feed(MARKED + squeeze(TEXT + DOT, "zlib") + DOT + DOT, OVERVIEW, STATUS)
    assert isinstance(reader.failure, Garbage)


@pytest.mark.parametrize("wrapped", [TEXT, text_of(3000)])
def test_the_yenc_form_of_xzver_is_unwrapped(wrapped):
    replies, reader = feed(PLAIN + yenc(wrapped) + b"411 no\r\n", XZVER, STATUS)
    body = replies[0].body
    assert body.encoding is Encoding.RAW
    assert zlib.decompress(body.data, -15) == wrapped
    assert body.lines == wrapped.count(b"\n")
    assert replies[1].code == 411
    assert reader.failure is None


@pytest.mark.parametrize(
    "wire",
    [
        re.sub(rb"crc32=.{8}", b"crc32=deadbeef", yenc(TEXT)),
        yenc(TEXT).replace(b"=yend", b"=yxnd"),
        yenc(TEXT).replace(b"=ybegin ", b"=ybeginx"),
        b"=ybegin line=128\r\n=\r\n=yend\r\n.\r\n",
        b"=ybegin line=128\r\n=yend\r\n.\r\n",
        b"=ybegin \r\n.\r\n",
    ],
)
def test_damaged_yenc_is_garbage(wire):
    replies, reader = feed(PLAIN + wire, XZVER)
    assert replies == []
    assert isinstance(reader.failure, Garbage)


def test_a_checksum_with_its_sign_extended_is_right():
    wire = yenc(TEXT).replace(b"crc32=", b"crc32=ffffffff")
    replies, _ = feed(PLAIN + wire, XZVER)
    assert replies[0].body.lines == 40


def test_a_checksum_of_the_text_is_right_as_well():
    wire = re.sub(rb"crc32=.{8}", b"crc32=%08x" % zlib.crc32(TEXT), yenc(TEXT))
    replies, _ = feed(PLAIN + wire, XZVER)
    assert replies[0].body.lines == 40


@pytest.mark.parametrize("body", [DOT, squeeze(DOT, "zlib"), squeeze(b"", "zlib") + DOT])
def test_a_body_without_lines_is_empty(body):
    replies, _ = feed((PLAIN if body == DOT else MARKED) + body, OVERVIEW)
    assert replies[0].body.lines == 0
    assert replies[0].body.text_bytes == 0
    assert replies[0].body.first_number is None


def test_a_number_that_looks_like_a_zlib_header_is_plain_text():
    # "80" is 0x38 0x30, a valid zlib header by its check sum.
    assert 0x3830 % 31 == 0
    text = text_of(3, first=80_000)
    replies, _ = feed(MARKED + text + DOT, OVERVIEW, cuts=[len(MARKED) + 1, len(MARKED) + 3])
    assert zlib.decompress(replies[0].body.data) == text


def test_a_last_line_without_line_end_counts():
    stream = squeeze(TEXT.removesuffix(b"\r\n"), "zlib")
    replies, _ = feed(MARKED + stream + DOT, OVERVIEW)
    assert (replies[0].body.lines, replies[0].body.last_number) == (40, FIRST + 39)


def test_first_and_last_number_do_not_depend_on_the_pieces():
    wire = MARKED + squeeze(TEXT + DOT, "zlib", level=0)
    replies, _ = feed(wire, OVERVIEW, cuts=list(range(1, len(wire))))
    body = replies[0].body
    assert (body.lines, body.first_number, body.last_number) == (40, FIRST, FIRST + 39)


def test_an_article_keeps_its_lines_and_loses_the_doubled_dots():
    wire = b"220 0 <a@b>\r\nSubject: x\r\n\r\n..dot\r\ntext\r\n.\r\n"
    replies, _ = feed(wire, ARTICLE)
    assert unstuff(replies[0].body.data) == b"Subject: x\r\n\r\n.dot\r\ntext\r\n"
    assert unstuff(b"..\r\n..x\r\n") == b".\r\n.x\r\n"


def test_a_message_id_that_names_the_marker_does_not_start_a_stream():
    wire = b"220 0 <[COMPRESS=GZIP]@x> [COMPRESS=GZIP]\r\ntext\r\n.\r\n"
    replies, reader = feed(wire, ARTICLE)
    assert replies[0].body.data == b"text\r\n"
    assert reader.failure is None


def test_a_code_without_a_body_ends_with_its_line():
    replies, _ = feed(b"423 nothing\r\n430 no\r\n", OVERVIEW, ARTICLE)
    assert [(reply.code, reply.body) for reply in replies] == [(423, None), (430, None)]


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\n",
        b"22 x\r\n",
        b"2244 x\r\n",
        b"999 x\r\n",
        b"\r\n",
        b"x" * 5000,
        b"224 " + b"x" * 5000 + b"\r\n",
    ],
)
def test_bytes_that_are_no_status_line_are_garbage(wire):
    replies, reader = feed(wire, OVERVIEW)
    assert replies == []
    assert isinstance(reader.failure, Garbage)


def test_unasked_bytes_are_noticed():
    replies, reader = feed(b"211 1 2 3 g\r\n400 idle, goodbye\r\n", STATUS)
    assert len(replies) == 1
    assert isinstance(reader.failure, Garbage)


@pytest.mark.parametrize("end", [0, 3, len(MARKED), len(MARKED) + 50])
def test_the_end_of_the_connection_inside_a_reply_is_a_cut(end):
    _, reader = feed((MARKED + squeeze(TEXT, "zlib") + DOT)[:end], OVERVIEW)
    reader.end()
    assert isinstance(reader.failure, Cut)
    assert ("before" in str(reader.failure)) == (end == 0)


def test_a_stream_with_a_wrong_checksum_is_garbage():
    stream = squeeze(TEXT, "zlib")
    stream = stream[:-1] + bytes([stream[-1] ^ 1])
    _, reader = feed(MARKED + stream + DOT, OVERVIEW)
    assert isinstance(reader.failure, Garbage)
    assert "does not inflate" in str(reader.failure)


def test_a_stream_that_neither_holds_nor_precedes_a_terminator_is_garbage():
    _, reader = feed(MARKED + squeeze(TEXT, "zlib") + b"211 1 2 3 g\r\n", OVERVIEW, STATUS)
    assert isinstance(reader.failure, Garbage)
    assert "terminator" in str(reader.failure)


def test_a_bomb_is_stopped_at_the_limit():
    bomb = squeeze(b"\0" * (64 << 20), "zlib", level=9)
    _, reader = feed(MARKED + bomb, tight(text_bytes=1 << 20))
    assert isinstance(reader.failure, Garbage)
    assert "inflates to more than" in str(reader.failure)


def test_nothing_that_comes_after_a_failure_is_kept():
    _, reader = feed(MARKED + b"x\x9c" + b"\xff" * 50, OVERVIEW)
    first = reader.failure
    before = sys.getsizeof(reader._buffer)
    for _ in range(3):
        assert reader.feed(b"\0" * (1 << 20)) == []
    assert reader.failure is first
    assert sys.getsizeof(reader._buffer) == before


@pytest.mark.parametrize("wire", [PLAIN + TEXT + DOT, MARKED + squeeze(TEXT, "zlib") + DOT])
def test_more_lines_than_allowed_are_stopped(wire):
    _, reader = feed(wire, tight(lines=39))
    assert isinstance(reader.failure, Garbage)
    assert "more than 39 lines" in str(reader.failure)
    replies, _ = feed(wire, tight(lines=40))
    assert len(replies) == 1


@pytest.mark.parametrize("name", ["", "a b", "a\r\nQUIT", "a\tb", "a\0", "x" * 461, "\udcff"])
def test_an_argument_that_would_break_the_line_is_refused(name):
    with pytest.raises(UnusableName):
        check_argument(name, what="the group")


def test_an_argument_goes_over_the_wire_as_utf8():
    assert check_argument("de.grüße", what="the group") == "de.grüße".encode()


CONVERSATION = [
    (STATUS, b"211 40 5000000001 5000000040 alt.binaries.test\r\n"),
    (OVERVIEW, MARKED + squeeze(TEXT + DOT, "zlib", level=0)),
    (OVERVIEW, MARKED + squeeze(TEXT, "gzip") + DOT),
    (OVERVIEW, b"423 no articles\r\n"),
    (OVERVIEW, MARKED + squeeze(TEXT, "deflate") + DOT),
    (OVERVIEW, PLAIN + TEXT + DOT),
    (XZVER, PLAIN + yenc(TEXT)),
    (ARTICLE, b"220 0 <a@b>\r\nA: b\r\n\r\n..\r\nx\r\n.\r\n"),
    (OVERVIEW, MARKED + squeeze(TEXT + DOT, "zlib") + DOT),
    (STATUS, b"411 no\r\n"),
]
WIRE = b"".join(wire for _, wire in CONVERSATION)
REQUESTS = [request for request, _ in CONVERSATION]


def outcome(wire, cuts=None):
    """Returns what a reader makes of the bytes, so that two outcomes can be compared."""
    replies, reader = feed(wire, *REQUESTS, cuts=cuts)
    seen = []
    for reply in replies:
        body = reply.body
        # Recompressed lines depend on the pieces; their text does not.
        data = None if body is None else (body.data if body.compressed else inflated(body))
        rest = (body.lines, body.first_number, body.last_number, body.wire_bytes) if body else ()
        seen.append((reply.code, reply.text, data, rest))
    return seen, type(reader.failure)


def inflated(body):
    return body.data if body.encoding is None else inflate(body.data)


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, len(WIRE)), max_size=60))
def test_any_split_of_the_bytes_gives_the_same_replies(cuts):
    seen, failure = outcome(WIRE, cuts)
    assert (seen, failure) == outcome(WIRE)
    assert len(seen) == len(CONVERSATION)
    assert failure is type(None)


def test_single_bytes_give_the_same_replies():
    assert outcome(WIRE, list(range(1, len(WIRE)))) == outcome(WIRE)


@st.composite
def hostile(draw):
    """Bytes of the conversation, changed, cut, doubled, or made up."""
    wire = bytearray(WIRE)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(wire)))
        match draw(st.integers(0, 3)):
            case 0:
                wire[place:place] = draw(st.binary(min_size=1, max_size=40))
            case 1:
                del wire[place : place + draw(st.integers(1, 400))]
            case 2:
                end = place + draw(st.integers(1, 200))
                wire[place:end] = bytes(byte ^ 0x80 for byte in wire[place:end])
            case _:
                wire[place:place] = wire[place : place + draw(st.integers(1, 300))]
    return bytes(wire)


@settings(max_examples=200, deadline=None)
@given(wire=hostile(), cuts=st.lists(st.integers(0, len(WIRE)), max_size=8))
def test_hostile_bytes_end_in_replies_or_an_error_of_ours(wire, cuts):
    whole, split = outcome(wire), outcome(wire, [cut for cut in cuts if cut <= len(wire)])
    assert whole == split
    assert whole[1] is type(None) or issubclass(whole[1], NewsError)


@settings(max_examples=200, deadline=None)
@given(wire=st.binary(max_size=300), marked=st.booleans())
def test_made_up_bodies_never_raise(wire, marked):
    replies, reader = feed((MARKED if marked else PLAIN) + wire, OVERVIEW, STATUS)
    reader.end()
    assert len(replies) == 2 or isinstance(reader.failure, NewsError)
