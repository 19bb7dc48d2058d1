"""Keys: where they may stand, what they let in, and their limits."""

import base64
from datetime import timedelta

import pytest

from tests.integration.api_support import NS, add_releases, open_api, read_error, shared_database
from voyager_api.deps import WRONG_KEYS_PER_MINUTE
from voyager_core.catalog.keys import create_key, list_keys, revoke_key

pytestmark = pytest.mark.postgres

NAME = "Some.Show.S01E01.1080p.WEB.h264-GRP"


@pytest.fixture(scope="module")
def api(postgres_server):
    with shared_database(postgres_server) as database, open_api(database) as api:
        add_releases(api.conn, NAME)
        yield api


def test_nz2_caps_answer_without_a_key_and_refuse_a_wrong_one(api):
    assert b"<caps>" in api.get("/api", t="caps", apikey=None).content
    assert b"<caps>" in api.get("/api", t="caps").content
    assert api.error(t="caps", apikey="wrong") == (200, 100, "Incorrect user credentials")


@pytest.mark.parametrize("function", ["search", "tvsearch", "movie", "details", "comments"])
def test_nz27_searches_tell_a_bad_key_with_status_200(api, function):
    assert api.error(t=function, apikey="wrong") == (200, 100, "Incorrect user credentials")
    assert api.error(t=function, apikey=None) == (200, 200, "Missing parameter (apikey)")


@pytest.mark.parametrize("path", ["/api?t=get&id=0123456789abcdef00", "/rss?t=0", "/getnzb?id=x"])
def test_nz27_downloads_and_feeds_tell_it_with_status_401(api, path):
    response = api.client.get(f"{path}&apikey=wrong")
    assert read_error(response) == (401, 100, "Incorrect user credentials")
    assert response.headers["www-authenticate"].startswith("Basic ")


def basic(text):
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("apikey={key}", {}),
        ("APIKEY={key}", {}),
        ("r={key}", {}),
        ("i=1&r={key}", {}),
        ("api_token={key}", {}),
        ("apikey=&r={key}", {}),
        ("", {"X-Api-Key": "{key}"}),
        ("", "user:{key}"),
        ("", "{key}:"),
        ("", {"Authorization": "Bearer {key}"}),
    ],
)
def test_a_key_is_taken_wherever_clients_put_it(api, query, headers):
    if isinstance(headers, str):
        sent = basic(headers.format(key=api.key))
    else:
        sent = {name: value.format(key=api.key) for name, value in headers.items()}
    response = api.client.get(f"/api?t=search&{query.format(key=api.key)}", headers=sent)
    assert b"<rss" in response.content


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": "Basic %%%"}, {"Authorization": "Basic"}, {"Authorization": "Basic /w=="},
     {"Authorization": "Digest x"}, {"X-Api-Key": ""}, {"Authorization": ""}],
)  # fmt: skip
def test_unreadable_credentials_are_no_key(api, headers):
    response = api.client.get("/api?t=search", headers=headers)
    assert read_error(response) == (200, 200, "Missing parameter (apikey)")


@pytest.mark.parametrize("key", ["%00", "a%00b", "é" * 50, "x" * 5000, "' or 1=1 --", "%ff%fe"])
def test_hostile_keys_are_wrong_keys(api, key):
    status, code, _ = read_error(api.client.get(f"/api?t=search&apikey={key}"))
    assert (status, code) in {(200, 100), (200, 200)}


def test_links_carry_the_callers_own_key(api):
    other = create_key(api.conn, "other")
    mine, theirs = (api.get("/api", t="search", apikey=key).text for key in (api.key, other))
    assert f".nzb?apikey={api.key}" in mine
    assert f".nzb?apikey={other}" in theirs
    assert api.key not in theirs


def test_a_revoked_key_is_a_wrong_key(api):
    plain = create_key(api.conn, "soon revoked")
    assert api.titles(t="search", apikey=plain) == [NAME]
    assert revoke_key(api.conn, list_keys(api.conn)[-1].api_key_id)
    assert api.error(t="search", apikey=plain) == (200, 100, "Incorrect user credentials")


def test_nz15_the_limit_of_requests_is_429_with_the_exact_text_and_seconds(database):
    with open_api(database, requests_per_day=3) as api:
        for number in (1, 2, 3):
            limits = api.feed(t="search").find(f"{NS}apilimits")
            assert limits.attrib == {
                "apicurrent": str(number),
                "apimax": "3",
                "apioldesttime": "Sat, 02 Mar 2024 00:00:00 +0000",
            }
        response = api.get("/api", t="search")
        assert read_error(response) == (429, 500, "Request limit reached")
        assert 86_000 < int(response.headers["retry-after"]) <= 86_401
        assert read_error(api.get("/rss", t="0"))[:2] == (429, 500)
        assert b"<caps>" in api.get("/api", t="caps").content
        api.now[0] += timedelta(hours=24, seconds=11)
        assert api.feed(t="search").find(f"{NS}apilimits").get("apicurrent") == "1"


def test_nz15_a_keys_own_limit_precedes_the_installations(database):
    with open_api(database, requests_per_day=1) as api:
        unlimited = create_key(api.conn, "no limit", requests_per_day=0)
        for _ in range(3):
            assert api.feed(t="search", apikey=unlimited).find(f"{NS}apilimits") is None
        api.feed(t="search")
        assert api.error(t="search")[:2] == (429, 500)


def test_the_window_rolls(database):
    with open_api(database, requests_per_day=2) as api:
        api.feed(t="search")
        api.now[0] += timedelta(hours=23)
        api.feed(t="search")
        response = api.get("/api", t="search")
        assert 3_500 < int(response.headers["retry-after"]) <= 3_620
        api.now[0] += timedelta(hours=1, seconds=11)
        api.feed(t="search")


def test_a_bad_request_still_counts_and_a_wrong_key_does_not(database):
    with open_api(database, requests_per_day=2) as api:
        assert api.error(t="search", apikey="wrong")[1] == 100
        assert api.error(t="search", limit="many")[1] == 201
        assert api.feed(t="search").find(f"{NS}apilimits").get("apicurrent") == "2"


def test_nz15_a_burst_is_429_until_some_of_the_minute_is_over(database):
    with open_api(database, requests_per_minute=6) as api:
        other = create_key(api.conn, "other")
        for _ in range(6):
            api.feed(t="search")
        response = api.get("/api", t="search")
        assert read_error(response) == (429, 500, "Request limit reached")
        assert response.headers["retry-after"] == "10"
        assert read_error(api.get("/api", t="get", id="0" * 18))[1] == 300
        api.feed(t="search", apikey=other)
        assert b"<caps>" in api.get("/api", t="caps").content
        api.now[0] += timedelta(seconds=10)
        api.feed(t="search")
        assert api.error(t="search")[:2] == (429, 500)


def test_an_address_with_many_wrong_keys_is_told_to_wait_and_known_keys_go_on(database):
    with open_api(database) as api:
        api.feed(t="search")
        late = create_key(api.conn, "not seen yet")
        for at in range(WRONG_KEYS_PER_MINUTE):
            assert api.error(t="search", apikey=f"wrong{at}")[1] == 100
        assert api.error(t="search", apikey="wrong") == (429, 500, "Request limit reached")
        assert api.error(t="search", apikey=late)[:2] == (429, 500)
        api.feed(t="search")
        revoked = next(one for one in list_keys(api.conn) if one.label == "test")
        revoke_key(api.conn, revoked.api_key_id)
        assert api.error(t="search")[1] == 100
        assert api.error(t="search")[:2] == (429, 500)
        api.now[0] += timedelta(seconds=2)
        api.feed(t="search", apikey=late)


def test_only_a_hash_of_a_key_is_stored(api):
    plain = create_key(api.conn, "hashed")
    for table in ("api_key", "api_use", "api_grab", "setting"):
        for row in api.conn.execute(f"select * from {table}"):
            assert plain not in repr(row)
            assert plain.encode() not in [bytes(v) for v in row if isinstance(v, bytes)]
