"""Facets of a search as links of its page."""

from dataclasses import replace

from voyager_api.web.facet_views import facets_of
from voyager_api.web.filters import Filters
from voyager_core.catalog.facets import Facets

FOUND = Facets(
    total=9,
    is_least=False,
    categories={5040: 9},
    groups={"alt.binaries.test": 9},
    states={"open": 9},
    ages={"older": 3, "week": 4, "day": 2},
    completeness={"complete": 9},
)


SOME = Filters(q="some")


def entries(found, asked=SOME):
    return {
        facet.label: [(entry.label, entry.count, entry.address) for entry in facet.entries]
        for facet in facets_of(asked, found)
    }


def test_ages_count_what_their_link_finds():
    assert entries(FOUND) == {
        "Posted within": [
            ("today", 2, "q=some&age=1"),
            ("a week", 6, "q=some&age=7"),
            ("longer ago", 3, ""),
        ]
    }


def test_an_age_that_holds_all_divides_nothing():
    assert entries(replace(FOUND, ages={"month": 9})) == {}


def test_a_link_begins_at_the_first_page():
    found = entries(FOUND, Filters(q="some", offset=50))
    assert found["Posted within"][0][2] == "q=some&age=1"
