"""The sample server's replies, command by command."""

import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.demo import content
from voyager_core.demo.posts import build_corpus
from voyager_core.demo.session import Login, Session, overview_line


@pytest.fixture(scope="module")
def corpus():
    return build_corpus()


def clock() -> datetime:
    return datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def session(corpus):
    return Session(corpus, clock)


def say(session: Session, *commands: str) -> bytes:
    reply = b""
    for command in commands:
        reply = session.handle(command.encode() + b"\r\n").data
    return reply


def lines_of(reply: bytes) -> list[bytes]:
    text = reply.partition(b"\r\n")[2]
    assert text.endswith(b".\r\n")
    return text[: -len(b".\r\n")].split(b"\r\n")[:-1]


def test_list_active_takes_a_wildmat(session, corpus):
    listed = lines_of(say(session, "LIST ACTIVE alt.binaries.voyager.*,!*.mixed"))
    names = {line.split()[0].decode() for line in listed}
    assert names == set(corpus.groups) - {content.MIXED}
    group = corpus.groups[content.VIDEO]
    assert f"{group.name} {group.high} {group.low} n".encode() in listed


def test_group_and_listgroup_tell_the_numbers(session, corpus):
    group = corpus.groups[content.MIXED]
    reply = say(session, f"GROUP {group.name}")
    assert reply == f"211 {len(group.articles)} {group.low} {group.high} {group.name}\r\n".encode()
    numbers = [int(line) for line in lines_of(say(session, f"LISTGROUP {group.name} {group.low}-"))]
    assert numbers == sorted(group.articles)


@pytest.mark.parametrize("command", ["XOVER", "OVER"])
def test_overview_has_nine_fields(session, corpus, command):
    group = corpus.groups[content.SOUNDS]
    listed = lines_of(say(session, f"GROUP {group.name}", f"{command} {group.low}-{group.high}"))
    assert [int(line.split(b"\t")[0]) for line in listed] == sorted(group.articles)
    for line in listed:
        number, subject, poster, _, message_id, _, size, lines, xref = line.split(b"\t")
        article = corpus.by_id[message_id[1:-1].decode()]
        assert (subject, poster) == (article.subject, article.poster)
        assert int(size) == len(article.text)
        assert int(lines) == article.lines
        assert f"{group.name}:".encode() in xref
        assert article is group.articles[int(number)]


def test_a_crosspost_names_both_groups(corpus):
    concert = next(a for a in corpus.by_id.values() if a.upload and a.upload.slug == "concert")
    numbers = corpus.numbers[concert.message_id]
    line = overview_line(concert, numbers[content.VIDEO], numbers)
    assert line.endswith(
        f"{content.VIDEO}:{numbers[content.VIDEO]} "
        f"{content.SOUNDS}:{numbers[content.SOUNDS]}".encode()
    )


def test_a_damaged_line_is_sent_as_it_is(session, corpus):
    group = corpus.groups[content.VIDEO]
    listed = lines_of(say(session, f"GROUP {group.name}", f"XOVER {group.low}-{group.high}"))
    assert sum(b"lost its fields" in line for line in listed) == 1


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(1, 50, b"423"), (2**40, 2**41, b"423"), (500, 400, b"423"), (101, 101, b"224")],
)
def test_ranges_outside_the_group_are_empty(session, low, high, status):
    assert say(session, f"GROUP {content.VIDEO}", f"XOVER {low}-{high}").startswith(status)


def test_the_missing_number_is_empty(session, corpus):
    group = corpus.groups[content.VIDEO]
    hole = next(n for n in range(group.low, group.high) if n not in group.articles)
    assert say(session, f"GROUP {group.name}", f"XOVER {hole}").startswith(b"423")
    assert say(session, f"BODY {hole}").startswith(b"423")


@pytest.mark.parametrize("terminator", ["", " TERMINATOR"])
def test_compressed_overview_inflates_to_the_plain_one(corpus, terminator):
    group = corpus.groups[content.MIXED]
    ask = (f"GROUP {group.name}", f"XOVER {group.low}-{group.high}")
    plain = say(Session(corpus, clock), *ask).partition(b"\r\n")[2]
    session = Session(corpus, clock)
    assert say(session, f"XFEATURE COMPRESS GZIP{terminator}").startswith(b"290")
    status, _, stream = say(session, *ask).partition(b"\r\n")
    assert status.endswith(b"[COMPRESS=GZIP]")
    inflater = zlib.decompressobj()
    text = inflater.decompress(stream)
    assert inflater.eof
    assert text + inflater.unused_data == plain
    assert inflater.unused_data == (b"" if terminator else b".\r\n")


def test_an_article_by_id_and_by_number_is_the_posted_text(session, corpus):
    group = corpus.groups[content.MIXED]
    number, article = next(iter(group.articles.items()))
    by_id = say(session, f"ARTICLE <{article.message_id}>")
    assert by_id.startswith(f"220 0 <{article.message_id}>\r\n".encode())
    text = by_id.partition(b"\r\n")[2].removesuffix(b".\r\n").replace(b"\r\n..", b"\r\n.")
    assert text == article.text
    by_number = say(session, f"GROUP {group.name}", f"ARTICLE {number}")
    assert by_number.partition(b"\r\n")[2] == by_id.partition(b"\r\n")[2]
    head = say(session, f"HEAD {number}").partition(b"\r\n")[2].removesuffix(b".\r\n")
    body = say(session, f"BODY {number}").partition(b"\r\n")[2].removesuffix(b".\r\n")
    assert head + b"\r\n" + body.replace(b"\r\n..", b"\r\n.") == article.text
    assert say(session, f"STAT {number}") == f"223 {number} <{article.message_id}>\r\n".encode()


def test_every_line_that_begins_with_a_dot_is_stuffed(session, corpus):
    dotted = [a for a in corpus.by_id.values() if b"\r\n." in a.text]
    assert dotted
    for article in dotted[:20]:
        body = say(session, f"BODY <{article.message_id}>").partition(b"\r\n")[2]
        lines = body.removesuffix(b".\r\n").split(b"\r\n")
        assert all(line.startswith(b"..") for line in lines if line.startswith(b"."))


def test_a_server_with_a_login_lets_nobody_read_without_it(corpus):
    session = Session(corpus, clock, login=Login("joe", "secret"))
    assert say(session, f"GROUP {content.VIDEO}").startswith(b"480")
    assert b"AUTHINFO USER" in say(session, "CAPABILITIES")
    assert say(session, "AUTHINFO PASS secret").startswith(b"482")
    assert say(session, "AUTHINFO USER joe", "AUTHINFO PASS wrong").startswith(b"481")
    assert say(session, f"BODY <{next(iter(corpus.by_id))}>").startswith(b"480")
    assert say(session, "AUTHINFO USER joe", "AUTHINFO PASS secret").startswith(b"281")
    assert say(session, f"GROUP {content.VIDEO}").startswith(b"211")


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("DATE", b"111 20240506070809"),
        ("mode reader", b"201"),
        ("MODE STREAM", b"501"),
        ("HELP", b"100"),
        ("LIST OVERVIEW.FMT", b"215"),
        ("LIST NEWSGROUPS", b"215"),
        ("LIST SUBSCRIPTIONS", b"503"),
        ("GROUP no.such.group", b"411"),
        ("GROUP", b"411"),
        ("LISTGROUP", b"412"),
        ("XOVER 1-10", b"412"),
        ("ARTICLE 5", b"412"),
        ("ARTICLE <no@such>", b"430"),
        ("ARTICLE <", b"430"),
        ("POST", b"440"),
        ("XFEATURE COMPRESS LZ4", b"501"),
        ("AUTHINFO GENERIC x", b"501"),
        ("AUTHINFO", b"501"),
        ("", b"500"),
        ("\x00\xff garbage", b"500"),
        ("QUIT", b"205"),
    ],
)
def test_every_command_has_an_answer(session, command, status):
    reply = session.handle(command.encode("latin-1") + b"\r\n")
    assert reply.data.startswith(status)
    assert reply.closes == (command == "QUIT")


@pytest.mark.parametrize("asked", ["x", "1-2-3", "-5", "1e5", "9" * 30, "\u0665", "5-4-"])
def test_what_is_no_range_is_refused(session, asked):
    assert say(session, f"GROUP {content.VIDEO}", f"XOVER {asked}").startswith(b"501")
    assert say(session, f"ARTICLE {asked}").startswith(b"501")


WORDS = st.sampled_from(
    ["GROUP", "XOVER", "OVER", "LIST", "ARTICLE", "LISTGROUP", "XFEATURE", "AUTHINFO", "1-", "<",
     content.MIXED, "[", "!*", "*", "99999999999999999999", "COMPRESS GZIP", "USER", "-"]
)  # fmt: skip


@given(st.lists(st.one_of(st.binary(max_size=40), WORDS.map(str.encode)), max_size=6))
def test_no_command_line_raises(corpus, words):
    session = Session(corpus, clock)
    session.handle(b"GROUP " + content.MIXED.encode())
    reply = session.handle(b" ".join(words) + b"\r\n")
    assert reply.data[:3].isdigit()
    assert b"\r\n" in reply.data
