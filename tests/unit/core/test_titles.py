"""Which of its subjects' texts a release is named by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.titles import best_name, scene_name, title_in, worth

SHOW = "Some.Show.S01E02.720p.HDTV.x264-GRP"


@pytest.mark.parametrize(
    ("head", "stem", "name"),
    [
        # An abbreviation, a track, a sample of it against a title in words.
        ("Winter Game RELOADED", "rld-wgame", "Winter Game RELOADED"),
        ("Some Show - 1x09 - NTSC", "MI-S01E09", "Some Show - 1x09 - NTSC"),
        ("Writer - Long Book (1997)", "Long Book 06", "Writer - Long Book (1997)"),
        # What the poster says around it.
        ("Old Dad uppt In ihrem Haus DVD", "ihrhaus", "In ihrem Haus DVD"),
        ("some-site.info - powered by usenet", "In ihrem Haus", "In ihrem Haus"),
        ("Thor>>><<<Show S04E20 German Dubbed 720p>>>cowboys.info", "s04e20", None),
        # A banner says less than the file.
        ("Musicals", "The band wagon 1953", "The band wagon 1953"),
        # Two scene names.
        ("nice-uploads-of-1-2", SHOW, SHOW),
        ("Show.S01.720p.HDTV.x264-GRP", "Show.S01E05.720p.HDTV.x264-GRP", None),
        (SHOW, "grp-show102", SHOW),
        # A blank inside a scene name.
        ("Show.S01E02.DANiSH HDTV.x264-GRP", "x102", "Show.S01E02.DANiSH HDTV.x264-GRP"),
        # A tag of a tool before the file's own name.
        ("ezNZB-01-09-2013 Test", "test", "test"),
        # Nothing readable.
        ("9842b7f07ed502f9", "c1c3dba5b7dba5d931ac12bc0b330654", "9842b7f07ed502f9"),
        ("163558", "c1c3dba5b7dba5d931ac12bc0b330654", "c1c3dba5b7dba5d931ac12bc0b330654"),
    ],
)
def test_what_says_more_wins(head, stem, name):
    if name is None:
        name = {"s04e20": "Show S04E20 German Dubbed 720p"}.get(stem, stem)
    assert best_name("", head, stem, is_shared_stem=True) == name


def test_title_stands_over_one_file_of_many():
    assert best_name("", "80's Disco", "Level - Lessons", is_shared_stem=False) == "80's Disco"
    assert best_name("", "Nice", f"{SHOW}.x", is_shared_stem=False) == SHOW


@pytest.mark.parametrize("request_", ["REPOST", "256 Kbps MP3", "FULL"])
def test_request_that_says_nothing_is_passed_over(request_):
    assert best_name(request_, "", SHOW, is_shared_stem=True) == SHOW


def test_list_number_of_music_is_no_part_of_its_name():
    name = "va-some_music-the_compilation-cd-flac-1993-wrs"
    assert best_name("", "", f"00-{name}", is_shared_stem=True) == name
    assert best_name("", "", "00-some notes", is_shared_stem=True) == "00-some notes"


def test_tail_names_what_nothing_else_does():
    tail = "Anatomic Basis of Diagnosis"
    assert best_name("", "", "0865779767", is_shared_stem=True, tail=tail) == tail
    assert best_name("", "", "0865779767", is_shared_stem=True, tail="nightsteff") == "0865779767"


def test_sizes_inside_words_stay():
    assert title_in("test_100MB_file [12,40 GB]") == "test_100MB_file"


def test_sites_are_no_part_of_a_name():
    assert scene_name(f"brothers-of-usenet.net({SHOW}))") == SHOW
    assert worth("www.some-site.com") == 0 or title_in("www.some-site.com") == ""


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.booleans())
def test_some_name_is_chosen_when_any_is_offered(head, stem, tail, is_shared):
    name = best_name("", head, stem, is_shared_stem=is_shared, tail=tail)
    assert name or not (head or stem)


def test_subjects_of_64_kilobytes_are_named():
    for text in ("a.b-c " * 11_000, "-" * 65_000, "a." * 32_000, "[a]" * 21_000):
        assert best_name("", text, text, is_shared_stem=True, tail=text)
