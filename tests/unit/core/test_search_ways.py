"""Which lists of the index of words are read: those that spare more than they cost."""

from datetime import UTC, datetime, timedelta

import pytest

from voyager_core.catalog.search_filters import Place, Where
from voyager_core.catalog.search_lists import lists_of
from voyager_core.catalog.search_statistics import Statistics
from voyager_core.catalog.search_ways import (
    TOTAL_CAP,
    Request,
    choose_way,
    first_weeks,
    next_weeks,
    reads_categories,
)
from voyager_core.domain.tokens import query_terms, token_hash

NOW = datetime(2026, 11, 1, tzinfo=UTC)
RELEASES = 5_000_000
SHARES = {"rare": 2e-5, "title": 0.02, "name": 0.02, "tag": 0.4, "some": 0.008}
KNOWN = Statistics(
    RELEASES,
    words={token_hash(word): share for word, share in SHARES.items()},
    categories={2040: 0.2, 3010: 0.01, 5040: 0.5},
    seasons={1: 0.1},
    episodes={5: 0.04},
    times=tuple(NOW - timedelta(days=3650 - 3.65 * at) for at in range(1001)),
)
NOWHERE = Place(None, None, None)


def asked(text: str, place: Place = NOWHERE, spans: tuple[tuple[int, int], ...] = ()) -> Request:
    return Request(query_terms(text), Where(), place, list(spans), now=NOW)


@pytest.mark.parametrize(
    ("shares", "read"),
    [
        ([], ()),
        ([0.4], (0,)),
        ([0.9, 2e-5], (1,)),
        ([0.4, 2e-5], (0, 1)),
        ([0.02, 0.02], (0, 1)),
        ([0.4, 0.02, 0.4], (0, 1, 2)),
        ([0.08, 4e-4, 0.009], (1, 2)),
    ],
)
def test_a_long_list_is_read_when_it_spares_many_releases(shares, read):
    assert lists_of(shares, RELEASES).words == read


@pytest.mark.parametrize("shares", [[0.02], [0.02, 0.02, 0.02], [0.002, 0.002]])
def test_words_of_a_title_say_nothing_of_its_place(shares):
    """They go together, so that only the place tells its releases apart."""
    assert lists_of(shares, RELEASES, 0.004).by_place


def test_what_is_read_of_few_releases_costs_little():
    costs = [lists_of([share, 0.4], RELEASES).cost for share in (2e-5, 0.02)]
    assert costs[0] < 300
    assert costs[1] > 10_000


@pytest.mark.parametrize(
    ("text", "way"),
    [("rare", "index"), ("rare tag", "index"), ("title name", "weeks"), ("tag title", "weeks")],
)
def test_what_may_be_in_many_names_is_looked_for_step_by_step(text, way):
    request = asked(text)
    assert choose_way(request, KNOWN, first_weeks(request, KNOWN)) == way


def test_a_first_look_is_small_beside_what_words_may_lead_to():
    weeks = first_weeks(asked("title name"), KNOWN)
    assert weeks is not None
    assert weeks.releases * SHARES["title"] < 3_000
    assert not weeks.is_whole


@pytest.mark.parametrize("text", ["title name", "tag title", "tag", "some tag"])
@pytest.mark.parametrize("density", [0, 1e-5, 1e-3, 0.01])
def test_a_search_ends_after_few_steps(text, density):
    request = asked(text)
    weeks = first_weeks(request, KNOWN)
    looked, steps = weeks.releases, 1
    while weeks := next_weeks(request, KNOWN, weeks, int(density * looked)):
        looked = looked + weeks.releases
        weeks = type(weeks)(weeks.keys, weeks.start, looked, weeks.is_whole)
        steps += 1
        assert steps < 7
    assert looked >= min(RELEASES * 0.99, TOTAL_CAP / max(density, 1e-9)) or "tag" in text


def test_words_that_go_together_are_not_read_to_the_end():
    request = asked("title name")
    weeks = first_weeks(request, KNOWN)
    more = next_weeks(request, KNOWN, weeks, int(weeks.releases * SHARES["title"]))
    assert more.keys
    assert not more.is_whole
    assert (weeks.releases + more.releases) * SHARES["title"] < 2 * TOTAL_CAP


@pytest.mark.parametrize(
    ("text", "spans", "read"),
    [
        ("tag", [(3000, 3999)], True),
        ("tag title", [(5000, 5999)], True),
        ("rare", [(5000, 5999)], False),
        ("tag", [], False),
    ],
)
def test_lists_of_categories_are_read_when_they_spare_releases(text, spans, read):
    assert reads_categories(asked(text, spans=tuple(spans)), KNOWN) is read
