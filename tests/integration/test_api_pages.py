"""The pages for people."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.integration.api_support import add_releases, open_api, shared_database
from tests.integration.api_uploads import Upload, index_uploads
from tests.support.spans import START, add_ranges, built, release, store
from voyager_core.catalog.groups import add_group, record_water_marks
from voyager_core.catalog.keys import create_key
from voyager_core.catalog.rulesets import retract_rule
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.domain.rulesets import RULE_TEXTS

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
        self.addresses, self.tags, self.text, self.inline_scripts = [], [], "", 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inline_scripts += tag == "script" and "src" not in dict(attrs)
        self.addresses += [
            value for name, value in attrs if name in {"href", "src", "action", "hx-get"}
        ]
        # The link to the content is on the page itself.
        self.addresses = [address for address in self.addresses if address != "#main"]
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
    assert "<script>" not in html
    assert "\u202e" not in html
    assert HOSTILE.replace("\u202e", "") in Page(html).text


DECEIVING = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def test_nothing_that_strangers_write_turns_or_hides_the_text_around_it(database):
    with open_api(database) as api:
        (range_id,) = add_ranges(api.conn)
        sample = {"files": [{"subject": HOSTILE, "poster": HOSTILE}]}
        row = release(1, name=HOSTILE, poster=HOSTILE)
        contents = built([row], rule_counts=[("x", 2, 1)], rule_samples=[("x", 1, sample)])
        store(api.conn, range_id, 1, 1000, contents)
        (found,) = search(api.conn, SearchQuery()).items
        create_key(api.conn, HOSTILE)
        for path in (
            "/",
            "/?q=evil",
            f"/?q={quote(HOSTILE)}&group={quote(HOSTILE)}",
            f"/details/{found.public_id}",
            "/rules?rule=x",
            f"/rules?rule={quote(HOSTILE)}",
            "/settings",
        ):
            html = api.client.get(path).text
            assert "gnp.exe" in html, path
            assert not DECEIVING.search(html), path
            assert "<script>alert" not in html


def test_a_name_that_shows_nothing_can_still_be_opened(database):
    with open_api(database) as api:
        ids = add_releases(api.conn, "\u200b \u200b", " \x07 ")
        html = api.client.get("/").text
        for public_id in ids:
            assert f'/details/{public_id}">(no name)</a>' in html


def test_a_very_long_name_is_cut_in_lists_and_whole_on_its_page(database):
    with open_api(database) as api:
        name = "Long " * 600 + "end"
        (public_id,) = add_releases(api.conn, name)
        (link,) = re.findall(r'<td class="name"><a[^>]*>([^<]*)</a>', api.client.get("/").text)
        assert link == name[:299] + "…"
        page = api.client.get(f"/details/{public_id}").text
        (heading,) = re.findall(r'<h1 class="name">([^<]*)</h1>', page)
        assert heading == link
        assert f"<dt>Whole name</dt><dd>{name}</dd>" in page


@pytest.mark.parametrize("path", ["/", "/?q=some", "/details/{id}", "/details/nothing", "/?q=%00"])
def test_pages_load_nothing_from_elsewhere_and_run_only_their_own_scripts(api, path):
    response = api.client.get(path.format(id=api.ids[0]))
    page = Page(response.text)
    assert not page.inline_scripts
    assert all(address.startswith("/voyager/") for address in page.addresses)
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_what_pages_load_is_there_and_may_be_kept(api):
    addresses = set(Page(api.client.get("/").text).addresses)
    # The NZBs of releases that were made up without segments.
    for address in {one for one in addresses if "/download/" not in one}:
        response = api.client.get(address)
        assert response.status_code == 200, address
    style = api.client.get("/static/voyager.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "prefers-color-scheme: dark" in style.text
    assert not re.search(r"url\(|@import|http", style.text)
    script = api.client.get("/static/htmx.min.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    again = api.client.get("/static/voyager.css", headers={"If-None-Match": style.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["..%2f..%2fapp.py", "pages.py", "%00", "voyager.css%00"])
def test_only_the_files_of_pages_are_served(api, name):
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
        beyond = Page(api.client.get("/?q=release&offset=99999999").text)
        assert "/voyager/?q=release&offset=50" in beyond.addresses


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


def test_filters_narrow_the_search_and_stay_in_the_addresses(database):
    with open_api(database) as api:
        shows = [f"Some.Show.S01E{number:02}.720p.WEB.x264-A" for number in range(60)]
        add_releases(api.conn, *shows, "Some.Film.2020.1080p.BluRay.x264-A")
        films = Page(api.client.get("/?cat=2000").text)
        assert "Some.Film" in films.text
        assert "Some.Show" not in films.text
        assert "1 release" in films.text
        shows = Page(api.client.get("/?q=some&cat=5000&age=&complete=90").text)
        assert "/voyager/?q=some&cat=5000&complete=90&offset=50" in shows.addresses
        both = Page(api.client.get("/?q=some").text)
        assert "/voyager/?q=some&cat=2040" in both.addresses
        assert "/voyager/?q=some&cat=5040" in both.addresses
        assert "/voyager/?q=some&state=open" not in both.addresses
        assert "61 releases" in Page(api.client.get("/?q=some&state=open").text).text
        assert "Nothing found" in Page(api.client.get("/?q=some&state=settled").text).text
        nothing = Page(api.client.get("/?q=some&group=alt.binaries.nowhere").text)
        assert "Nothing found" in nothing.text
        assert "/voyager/?q=some" in nothing.addresses


@pytest.mark.parametrize(
    "query",
    ["cat=x", "cat=99999999999999999999", "age=-1", "complete=%00", "group=%ff", "cat=5000'--"],
)
def test_a_filter_that_the_page_does_not_offer_harms_nothing(api, query):
    assert api.client.get(f"/?q=some&{query}").status_code == 200


def test_the_nzb_of_a_page_is_the_one_that_programs_get(database):
    with open_api(database) as api:
        index_uploads(
            api.conn, [Upload("Some.Show.S01E01.720p.WEB.x264-A", files=2)], posted_at=START
        )
        public_id = search(api.conn, SearchQuery()).items[0].public_id
        listed = Page(api.client.get(f"/details/{public_id}").text)
        assert "2 files, no article missing\n" in listed.text
        assert f"/voyager/download/{public_id}.nzb" in listed.addresses
        ours = api.client.get(f"/download/{public_id}.nzb")
        assert ours.headers["content-type"] == "application/x-nzb"
        assert "attachment" in ours.headers["content-disposition"]
        assert ours.content == api.get(f"/getnzb/{public_id}.nzb").content
        assert api.client.get("/download/0123456789abcdef00.nzb").status_code == 404


@dataclass(frozen=True)
class Part(Upload):
    """An upload of which some articles never arrived."""

    lost: frozenset[int] = frozenset()

    def articles(self):
        return [one for at, one in enumerate(super().articles()) if at not in self.lost]


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (range(4, 8), "2 of 3 files, no article missing in them\n"),
        (range(8), "1 of 3 files, no article missing in them\n"),
    ],
)
def test_a_release_without_some_of_its_files_does_not_claim_that_nothing_is_missing(
    database, lost, told
):
    with open_api(database) as api:
        upload = Part("Some.Show.S01E01.720p.WEB.x264-A", lost=frozenset(lost))
        index_uploads(api.conn, [upload], posted_at=START)
        public_id = search(api.conn, SearchQuery()).items[0].public_id
        assert told in Page(api.client.get(f"/details/{public_id}").text).text


def test_the_pages_of_newsgroups_tell_how_far_they_are(database):
    with open_api(database) as api:
        add_releases(api.conn, NAME)
        record_water_marks(api.conn, {"alt.binaries.test": (1, 2_000_000)}, START)
        add_group(api.conn, "alt.binaries.later")
        listed = Page(api.client.get("/groups").text)
        assert "/voyager/groups/alt.binaries.test" in listed.addresses
        assert "not asked yet" in listed.text
        assert "1 … 2\u202f000\u202f000" in listed.text
        assert listed.tags.count("svg") == 1
        page = api.client.get("/groups/alt.binaries.test")
        assert re.search(r'<rect class="done" x="0.0" y="0" width="[\d.]+"', page.text)
        assert "On the server" in page.text
        assert 'href="/voyager/groups" aria-current="true"' in page.text
        assert 'href="/voyager/groups" aria-current="page"' in api.client.get("/groups").text
        for unknown in ("alt.binaries.nowhere", "%00", "a" * 3000, "%27--"):
            assert api.client.get(f"/groups/{unknown}").status_code == 404


def test_settings_lead_to_the_first_account_until_there_is_one(database):
    with open_api(database, external_url=None) as api:
        assert "/setup" in Page(api.client.get("/settings").text).addresses
    with open_api(database, external_url=None, login="off") as api:
        assert "/setup" not in Page(api.client.get("/settings").text).addresses


def test_a_rule_that_was_taken_back_is_marked(database):
    with open_api(database) as api:
        (range_id,) = add_ranges(api.conn)
        sample = {"files": [{"subject": "<b>x</b>.exe"}]}
        contents = built(
            [],
            rule_counts=[("disguised_program", 12, 3)],
            rule_samples=[("disguised_program", 5, sample)],
        )
        store(api.conn, range_id, 1, 1000, contents)
        before = api.client.get("/rules?rule=disguised_program").text
        assert ">taken back<" not in before
        assert "&lt;b&gt;x&lt;/b&gt;.exe" in before
        told = Page(before)
        assert "/voyager/groups/alt.binaries.test" in told.addresses
        assert RULE_TEXTS["disguised_program"] in told.text
        dagster = "http://127.0.0.1:3000"
        assert f"{dagster}/locations/voyager/jobs/retract_rule/playground" in told.addresses
        assert f"{dagster}/overview/backfills" in told.addresses
        retract_rule(api.conn, "disguised_program")
        assert ">taken back<" in api.client.get("/rules").text
