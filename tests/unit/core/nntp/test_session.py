"""A session on a real socket: compression, login, encryption, and what a healthy server gives."""

import asyncio
import shutil
import ssl
import subprocess
from datetime import UTC, datetime

import pytest

from tests.support.newsserver import Group, NewsServer, Rule
from tests.unit.core.nntp.served import GROUP, HIGH, LOW, group, on, overview, text_of
from tests.unit.core.nntp.wire import inflate
from voyager_core.nntp import errors
from voyager_core.nntp.account import Compression
from voyager_core.nntp.inflating import Encoding

# What a healthy server gives.


@pytest.mark.parametrize(
    ("compress", "form", "used", "encoding"),
    [
        ([], "zlib", Compression.NONE, Encoding.ZLIB),
        (["gzip"], "zlib", Compression.GZIP, Encoding.ZLIB),
        (["gzip"], "gzip", Compression.GZIP, Encoding.GZIP),
        (["gzip"], "deflate", Compression.GZIP, Encoding.RAW),
        (["gzip", "gzip-terminator"], "zlib", Compression.GZIP_TERMINATOR, Encoding.ZLIB),
        (["gzip-terminator"], "gzip", Compression.GZIP_TERMINATOR, Encoding.GZIP),
        (["xzver"], "zlib", Compression.XZVER, Encoding.ZLIB),
        (["xzver-yenc"], "zlib", Compression.XZVER, Encoding.RAW),
        (["deflate"], "zlib", Compression.DEFLATE, Encoding.ZLIB),
    ],
)
def test_every_form_of_compression_gives_the_same_lines(compress, form, used, encoding):
    with NewsServer([group()], compress=compress, form=form) as server:

        async def work(pool):
            return await overview(pool), pool.profile.compression

        block, compression = on(server, work)
    assert compression is used
    assert block.encoding is encoding
    assert inflate(block.raw) == text_of(LOW, HIGH)
    assert (block.lines, block.first_number, block.last_number) == (100, LOW, HIGH)
    assert block.stray_lines == 0
    assert 0 < block.wire_bytes < len(text_of(LOW, HIGH)) + 200


def test_compression_is_probed_once_for_all_connections():
    with NewsServer([group()], compress=["xzver"]) as server:

        async def work(pool):
            await asyncio.gather(*(overview(pool) for _ in range(8)))
            return pool.open_connections

        assert on(server, work, options="connections=4") == 4
        probes = [each for each in server.log if each.verb == "XFEATURE"]
    # The first connection tries both forms of XFEATURE, the others know better.
    assert len(probes) == 2


@pytest.mark.parametrize(
    ("option", "verbs"),
    [
        ("gzip", ["XFEATURE"]),
        ("gzip-terminator", ["XFEATURE"]),
        ("xzver", ["XZVER"]),
        ("deflate", ["COMPRESS"]),
        ("none", []),
    ],
)
def test_a_forced_form_is_the_only_one_asked_for(option, verbs):
    everything = ["gzip", "gzip-terminator", "xzver", "deflate"]
    with NewsServer([group()], compress=everything) as server:
        block = on(server, overview, options=f"compress={option}")
        probes = [each.verb for each in server.log if each.verb in {"XFEATURE", "COMPRESS"}]
        probes += ["XZVER"] if server.asked("XZVER")[:1] == ["1-1"] else []
    assert block.lines == 100
    assert probes == verbs


def test_a_forced_form_that_the_server_lacks_is_a_clear_error():
    with NewsServer([group()]) as server, pytest.raises(errors.Unsupported, match="compress=auto"):
        on(server, overview, options="compress=gzip")


def test_a_server_that_knows_only_over_is_asked_with_over():
    with NewsServer([group()], verbs=["OVER"]) as server:

        async def work(pool):
            await overview(pool)
            return await overview(pool)

        assert on(server, work, options="compress=none").lines == 100
        assert (server.count("XOVER"), server.count("OVER")) == (1, 2)


def test_xzver_that_only_answers_the_probe_is_given_up():
    rule = Rule("XZVER", "reply", "500 what?", skip=1, times=None)
    with NewsServer([group()], compress=["xzver"], rules=[rule]) as server:
        assert on(server, overview).lines == 100
        assert server.count("XOVER") == 1


def test_a_server_that_hangs_up_on_a_probe_is_read_without_it():
    rule = Rule("XFEATURE", "close", times=None)
    with NewsServer([group()], compress=["gzip"], rules=[rule]) as server:

        async def work(pool):
            broken = 0
            while True:
                try:
                    return await overview(pool), broken
                except errors.TransientNewsFailure:
                    broken += 1

        block, broken = on(server, work)
    assert block.lines == 100
    assert 1 <= broken <= 4


def test_groups_are_listed_with_64_bit_marks():
    groups = [Group("alt.a", low=1, high=4_611_686_018_427_387_904), Group("misc.b"), group()]
    with NewsServer(groups, compress=["gzip"]) as server:

        async def work(pool):
            await overview(pool)
            return await pool.list_active("alt.*,!*.test"), await pool.list_active()

        some, every = on(server, work)
    assert [(each.name, each.low, each.high) for each in some] == [
        ("alt.a", 1, 4_611_686_018_427_387_904)
    ]
    assert {each.name for each in every} == {"alt.a", "misc.b", GROUP}
    assert [each.name for each in every if each.is_empty] == ["misc.b"]


def test_a_server_without_patterns_is_filtered_here():
    groups = [Group("alt.a"), Group("misc.b"), Group("alt.c.test")]
    with NewsServer(groups, rules=[Rule("LIST", "reply", "501 no patterns")]) as server:
        found = on(server, lambda pool: pool.list_active("alt.*,!*.test"))
    assert [each.name for each in found] == ["alt.a"]


def test_lines_of_a_list_that_cannot_be_read_are_left_out():
    odd = [b"alt.b x 1 y", b"\xff\xfe 9 1 y", b"alt.c 99999999999999999999 1 y", b"alt.d"]
    lines = b"\r\n".join([b"215 list", b"alt.a 9 1 y", *odd, b".", b""])
    with NewsServer(rules=[Rule("LIST", "raw", lines)]) as server:
        assert [each.name for each in on(server, lambda pool: pool.list_active())] == ["alt.a"]


def test_articles_come_without_doubled_dots():
    body = b"=ybegin line=128\r\n.starts with a dot\r\n..\r\n=yend"
    with NewsServer(articles={"<a@b>": b"From: x\r\nSubject: y\r\n\r\n" + body}) as server:

        async def work(pool):
            return (
                await pool.article("<a@b>"),
                await pool.head("a@b"),
                await pool.body("<a@b>"),
                await pool.has("a@b"),
                await pool.has("<c@d>"),
            )

        article, head, text, has, has_other = on(server, work)
    assert article == b"From: x\r\nSubject: y\r\n\r\n" + body + b"\r\n"
    assert head == b"From: x\r\nSubject: y\r\n"
    assert text == body + b"\r\n"
    assert (has, has_other) == (True, False)


def test_clock_and_capabilities_are_read():
    with NewsServer() as server:

        async def work(pool):
            return await pool.date(), await pool.capabilities()

        date, capabilities = on(server, work)
    assert date == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert "READER" in capabilities


def test_an_unreadable_clock_is_a_protocol_error():
    with (
        NewsServer(rules=[Rule("DATE", "reply", "111 20301399999999")]) as server,
        pytest.raises(errors.ProtocolError),
    ):
        on(server, lambda pool: pool.date())


# Setting up a connection.


def test_login_is_sent_once_for_each_connection():
    with NewsServer([group()], user="joe", password="se cret") as server:
        assert on(server, overview, options="connections=1") is not None
        assert server.asked("AUTHINFO") == ["USER joe", "PASS se cret"]


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [Rule("AUTHINFO", "reply", "482 authentication rejected", times=None)],
        [Rule("AUTHINFO", "reply", "502 access denied", times=None)],
        [Rule("GROUP", "reply", "480 log in first", times=None)],
    ],
)
def test_a_wrong_login_is_permanent_and_never_shown(rules):
    with NewsServer([group()], user="joe", password="right", rules=rules) as server:
        server_url = server.url().replace("right", "hunter22") if not rules else server.url()

        async def work(pool):
            with pytest.raises(errors.AuthFailed) as caught:
                await overview(pool)
            return str(caught.value)

        message = on(server_url, work)
    assert "hunter22" not in message
    assert "right" not in message
    assert "user and password" in message


@pytest.mark.parametrize(
    "said",
    [
        "481 no account joe17 with hunter22",
        "999 AUTHINFO PASS hunter22",
        "AUTHINFO USER joe17",
        "AUTHINFO PASS hunter22",
        "500 unknown: AUTHINFO PASS hunter22",
        "381 hunter22\r\nAUTHINFO PASS hunter22",
        "281 ok\r\nwelcome joe17, your password is hunter22",
    ],
)
@pytest.mark.parametrize("verb", ["AUTHINFO", "GROUP"])
def test_a_server_that_repeats_the_login_does_not_get_it_into_a_message(said, verb):
    rules = [Rule(verb, "reply", said, skip=1 if verb == "AUTHINFO" else 0, times=None)]
    with NewsServer([group()], user="joe17", password="hunter22", rules=rules) as server:

        async def work(pool):
            with pytest.raises(errors.NewsError) as caught:
                await overview(pool)
            return str(caught.value)

        message = on(server.url(), work)
    assert "hunter22" not in message
    assert "joe17" not in message


@pytest.mark.parametrize("verb", ["connect", "GROUP", "XOVER", "DATE"])
@pytest.mark.parametrize("code", [400, 481, 502, 503, 599])
def test_what_a_server_says_cannot_act_on_a_terminal_or_begin_a_line(verb, code):
    said = f"{code} sorry \x1b[2J\x07\0\rvoyager: all is well\x85\u202e\u2028 é"
    with NewsServer([group()], rules=[Rule(verb, "reply", said, times=None)]) as server:

        async def work(pool):
            with pytest.raises(errors.NewsError) as caught:
                await (pool.date() if verb == "DATE" else overview(pool))
            return str(caught.value)

        message = on(server, work, connect_attempts=1)
    assert "sorry" in message
    assert "é" in message
    assert message.isprintable()


def test_a_login_that_looks_like_numbers_does_not_change_what_is_read():
    with NewsServer([group()], user="1", password="2") as server:

        async def work(pool):
            block = await overview(pool)
            return block.lines, block.first_number

        assert on(server.url(), work) == (HIGH - LOW + 1, LOW)


def test_a_wrong_login_is_not_tried_again_by_others():
    with NewsServer([group()], user="joe", password="right") as server:
        url = server.url("connections=8").replace("right", "wrong")

        async def work(pool):
            first = await asyncio.gather(overview(pool), return_exceptions=True)
            rest = await asyncio.gather(
                *(overview(pool) for _ in range(20)), return_exceptions=True
            )
            return [type(each) for each in first + rest]

        kinds = on(url, work)
        assert server.connections == 1
    assert set(kinds) == {errors.AuthFailed}


def test_a_login_that_the_server_does_not_know_is_no_obstacle():
    rule = Rule("AUTHINFO", "reply", "500 unknown command", times=None)
    with NewsServer([group()], rules=[rule]) as server:
        url = server.url().replace("nntp://", "nntp://joe:pw@")
        assert on(url, overview).lines == 100


def test_mode_reader_is_sent_where_it_is_advertised():
    with NewsServer([group()], mode_reader=True, user="joe", password="pw") as server:

        async def work(pool):
            await asyncio.gather(*(overview(pool) for _ in range(6)))

        on(server, work, options="connections=3")
        assert server.count("MODE") == server.connections
        assert server.count("CAPABILITIES") <= server.connections


def test_mode_reader_is_not_sent_where_it_is_not_needed():
    with NewsServer([group()]) as server:
        on(server, overview)
        assert server.count("MODE") == 0


def test_mode_reader_is_sent_to_servers_without_capabilities():
    with NewsServer([group()], mode_reader=True, capabilities=False) as server:
        assert on(server, overview).lines == 100


def test_capabilities_that_want_a_login_first_are_asked_again():
    rule = Rule("CAPABILITIES", "reply", "480 log in first")
    with NewsServer([group()], user="joe", password="pw", rules=[rule]) as server:
        assert on(server, overview).lines == 100


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for localhost."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, file = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    command += (
        f" -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {key} -out {file}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return context, file


def test_an_encrypted_connection_is_verified(certificate):
    context, file = certificate
    with NewsServer([group()], tls=context, compress=["gzip"]) as server:
        block = on(server.url(f"ca={file}", host="localhost"), overview)
        assert inflate(block.raw) == text_of(LOW, HIGH)
        with pytest.raises(errors.TlsFailed, match="not accepted"):
            on(server.url(host="localhost"), overview)
        with pytest.raises(errors.TlsFailed, match="not accepted"):
            on(server.url(f"ca={file}"), overview)
        assert on(server.url("verify=off"), overview).lines == 100


def test_a_port_without_tls_is_named():
    with NewsServer([group()]) as server:
        url = server.url().replace("nntp:", "nntps:")
        with pytest.raises(errors.TlsFailed, match="no TLS on this port"):
            on(url, overview)


def test_a_file_without_certificates_is_named(tmp_path):
    file = tmp_path / "empty.pem"
    file.write_text("nothing")
    with pytest.raises(errors.TlsFailed, match=r"empty\.pem"):
        on(f"nntps://127.0.0.1:1?ca={file}", overview)


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Rule("connect", "cut", 4), errors.ConnectFailed),
        (Rule("GROUP", "close"), errors.Cut),
        (Rule("XOVER", "cut", 0.5), errors.Cut),
        (Rule("XOVER", "stall", 0.5), errors.NewsTimeout),
        (Rule("XOVER", "garbage", b"\x16\x03\x01\x02" * 40 + b"\r\n.\r\n"), errors.Garbage),
    ],
)
def test_an_encrypted_connection_that_breaks_is_opened_again(certificate, rule, kind):
    context, file = certificate
    rule = Rule(rule.on, rule.do, rule.value)
    with NewsServer([group()], compress=["gzip"], tls=context, rules=[rule]) as server:

        async def work(pool):
            with pytest.raises(kind):
                await overview(pool)
            return await overview(pool)

        url = server.url(f"ca={file}", host="localhost")
        block = on(url, work, command_seconds=2.0, connect_attempts=1)
    assert inflate(block.raw) == text_of(LOW, HIGH)


def test_capabilities_without_an_end_are_stopped():
    endless = b"101 capabilities follow\r\n" + b"XSOMETHING " * 400_000
    with NewsServer([group()], rules=[Rule("CAPABILITIES", "raw", endless)]) as server:

        async def work(pool):
            with pytest.raises(errors.ConnectFailed, match="garbage: the reply has more than"):
                await overview(pool)
            return await overview(pool)

        block = on(server, work, connect_attempts=1, command_seconds=2.0)
    assert inflate(block.raw) == text_of(LOW, HIGH)
