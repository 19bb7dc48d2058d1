"""Keys are shown once, stored as hashes, and limited over a rolling day."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.spans import add_ranges, built, release, store
from voyager_core.catalog.connect import connect
from voyager_core.catalog.keys import (
    GRAB,
    REQUEST,
    count_grab,
    count_use,
    create_key,
    list_keys,
    revoke_key,
    uses,
    verify_key,
)

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 2, 12, 0, 30, tzinfo=UTC)


def test_key_is_verified_until_it_is_revoked(catalog):
    plain = create_key(catalog, "sonarr", requests_per_day=5)
    assert len(plain) == 32
    assert int(plain, 16) >= 0
    key = verify_key(catalog, plain)
    assert key is not None
    assert (key.label, key.requests_per_day, key.grabs_per_day) == ("sonarr", 5, None)
    assert verify_key(catalog, f" {plain}\n") == key
    assert revoke_key(catalog, key.api_key_id)
    assert not revoke_key(catalog, key.api_key_id)
    assert verify_key(catalog, plain) is None
    assert [one.revoked_at is not None for one in list_keys(catalog)] == [True]


def test_keys_differ_and_only_their_hashes_are_stored(catalog):
    plains = {create_key(catalog, "a\0b") for _ in range(20)}
    assert len(plains) == 20
    stored = catalog.execute("select string_agg(k::text, '') from api_key k").fetchone()[0]
    assert not [plain for plain in plains if plain in stored]
    assert [key.label for key in list_keys(catalog)] == ["ab"] * 20


@pytest.mark.parametrize(
    "wrong", ["", " ", "x", "0" * 32, "0" * 5000, "\0", "'; --", "é\ud800", "%", "_" * 32]
)
def test_anything_else_is_no_key(catalog, wrong):
    create_key(catalog, "a")
    assert verify_key(catalog, wrong) is None


def key_id(catalog) -> int:
    create_key(catalog, "a")
    return list_keys(catalog)[-1].api_key_id


def test_uses_are_counted_up_to_the_limit_over_a_rolling_day(catalog):
    key = key_id(catalog)
    for number in range(3):
        use = count_use(catalog, key, limit=3, now=NOW + timedelta(hours=number))
        assert (use.allowed, use.used, use.limit) == (True, number + 1, 3)
    refused = count_use(catalog, key, limit=3, now=NOW + timedelta(hours=3))
    assert (refused.allowed, refused.used, refused.oldest_at) == (False, 3, NOW)
    # The first use is a day old in 21 hours.
    assert 21 * 3600 < refused.retry_after_seconds <= 21 * 3600 + 1
    later = NOW + timedelta(seconds=3 * 3600 + refused.retry_after_seconds)
    assert not count_use(catalog, key, limit=3, now=later - timedelta(seconds=2)).allowed
    again = count_use(catalog, key, limit=3, now=later)
    assert (again.allowed, again.used) == (True, 3)
    assert uses(catalog, key, REQUEST, now=later).used == 3


def test_kinds_and_keys_are_counted_apart(catalog):
    one, other = key_id(catalog), key_id(catalog)
    count_use(catalog, one, REQUEST, limit=1, now=NOW)
    assert count_use(catalog, one, GRAB, limit=1, now=NOW).allowed
    assert count_use(catalog, other, REQUEST, limit=1, now=NOW).allowed
    assert not count_use(catalog, one, REQUEST, limit=1, now=NOW).allowed


def test_no_limit_counts_on(catalog):
    key = key_id(catalog)
    assert [count_use(catalog, key, now=NOW).used for _ in range(3)] == [1, 2, 3]
    assert list_keys(catalog)[0].last_used_at == NOW


def test_wait_is_at_least_a_second(catalog):
    key = key_id(catalog)
    count_use(catalog, key, limit=1, now=NOW)
    almost = NOW + timedelta(hours=24, microseconds=-1)
    assert count_use(catalog, key, limit=1, now=almost).retry_after_seconds == 1


def test_old_uses_are_forgotten(catalog):
    key = key_id(catalog)
    for day in range(5):
        count_use(catalog, key, now=NOW + timedelta(days=2 * day))
    assert catalog.execute("select count(*) from api_use").fetchone() == (1,)


def test_limit_holds_when_many_requests_come_at_once(catalog, database):
    key = key_id(catalog)

    def use(number: int) -> bool:
        with connect(database) as conn:
            return count_use(conn, key, limit=5, now=NOW).allowed

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(use, range(18))) == 5


def test_use_of_an_unknown_key_is_not_allowed(catalog):
    assert not count_use(catalog, 4711).allowed
    assert uses(catalog, 4711, REQUEST).used == 0


def test_grab_counts_once_a_key_release_and_day(catalog):
    (range_id,) = add_ranges(catalog)
    store(catalog, range_id, 1, 1000, built([release(1)]))
    one, other = key_id(catalog), key_id(catalog)
    assert count_grab(catalog, one, 1, now=NOW)
    assert not count_grab(catalog, one, 1, now=NOW + timedelta(hours=11))
    assert count_grab(catalog, other, 1, now=NOW)
    assert count_grab(catalog, one, 1, now=NOW + timedelta(hours=12))
    assert not count_grab(catalog, one, 4711, now=NOW)
    assert catalog.execute("select grabs from release").fetchone() == (3,)
