"""Season, episode, date and year out of names."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.facts import parse_episode
from voyager_core.domain.episodes import Episode


@pytest.mark.parametrize(
    ("name", "season", "first", "last"),
    [
        ("Some.Show.S03E05.1080p.WEB.h264-GRP", 3, 5, 5),
        ("Some Show S3E5 Title", 3, 5, 5),
        ("some_show_s03.e05_title", 3, 5, 5),
        ("Some.Show.S03E04-E06.720p", 3, 4, 6),
        ("Some.Show.S03E04E05.720p", 3, 4, 5),
        ("Some.Show.S03E04E05E06.720p", 3, 4, 6),
        ("Some.Show.S03E04-06.720p", 3, 4, 6),
        ("Some.Show.S01E02-720p", 1, 2, 2),
        ("Some Show - 3x05 - Title", 3, 5, 5),
        ("Some Show - 03x05-06 - Title", 3, 5, 6),
        ("Some Show Season 3 Episode 5", 3, 5, 5),
        ("Serie Staffel 3 Folge 5 German", 3, 5, 5),
        ("some.show.305.hdtv.xvid-grp", 3, 5, 5),
        ("Some.Show.S00E07.Christmas", 0, 7, 7),
        ("Some.Show.S02E115.1080p", 2, 115, 115),
        ("Some.Series.E223.1080p", 1, 223, 223),
        ("[Group] Some Anime - 08 [1080p][ABCDEF01].mkv", None, 8, 8),
        ("[Group] Some Anime S2 - 08 (1080p)", 2, 8, 8),
        ("[Group] Some Anime - 01-12 [BD 1080p]", None, 1, 12),
        ("Some.Film.2019.x264-GRP", None, None, None),
        ("Some.Film.2019.1280x720.x264", None, None, None),
        ("Some.Film.2x264", None, None, None),
    ],
)
def test_episode(name, season, first, last):
    found = parse_episode(name)
    assert (found.season, found.episode, found.episode_last) == (season, first, last)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Some.Show.S03.1080p.BluRay", 3, 3),
        ("Some Show Season 3 Complete", 3, 3),
        ("Some.Show.S01-S05.1080p", 1, 5),
        ("Some Show Season 1-7 BluRay", 1, 7),
        ("Some.Show.Specials.DVDRip", 0, 0),
    ],
)
def test_whole_season_has_no_episode(name, first, last):
    found = parse_episode(name)
    assert (found.season, found.season_last, found.episode) == (first, last, None)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("Talk.Show.2026.10.09.Guest.1080p", date(2026, 10, 9)),
        ("Talk Show 2026-10-09", date(2026, 10, 9)),
        ("Talk Show 09.10.2026", date(2026, 10, 9)),
        ("Talk.Show.2012.16.02.PDTV", date(2012, 2, 16)),
        ("Talk.Show.20261009.720p", date(2026, 10, 9)),
        ("Talk.Show.261009.720p.HDTV", date(2026, 10, 9)),
        ("Talk Show 5th Mar 2025", date(2025, 3, 5)),
        ("Talk.Show.2026.13.32", None),
        ("Some.Film.2019.1080p", None),
    ],
)
def test_air_date(name, day):
    assert parse_episode(name).air_date == day


@pytest.mark.parametrize(
    ("name", "year"),
    [
        ("1917.2019.1080p.BluRay", 2019),
        ("Some Film (1999)", 1999),
        ("Artist-Album-CD-FLAC-2004-GRP", 2004),
        ("Some.Film.2160p", None),
        ("Some.Film.1080p", None),
    ],
)
def test_year(name, year):
    assert parse_episode(name).year == year


def test_unmarked_name_places_itself_nowhere():
    assert parse_episode("Some.Film.2019.1080p") == Episode(year=2019)
    assert parse_episode("") == Episode()


@given(st.text(alphabet="SsEe0123456789xX .-_[]()Part", max_size=60))
def test_any_text_is_taken(text):
    found = parse_episode(text)
    if found.episode is not None:
        assert found.episode_last is not None
        assert found.episode <= found.episode_last
    if found.season is not None:
        assert found.season_last is not None
        assert found.season <= found.season_last
