"""No key reaches a log."""

import logging
from urllib.parse import unquote

import pytest

from voyager_api import access_log
from voyager_api.access_log import redact, request_line


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/api?t=search&apikey=SECRET&q=a", "/api?t=search&apikey=REDACTED&q=a"),
        ("/rss?t=0&i=1&r=SECRET", "/rss?t=0&i=1&r=REDACTED"),
        ("/api?APIKEY=SECRET", "/api?APIKEY=REDACTED"),
        ("/api?%61pikey=SECRET&apikey[]=SECRET", "/api?%61pikey=REDACTED&apikey[]=REDACTED"),
        ("/api?api%00key=SECRET&+apikey=SECRET", "/api?api%00key=REDACTED&+apikey=REDACTED"),
        ("/getnzb/1.nzb&i=1&r=SECRET", "/getnzb/1.nzb&i=1&r=REDACTED"),
        ("/api?api_token=SECRET?x", "/api?api_token=REDACTED?x"),
        ("/api?apikey=", "/api?apikey=REDACTED"),
        ("/api?q=apikey", "/api?q=apikey"),
        ("/", "/"),
    ],
)
def test_secret_parameters_are_blotted_out(address, shown):
    assert redact(address) == shown


def test_uvicorns_access_log_is_redacted_and_installed_once(caplog):
    access_log.install()
    access_log.install()
    logger = logging.getLogger("uvicorn.access")
    assert sum(isinstance(one, access_log.RedactingFilter) for one in logger.filters) == 1
    with caplog.at_level(logging.INFO, logger="uvicorn.access"):
        logger.info('%s - "%s %s HTTP/%s" %d', "c", "GET", "/api?apikey=SECRET", "1.1", 200)
    assert caplog.messages == ['c - "GET /api?apikey=REDACTED HTTP/1.1" 200']


KEY = "b449356648364b35e2aa7ba42f6a9b79"


@pytest.mark.parametrize(
    "address",
    [
        f"/api?a=1;apikey={KEY[:20]}",
        f"/api?x&amp;apikey={KEY[:20]}",
        f"/api?t=get&id=http%3A%2F%2Fh%2Fgetnzb%2Fx.nzb%3Fapikey%3D{KEY[:20]}",
        f"/api?t=get&id=http%253A%252F%252Fh%252Fx%253Fapikey%253D{KEY[:20]}",
        f"/api?t=search%26apikey={KEY[:20]}",
        f"/api%3Fapikey%3D{KEY[:20]}",
        f"/getnzb/7f702e8a05b9796300.nzb%26i%3D1%26r%3D{KEY[:20]}",
        f"/api/apikey%3D{KEY[:20]}",
        f"/api?q=a=b=apikey={KEY[:20]}",
        f"/api?passkey={KEY}",
        f"/api/{KEY.upper()}",
        f"/{KEY}/api?t=search",
        f"/api?%A0apikey={KEY[:20]}",
        f"/api?q=a&%a0%A0r%A0={KEY[:20]}",
        f"/api?id=http%3A%2F%2Fh%2Fx%3Fpasskey%3D{KEY}",
        f"/api?id=http%253A%252F%252Fh%252Fx%253Fpasskey%253D{KEY}%26a",
        f"/api?passkey={''.join(f'%{ord(char):02x}' for char in KEY)}",
        f"/api?passkey={KEY[:9]}%{ord(KEY[9]):02X}{KEY[10:]}",
        f"/{KEY[:31]}%25{ord(KEY[31]):x}",
    ],
)
def test_a_key_is_blotted_out_wherever_somebody_puts_it(address):
    shown = redact(address)
    assert KEY[:20].lower() not in unquote(unquote(shown)).lower()
    assert "REDACTED" in shown


def test_what_is_no_secret_stays():
    address = "/details/7f702e8a05b9796300?q=a%3Db;c=d&t=tvsearch&season=3"
    assert redact(address) == address


def test_a_hostile_address_is_redacted_at_once():
    for hostile in ("a=" * 30_000, "%3D" * 20_000, "%25" * 20_000 + "3D", "?&;" * 20_000):
        assert redact(hostile) == hostile


def test_a_request_is_told_by_method_and_address_without_its_keys():
    scope = {
        "method": "GET",
        "path": f"/x/{KEY}",
        "query_string": f"r={KEY}&q=\xe9".encode("latin-1"),
    }
    assert request_line(scope) == "GET /x/REDACTED?r=REDACTED&q=\xe9"
    assert request_line(scope | {"query_string": b""}) == "GET /x/REDACTED"
