"""How far newsgroups are, in words and pictures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from voyager_api.web.group_views import (
    eta_text,
    facts_of,
    lag_text,
    picture_of,
    row_of,
    span_text,
)
from voyager_core.catalog.progress import GroupStatus

NOW = datetime(2024, 3, 2, tzinfo=UTC)
STATUS = GroupStatus(
    group="alt.binaries.test",
    priority=1,
    state="ok",
    note=None,
    low=1001,
    high=2000,
    checked_at=NOW - timedelta(minutes=2),
    indexed_to=1900,
    lag=100,
    lag_seconds=90.0,
    ranges=4,
    done=3,
    parked=0,
    numbers=1000,
    indexed=900,
    backlog=100,
    lines=880,
    rate=12.4,
    posting_rate=0.5,
    eta_seconds=8400.0,
    holes=7,
    stored_at=NOW - timedelta(hours=1),
)


def test_a_group_is_told_in_words():
    row = row_of(STATUS, [(1001, 1900)], NOW)
    assert (row.covered, row.lag, row.rate, row.eta, row.stored, row.state) == (
        900,
        "100 articles, about 2 minutes",
        "12 a second",
        "in 2 hours",
        "1 hour ago",
        "",
    )
    facts = {fact.label: fact.value for fact in facts_of(STATUS, NOW)}
    assert facts["Indexed"] == "900 of 1\u202f000 (90.0 %)"
    assert facts["On the server"] == "1\u202f001 \u2026 2\u202f000, asked 2 minutes ago"


@pytest.mark.parametrize(
    ("changes", "state", "is_bad"),
    [
        ({"parked": 2}, "2 parked", True),
        ({"state": "gone"}, "not on the server", True),
        ({"state": "restarted"}, "numbers began anew", True),
        ({"state": "new"}, "not asked yet", False),
        ({}, "", False),
    ],
)
def test_what_is_unusual_stands_out(changes, state, is_bad):
    row = row_of(replace(STATUS, **changes), [], NOW)
    assert (row.state, row.is_bad) == (state, is_bad)


def test_what_is_not_known_is_not_made_up():
    fresh = replace(
        STATUS,
        low=None,
        high=None,
        numbers=0,
        indexed=0,
        rate=None,
        posting_rate=None,
        eta_seconds=None,
        lag_seconds=None,
        stored_at=None,
        checked_at=None,
    )
    assert picture_of(fresh, [(1, 5)]) is None
    row = row_of(fresh, [(1, 5)], NOW)
    assert (row.covered, row.lag, row.rate, row.eta, row.stored) == (
        0,
        "not known",
        "not known yet",
        "not known yet",
        "never",
    )
    assert lag_text(replace(STATUS, lag_seconds=None)) == "100 articles"
    assert lag_text(replace(STATUS, lag=0)) == "up to date"
    assert eta_text(replace(STATUS, eta_seconds=None)) == "not in sight"
    assert eta_text(replace(STATUS, eta_seconds=1e12)) == "not in sight"
    assert eta_text(replace(STATUS, backlog=0)) == "all done"
    new = {"indexed_to": None, "lag": 0, "numbers": 0, "indexed": 0, "backlog": 0, "done": 0}
    assert lag_text(replace(STATUS, **new)) == "not known"
    assert eta_text(replace(STATUS, **new)) == "nothing planned yet"


def test_a_picture_shows_what_the_server_has_and_nothing_else():
    picture = picture_of(STATUS, [(1, 900), (901, 1100), (1500, 1500), (1901, 5000)])
    assert [(bar.x, bar.width) for bar in picture.bars] == [
        (0.0, 100.0),
        (499.0, 1.0),
        (900.0, 100.0),
    ]
    assert picture.text.endswith("in 3 pieces")
    tiny = picture_of(replace(STATUS, high=10**12), [(2000, 2000)])
    assert tiny.bars[0].width == 0.5
    assert picture_of(replace(STATUS, low=5, high=4), []) is None


def test_the_list_draws_what_can_be_told_apart_and_tells_the_water_marks():
    many = [(first, first) for first in range(1001, 1500, 2)]
    picture = row_of(STATUS, [*many, (1700, 1700), (1800, 2000)], NOW).picture
    assert (picture.low, picture.high) == (1001, 2000)
    assert [(bar.x, bar.width) for bar in picture.bars] == [
        (0.0, 504.0),
        (699.0, 6.0),
        (799.0, 201.0),
    ]
    assert picture.text.endswith("in 252 pieces")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "a minute"), (60, "1 minute"), (3600 * 1.6, "2 hours"), (86_400 * 3, "3 days")],
)
def test_lengths_of_time(seconds, text):
    assert span_text(seconds) == text
