"""Requests as clients send them, and as nobody should."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_api.newznab.errors import ErrorCode, NewznabError
from voyager_api.newznab.functions import Function, function_of
from voyager_api.newznab.parameters import Parameters
from voyager_api.newznab.requests import parse_feed, parse_release_id, parse_search

KNOWN = {2000, 2040, 5000, 5030, 5040, 7000, 8010}
ID = "0123456789abcdef00"


def search(query, function=Function.SEARCH):
    parameters = Parameters.from_query(query.encode())
    return parse_search(function, parameters, known_categories=KNOWN)


def feed(query):
    return parse_feed(Parameters.from_query(query.encode()), known_categories=KNOWN)


def code_of(query, function=Function.SEARCH):
    with pytest.raises(NewznabError) as caught:
        search(query, function)
    return caught.value.code


def test_nz1_names_ignore_case_and_order():
    assert search("LIMIT=5&Q=some+name&OffSet=7") == search("offset=7&q=some%20name&limit=5")


def test_nz1_an_empty_parameter_is_an_absent_one():
    assert search("q=&minsize=&maxsize=&cat=&season=&ep=&limit=&tvdbid=") == search("")


def test_nz1_unknown_parameters_are_ignored():
    assert search("q=a&attrs=size&extended=1&del=1&o=xml&cachetime=5&x=%00") == search("q=a")


def test_nz10_a_larger_limit_is_clamped_and_zero_is_the_default():
    assert search("limit=1000").limit == 100
    assert search("limit=99999999999999999").limit == 100
    assert search("limit=0").limit == 100
    assert search("limit=7").limit == 7


@pytest.mark.parametrize("value", ["abc", "-1", "1.5", "1e3", "٣", "0x10", "9" * 5000, "%00%01x"])
@pytest.mark.parametrize("name", ["limit", "offset", "maxage", "minage", "minsize", "maxsize"])
def test_nz28_a_number_that_is_none_is_error_201(name, value):
    assert code_of(f"{name}={value}") == ErrorCode.INCORRECT_PARAMETER


def test_repeated_and_comma_separated_categories_are_joined():
    assert search("cat=5030,5040&cat=2040&cat=5040").categories == (5030, 5040, 2040)
    assert search("cat[]=5030&cat[]=5040").categories == (5030, 5040)
    assert search("cat=5030%2C5040").categories == (5030, 5040)


def test_nz14_a_typed_search_without_categories_is_for_its_own():
    assert search("", Function.MOVIE).categories == (2000,)
    assert search("", Function.TV).categories == (5000,)
    assert search("", Function.MUSIC).categories == (3000,)
    assert search("", Function.BOOK).categories == (7000, 3030)
    assert search("").categories == ()
    assert search("cat=5040", Function.MOVIE).categories == (5040,)
    assert search("cat=999999", Function.MOVIE).matches_nothing


def test_unknown_categories_are_ignored_but_never_lift_the_filter():
    assert search("cat=5040,999999,abc").categories == (5040,)
    assert not search("cat=5040,999999").matches_nothing
    assert search("cat=999999").matches_nothing
    assert search("cat=abc,-5,99999999999999999999").matches_nothing


def test_nz22_prowlarrs_age_in_the_other_limits_is_ignored():
    wanted = search("q=a&maxage=30&minage=30&minsize=30&maxsize=30")
    assert (wanted.max_age_days, wanted.min_age_days) == (30, None)
    assert (wanted.min_size_bytes, wanted.max_size_bytes) == (30, None)
    assert search("maxsize=1048576").max_size_bytes == 1048576


def test_an_age_of_no_day_is_no_limit():
    assert search("q=a&maxage=0").max_age_days is None
    assert search("q=a&maxage=0&minage=3").min_age_days == 3


def test_huge_ages_and_sizes_are_capped():
    wanted = search(f"maxage={'9' * 18}&minsize={'9' * 18}&maxsize={'9' * 18}&offset={'9' * 18}")
    assert wanted.max_age_days == 36_500
    assert wanted.min_size_bytes < 2**63
    assert wanted.max_size_bytes < 2**63


def test_nz23_password_takes_hydras_values():
    assert search("password=0").password is False
    assert search("password=1").password is True
    assert search("pw=0").password is False
    assert search("password=maybe").password is None


# Those of the reference, written out once more.
IDS = "rid rageid tvrageid tvdbid tvmazeid traktid tmdbid imdbid imdb anidbid anilistid doubanid"
MORE_IDS = "igdbid isbn goodreadsid musicbrainzid"


@pytest.mark.parametrize("name", [*IDS.split(), *MORE_IDS.split()])
def test_nz24_an_id_alone_matches_nothing_and_is_ignored_beside_words(name):
    assert search(f"{name}=121361&season=1&ep=2", Function.TV).matches_nothing
    beside = search(f"{name}=tt0944947&q=some+show", Function.TV)
    assert not beside.matches_nothing
    assert beside.words == "some show"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("season=3&ep=5", (3, 5, None)),
        ("season=S03&ep=E05", (3, 5, None)),
        ("season=03&episode=05", (3, 5, None)),
        ("season=00", (0, None, None)),
        ("season=0&ep=1", (0, 1, None)),
        ("season=2026", (2026, None, None)),
        ("season=2026&ep=10/09", (None, None, date(2026, 10, 9))),
        ("season=2026&ep=10-09", (None, None, date(2026, 10, 9))),
        ("season=2026&ep=10%2F09", (None, None, date(2026, 10, 9))),
        ("season=2026&ep=5", (2026, 5, None)),
        ("season=1&ep=5-6", (1, 5, None)),
        ("ep=5", (None, 5, None)),
        ("season=1900&ep=1/1", (None, None, date(1900, 1, 1))),
        ("season=2199&ep=1/1", (None, None, date(2199, 1, 1))),
    ],
)
def test_nz32_season_and_episode_in_every_form_that_is_sent(query, expected):
    wanted = search(query, Function.TV)
    assert (wanted.season, wanted.episode, wanted.airdate) == expected


@pytest.mark.parametrize(
    "query",
    ["season=1&ep=10/09", "season=2026&ep=13/45", "season=x", "season=1&ep=a", "season=-1",
     "season=12345", "season=2026&ep=02/30", "season=1899&ep=1/1", "season=2200&ep=1/1"],
)  # fmt: skip
def test_nz32_an_episode_without_meaning_is_error_201(query):
    assert code_of(query, Function.TV) == ErrorCode.INCORRECT_PARAMETER


def test_words_of_all_text_parameters_are_wanted_together():
    assert search("artist=Some+Band&album=First&q=", Function.MUSIC).words == "Some Band First"
    assert search("author=A+B&title=C", Function.BOOK).words == "A B C"
    assert search("q=A&title=B", Function.SEARCH).words == "A"


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Function.TV, "q title year genre"),
        (Function.MOVIE, "q title year genre"),
        (Function.MUSIC, "q artist album track label year genre"),
        (Function.BOOK, "q author title publisher year"),
    ],
)
def test_every_text_parameter_of_a_function_is_wanted(function, names):
    for name in names.split():
        assert search(f"{name}=Word", function).words == "Word", name


def test_a_doubly_encoded_space_is_a_space():
    assert search("q=a%2520b%252520c").words == "a b c"


def test_bytes_that_are_not_utf8_are_read_as_windows_1252():
    assert search("q=caf%E9+%93x%94").words == "café “x”"


def test_nuls_and_line_breaks_do_not_reach_the_search():
    assert search("q=a%00b%0D%0Ac%1Fd").words == "ab cd"


def test_a_text_longer_than_any_name_is_error_201():
    assert code_of("q=" + "a+" * 3000) == ErrorCode.INCORRECT_PARAMETER


@given(st.binary(max_size=200))
def test_nz28_no_query_string_raises_anything_but_newznab_errors(raw):
    parameters = Parameters.from_query(raw, b"q=%" + raw, b"season=" + raw + b"&ep=" + raw)
    for function in Function:
        try:
            parse_search(function, parameters, known_categories=KNOWN)
            parse_feed(parameters, known_categories=KNOWN)
        except NewznabError:
            continue
    assert parse_release_id(parameters.first("q")) is None or len(raw) >= 18


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Function.CAPS, "caps c"),
        (Function.SEARCH, "search s S"),
        (Function.TV, "tvsearch tv tvshows tv-search"),
        (Function.MOVIE, "movie m movies movie-search moviesearch"),
        (Function.MUSIC, "music audio music-search audio-search"),
        (Function.BOOK, "book b books book-search"),
        (Function.DETAILS, "details d"),
        (Function.COMMENTS, "comments co"),
        (Function.NFO, "getnfo gn n nfo info"),
        (Function.GET, "get g"),
    ],
)
def test_functions_go_by_every_name_that_is_seen(function, names):
    for name in names.split():
        assert function_of(f" {name} ") is function, name


@pytest.mark.parametrize(
    ("name", "code"),
    [("", 200), ("user", 203), ("cartadd", 203), ("nzbadd", 203), ("register", 203),
     ("cartdel", 203), ("commentadd", 203), ("indexers", 203),
     ("anime", 202), ("dance", 202), ("<b>", 202)],
)  # fmt: skip
def test_nz21_missing_unknown_and_unoffered_functions_differ(name, code):
    with pytest.raises(NewznabError) as caught:
        function_of(name)
    assert caught.value.code == code
    if code == 202:
        assert caught.value.description == f"No such function ({name})"


def test_nz37_the_short_feed_takes_categories_in_t():
    assert feed("t=5040,2000&num=7&i=3&r=k").categories == (5040, 2000)
    assert feed("t=5040&num=7").limit == 7
    assert feed("t=0").categories == ()
    assert not feed("t=0").matches_nothing
    assert feed("") == feed("t=0")


@pytest.mark.parametrize("wanted", ["-2", "-3", "-4", "999999"])
def test_nz37_carts_and_user_lists_are_empty(wanted):
    assert feed(f"t={wanted}").matches_nothing


@pytest.mark.parametrize(
    "text",
    [ID, ID.upper(), f"{ID}.nzb", f"https://x/details/{ID}", f"https://x/details/{ID}#comments",
     f"https://x/api?t=details&id={ID}&apikey=k", f" {ID} "],
)  # fmt: skip
def test_ids_are_found_in_the_links_that_clients_cut_them_from(text):
    assert parse_release_id(text) == ID


@pytest.mark.parametrize("text", ["", "x", ID[:-1], ID + "000", "../../etc/passwd", "g" * 18, "😀"])
def test_what_is_no_id_is_none(text):
    assert parse_release_id(text) is None
