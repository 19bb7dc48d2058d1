"""Fetching from a real news server, plain and through the compressing proxy: the same lines."""

import socket
import tempfile
import zlib
from pathlib import Path

import pytest

from tests.support import inn2
from tests.support.gzproxy import CompressingProxy
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fetch import FetchOptions, fetch_spans
from voyager_core.nntp import errors
from voyager_core.nntp.account import NewsAccount
from voyager_core.nntp.client import NewsClient
from voyager_core.storage.spool import Spool

GROUP = "alt.binaries.test"
ARTICLES = 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(inn2.missing_parts() is not None, reason=str(inn2.missing_parts())),
]


@pytest.fixture(scope="module")
def server():
    # INN2 runs as another user, which cannot walk into pytest's own folders.
    with tempfile.TemporaryDirectory(prefix="pytest-inn2-") as folder:
        Path(folder).chmod(0o755)
        with inn2.Inn2(Path(folder) / "news", (GROUP, "alt.empty")) as server:
            post(server)
            yield server
        server.remove()


def post(server):
    """Posts the articles over one connection; every tenth has a line that begins with a dot."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        file = connection.makefile("rwb")

        def ask(line, wanted):
            file.write(line + b"\r\n")
            file.flush()
            assert file.readline().startswith(wanted)

        file.readline()
        ask(b"AUTHINFO USER " + server.user.encode(), b"381")
        ask(b"AUTHINFO PASS " + server.password.encode(), b"281")
        for n in range(1, ARTICLES + 1):
            ask(b"POST", b"340")
            head = (
                b"From: joe <joe@test.invalid>\r\nNewsgroups: %s\r\nSubject: "
                b'[1/2] - "file.rar" yEnc (%d/%d)\r\nMessage-ID: <part%d@test.invalid>\r\n\r\n'
            )
            body = b"..dot\r\n" if n % 10 == 0 else b"text\r\n"
            file.write(head % (GROUP.encode(), n, ARTICLES, n) + body)
            ask(b".", b"240")
        ask(b"QUIT", b"205")


def account(server, port, options=""):
    user = f"{server.user}:{server.password}"
    return NewsAccount.from_url(f"nntp://{user}@127.0.0.1:{port}?connections=3&{options}")


def fetch(news, spool):
    """Returns the lines of the whole group."""
    marks = news.group(GROUP)
    assert (marks.low, marks.high) == (1, ARTICLES)
    with fetch_spans(news, spool, [Span(GROUP, 1, 70)], FetchOptions(20)) as fetcher:
        fetched = next(fetcher)
        assert (fetched.report.lines, fetched.report.holes) == (ARTICLES, 10)
        text = b"".join(inflate(block) for block in fetched.blocks())
        fetched.release()
    return text


def inflate(block):
    text = zlib.decompress(block, 15 if block[:1] == b"x" else -15)
    return text.removesuffix(b".\r\n") if text.endswith(b"\n.\r\n") or text == b".\r\n" else text


@pytest.fixture(scope="module")
def plain_lines(server, tmp_path_factory):
    with NewsClient(account(server, server.port, "compress=none")) as news:
        return fetch(news, Spool(tmp_path_factory.mktemp("spool")))


def test_plain_lines_are_those_that_were_posted(plain_lines):
    lines = plain_lines.split(b"\r\n")[:-1]
    assert [line.split(b"\t")[0] for line in lines] == [b"%d" % n for n in range(1, ARTICLES + 1)]
    assert all(b"<part%d@test.invalid>" % n in line for n, line in enumerate(lines, 1))


@pytest.mark.parametrize("form", ["auto", "deflate"])
def test_compress_deflate_gives_the_same_lines(server, tmp_path, plain_lines, form):
    with NewsClient(account(server, server.port, f"compress={form}")) as news:
        assert fetch(news, Spool(tmp_path)) == plain_lines
        assert news.pool.profile.compression.value == "deflate"


@pytest.mark.parametrize(
    ("form", "yenc"),
    [
        ("gzip", False),
        ("gzip-terminator", False),
        ("xzver", False),
        ("xzver", True),
        ("auto", True),
    ],
)
def test_the_forms_of_providers_give_the_same_lines(server, tmp_path, plain_lines, form, yenc):
    with (
        CompressingProxy("127.0.0.1", server.port, yenc=yenc) as proxy,
        NewsClient(account(server, proxy.port, f"compress={form}")) as news,
    ):
        assert fetch(news, Spool(tmp_path)) == plain_lines
        # Three blocks have lines; the fourth is a plain 423.
        assert proxy.compressed_replies >= 3


def test_articles_and_groups_of_a_real_server(server):
    with NewsClient(account(server, server.port)) as news:
        assert {marks.name for marks in news.list_active("alt.*")} == {GROUP, "alt.empty"}
        assert news.group("alt.empty").is_empty
        assert news.body("<part10@test.invalid>") == b".dot\r\n"
        assert news.head("part1@test.invalid").count(b"<part1@test.invalid>") == 1
        assert news.has("<part2@test.invalid>")
        assert not news.has("<part2@elsewhere.invalid>")
        assert news.date().year > 2020
        with pytest.raises(errors.GroupGone):
            news.group("alt.nowhere")
        with pytest.raises(errors.ArticleMissing):
            news.body("<nowhere@test.invalid>")


def test_a_wrong_password_of_a_real_server(server):
    user = server.user
    wrong = NewsAccount.from_url(f"nntp://{user}:wrong@127.0.0.1:{server.port}")
    with NewsClient(wrong) as news, pytest.raises(errors.AuthFailed):
        news.group(GROUP)
