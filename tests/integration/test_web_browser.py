"""The pages in a real browser."""

from datetime import timedelta

import pytest

from tests.integration.api_support import open_api, shared_database
from tests.integration.api_uploads import Upload, index_uploads
from tests.support import spans
from tests.support.browser import axe_script, chromium
from voyager_core.catalog.accounts import create_account, remove_account
from voyager_core.catalog.groups import record_water_marks
from voyager_core.catalog.keys import verify_key
from voyager_core.catalog.search import SearchQuery, search

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.xdist_group("browser")]

PASSWORD = "correct horse battery"
PATHS = (
    "/",
    "/?q=some",
    "/details/{id}",
    "/groups",
    "/groups/alt.binaries.test",
    "/rules?rule=executable",
    "/settings",
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def api(postgres_server, browser):
    with shared_database(postgres_server) as database, open_api(database, external_url=None) as api:
        uploads = [Upload(f"Some.Show.S01E{at:02}.720p.WEB.x264-A", files=2) for at in range(1, 5)]
        uploads.append(Upload("Some.Film.2020.1080p.BluRay.x264-B", files=3))
        index_uploads(api.conn, uploads, posted_at=spans.START - timedelta(days=1))
        (range_id,) = spans.add_ranges(api.conn, group="alt.binaries.more", size=1000)
        sample = {"files": [{"subject": 'a "<b>x</b>.exe" (1/2)'}]}
        dropped = spans.built(
            [], rule_counts=[("executable", 12, 3)], rule_samples=[("executable", 5, sample)]
        )
        spans.store(api.conn, range_id, 1, 1000, dropped, group="alt.binaries.more")
        api.film = search(api.conn, SearchQuery(text="film")).items[0]
        # A newsgroup that has much to tell.
        far = {"alt.binaries.more": (1_000, 420_123_456), "alt.binaries.test": (1, 420_123_456)}
        record_water_marks(api.conn, far, api.now[0])
        api.conn.execute(
            "insert into group_sample (newsgroup_id, taken_at, high, indexed)"
            " select newsgroup_id, %s, high - 400000, 0 from newsgroup",
            [api.now[0] - timedelta(minutes=70)],
        )
        yield api


@pytest.fixture
def page(api, browser):
    """A fresh visitor; what the browser complains about fails the test."""
    context = browser.new_context(base_url=str(api.client.base_url), accept_downloads=True)
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(str(api.client.base_url))
            else complaints.append(f"asks elsewhere: {request.url}")
        ),
    )
    yield page
    context.close()
    assert complaints == []


def test_typing_searches_and_a_release_is_downloaded(api, page):
    page.goto("/")
    page.fill("#q", "film")
    page.wait_for_selector("h1.found")
    assert page.inner_text("h1.found") == "1 release for “film”"
    assert page.url.endswith("/?q=film")
    page.click(f"text={api.film.name}")
    page.wait_for_url("**/details/*")
    assert page.locator("table.files tbody tr").count() == 3
    with page.expect_download() as download:
        page.click("text=Download NZB")
    assert download.value.suggested_filename == f"{api.film.name}.nzb"
    body = download.value.path().read_bytes()
    assert body == api.get(f"/getnzb/{api.film.public_id}.nzb").content


@pytest.mark.parametrize("is_secure", [True, False])
def test_the_link_of_a_release_is_copied_also_over_plain_http(api, page, is_secure):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not is_secure:
        # What a browser does on http:// addresses of other machines.
        page.add_init_script("delete Navigator.prototype.clipboard")
    page.goto(f"/details/{api.film.public_id}")
    page.click("text=Copy link")
    page.wait_for_selector("text=Copied")
    page.focus("#q")
    page.keyboard.press("Control+V")
    assert page.input_value("#q") == str(api.client.base_url.join(f"/details/{api.film.public_id}"))


def test_a_filter_narrows_at_once_and_going_back_undoes_it(page):
    page.goto("/?q=some")
    assert page.inner_text("h1.found") == "5 releases for “some”"
    page.select_option("#cat", "2000")
    page.wait_for_selector("text=1 release for")
    assert page.url.endswith("/?q=some&cat=2000")
    page.go_back()
    page.wait_for_selector("text=5 releases for")


@pytest.fixture
def troubled(api, browser):
    """A page whose searches fail as the test says, of which the browser may complain."""
    context = browser.new_context(base_url=str(api.client.base_url))
    yield context.new_page()
    context.close()


def test_a_search_that_fails_does_not_leave_the_results_of_the_one_before(api, troubled):
    troubled.goto("/?q=some")
    told = api.client.get("/?q=some").text
    problem = told.replace('<div id="results">', '<div id="results"><p>No catalog.</p>')
    troubled.route("**/?q=gone", lambda route: route.fulfill(status=503, body=problem))
    troubled.fill("#q", "gone")
    troubled.wait_for_selector("#results >> text=No catalog.")
    troubled.route("**/?q=other", lambda route: route.fulfill(status=500, body="Unknown error"))
    with troubled.expect_response("**/?q=other"):
        troubled.fill("#q", "other")
    assert "No catalog." in troubled.inner_text("#results")
    troubled.route("**/?q=away", lambda route: route.abort())
    troubled.fill("#q", "away")
    troubled.wait_for_selector("#results >> text=Voyager does not answer.")
    assert troubled.locator("#results table").count() == 0


def test_what_was_found_is_announced_by_a_part_of_the_page_that_stays(page):
    page.goto("/?q=some")
    page.evaluate("document.querySelector('#told').kept = true")
    page.fill("#q", "film")
    page.wait_for_selector("#told[role=status] >> text=1 release for “film”")
    assert page.evaluate("document.querySelector('#told').kept")


def test_the_search_works_without_scripts(api, browser):
    context = browser.new_context(base_url=str(api.client.base_url), java_script_enabled=False)
    page = context.new_page()
    page.goto("/")
    page.fill("#q", "show s01e03")
    page.press("#q", "Enter")
    page.wait_for_url("**/?q=show*")
    assert page.locator("#results td.name").all_inner_texts() == [
        "Some.Show.S01E03.720p.WEB.x264-A"
    ]
    page.fill("#q", "film")
    page.select_option("#cat", "2000")
    page.click("#search button")
    page.wait_for_selector("text=1 release for")
    context.close()


def test_the_keyboard_reaches_the_content_first_and_the_search_next(page):
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("id") == "q"


def test_signing_in_makes_a_key_and_signs_out(api, page):
    create_account(api.conn, "ann", PASSWORD)
    try:
        page.goto("/settings")
        page.wait_for_url("**/login?next=*")
        page.fill("#name", "ann")
        page.fill("#password", PASSWORD)
        page.click("main button")
        page.wait_for_url("**/settings")
        page.fill("#label", "sonarr")
        page.click("text=Make the key")
        key = page.inner_text(".key")
        assert verify_key(api.conn, key).label == "sonarr"
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("tr:has-text('sonarr') button")
        page.wait_for_selector("tr:has-text('sonarr')", state="detached")
        assert verify_key(api.conn, key) is None
        page.click("text=Sign out")
        page.wait_for_url("**/login")
        page.goto("/groups")
        page.wait_for_url("**/login?next=*")
    finally:
        remove_account(api.conn, "ann")


def test_the_first_account_is_made_in_the_browser(api, page):
    page.goto("/")
    page.click("text=Make an account")
    page.wait_for_url("**/setup")
    page.fill("#name", "ben")
    page.fill("#password", PASSWORD)
    page.fill("#again", PASSWORD)
    page.click("main button")
    try:
        page.wait_for_selector("text=Sign out")
    finally:
        assert remove_account(api.conn, "ben")


@pytest.mark.parametrize("width", [320, 720, 1024])
def test_pages_fit_narrow_and_middling_screens(api, browser, width):
    context = browser.new_context(
        base_url=str(api.client.base_url), viewport={"width": width, "height": 844}
    )
    page = context.new_page()
    for path in (*PATHS, "/setup"):
        page.goto(path.format(id=api.film.public_id))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(
            "[...document.querySelectorAll('main *')].every(one =>"
            " one.closest('.hidden, thead, .skip')"
            " || one.getBoundingClientRect().right <= document.documentElement.clientWidth)"
        ), path
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_have_no_barriers_and_fit_the_screen(api, browser, theme, width):
    script = axe_script()
    # axe is put into the page, which its policy would not allow.
    context = browser.new_context(
        base_url=str(api.client.base_url),
        bypass_csp=True,
        color_scheme=theme,
        viewport={"width": width, "height": 844},
    )
    page = context.new_page()
    for path in (*PATHS, "/?q=zzz", "/setup", "/nothing-here", "/details/x"):
        page.goto(path.format(id=api.film.public_id))
        page.add_script_tag(content=script)
        found = page.evaluate("axe.run()")["violations"]
        told = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
        assert told == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()
