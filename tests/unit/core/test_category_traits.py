"""Categories that go with any other: foreign, from the web, in the newer codec."""

import pytest

from voyager_core.domain.attribute_words import SOURCES
from voyager_core.domain.category_names import CATEGORY_NAMES
from voyager_core.domain.category_rules import ROWS, WEAK_ROWS
from voyager_core.domain.category_traits import TRAITS, is_foreign, traits_of
from voyager_core.domain.category_words import GROUP_HINTS

NAME = "Some.Show.S01E02.1080p.WEB-DL.H.265-GRP"


def test_every_trait_is_listed_and_nothing_is_filed_under_one():
    assert TRAITS.keys() <= CATEGORY_NAMES.keys()
    filed = {row.category for row in (*ROWS, *WEAK_ROWS)} | {number for _, number in GROUP_HINTS}
    assert not filed & TRAITS.keys()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([5090], (5090,)),
        ([5090, 5010, 5020, 5090], (5010, 5090)),
        ([2090, 2080], ()),
        ([5030, 5045, 5090], (5090,)),
        ([5040, 5090], ()),
        ([5000, 5090], ()),
        ([], ()),
        ([123_456, -1], ()),
    ],
)
def test_what_a_release_is_in_beside_its_own_category(asked, expected):
    assert traits_of(asked, 5040, name=NAME, source="WEB-DL", language=None) == expected


def test_sources_are_those_that_names_give():
    assert {source for trait in TRAITS.values() for source in trait.sources} <= SOURCES.keys()


@pytest.mark.parametrize(
    ("language", "expected"),
    [(None, False), ("English", False), ("German", True), ("English, German", True),
     ("Multi", True)],
)  # fmt: skip
def test_foreign_is_what_states_another_language(language, expected):
    assert is_foreign(language) is expected
    found = traits_of([5020], 5030, name="Some.Show", source=None, language=language)
    assert found == ((5020,) if expected else ())
