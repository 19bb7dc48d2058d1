"""Many names at once give what each gives alone, and the attributes that are stored."""

from datetime import date

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quality.made_names import random_names, readable_names
from tests.reference.facts import facts_of_one, parse_episode
from voyager_core.domain.episodes import parse_thoroughly
from voyager_core.domain.name_facts import FACTS, facts_of
from voyager_core.domain.names import is_readable_name, readable
from voyager_core.domain.token_columns import token_hashes_of
from voyager_core.domain.tokens import token_hash, token_hashes, tokenize

MADE = [name for _, name in [*readable_names(1_500, seed=7), *random_names(500, seed=7)]]
ODD = [
    *("", " ", "\0", "a\0b", "a\nb", "Grey's.Anatomy.S01.E02", "WEB-DL", "H.264.x.265", "S01 E02"),
    *(
        "S.W.A.T.S01",
        "a.b",
        "A B c",
        "x.h.264",
        "a.5.1.b.c",
        "É.T.x",
        "e.T's",
        "a-b_c+D",
        "a.b" * 40,
    ),
    *("Grüße.aus.Köln.S03E04", "龙之家族 第一季", "It.s.S1E2-E3", "x" * 2_000, "S01E02&E03"),
    *("[Group] Title - 08 [1080p]", "Show.2023.11.05.720p", "Show 5th Mar 2025", "A.S99999E1"),
    *("1920x1080", "Title.2019.1080P", "S01E99999999999999999999", "e1.e2.e3", "blu ray web dl"),
]
NAMES = [*MADE, *ODD]
texts = st.text(max_size=60) | st.lists(
    st.sampled_from(["S01E02", "s1e2", "2019", "720p", "x264", "web", "dl", "-", ".", " ", "E03",
                     "[", "]", "'", "s", "é", "12", "part", "2x04", "1080p", "abc", "FLAC", "h"]),
    max_size=12,
).map("".join)  # fmt: skip


def test_readable_names_of_a_column_are_those_of_each_name():
    assert readable(pl.Series(NAMES)).to_list() == [is_readable_name(name) for name in NAMES]


def test_words_of_a_column_are_those_of_each_name():
    expected = [sorted({token_hash(word) for word in tokenize(name)}) for name in NAMES]
    assert [token_hashes(name) for name in NAMES] == expected
    assert token_hashes_of(pl.Series(NAMES)).to_list() == expected


def test_usual_marks_are_read_as_every_pattern_reads_them():
    for name in NAMES:
        assert parse_episode(name) == parse_thoroughly(name[:512], is_dated=True)


def test_facts_of_a_column_are_those_of_each_name():
    groups = ["alt.binaries.sounds.mp3"] * len(NAMES)
    facts = facts_of(pl.Series(NAMES), pl.Series(groups), last_year=2030)
    assert facts.rows() == [
        facts_of_one(name, group, last_year=2030) for name, group in zip(NAMES, groups, strict=True)
    ]


@settings(max_examples=60)
@given(st.lists(texts, max_size=5))
def test_any_column_gives_what_each_name_gives(names):
    column = pl.Series(names, dtype=pl.String)
    assert [parse_episode(name) for name in names] == [
        parse_thoroughly(name, is_dated=True) for name in names
    ]
    assert readable(column).to_list() == [is_readable_name(name) for name in names]
    hashes = [sorted({token_hash(word) for word in tokenize(name)}) for name in names]
    assert token_hashes_of(column).to_list() == hashes
    groups = pl.Series([""] * len(names), dtype=pl.String)
    facts = facts_of(column, groups, last_year=2030)
    assert facts.rows() == [facts_of_one(name, "", last_year=2030) for name in names]
    assert facts.schema == pl.Schema(FACTS)
    assert facts.height == len(names)


def of(name, group=""):
    return facts_of(pl.Series([name]), pl.Series([group]), last_year=2030).row(0, named=True)


def test_everything_a_name_says_is_found():
    assert of("Some.Show.S03E05.2023.German.DL.1080p.WEB-DL.H264-GRP") == {
        "is_readable": True,
        "category": 5040,
        "season": 3,
        "season_last": 3,
        "episode": 5,
        "episode_last": 5,
        "aired_on": None,
        "year": 2023,
        "resolution": 1080,
        "source": "WEB-DL",
        "language": "German",
        "team": "GRP",
    }


def test_random_name_says_nothing():
    facts = of("b2d3075d94af88c6742b1fdfc34b225e")
    assert facts.pop("is_readable") is False
    assert facts.pop("category") == 8020
    assert set(facts.values()) == {None}


def test_years_to_come_are_none():
    assert of("Blade.Story.2039.1080p.BluRay.x264-GRP")["year"] is None
    assert of("Talk.Show.2026.10.09.720p.WEB.h264-GRP")["aired_on"] == date(2026, 10, 9)


@pytest.mark.parametrize(
    ("name", "resolution", "source", "language", "team"),
    [
        ("The.French.Letter.2021.720p.HDTV.x264-GRP", 720, "HDTV", None, "GRP"),
        ("Un.Film.2016.FRENCH.BDRip.XviD-GZR", None, "BDRip", "French", "GZR"),
        ("Film.2019.MULTi.2160p.UHD.BluRay.REMUX-FraMeSToR", 2160, "Remux", "Multi", "FraMeSToR"),
        ("[Group] Some Anime - 08 [1080p][ABCDEF01].mkv", 1080, None, None, "Group"),
        ("Some Film (2019) (1080p BluRay x265 Tigole).mkv", 1080, "BluRay", None, "Tigole"),
        ("Some.Show.S01E01.720p.HDTV.x264-GRP-Obfuscated", 720, "HDTV", None, "GRP"),
        ("Some.Film.2019.1080p.WEB-DL", 1080, "WEB-DL", None, None),
        ("Film (1920x1080 x264)", 1080, None, None, None),
        ("Some_Band-The_Album-CD-FLAC-2004-GRP", None, "CD", None, "GRP"),
        ("plain words", None, None, None, None),
    ],
)
def test_attributes(name, resolution, source, language, team):
    facts = of(name)
    found = (facts["resolution"], facts["source"], facts["language"], facts["team"])
    assert found == (resolution, source, language, team)


def test_no_names_have_no_facts():
    empty = pl.Series([], dtype=pl.String)
    assert facts_of(empty, empty, last_year=2030).schema == pl.Schema(FACTS)
    assert token_hashes_of(empty).to_list() == []
