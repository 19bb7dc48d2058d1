"""`/api/v1`: pages without an end, facets, details, and answers as they are described."""

import base64
import json
from datetime import UTC, datetime

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.integration.api_support import BASE, add_releases, open_api, shared_database
from tests.integration.api_uploads import Upload, index_uploads
from voyager_api.routes.v1.api import openapi_document
from voyager_api.routes.v1.common import cursor_of, place_of
from voyager_core.catalog import search_statistics, search_ways
from voyager_core.catalog.groups import record_water_marks

pytestmark = pytest.mark.postgres

SHOW = Upload("Some.Show.S01E02.1080p.WEB.h264-GRP")
FILM = Upload("Some.Film.2019.720p.BluRay.x264-GRP", files=2)
HOSTILE = Upload("<script>alert(1)</script> \u202egpj.exe ..%2f..%2f")
POSTED_AT = datetime(2024, 3, 1, 12, tzinfo=UTC)
GROUP = "alt.binaries.test"


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        index_uploads(api.conn, [SHOW, FILM, HOSTILE], posted_at=POSTED_AT)
        record_water_marks(api.conn, {GROUP: (1, 200_000)}, POSTED_AT)
        yield api


def get(api, path, **parameters):
    response = api.get(f"/api/v1{path}", **parameters)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    return response.json()


def problem(response):
    document = response.json()
    assert set(document) == {"code", "description"}
    return response.status_code, document["code"], document["description"]


def names(page):
    return [item["name"] for item in page["items"]]


def test_releases_are_searched_like_anywhere_else(api):
    page = get(api, "/releases")
    assert (page["total"], page["total_is_least"], page["next"]) == (3, False, None)
    assert names(page)[1:] == [FILM.name, SHOW.name]
    assert names(get(api, "/releases", q="some show")) == [SHOW.name]
    assert names(get(api, "/releases", category=2000)) == [FILM.name]
    assert names(get(api, "/releases", q="some", category=[2000, 5040])) == [FILM.name, SHOW.name]
    assert names(get(api, "/releases", season=1, episode=2)) == [SHOW.name]
    assert names(get(api, "/releases", group="alt.binaries.other")) == []
    assert names(get(api, "/releases", q="some", min_completion=100)) == [FILM.name, SHOW.name]
    assert names(get(api, "/releases", state="settled")) == []
    assert len(names(get(api, "/releases", state="open"))) == 3


def test_a_release_says_what_is_known_of_it(api):
    (item,) = get(api, "/releases", q="some show")["items"]
    assert item["groups"] == [GROUP]
    assert (item["season"], item["episode"], item["category"]) == (1, 2, 5040)
    assert (item["files"], item["segments"], item["completion"]) == (3, 12, 100)
    assert (item["state"], item["completeness"]) == ("open", "complete")
    assert item["posted_at"].startswith("2024-03-01T12:00:00")


@pytest.mark.parametrize("q", ["", "number"])
def test_pages_follow_each_other_without_an_end_while_releases_come_in(database, q):
    with open_api(database) as api:
        add_releases(api.conn, *(f"Release.Number.{at}.720p" for at in range(23)))
        page = get(api, "/releases", limit=5, q=q)
        assert page["total"] == 23
        seen = names(page)
        while page["next"]:
            api.conn.execute(
                "update release set posted_at = now(), last_posted_at = now(), listed_at = now()"
                " where name = 'Release.Number.22.720p'"
            )
            page = get(api, "/releases", limit=5, q=q, cursor=page["next"])
            assert page["total"] is None
            seen += names(page)
        assert seen == [f"Release.Number.{at}.720p" for at in reversed(range(23))]


def test_pages_go_on_where_a_search_looked_no_further(database, monkeypatch):
    """A walk that ended with a short page has a next one, which begins where that ended."""
    monkeypatch.setattr(search_ways, "choose_way", lambda *_: "walk")
    monkeypatch.setattr(search_ways, "REACH_OF_WORDS", 10)
    with open_api(database) as api:
        kinds = ("720p" if at % 4 == 0 else "1080p" for at in range(24))
        add_releases(api.conn, *(f"Release.Number.{at}.{kind}" for at, kind in enumerate(kinds)))
        api.conn.execute("analyze release")
        search_statistics.forget()
        page = get(api, "/releases", limit=5, q="720p")
        assert (page["total"], page["total_is_least"]) == (2, True)
        seen = names(page)
        while page["next"]:
            page = get(api, "/releases", limit=5, q="720p", cursor=page["next"])
            seen += names(page)
        assert seen == [f"Release.Number.{at}.720p" for at in (20, 16, 12, 8, 4, 0)]


def test_a_cursor_at_the_end_of_time_is_answered(database, monkeypatch):
    monkeypatch.setattr(search_ways, "FEW_RELEASES", 10)
    with open_api(database) as api:
        add_releases(api.conn, *(f"Release.Number.{at}.720p" for at in range(30)))
        api.conn.execute("analyze release")
        search_statistics.forget()
        for year, count in ((1, 0), (9999, 5)):
            at = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
            cursor = cursor_of("posted_at", at, 7)
            page = get(api, "/releases", limit=5, q="number", cursor=cursor)
            assert len(page["items"]) == count


def test_a_cursor_is_of_one_order_only(api):
    cursor = cursor_of("feed_at", POSTED_AT, 7)
    assert place_of(cursor, "feed_at") == (POSTED_AT, 7)
    response = api.get("/api/v1/releases", q="words", cursor=cursor)
    assert problem(response) == (400, "201", "Incorrect parameter (cursor)")


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["x", "%", "é", "A" * 5000, "=" * 8, encoded([]), encoded({}), encoded(["feed_at", 1e400, 1]),
     encoded(["feed_at", "1; drop table release", 1]), encoded(["feed_at", 1, "1"]),
     encoded(["feed_at", 1, -1]), encoded(["feed_at", 1, True]), encoded(["feed_at", -1e300, 1]),
     encoded(["feed_at", None, 1]), encoded(["feed_at", 1, 1 << 63]), "W" * 196],
)  # fmt: skip
def test_a_made_up_cursor_is_a_bad_parameter(api, cursor):
    response = api.get("/api/v1/releases", cursor=cursor)
    assert problem(response) == (400, "201", "Incorrect parameter (cursor)")


def test_facets_count_what_a_search_finds(api):
    facets = get(api, "/releases/facets", q="some")
    assert facets["total"] == 2
    assert not facets["is_least"]
    assert facets["categories"] == {"2040": 1, "5040": 1}
    assert facets["groups"] == {GROUP: 2}
    assert facets["states"] == {"open": 2}
    assert facets["ages"] == {"older": 2}
    assert facets["completeness"] == {"complete": 2}
    nothing = get(api, "/releases/facets", q="nothing like it")
    assert (nothing["total"], nothing["categories"]) == (0, {})


def test_a_detail_has_files_candidates_and_where_it_came_from(api):
    (item,) = get(api, "/releases", q="some film")["items"]
    detail = get(api, f"/releases/{item['id']}")
    assert detail["release"] == item
    assert [file["name"] for file in detail["files"]] == [
        f"{FILM.name}.part01.rar",
        f"{FILM.name}.part02.rar",
    ]
    assert {(f["segments_found"], f["segments_expected"]) for f in detail["files"]} == {(4, 4)}
    assert sum(file["size_bytes"] for file in detail["files"]) == item["size_bytes"]
    (origin,) = detail["origins"]
    assert (origin["group"], origin["low"], origin["segments"]) == (GROUP, 1, 8)
    assert origin["parser_version"] == 1
    assert {one["kind"] for one in detail["candidates"]} <= {"archive_first"}
    assert detail["merges"] == []
    assert get(api, f"/releases/{item['id']}", files=False)["files"] is None


def test_what_became_part_of_a_release_leads_to_it(api):
    (item,) = get(api, "/releases", q="some film")["items"]
    api.conn.execute(
        "insert into release_alias (release_key, release_id, generation, reason)"
        " select 78, release_id, 0, 'test' from release where name = %s",
        [FILM.name],
    )
    detail = get(api, "/releases/000000000000004e00")
    assert detail["release"]["id"] == item["id"]
    assert [one["id"] for one in detail["merges"]] == ["000000000000004e00"]


@pytest.mark.parametrize("name", ["0" * 18, "x", "..%2f..", "%00", "1' or '1'='1"])
def test_an_unknown_release_or_group_is_404(api, name):
    assert problem(api.get(f"/api/v1/releases/{name}"))[:2] == (404, "300")
    assert problem(api.get(f"/api/v1/groups/{name}/coverage"))[:2] == (404, "300")
    assert problem(api.get(f"/api/v1/groups/{name}/ranges"))[:2] == (404, "300")


def test_groups_ranges_and_coverage(api):
    (group,) = get(api, "/groups")["items"]
    assert (group["group"], group["ranges"], group["high"]) == (GROUP, 1, 200_000)
    assert (group["indexed"], group["lag"], group["indexed_to"]) == (100_000, 100_000, 100_000)
    coverage = get(api, f"/groups/{GROUP}/coverage")
    assert coverage["stretches"] == [{"low": 1, "high": 100_000, "state": "indexed"}]
    page = get(api, f"/groups/{GROUP}/ranges", limit=1)
    assert [(one["low"], one["state"]) for one in page["items"]] == [(1, "done")]
    assert page["next"] == 1
    assert get(api, f"/groups/{GROUP}/ranges", before=1) == {"items": [], "next": None}


def test_rules_and_health_are_told(api):
    rules = get(api, "/rules", group=GROUP)
    assert set(rules) == {"rules", "rejects"}
    assert get(api, "/rules/size/samples") == {"rule": "size", "items": []}
    health = get(api, "/health")
    assert (health["releases"], health["groups"], health["ranges_parked"]) == (3, 1, 0)
    assert health["segments"] == 32


def test_a_key_is_needed_and_counted(database):
    with open_api(database, requests_per_day=1) as api:
        response = api.client.get("/api/v1/releases")
        assert problem(response) == (400, "200", "Missing parameter (apikey)")
        response = api.client.get("/api/v1/releases", headers={"X-Api-Key": "wrong"})
        assert problem(response) == (401, "100", "Incorrect user credentials")
        headers = {"Authorization": f"Bearer {api.key}"}
        assert api.client.get("/api/v1/releases", headers=headers).status_code == 200
        response = api.client.get("/api/v1/groups", headers=headers)
        assert problem(response) == (429, "500", "Request limit reached")
        assert int(response.headers["retry-after"]) > 86_000


@pytest.mark.parametrize(
    ("query", "name"),
    [("limit=x", "limit"), ("limit=0", "limit"), ("category=a&category=5000", "category"),
     ("state=half", "state"), ("aired_on=2024-13-01", "aired_on"), ("min_age=-1", "min_age"),
     ("limit=x&state=y", "limit, state"), (f"q={'a' * 4001}", "q")],
)  # fmt: skip
def test_a_bad_parameter_is_named(api, query, name):
    response = api.client.get(f"/api/v1/releases?{query}&apikey={api.key}")
    assert problem(response) == (400, "201", f"Incorrect parameter ({name})")


def test_unknown_addresses_and_methods_are_problems(api):
    assert problem(api.client.get("/api/v1/nothing"))[:2] == (404, "300")
    assert problem(api.client.post("/api/v1/releases"))[:2] == (405, "900")


def test_the_description_names_every_address_and_no_422(api):
    document = api.client.get("/api/v1/openapi.json").json()
    assert set(document["paths"]) == {
        "/api/v1/releases",
        "/api/v1/releases/facets",
        "/api/v1/releases/{release_id}",
        "/api/v1/groups",
        "/api/v1/groups/{group}/coverage",
        "/api/v1/groups/{group}/ranges",
        "/api/v1/rules",
        "/api/v1/rules/{rule}/samples",
        "/api/v1/health",
    }
    assert '"422"' not in json.dumps(document)
    assert document["servers"] == [{"url": BASE}]


@given(st.text(max_size=40), st.text(max_size=20))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_words_and_groups_are_answered(api, q, group):
    for path in ("/releases", "/releases/facets"):
        response = api.client.get(
            f"/api/v1{path}", params={"q": q, "group": group, "apikey": api.key}
        )
        assert response.status_code == 200
        response.json()


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(openapi_document("http://127.0.0.1"))


@SCHEMA.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case, api):
    response = case.call(base_url=str(api.client.base_url), headers={"X-Api-Key": api.key})
    case.validate_response(response, checks=CHECKS)
