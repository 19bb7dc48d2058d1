"""A quick look at a name tells of phrases what taking it apart tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.phrases import checker_of
from voyager_core.domain.tokens import matches, query_terms, token_hashes

_WORDS = ("some", "show", "and", "the", "web", "dl", "webdl", "h", "264", "s01", "e02", "s01e02")
_MORE = ("x", "someshow", "grey's", "Größe", "龙之家族", "s", "SHOW", "e2e", "1")
_SEPARATORS = (".", " ", "-", "_", " & ", "..", "", "'", "`")


@st.composite
def _names(draw):
    words = draw(st.lists(st.sampled_from(_WORDS + _MORE), min_size=1, max_size=7))
    return "".join(word + draw(st.sampled_from(_SEPARATORS)) for word in words)


_phrases = st.lists(st.sampled_from(_WORDS + _MORE), min_size=1, max_size=4).map(
    lambda words: f'"{" ".join(words)}"'
)


@given(st.lists(_names(), min_size=1, max_size=8), _phrases, st.sampled_from(["", "show", "-web"]))
def test_phrases_are_told_apart_as_by_taking_names_apart(names, phrase, more):
    terms = query_terms(f"{phrase} {more}")
    fits = checker_of(terms)
    for name in names:
        hashes = set(token_hashes(name))
        # What the catalog's index leads to.
        if all(set(group) & hashes for group in terms.required_hashes) and not any(
            set(group) <= hashes for group in terms.excluded_hashes
        ):
            assert fits(name) == matches(name, terms)


@pytest.mark.parametrize(
    ("name", "phrase", "fits"),
    [
        ("Some.Show.S01E02", "some show", True),
        ("The.Some.and.the.Show", "some show", True),
        ("Some.X.Show", "some show", False),
        ("Awesome.Show", "some show", False),
        ("Some.Showing", "some show", False),
        ("Show.WEB-DL", "show web", False),
        ("Show.S01.E02", "show s01", False),
        ("Some'Show", "some show", False),
    ],
)
def test_a_phrase_stands_side_by_side(name, phrase, fits):
    assert checker_of(query_terms(f'"{phrase}"'))(name) is fits
