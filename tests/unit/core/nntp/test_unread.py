"""Bodies that are taken without inflating them, where the connection has shown how they end."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.nntp.wire import DOT, FIRST, MARKED, OVERVIEW, squeeze, text_of
from voyager_core.nntp import framing
from voyager_core.nntp.errors import Garbage, WrongOverview
from voyager_core.nntp.overview import check_block
from voyager_core.nntp.protocol import ReplyReader

TEXT = text_of(60)
READ = 300
UNREAD = replace(OVERVIEW, unread=True)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Reads so little of a body that the short ones of these tests are long."""
    monkeypatch.setattr(framing, "READ_BYTES", READ)


def pieces(wire, size):
    return [wire[start : start + size] for start in range(0, len(wire), size)]


def ask(reader, wire, request=UNREAD, size=100):
    """Returns the bodies of the replies to one request, whose bytes come in pieces."""
    reader.expect(request)
    return [reply.body for piece in pieces(wire, size) for reply in reader.feed(piece)]


def reply(form="zlib", *, inside=False, text=TEXT):
    return MARKED + squeeze(text + DOT * inside, form) + DOT * (not inside)


@pytest.mark.parametrize("form", ["zlib", "gzip"])
def test_a_body_is_left_unread_once_a_terminator_came_behind_its_stream(form):
    reader = ReplyReader()
    (first,) = ask(reader, reply(form))
    (second,) = ask(reader, reply(form))
    assert (first.unread, first.lines) == (False, 60)
    assert (second.unread, second.first_number) == (True, FIRST)
    assert second.data == first.data == squeeze(TEXT, form)
    assert second.wire_bytes == first.wire_bytes
    assert (second.lines, second.last_number, second.text_bytes) == (0, None, 0)
    # What follows is read from where it ended.
    (third,) = ask(reader, reply(form), OVERVIEW)
    assert (third.unread, third.data) == (False, first.data)
    assert reader.failure is None


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (None, reply()),
        (reply(inside=True), reply(inside=True)),
        (reply("gzip"), reply("zlib")),
        (reply("deflate"), reply("deflate")),
        (MARKED + TEXT + DOT, reply()),
        (reply(), MARKED + TEXT + DOT),
    ],
    ids=["nothing", "inside", "another form", "no checksum", "plain", "now plain"],
)
def test_a_body_is_read_where_its_end_is_not_known_from_the_one_before(before, now):
    reader = ReplyReader()
    if before is not None:
        ask(reader, before)
    (body,) = ask(reader, now)
    assert (body.unread, body.lines) == (False, 60)


def test_a_short_body_is_read():
    reader = ReplyReader()
    ask(reader, reply())
    (body,) = ask(reader, reply(text=text_of(2)))
    assert (body.unread, body.lines) == (False, 2)


def test_nothing_is_left_unread_that_was_not_asked_for_so():
    reader = ReplyReader()
    assert [ask(reader, reply(), OVERVIEW)[0].unread for _ in range(3)] == [False] * 3


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, len(reply()) - 1), max_size=40))
def test_the_cuts_make_no_difference(cuts):
    wire = reply()
    assert squeeze(TEXT, "zlib").count(DOT) == 0
    reader = ReplyReader()
    ask(reader, wire)
    reader.expect(UNREAD)
    edges = [0, *sorted(set(cuts)), len(wire)]
    replies = [
        each for start, end in itertools.pairwise(edges) for each in reader.feed(wire[start:end])
    ]
    assert [each.body.data for each in replies] == [squeeze(TEXT, "zlib")]
    assert reader.failure is None


def test_bytes_after_what_looked_like_the_end_close_the_connection():
    # Level 0 leaves the text as it is, and these lines end as a reply does.
    text = TEXT.replace(b"\r\n", b".\r\n")
    stream = squeeze(text, "zlib", level=0)
    reader = ReplyReader()
    ask(reader, MARKED + stream + DOT)
    reader.expect(UNREAD)
    wire = MARKED + stream
    end = wire.index(DOT, len(MARKED) + 1000) + len(DOT)
    replies = [each for piece in pieces(wire[:end], 200) for each in reader.feed(piece)]
    assert [each.body.data for each in replies] == [wire[len(MARKED) : end - len(DOT)]]
    reader.feed(wire[end:])
    assert isinstance(reader.failure, Garbage)


def test_a_body_without_an_end_is_bounded():
    reader = ReplyReader()
    ask(reader, reply())
    narrow = replace(UNREAD, limits=replace(UNREAD.limits, text_bytes=20_000))
    endless = reply(text=text_of(200))[:-3] + b"\xee" * 30_000
    assert ask(reader, endless, narrow) == []
    assert isinstance(reader.failure, Garbage)


@pytest.mark.parametrize(
    ("low", "fits"), [(FIRST, True), (FIRST - 5, True), (FIRST + 1, False), (FIRST - 900, False)]
)
def test_of_an_unread_body_the_first_number_has_to_be_of_the_range(low, fits):
    reader = ReplyReader()
    ask(reader, reply())
    (body,) = ask(reader, reply())
    if fits:
        block = check_block("alt.binaries.test", low, low + 99, body)
        assert (block.unread, block.raw, block.first_number) == (True, body.data, FIRST)
    else:
        with pytest.raises(WrongOverview):
            check_block("alt.binaries.test", low, low + 99, body)
