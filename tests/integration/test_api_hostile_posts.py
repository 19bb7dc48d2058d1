"""Whatever bytes posters put into subject, From and newsgroup, answers are well formed."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from xml.parsers import expat

import pytest
import rnzb
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.integration.api_support import open_api, shared_database
from tests.support import spans
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span

pytestmark = pytest.mark.postgres

NOW = datetime(2024, 3, 2, tzinfo=UTC)
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
# What ends a field or a line of an overview cannot be in one.
BYTES = st.binary(max_size=60).map(lambda raw: re.sub(rb"[\t\r\n]", b"?", raw))


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        yield api


def index(conn, subject, poster, group):
    """Indexes two articles of one file by the real header pass; returns how many releases."""
    conn.execute("truncate release, chunk, range, newsgroup, group_name restart identity cascade")
    date = b"Fri, 01 Mar 2024 12:00:00 +0000"
    lines = [
        b"%d\t%s yEnc (%d/2)\t%s\t%s\t<p%d@x.example>\t\t700000\t9\tXref: x %s:%d %s:%d"
        % (at, subject, at, poster, date, at, spans.GROUP.encode(), at, group or b"g", at)
        for at in (1, 2)
    ]
    (range_id,) = spans.add_ranges(conn, size=1000)
    span = Span(spans.GROUP, 1, 1000)
    parsed = parse_span(span, [b"\r\n".join(lines) + b"\r\n"], groups={spans.GROUP: 1}, now=NOW)
    built = build_span(parsed, RuleSet(), now=NOW + timedelta(days=1))
    store_span(conn, span, built, range_id=range_id, read_lines=2, versions=spans.VERSIONS)
    return built.releases.height


def assert_clean(response):
    """Fails when a header could end early, or the length is not the body's."""
    for name, value in response.headers.raw:
        assert not re.search(rb"[\x00-\x1f\x7f]", name + value)
        value.decode("latin-1")
    if "content-encoding" not in response.headers:
        assert int(response.headers["content-length"]) == len(response.content)


@example(b'"</title><script>alert(1)</script>.mkv"', b'"><b>', b"alt.<x>")
@example(b'"a\x00b\x1b\x7f\x85.mkv" \xe2\x80\xae gpj', b"\xff\xfe", b"alt.\xe2\x80\xa8x")
@example("\u202e\u2066Film\u202egpj.mkv".encode(), "\u202eB <b@c>".encode(), b"alt.x")
@example(b'"../../etc/passwd"', b"A: b; c\x00", b"../..")
@example(b'"=?utf-8?B?DQpTZXQtQ29va2llOiB4?=.rar"', b"=?utf-8?Q?=0D=0AX:_y?= <a@b>", b"x")
@example("\U0001f600 \ud7ff \ufdd0 {{pass]]>word}}.rar".encode(), b"]]>", b"&amp;")
@given(BYTES, BYTES, BYTES.filter(lambda raw: b" " not in raw))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_bytes_give_well_formed_feeds_nzbs_pages_and_headers(api, subject, poster, group):
    stored = index(api.conn, subject, poster, group)
    feed = api.get("/api", t="search", cat="")
    assert_clean(feed)
    expat.ParserCreate().Parse(feed.content, True)
    text = feed.content.decode()
    assert not ILLEGAL.search(text)
    assert all(ord(char) <= 0xFFFF for char in text)
    assert not TURNING.search(text)
    found = list(ET.fromstring(feed.content).iter("item"))
    assert len(found) == stored
    for item in found:
        link = item.find("enclosure").get("url").removeprefix("https://index.example")
        nzb = api.client.get(link)
        assert nzb.status_code == 200
        assert_clean(nzb)
        assert re.fullmatch(
            r"attachment; filename=\"[ -!#-\[\]-~]+\.nzb\"; filename\*=UTF-8''[!-~]+\.nzb",
            nzb.headers["content-disposition"],
        )
        assert not TURNING.search(unquote(nzb.headers["content-disposition"]))
        assert not TURNING.search(nzb.text.partition("</head>")[0])
        expat.ParserCreate().Parse(nzb.content, True)
        parsed = rnzb.Nzb.from_str(nzb.text)
        ids = {segment.message_id for file in parsed.files for segment in file.segments}
        assert ids == {"p1@x.example", "p2@x.example"}
        page = api.client.get(item.findtext("guid").removeprefix("https://index.example"))
        assert_clean(page)
        assert "<script>alert" not in page.text
    detail = api.get("/api/v1/releases")
    assert_clean(detail)
    assert len(detail.json()["items"]) == len(found)
    assert len(api.get("/api", t="search", o="json").json()["channel"]["item"]) == len(found)
