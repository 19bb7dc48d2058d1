"""The pages for people."""

import re
from html.parser import HTMLParser

import pytest

from tests.integration.api_support import add_releases, open_api, shared_database
from voyager_core.catalog.groups import add_group

pytestmark = pytest.mark.postgres

NAME = "Some.Show.S01E01.1080p.WEB.h264-GRP"
HOSTILE = 'Evil <script>alert(1)</script> "quoted" \u202egnp.exe & more'


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        api.ids = add_releases(api.conn, NAME, HOSTILE)
        yield api


class Page(HTMLParser):
    """Collects what a page loads, links to, and says."""

    def __init__(self, html):
        super().__init__()
        self.addresses, self.tags, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in {"href", "src", "action"}]
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def test_the_start_page_lists_the_newest_and_what_the_catalog_holds(api):
    page = Page(api.client.get("/").text)
    assert NAME in page.text
    assert f"/voyager/details/{api.ids[0]}" in page.addresses
    assert "Releases" in page.text
    assert "https://index.example/voyager" in page.text


def test_the_start_page_says_how_to_add_it_to_programs(api):
    text = Page(api.client.get("/").text).text
    for word in ("Sonarr", "Prowlarr", "SABnzbd", "NZBGet", "API Path", "voyager keys create"):
        assert word in text


def test_an_empty_catalog_says_what_is_missing_in_order(database):
    with open_api(database) as api:
        api.conn.execute("update api_key set revoked_at = now()")
        text = Page(api.client.get("/").text).text
        steps = ["VOYAGER_NEWS__URL", "voyager groups add", "voyager keys create"]
        places = [text.index(step) for step in steps]
        assert places == sorted(places)
        add_group(api.conn, "alt.binaries.example")
        text = Page(api.client.get("/").text).text
        assert "voyager groups add" not in text
        assert "Test button" in text


def test_a_name_cannot_add_markup_or_turn_the_text(api):
    html = api.client.get("/").text
    assert "<script" not in html
    assert "\u202e" not in html
    assert HOSTILE.replace("\u202e", "") in Page(html).text


@pytest.mark.parametrize("path", ["/", "/?q=some", "/details/{id}", "/details/nothing", "/?q=%00"])
def test_pages_load_nothing_from_elsewhere_and_run_no_script(api, path):
    response = api.client.get(path.format(id=api.ids[0]))
    page = Page(response.text)
    assert "script" not in page.tags
    assert all(address.startswith("/voyager/") for address in page.addresses)
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_what_pages_load_is_there_and_may_be_kept(api):
    for address in set(Page(api.client.get("/").text).addresses):
        response = api.client.get(address)
        assert response.status_code == 200, address
    style = api.client.get("/static/voyager.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "prefers-color-scheme: dark" in style.text
    assert not re.search(r"url\(|@import|http", style.text)
    again = api.client.get("/static/voyager.css", headers={"If-None-Match": style.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["..%2f..%2fapp.py", "pages.py", "%00", "voyager.css%00"])
def test_only_the_two_files_are_served(api, name):
    assert api.client.get(f"/static/{name}").status_code == 404


def test_the_search_finds_names_and_keeps_the_words_in_the_form(api):
    html = api.client.get("/", params={"q": 'some "show'}).text
    assert NAME in Page(html).text
    assert 'value="some &#34;show"' in html
    assert "Nothing found" in api.client.get("/?q=zzz").text


def test_long_results_have_pages(database):
    with open_api(database) as api:
        add_releases(api.conn, *(f"Release.Number.{number}.720p" for number in range(60)))
        first = Page(api.client.get("/?q=release").text)
        assert "/voyager/?q=release&offset=50" in first.addresses
        second = Page(api.client.get("/?q=release&offset=50").text)
        assert "/voyager/?q=release" in second.addresses
        assert second.tags.count("tr") == 11
        assert api.client.get("/?q=release&offset=abc").status_code == 200


def test_the_page_of_a_release_tells_its_facts(api):
    text = Page(api.client.get(f"/details/{api.ids[0]}").text).text
    for fact in (NAME, "TV > HD", "7.0 MB", "alt.binaries.test", "2 of 2", "100 %"):
        assert fact in text


@pytest.mark.parametrize("name", ["0123456789abcdef00", "x", "%00", "a" * 3000])
def test_an_unknown_release_is_a_page_with_404(api, name):
    response = api.client.get(f"/details/{name}")
    assert response.status_code == 404
    assert response.headers["content-type"].startswith("text/html")


def test_search_engines_are_kept_out(api):
    assert "Disallow: /" in api.client.get("/robots.txt").text
    assert api.client.get("/").headers["x-robots-tag"] == "noindex, nofollow"
