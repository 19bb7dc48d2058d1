"""Weeks that a search looks into: none is left out, and few keys stand for many."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.catalog.search_weeks import keys_of_weeks, newest_weeks

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BOUNDS = tuple(NOW - timedelta(days=3650 - 36.5 * at) for at in range(101))
_moments = st.integers(-2000, 47_000).map(
    lambda day: datetime(1970, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
)


def stored(moment: datetime) -> set[int]:
    """Returns what the index holds of a release, as the migration's expression gives it."""
    day = max(0, (moment.date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days)
    return {-(1 << 40) - day // 7, -(2 << 40) - day // 56, -(3 << 40) - day // 448}


def week(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)).days // 7 if moment.year >= 1970 else 0


@given(_moments, _moments, _moments, st.booleans())
def test_every_moment_between_is_found_once(first, last, moment, is_open):
    first, last = sorted((first, last))
    keys = keys_of_weeks(week(first), None if is_open else week(last), week(last))
    assert len(set(keys)) == len(keys)
    found = len(stored(moment) & set(keys))
    if week(first) <= week(moment) < week(last):
        assert found == 1
    elif week(moment) < week(first):
        assert found == 0
    else:
        # The last stretch may reach beyond, unless weeks end where others begin.
        assert found == 0 or is_open
        assert found == 1 or week(moment) > week(last) or not is_open
    # Twenty years have more than a thousand weeks.
    assert len(keys) <= 28 + (last - first).days / 448 + 2


@given(st.floats(0, 1.2), st.lists(st.floats(0.001, 1), min_size=1, max_size=6), _moments)
def test_weeks_before_weeks_hold_every_moment_once(share, parts, moment):
    """A search that goes back week by week meets every release once, whatever its steps."""
    weeks = newest_weeks(BOUNDS, 100_000, share * 100_000, now=NOW)
    found = len(stored(moment) & set(weeks.keys))
    for part in [*parts, 2]:
        if weeks.is_whole:
            break
        below = weeks.start
        weeks = newest_weeks(BOUNDS, 100_000, part * 100_000, now=NOW, below=below)
        assert weeks.start < below
        found += len(stored(moment) & set(weeks.keys))
    assert weeks.is_whole
    assert found == 1 or moment > NOW
    assert found <= 1


@pytest.mark.parametrize(
    ("wanted", "days"), [(1000, 36.5), (10_000, 365), (45_000, 1642.5)], ids=str
)
def test_as_many_releases_as_are_wanted_lie_in_the_newest_weeks(wanted, days):
    weeks = newest_weeks(BOUNDS, 100_000, wanted, now=NOW)
    assert weeks is not None
    assert not weeks.is_whole
    assert weeks.releases == pytest.approx(wanted, rel=0.11)
    assert stored(NOW) & set(weeks.keys)
    assert stored(NOW - timedelta(days=days)) & set(weeks.keys)
    assert not stored(NOW - timedelta(days=days + 36.5 * 1.1 + 7)) & set(weeks.keys)


def test_all_releases_are_all_weeks():
    weeks = newest_weeks(BOUNDS, 100_000, 100_000, now=NOW)
    assert weeks.is_whole
    assert stored(datetime(1970, 1, 1, tzinfo=UTC)) & set(weeks.keys)


def test_too_few_bounds_tell_nothing():
    assert newest_weeks(BOUNDS[:5], 100_000, 10, now=NOW) is None


def test_weeks_end_where_the_age_that_is_asked_for_ends():
    since = NOW - timedelta(days=30)
    weeks = newest_weeks(BOUNDS, 100_000, 50_000, now=NOW, since=since)
    assert weeks is not None
    assert weeks.is_whole
    assert stored(since) & set(weeks.keys)
    assert not stored(since - timedelta(days=9)) & set(weeks.keys)
    nearer = newest_weeks(BOUNDS, 100_000, 1_000, now=NOW, since=NOW - timedelta(days=3000))
    assert nearer is not None
    assert not nearer.is_whole


def test_weeks_begin_where_the_age_that_is_asked_for_begins():
    until = NOW - timedelta(days=2000)
    weeks = newest_weeks(BOUNDS, 100_000, 2_000, now=NOW, until=until)
    assert weeks is not None
    assert stored(until) & set(weeks.keys)
    assert stored(until - timedelta(days=60)) & set(weeks.keys)
    assert not stored(until - timedelta(days=200)) & set(weeks.keys)
    # The last stretch may reach beyond.
    assert not stored(until + timedelta(days=448 + 8)) & set(weeks.keys)


def test_what_is_asked_for_lies_beyond_all_that_is_there():
    weeks = newest_weeks(BOUNDS, 100_000, 2_000, now=NOW, since=NOW + timedelta(days=90), until=NOW)
    assert weeks is not None
    assert weeks.is_whole


@pytest.mark.parametrize("until", [BOUNDS[2], BOUNDS[0], BOUNDS[0] - timedelta(days=200)], ids=str)
def test_what_is_older_than_the_statistics_is_asked_for_when_all_is(until):
    """History is stored below the oldest time that the statistics saw."""
    weeks = newest_weeks(BOUNDS, 100_000, 10_000, now=NOW, until=until)
    assert weeks is not None
    assert weeks.is_whole
    assert stored(BOUNDS[0] - timedelta(days=700)) & set(weeks.keys)
    assert stored(datetime(1970, 1, 1, tzinfo=UTC)) & set(weeks.keys)


def test_the_first_and_the_last_moment_of_all_are_no_errors():
    until = datetime.min.replace(tzinfo=UTC)
    assert newest_weeks(BOUNDS, 100_000, 10_000, now=NOW, until=until) is not None
    until = datetime.max.replace(tzinfo=UTC)
    weeks = newest_weeks(BOUNDS, 100_000, 10_000, now=NOW, until=until)
    assert weeks == newest_weeks(BOUNDS, 100_000, 10_000, now=NOW)


def test_a_clock_that_was_far_ahead_neither_adds_keys_nor_moves_the_weeks():
    plain = newest_weeks(BOUNDS, 100_000, 10_000, now=NOW)
    assert plain is not None
    for count in (1, 30):
        ahead = (*BOUNDS[count:], *[datetime(2105, 1, 1, tzinfo=UTC)] * count)
        weeks = newest_weeks(ahead, 100_000, 10_000, now=NOW)
        assert weeks is not None
        assert len(weeks.keys) <= len(plain.keys) + 8
        assert stored(NOW) & set(weeks.keys)
        assert weeks.releases == pytest.approx(10_000, rel=0.21)
