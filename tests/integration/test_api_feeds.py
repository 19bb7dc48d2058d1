"""`/rss`, and feeds as feed readers and downloaders take them."""

from xml.etree import ElementTree as ET

import feedparser
import pytest

from tests.integration.api_support import add_releases, open_api, read_error, shared_database

pytestmark = pytest.mark.postgres

SHOW = "Some.Show.S01E01.1080p.WEB.h264-GRP"
FILM = "Some.Film.2019.720p.BluRay.x264-GRP"


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        add_releases(api.conn, SHOW, FILM)
        yield api


def titles(response):
    root = ET.fromstring(response.content)
    return [item.findtext("title") for item in root.iter("item")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("t=0", [FILM, SHOW]),
        ("", [FILM, SHOW]),
        ("t=5000", [SHOW]),
        ("t=5040,2000", [FILM, SHOW]),
        ("t=2000&num=25&i=1&dl=1&del=1", [FILM]),
        ("t=0&num=1", [FILM]),
        ("t=0&num=1&offset=1", [SHOW]),
        ("t=-2", []),
        ("t=-3", []),
        ("t=-4", []),
        ("t=999999", []),
        ("t=0&q=show", [SHOW]),
    ],
)
def test_nz37_the_short_feed_lists_the_newest_of_categories(api, query, expected):
    assert titles(api.client.get(f"/rss?{query}&r={api.key}")) == expected


def test_nz37_dl_chooses_where_items_lead(api):
    nzb = ET.fromstring(api.client.get(f"/rss?t=0&dl=1&r={api.key}").content)
    page = ET.fromstring(api.client.get(f"/rss?t=0&r={api.key}").content)
    assert all(".nzb?apikey=" in item.findtext("link") for item in nzb.iter("item"))
    assert all("/details/" in item.findtext("link") for item in page.iter("item"))
    assert [one.get("url") for one in nzb.iter("enclosure")] == [
        one.get("url") for one in page.iter("enclosure")
    ]


def test_nz37_json_links_to_what_the_xml_links_to(api):
    for query in ("t=0", "t=0&dl=1"):
        xml = ET.fromstring(api.client.get(f"/rss?{query}&r={api.key}").content)
        document = api.client.get(f"/rss?{query}&o=json&r={api.key}").json()
        links = [item["link"] for item in document["channel"]["item"]]
        assert links == [item.findtext("link") for item in xml.iter("item")]


@pytest.mark.parametrize("coding", ["gzip", "identity"])
@pytest.mark.parametrize("path", ["/rss?t=0&r={key}", "/api?t=caps"])
def test_nz37_an_unchanged_feed_or_caps_is_304(api, path, coding):
    path = path.format(key=api.key)
    first = api.client.get(path, headers={"Accept-Encoding": coding})
    assert first.status_code == 200
    headers = {"If-None-Match": first.headers["etag"], "Accept-Encoding": coding}
    again = api.client.get(path, headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_nz37_a_limited_keys_feed_is_304_too(database):
    with open_api(database, requests_per_day=5) as api:
        first = api.client.get(f"/rss?t=0&r={api.key}")
        again = api.client.get(
            f"/rss?t=0&r={api.key}", headers={"If-None-Match": first.headers["etag"]}
        )
        assert again.status_code == 304


def test_a_new_release_changes_the_tag(database):
    with open_api(database) as api:
        first = api.client.get(f"/rss?t=0&r={api.key}")
        add_releases(api.conn, SHOW)
        headers = {"If-None-Match": first.headers["etag"]}
        again = api.client.get(f"/rss?t=0&r={api.key}", headers=headers)
        assert (again.status_code, titles(again)) == (200, [SHOW])


def test_nz16_feeds_are_packed_on_request_with_their_length(api):
    path = f"/api?t=search&apikey={api.key}"
    with api.client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as response:
        raw = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["content-length"] == str(len(raw))
    assert response.headers["vary"] == "Accept-Encoding"


def test_nz27_a_feed_tells_mistakes_by_status(api):
    assert read_error(api.client.get("/rss?t=0")) == (400, 200, "Missing parameter (apikey)")
    assert read_error(api.client.get("/rss?t=0&r=wrong"))[:2] == (401, 100)
    assert read_error(api.client.get(f"/rss?t=0&num=x&r={api.key}"))[:2] == (400, 201)


def test_feedparser_reads_the_feed_as_sabnzbd_and_headphones_do(api):
    parsed = feedparser.parse(api.client.get(f"/rss?t=0&dl=1&r={api.key}").content)
    assert not parsed.bozo
    assert [entry.title for entry in parsed.entries] == [FILM, SHOW]
    entry = parsed.entries[1]
    assert entry.links[0].href == entry.enclosures[0].href
    assert int(entry.enclosures[0].length) == 7_000_000
    assert entry.newznab_attr == {"name": "completion", "value": "100"}
    assert entry.published_parsed is not None
    assert entry.tags[0].term == "TV > HD"
