"""Whatever comes in, the answer is well formed, short, and in the protocol's terms."""

import socket
from xml.etree import ElementTree as ET

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.api_support import (
    add_releases,
    open_api,
    read_error,
    serving,
    shared_database,
)
from voyager_api.app import create_app
from voyager_api.routes import newznab_api, pages
from voyager_core.catalog.connect import connect
from voyager_core.settings import ApiSettings, Settings

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        api.ids = add_releases(api.conn, "Some.Show.S01E01.1080p.WEB.h264-GRP")
        yield api


def ask(api, query, method="GET", **sent):
    return api.client.request(method, f"/api?{query}", **sent)


def assert_well_formed(response):
    assert response.status_code in {200, 400, 401, 404, 405, 429}
    assert "traceback" not in response.text.lower()
    assert response.headers["content-type"].partition(";")[0] in {
        "application/xml",
        "application/rss+xml",
    }
    if "content-encoding" not in response.headers:
        assert int(response.headers["content-length"]) == len(response.content)
    return ET.fromstring(response.content)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (200, 200, "Missing parameter (t)")),
        ("t=", (200, 200, "Missing parameter (t)")),
        ("t=dance", (200, 202, "No such function (dance)")),
        ("t=anime", (200, 202, "No such function (anime)")),
        ("t=user", (200, 203, "Function not available (user)")),
        ("t=cartadd&id=1", (200, 203, "Function not available (cartadd)")),
        ("t=commentadd&guid=1", (200, 203, "Function not available (commentadd)")),
        ("t=indexers", (200, 203, "Function not available (indexers)")),
        ("t=getnfo&apikey={key}", (200, 200, "Missing parameter (id)")),
        ("t=nfo&id=0123456789abcdef00&apikey={key}", (200, 300, "No such item")),
        ("t=register", (200, 203, "Function not available (register)")),
        ("t=details&apikey={key}", (200, 200, "Missing parameter (id)")),
        ("t=details&id=x&apikey={key}", (200, 300, "No such item")),
        ("t=details&id=0123456789abcdef00&apikey={key}", (200, 300, "No such item")),
        ("t=get&apikey={key}", (400, 200, "Missing parameter (id)")),
        ("t=get&id=0123456789abcdef00&apikey={key}", (404, 300, "No such item")),
        ("t=get&id=../../etc/passwd&apikey={key}", (404, 300, "No such item")),
        ("t=search&limit=abc&apikey={key}", (200, 201, "Incorrect parameter (limit)")),
        ("t=search&offset=-1&apikey={key}", (200, 201, "Incorrect parameter (offset)")),
        ("t=tvsearch&season=1&ep=1/2&apikey={key}", (200, 201, "Incorrect parameter (ep)")),
    ],
)
def test_nz21_every_mistake_has_its_code(api, query, expected):
    assert read_error(ask(api, query.format(key=api.key))) == expected


@pytest.mark.parametrize(
    "query",
    [
        "t=search&cat=abc",
        "t=search&cat=" + ",".join(map(str, range(3000))),
        "t=search&q=a%00b",
        "t=search&q=a%0D%0ASet-Cookie:%20x",
        "t=search&q=%ff%fe%c3%28",
        "t=search&q=%",
        "t=search&q=%zz",
        "t=search&q=" + "a%20" * 5000,
        "t=search&q=" + "%22" * 999,
        "t=search&" + "&".join(f"p{number}=x" for number in range(2000)),
        "t=search&t=caps&t=get&q=a&q=b&limit=1&limit=x",
        "t=search&limit=" + "9" * 5000,
        "t=search&group=" + "x" * 3000,
        "t=search&poster=%25_%5C",
        "t=search&password=%00&minage=&maxage=99999999999999",
        "t=tvsearch&season=9999&ep=99999",
        "t=tvsearch&season=1900&ep=2/29",
        "t=%3Cscript%3E",
        "t=search&o=yaml",
        "&&&=&=x&t=search&&",
    ],
)
def test_nz28_hostile_queries_give_a_well_formed_answer(api, query):
    root = assert_well_formed(ask(api, f"apikey={api.key}&{query}"))
    assert root.tag in {"rss", "error"}


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    names=st.lists(
        st.sampled_from(
            ["t", "q", "cat", "limit", "offset", "season", "ep", "maxage", "minsize", "group", "id"]
        ),
        max_size=6,
    ),
    values=st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=30), min_size=6),
    function=st.sampled_from(["search", "tvsearch", "movie", "music", "details", "caps", ""]),
)
def test_nz28_no_query_gives_a_5xx_or_a_422(api, names, values, function):
    pairs = [("apikey", api.key), ("t", function), *zip(names, values, strict=False)]
    response = api.client.get("/api", params=pairs)
    assert response.status_code == 200
    assert response.content.startswith((b"<?xml", b"{"))


def test_a_request_longer_than_any_client_sends_is_refused_in_words(api):
    response = ask(api, f"apikey={api.key}&t=search&q=" + "a" * 4001)
    assert read_error(response) == (200, 201, "Incorrect parameter (q)")


def test_post_takes_parameters_from_the_form(api):
    form = {"t": "search", "apikey": api.key, "q": "some show"}
    assert b"<item>" in api.client.post("/api", data=form).content
    assert b"<item>" in api.client.post("/api?t=search", data={"apikey": api.key}).content


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"\xff\xfe", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"x" * 1000, "multipart/form-data; boundary=x"),
        (b"", "application/x-www-form-urlencoded"),
    ],
)
def test_odd_bodies_are_ignored(api, content, content_type):
    headers = {"Content-Type": content_type}
    response = ask(api, f"t=search&apikey={api.key}", "POST", content=content, headers=headers)
    assert b"<item>" in response.content


def test_a_huge_body_is_refused(api):
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = ask(api, "t=search", "POST", content=b"q=" + b"a" * 100_000, headers=headers)
    assert read_error(response) == (200, 201, "Incorrect parameter (body)")


GROUP = "alt.binaries.test"
READABLE = (
    "/",
    "/?q=some",
    "/details/{id}",
    "/groups",
    f"/groups/{GROUP}",
    "/rules",
    "/settings",
    "/setup",
    "/static/voyager.css",
    "/robots.txt",
    "/healthz",
    "/readyz",
    "/api?t=caps",
    "/api?t=search&apikey={key}",
    "/rss?t=0&apikey={key}",
    "/api/v1/releases?apikey={key}",
    "/api/v1/releases/facets?apikey={key}",
    "/api/v1/releases/{id}?apikey={key}",
    "/api/v1/groups?apikey={key}",
    f"/api/v1/groups/{GROUP}/coverage?apikey={{key}}",
    f"/api/v1/groups/{GROUP}/ranges?apikey={{key}}",
    "/api/v1/rules?apikey={key}",
    "/api/v1/rules/x/samples?apikey={key}",
    "/api/v1/health?apikey={key}",
    "/api/v1/openapi.json",
)


@pytest.mark.parametrize("path", READABLE)
def test_head_has_the_length_of_the_body_and_no_body(api, path):
    path = path.format(key=api.key, id=api.ids[0])
    plain = {"Accept-Encoding": "identity"}
    got, head = api.client.get(path, headers=plain), api.client.head(path, headers=plain)
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))
    assert head.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize("path", ["/login", "/logout", "/settings/keys", "/settings/keys/revoke"])
def test_addresses_of_forms_lead_to_a_page_when_they_are_opened(api, path):
    for method in ("GET", "HEAD"):
        response = api.client.request(method, path)
        assert response.status_code == 303
        there = response.headers["location"].removeprefix("/voyager")
        assert api.client.get(there).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused_as_xml(api, method):
    response = ask(api, "t=caps", method)
    assert read_error(response) == (405, 900, "Method Not Allowed")
    assert response.headers["allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", "GET, HEAD"),
        ("/details/x", "GET, HEAD"),
        ("/static/voyager.css", "GET, HEAD"),
        ("/healthz", "GET, HEAD"),
        ("/api/v1/groups", "GET, HEAD"),
        ("/login", "GET, HEAD, POST"),
        ("/settings/password", "GET, HEAD, POST"),
        ("/getnzb/x.nzb", "GET, HEAD, POST"),
        ("/rss", "GET, HEAD, POST"),
    ],
)
def test_a_refused_method_is_told_which_ones_are_taken(api, path, allowed):
    response = api.client.request("DELETE", path)
    assert response.status_code == 405
    assert response.headers["allow"] == allowed
    assert api.client.delete(f"/voyager{path}").headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/api/v9", "/rssx", "/getnzb/a/b", "/api/%00", "/api//"])
def test_unknown_addresses_of_the_protocol_are_404_as_xml(api, path):
    assert read_error(api.client.get(path))[:2] == (404, 300)


@pytest.mark.parametrize("path", ["//api", "///api/", "/voyager//api", "//voyager/api"])
def test_slashes_that_were_joined_wrongly_do_not_hide_the_api(api, path):
    url = str(api.client.base_url).rstrip("/") + path
    assert b"<caps>" in httpx.get(f"{url}?t=caps").content


def test_unknown_addresses_are_a_line_to_programs_and_a_page_to_people(api):
    response = api.client.get("/nowhere")
    assert response.status_code == 404
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text == "Not Found\n"
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("GET", "/groups/", 404),
        ("GET", "/static/x", 404),
        ("POST", "/groups", 405),
    ):
        page = api.client.request(method, path, headers=browser)
        assert page.status_code == status
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "content-security-policy" in page.headers
        assert 'href="/voyager/"' in page.text
        assert "<h1>" in page.text
    assert page.headers["allow"] == "GET, HEAD"


def test_what_a_form_asks_for_decides_how_its_failure_is_told(api):
    form = {"t": "get", "id": "x", "apikey": api.key}
    assert read_error(api.client.post("/api", data=form)) == (404, 300, "No such item")
    wrong = api.client.post("/api", data={"t": "search", "o": "json", "apikey": "wrong"})
    assert wrong.json() == {"code": "100", "description": "Incorrect user credentials"}


def test_nz28_an_unforeseen_failure_is_500_with_code_900_and_no_traceback(api, monkeypatch):
    def explode(*_):
        msg = "secret detail of the inside"
        raise RuntimeError(msg)

    monkeypatch.setattr(newznab_api, "find", explode)
    response = ask(api, f"t=search&apikey={api.key}")
    assert read_error(response) == (500, 900, "Unknown error")
    assert "secret" not in response.text
    # The server ends it, and a client that went on would lose its next request.
    assert response.headers["connection"] == "close"


def test_an_unforeseen_failure_of_a_page_is_a_page(api, monkeypatch):
    monkeypatch.setattr(pages, "list_groups", lambda _: 1 / 0)
    page = api.client.get("/", headers={"Accept": "text/html"})
    assert page.status_code == 500
    assert "<h1>That failed</h1>" in page.text
    assert api.client.get("/").text == "Unknown error\n"


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def without_database():
    made = Settings(
        _env_file=None,
        database_url=f"postgresql://voyager:hidden@127.0.0.1:{unused_port()}/voyager",
        api=ApiSettings(external_url=None),
    )
    with serving(made, pool_timeout_seconds=0.2) as address:
        yield address


@pytest.mark.parametrize(
    "path", ["/api?t=search&apikey=k", "/api?t=caps", "/rss?t=0&r=k", "/getnzb/x.nzb?apikey=k"]
)
def test_nz27_a_database_that_is_gone_is_503_with_retry_after(without_database, path):
    response = httpx.get(without_database + path)
    assert read_error(response)[:2] == (503, 900)
    assert int(response.headers["retry-after"]) >= 1
    assert "hidden" not in response.text
    assert "127.0.0.1" not in response.text


def test_pages_and_health_say_that_the_database_is_gone(without_database):
    page = httpx.get(f"{without_database}/")
    assert page.status_code == 503
    assert "cannot be reached" in page.text
    for path in ("/details/0123456789abcdef00", "/download/0123456789abcdef00.nzb", "/groups"):
        page = httpx.get(without_database + path, headers={"Accept": "text/html"})
        assert page.status_code == 503, path
        assert "cannot be reached" in page.text
    ready = httpx.get(f"{without_database}/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
    assert "127.0.0.1" not in ready.text
    assert httpx.get(f"{without_database}/healthz").json() == {"status": "ok"}


def test_without_a_database_file_the_answer_is_503_until_there_is_one(tmp_path):
    made = Settings(_env_file=None, data_dir=tmp_path)
    with serving(made) as address:
        assert read_error(httpx.get(f"{address}/api?t=caps"))[:2] == (503, 900)


def test_a_database_without_the_schema_is_503(empty_database):
    made = Settings(_env_file=None, database_url=empty_database)
    with serving(made) as address:
        assert read_error(httpx.get(f"{address}/api?t=caps"))[:2] == (503, 900)
        assert httpx.get(f"{address}/readyz").status_code == 503


def test_a_database_that_comes_back_is_found_again(database):
    made = Settings(_env_file=None, database_url=database)
    name = database.rpartition("/")[2]
    with serving(made) as address, connect(database.replace(name, "postgres")) as admin:
        assert httpx.get(f"{address}/api?t=caps").status_code == 200
        for _ in range(2):
            admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
            )
            assert httpx.get(f"{address}/api?t=caps").status_code == 200


def test_a_busy_pool_answers_503_and_never_waits_for_ever(database):
    made = Settings(_env_file=None, database_url=database, api=ApiSettings(workers_pool_size=1))
    app = create_app(made, pool_timeout_seconds=0.1)
    with serving(made, app=app) as address, app.state.services.catalog.connection():
        assert read_error(httpx.get(f"{address}/api?t=caps"))[:2] == (503, 900)
        assert httpx.get(f"{address}/healthz").status_code == 200
