"""What routes learn of a request."""

from datetime import UTC, datetime, timedelta

import pytest
from starlette.requests import Request

from voyager_api import deps
from voyager_api.deps import Kept, client_of

NOW = datetime(2024, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("host", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_an_address_or_the_network_that_one_client_has(host, client):
    assert client_of(Request({"type": "http", "client": (host, 1)})) == client


def test_a_client_without_an_address_is_one_like_any_other():
    assert client_of(Request({"type": "http", "client": None})) == ""


def test_how_far_newsgroups_are_is_added_up_once_in_some_seconds():
    statuses = Kept(lambda _, now: [now])
    kept = deps.STATUS_KEPT
    assert statuses.get(None, NOW) == [NOW]
    assert statuses.get(None, NOW + kept - timedelta(seconds=1)) == [NOW]
    assert statuses.get(None, NOW + kept) == [NOW + kept]
    # A clock that was set back does not keep it for hours.
    assert statuses.get(None, NOW) == [NOW]
