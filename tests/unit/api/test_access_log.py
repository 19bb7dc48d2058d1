"""No key reaches a log."""

import logging

import pytest

from voyager_api import access_log
from voyager_api.access_log import redact


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
