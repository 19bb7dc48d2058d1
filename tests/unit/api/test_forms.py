"""Cookies and form tokens."""

import pytest

from voyager_api.web.forms import (
    cookie_header,
    form_token,
    is_own_form,
    new_token,
    read_cookies,
    safe_path,
)

BASE = "https://index.example/voyager"


def own(cookie="abc", **given):
    values = {"token": form_token("abc"), "origin": "", "fetch_site": "", "base": BASE}
    return is_own_form(cookie=cookie, **(values | given))


def test_a_form_with_the_token_of_its_cookie_is_ones_own():
    assert own()
    assert own(origin="https://index.example", fetch_site="same-origin")
    assert own(origin="http://index.example")


@pytest.mark.parametrize(
    "given",
    [
        {"cookie": ""},
        {"cookie": "abd"},
        {"token": ""},
        {"token": "\u00e9" * 64},
        {"fetch_site": "cross-site"},
        {"fetch_site": "same-site"},
        {"origin": "https://index.example.evil"},
        {"origin": "https://evil.example"},
    ],
)
def test_any_other_form_is_not(given):
    assert not own(**given)


def test_tokens_differ_and_fit_a_cookie():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(read_cookies(f"a=b; c={token}") == {"a": "b", "c": token} for token in tokens)


@pytest.mark.parametrize(
    ("header", "cookies"),
    [
        ("", {}),
        ("a=1; a=2", {"a": "1"}),
        ('a="1"; b=2', {"b": "2"}),
        ("a=\r\nb; =; ;;", {}),
        (f"a={'x' * 500}; b=2", {"b": "2"}),
        ("a=1;" * 100 + "b=2", {"a": "1"}),
    ],
)
def test_odd_cookies_are_left_out(header, cookies):
    assert read_cookies(header) == cookies


@pytest.mark.parametrize("text", ["", "x", "//a", "/\\a", "https://a", "/a\n", "/" * 2500])
def test_only_paths_of_this_server_are_gone_to(text):
    assert safe_path(text) == "/"


def test_a_path_with_a_query_is_kept():
    assert safe_path("/?q=a%20b&cat=2000") == "/?q=a%20b&cat=2000"


def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites():
    header = cookie_header("a", "b", path="/x/", is_secure=False, max_age_seconds=9)
    assert header == b"a=b; Path=/x/; Max-Age=9; HttpOnly; SameSite=Lax"
    secure = cookie_header("a", "b", path="", is_secure=True, max_age_seconds=0)
    assert secure == b"a=b; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"
