"""Names and searches meet on the same words, however either was spelt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.tokens import (
    MAX_TOKENS,
    matches,
    query_terms,
    token_hash,
    token_hashes,
    tokenize,
)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Mr.Robot.S01E02.1080p", "mr robot"),
        ("Mr Robot S01E02", "Mr.Robot"),
        ("Show_Name-(2019)[1080p]+Extra", "extra 1080P show 2019"),
        ("Some.Film.2019.H.264-GRP", "h264"),
        ("Some.Film.2019.h264-GRP", "H.264"),
        ("Some.Film.2019.H 264-GRP", "h 264"),
        ("Some.Film.x264-GRP", "x 264"),
        ("Some.Film.WEB-DL", "webdl"),
        ("Some.Film.WEBDL", "web dl"),
        ("Some.Film.WEB-DL", "web"),
        ("Some.Film.Blu-ray", "bluray"),
        ("Show.S01.E02", "S01E02"),
        ("Show.S01E02", "S01 E02"),
        ("Grey's.Anatomy", "greys anatomy"),
        ("Greys.Anatomy", "Grey's Anatomy"),
        ("Grey.s.Anatomy", "greys"),
        ("Grey's Anatomy", "grey s anatomy"),
        ("Grey s Anatomy", "Grey’s"),  # noqa: RUF001 - the typographic form
        ("L.Homme.Orchestre", "L'Homme Orchestre"),
        ("O'Brien", "obrien"),
        ("Tom.&.Jerry", "Tom and Jerry"),
        ("Tom.and.Jerry", "tom & jerry"),
        ("Tom.Jerry", "the tom and jerry"),
        ("The.The.Live", "the the"),
        ("Beyoncé.Live", "beyonce"),
        ("Beyonce.Live", "Beyoncé"),
        ("Grüße.aus.München", "grusse munchen"),
        ("Gruesse.aus.Muenchen", "Grüße München"),
        ("Grüße", "gruesse"),
        ("Łódź.Øresund.Æon", "lodz oresund aeon"),
        ("Up.2009", "up"),
        ("24.S01E01", "24"),
        ("V.2009", "v 2009"),
        ("9-1-1.S01E01", "9-1-1"),
        ("S.W.A.T.2017.S07E01", "SWAT 2017"),
        ("S.W.A.T.2017.S07E01", "s.w.a.t"),
        ("SWAT.2017.S07E01", "S.W.A.T. 2017"),
        ("Marvels.Agents.of.S.H.I.E.L.D.S01E01", "Marvels Agents of SHIELD"),
        ("Magnum.P.I.2018", "magnum pi"),
        ("E.T.the.Extra-Terrestrial.1982", "ET the Extra Terrestrial 1982"),
        ("L.A.s.Finest.S01", "LAs Finest"),
        ("Some.Show.U.S", "some show us"),
        ("龙之家族.第一季", "龙之家族"),
        ("龙之家族.第一季", "家族"),
        ("龙之家族.第一季", "龙"),
        ("ガンダム.01", "ガンダム"),
        ("아름다운나의신부.E16", "아름다운"),
        ("\uff26\uff55\uff4c\uff4c.\uff37\uff49\uff44\uff54\uff48", "full width"),
        ("हिन्दी.फिल्म", "हिन्दी"),
    ],
)
def test_name_is_found_by(name, query):
    assert matches(name, query_terms(query))


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Mr.Robot.S01E02", "mr robot s01e03"),
        ("Show.S01E02", "show s01"),
        ("Some.Film.h264", "h265"),
        ("Avengers.1080p", "Avengers --1080p"),
        ("Avengers.1080p", "Avengers !1080p"),
        ("Avengers.1080p", "Avengers -1080P"),
        ("Avengers.WEB-DL", "avengers -webdl"),
        ("Avengers.WEB.DL", "avengers -web-dl"),
        ("Robot.Mr", '"mr robot"'),
        ("Mr.Big.Robot", '"mr robot"'),
        ("龙之家族", "龙族"),
        ("Dolby.5.1.Test", "51"),
        ("S.W.A.T.2017", "wat"),
        ("Some.A.Film.B", "ab"),
        ("Some.Film", "some film 2019"),
    ],
)
def test_name_is_not_found_by(name, query):
    assert not matches(name, query_terms(query))


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("Avengers.720p", "Avengers --1080p"),
        ("Anything", "-x265"),
        ("Spider-Man.2002", "spider-man"),
        ("Mr.Robot.S01", '-"mr big" "mr robot"'),
        ("Tom.&.Jerry", '"tom and jerry"'),
        ("Artist - Title", "artist - title"),
    ],
)
def test_exclusions_and_quotes_keep(name, query):
    assert matches(name, query_terms(query))


@pytest.mark.parametrize(
    "query", ["", " ", "\0", "\u202e", '"a', 'a"', "a -", "! a", '"" a', "a ???"]
)
def test_a_blank_text_and_lone_operators_beside_words_ask_for_no_more(query):
    terms = query_terms(query)
    assert terms.excluded == ()
    assert matches("a", terms)


@pytest.mark.parametrize(
    "query", ["-", "--", "!", '"', '""', "%", "\\", "*", "^", "- -", "'", "???", "\U0001f600"]
)
def test_signs_alone_are_a_word_that_no_name_holds(query):
    terms = query_terms(query)
    assert terms.excluded == ()
    assert terms.required
    assert not any(matches(name, terms) for name in ("a", query, f"a {query} b"))


def test_exclusion_alone_asks_for_nothing():
    terms = query_terms("--x265 !german")
    assert terms.required == ()
    assert terms.excluded == (("x265",), ("german",))


def test_words_are_distinct_and_in_order():
    assert tokenize("One.Two.one-THREE") == ["one", "two", "three"]


def test_hashes_are_stable_and_fit_int4():
    # Stored in the catalog: another hash would lose every name that is there.
    assert token_hash("1080p") == 259222893
    assert token_hash("x264") == 8913745
    assert token_hashes("Mr.Robot") == sorted({token_hash("mr"), token_hash("robot")})
    assert all(-(1 << 31) <= value < 1 << 31 for value in token_hashes("a b c d e f g h i j"))


def test_huge_name_is_bounded():
    assert len(tokenize(" ".join(map(str, range(50_000))))) <= MAX_TOKENS


def test_query_hashes_follow_the_groups():
    terms = query_terms("Grüße film -x265")
    assert terms.required_hashes == [
        [token_hash("grusse"), token_hash("gruesse")],
        [token_hash("film")],
    ]
    assert terms.excluded_hashes == [[token_hash("x265")]]


_WORD = st.text(alphabet="abcxyzäöüéñ0123456789sehdlw", min_size=1, max_size=8)
_SEPARATOR = st.sampled_from([".", " ", "_", "] [", " (", ") ", "+", ".-."])


@given(st.lists(_WORD, min_size=1, max_size=8), st.data())
def test_separators_are_equal_on_both_sides(words, data):
    name = words[0] + "".join(data.draw(_SEPARATOR) + word for word in words[1:])
    query = words[0] + "".join(data.draw(_SEPARATOR) + word for word in words[1:])
    assert matches(name, query_terms(query))


@given(st.text(max_size=80), st.text(max_size=40))
def test_any_text_is_taken(name, query):
    words = tokenize(name)
    assert len(words) == len(set(words))
    assert matches(name, query_terms(query)) in (True, False)
