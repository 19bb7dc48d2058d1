"""Signing in: who sees the pages, and what a form must carry."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx
import pytest

from tests.integration.api_support import add_releases, open_api
from voyager_api import deps
from voyager_api.routes import desk_pages, login_pages
from voyager_api.throttle import Turns
from voyager_core.catalog.accounts import create_account, set_password
from voyager_core.catalog.keys import list_keys, verify_key

pytestmark = pytest.mark.postgres

PASSWORD = "correct horse  battery "
PAGES = ("/", "/?q=some", "/groups", "/rules", "/settings")


@pytest.fixture
def api(database):
    with open_api(database) as api:
        api.ids = add_releases(api.conn, "Some.Show.S01E01.1080p.WEB.h264-GRP")
        # Cookies belong to the addresses below the configured prefix.
        api.client.base_url = api.client.base_url.join("/voyager")
        yield api


@pytest.fixture
def account(api):
    return create_account(api.conn, "ann", PASSWORD)


def token_on(response):
    return re.search(r'name="form_token" value="([0-9a-f]{64})"', response.text)[1]


def sign_in(api, name="ann", password=PASSWORD, **more):
    page = api.client.get("/login")
    fields = {"name": name, "password": password, "form_token": token_on(page)} | more
    return api.client.post("/login", data=fields)


def test_without_accounts_the_pages_are_open_to_this_machine(api):
    assert [api.client.get(path).status_code for path in PAGES] == [200] * len(PAGES)
    assert "/voyager/setup" in api.client.get("/").text


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"X-Forwarded-Host": "index.example"},
        {"X-Real-IP": "127.0.0.1"},
        {"Via": "1.1 somewhere"},
        {"Host": "rebound.example"},
        {"Host": "127.0.0.1.rebound.example"},
        {"Host": ""},
    ],
)
def test_without_accounts_nobody_else_sees_anything(api, headers):
    for path in (*PAGES, f"/details/{api.ids[0]}", f"/download/{api.ids[0]}.nzb"):
        response = api.client.get(path, headers=headers)
        assert response.status_code == 403, path
        assert "voyager users add" in response.text
        assert "Some.Show" not in response.text
    assert api.client.get("/setup", headers=headers).headers["location"] == "/voyager/"


def test_with_an_account_everybody_signs_in_and_comes_back_to_the_page(api, account):
    for path in (*PAGES, f"/details/{api.ids[0]}", f"/download/{api.ids[0]}.nzb"):
        response = api.client.get(path)
        assert response.status_code == 303, path
        assert response.headers["location"].startswith("/voyager/login?next=")
    into = api.client.get("/?q=some%20show").headers["location"]
    page = api.client.get(into.removeprefix("/voyager"))
    following = re.search(r'name="next" value="([^"]*)"', page.text)[1]
    done = sign_in(api, next=following)
    assert (done.status_code, done.headers["location"]) == (303, "/voyager/?q=some%20show")
    assert [api.client.get(path).status_code for path in PAGES] == [200] * len(PAGES)
    assert "Signed in as ann" in api.client.get("/").text


def test_a_page_that_asks_for_a_piece_of_itself_goes_to_the_login_as_a_whole(api, account):
    for path in ("/groups", "/?q=a%26b"):
        response = api.client.get(path, headers={"HX-Request": "true"})
        assert (response.status_code, response.content) == (200, b"")
        plain = api.client.get(path)
        assert response.headers["hx-redirect"] == plain.headers["location"]
        assert response.headers["hx-redirect"].startswith("/voyager/login?next=")


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(api, account):
    cookie = sign_in(api).headers["set-cookie"]
    assert re.fullmatch(
        r"voyager_session=[\w-]{43}; Path=/voyager/; Max-Age=2592000; HttpOnly; SameSite=Lax",
        cookie,
    )
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    fresh = httpx.get(str(api.client.base_url) + "login", headers=forwarded)
    assert fresh.headers["set-cookie"].endswith("; Secure")


def test_a_wrong_password_and_an_unknown_name_look_the_same(api, account):
    wrong = sign_in(api, password="something else")
    unknown = sign_in(api, name="nobody")
    almost = sign_in(api, password=PASSWORD.strip())
    for response in (wrong, unknown, almost):
        assert response.status_code == 403
        assert "The name or the password is wrong." in response.text
        assert "voyager_session" not in response.headers.get("set-cookie", "")
    assert api.client.get("/settings").status_code == 303
    # Only the password has to be typed again.
    assert 'name="name" value="ann"' in wrong.text
    assert re.search(r'name="password"[^>]* autofocus', wrong.text)


@pytest.fixture
def strict(database, monkeypatch):
    """An application that takes few wrong passwords, since each costs a hash."""
    monkeypatch.setattr(deps, "PASSWORDS_OF_NAME", 3)
    monkeypatch.setattr(deps, "PASSWORDS_OF_CLIENT", 5)
    with open_api(database) as api:
        api.client.base_url = api.client.base_url.join("/voyager")
        create_account(api.conn, "bea", PASSWORD)
        yield api


def test_guessing_is_stopped_even_with_the_right_password_at_last(strict):
    codes = [sign_in(strict, name="bea", password=f"wrong {at}").status_code for at in range(4)]
    assert codes == [403] * 3 + [429]
    late = sign_in(strict, name="bea")
    assert late.status_code == 429
    assert late.headers["retry-after"] == "300"
    assert "in 5 min" in late.text
    create_account(strict.conn, "cas", PASSWORD)
    assert sign_in(strict, name="cas").status_code == 303
    strict.client.cookies.clear()
    strict.now[0] += timedelta(seconds=300)
    assert sign_in(strict, name="bea").status_code == 303


def test_guessing_many_names_is_stopped_too_and_signing_in_is_not_counted(strict):
    for _ in range(6):
        assert sign_in(strict, name="bea").status_code == 303
        strict.client.cookies.clear()
    codes = [sign_in(strict, name=f"nobody{at}").status_code for at in range(6)]
    assert codes == [403] * 5 + [429]
    assert sign_in(strict, name="bea").status_code == 429


def test_a_try_that_is_refused_for_its_client_does_not_count_for_its_name(strict):
    for at in range(5):
        sign_in(strict, name=f"nobody{at}")
    refused = [sign_in(strict, name="bea") for _ in range(3)]
    assert [each.status_code for each in refused] == [429] * 3
    # One use of the client's own is free again, and the name has all of its own.
    strict.now[0] += timedelta(seconds=int(refused[-1].headers["retry-after"]))
    assert sign_in(strict, name="bea").status_code == 303


def test_guessing_at_the_same_moment_gains_nothing(strict):
    page = strict.client.get("/login")
    cookies, token = dict(strict.client.cookies), token_on(page)

    def guess(number):
        fields = {"name": "bea", "password": f"wrong {number}", "form_token": token}
        url = f"{strict.client.base_url}login"
        return httpx.post(url, data=fields, cookies=cookies, timeout=60).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(guess, range(8))) == [403] * 3 + [429] * 5


def test_many_who_sign_in_at_once_hold_up_nobody_else(strict, monkeypatch):
    turns = Turns(at_once=1, waiting=0)
    for module in (login_pages, desk_pages):
        monkeypatch.setattr(module, "HASHING", turns)
    with turns.one():
        busy = [sign_in(strict, name="bea", password="wrong") for _ in range(6)]
        assert [each.status_code for each in busy] == [503] * 6
        assert busy[0].headers["retry-after"] == "5"
        assert "Too many passwords are being looked at" in busy[0].text
    # None of them was a guess.
    assert sign_in(strict, name="bea").status_code == 303
    token = token_on(strict.client.get("/settings"))
    fields = {"old": PASSWORD, "password": "n" * 12, "again": "n" * 12, "form_token": token}
    with turns.one():
        refused = strict.client.post("/settings/password", data=fields)
    assert "Too many passwords are being looked at" in refused.text
    assert strict.client.post("/settings/password", data=fields).status_code == 303


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"form_token": ""}, {}),
        ({"form_token": "0" * 64}, {}),
        ({}, {"Sec-Fetch-Site": "cross-site"}),
        ({}, {"Origin": "https://evil.example"}),
    ],
)
def test_a_form_of_another_site_does_nothing(api, account, fields, headers):
    page = api.client.get("/login")
    sent = {"name": "ann", "password": PASSWORD, "form_token": token_on(page)} | fields
    assert api.client.post("/login", data=sent, headers=headers).status_code == 403
    assert sign_in(api).status_code == 303
    good = token_on(api.client.get("/settings"))
    before = list_keys(api.conn)
    sent = {"label": "evil", "form_token": good} | fields
    assert api.client.post("/settings/keys", data=sent, headers=headers).status_code == 403
    sent = {"number": str(before[0].api_key_id), "form_token": good} | fields
    assert api.client.post("/settings/keys/revoke", data=sent, headers=headers).status_code == 403
    assert list_keys(api.conn) == before


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX-Bad: 1", "x"]
)
def test_signing_in_never_leads_elsewhere(api, account, target):
    response = sign_in(api, next=target)
    assert response.headers["location"] in {"/voyager/", "/voyager/a%20X-Bad:%201"}
    assert "x-bad" not in response.headers


def test_a_session_ends_by_signing_out_by_time_and_by_a_new_password(api, account):
    sign_in(api)
    token = token_on(api.client.get("/settings"))
    kept = dict(api.client.cookies)
    out = api.client.post("/logout", data={"form_token": token})
    assert "Max-Age=0" in out.headers["set-cookie"]
    api.client.cookies.update(kept)
    assert api.client.get("/settings").status_code == 303

    api.client.cookies.clear()
    sign_in(api)
    api.now[0] += timedelta(days=29)
    assert api.client.get("/settings").status_code == 200
    api.now[0] += timedelta(days=29)
    assert api.client.get("/settings").status_code == 200
    api.now[0] += timedelta(days=31)
    assert api.client.get("/settings").status_code == 303

    api.client.cookies.clear()
    sign_in(api)
    set_password(api.conn, "ann", "another one entirely")
    assert api.client.get("/settings").status_code == 303


def test_another_site_cannot_sign_anybody_out(api, account):
    sign_in(api)
    token = token_on(api.client.get("/settings"))
    for fields, headers in (
        ({}, {}),
        ({"form_token": "0" * 64}, {}),
        ({"form_token": token}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        response = api.client.post("/logout", data=fields, headers=headers)
        assert response.status_code == 403
        assert "set-cookie" not in response.headers
    # A form of another site comes without the cookie, and its answer could still take it away.
    bare = httpx.post(f"{api.client.base_url}logout", data={"form_token": token})
    assert "voyager_session" not in bare.headers.get("set-cookie", "")
    assert api.client.get("/settings").status_code == 200


def test_the_first_account_is_made_on_this_machine_and_only_once(api):
    page = api.client.get("/setup")
    fields = {"name": "ann", "password": PASSWORD, "again": PASSWORD, "form_token": token_on(page)}
    differ = api.client.post("/setup", data=fields | {"again": PASSWORD.strip()})
    assert (differ.status_code, "The two passwords differ." in differ.text) == (400, True)
    short = api.client.post("/setup", data=fields | {"password": "x", "again": "x"})
    assert "at least 10 characters" in short.text
    odd = api.client.post("/setup", data=fields | {"name": "<b>"})
    assert odd.status_code == 400
    made = api.client.post("/setup", data=fields)
    assert made.headers["location"] == "/voyager/"
    assert "Signed in as ann" in api.client.get("/").text
    again = api.client.post("/setup", data=fields | {"name": "eve"})
    assert again.headers["location"] == "/voyager/login"
    api.client.cookies.clear()
    assert sign_in(api, name="eve").status_code == 403


def test_a_key_made_on_the_page_works_is_shown_once_and_can_be_revoked(api, account):
    sign_in(api)
    token = token_on(api.client.get("/settings"))
    fields = {"label": "<sonarr>", "grabs_per_day": "5", "form_token": token}
    made = api.client.post("/settings/keys", data=fields)
    key = re.search(r'class="key">([0-9a-f]{32})<', made.text)[1]
    assert verify_key(api.conn, key).grabs_per_day == 5
    assert "&lt;sonarr&gt;" in made.text
    assert key not in api.client.get("/settings").text
    (number,) = [one.api_key_id for one in list_keys(api.conn) if one.label == "<sonarr>"]
    api.client.post("/settings/keys/revoke", data={"number": str(number), "form_token": token})
    assert verify_key(api.conn, key) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"label": ""},
        {"label": "x", "requests_per_day": "-1"},
        {"label": "x", "requests_per_day": "many"},
        {"label": "x", "grabs_per_day": "9" * 17},
        {"number": "x"},
        {"number": "9" * 30},
    ],
)
def test_a_form_filled_in_wrongly_changes_nothing(api, fields):
    before = list_keys(api.conn)
    token = token_on(api.client.get("/settings"))
    path = "/settings/keys/revoke" if "number" in fields else "/settings/keys"
    response = api.client.post(path, data=fields | {"form_token": token})
    assert response.status_code in {303, 400}
    assert list_keys(api.conn) == before
    if response.status_code == 400:
        for name, typed in fields.items():
            assert f'name="{name}" value="{typed}"' in response.text


def test_the_password_is_changed_by_its_owner_and_ends_other_sessions(api, account):
    other = httpx.Client(base_url=api.client.base_url, cookies=dict(api.client.cookies))
    with other:
        sign_in(api)
        other.cookies.update(api.client.cookies)
        api.client.cookies.clear()
        sign_in(api)
        token = token_on(api.client.get("/settings"))
        new = "a new and longer one"
        wrong = {"old": "x", "password": new, "again": new, "form_token": token}
        assert api.client.post("/settings/password", data=wrong).status_code == 400
        assert other.get("/settings").status_code == 200
        done = api.client.post("/settings/password", data=wrong | {"old": PASSWORD})
        assert done.status_code == 303
        assert api.client.get("/settings").status_code == 200
        assert other.get("/settings").status_code == 303
    api.client.cookies.clear()
    assert sign_in(api, password=new).status_code == 303


def test_a_proxy_that_asks_for_a_password_can_open_the_pages(database):
    with open_api(database, login="off") as api:
        response = api.client.get("/settings", headers={"X-Forwarded-For": "192.0.2.1"})
        assert response.status_code == 200


def test_programs_go_on_with_their_keys(api, account):
    assert api.titles(t="search", q="show") == ["Some.Show.S01E01.1080p.WEB.h264-GRP"]
    assert api.client.get("/healthz").status_code == 200
    assert api.client.get("/static/voyager.css").status_code == 200
