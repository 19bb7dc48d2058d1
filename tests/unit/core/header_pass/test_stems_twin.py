"""The native core says of file names what their slow twin says, whatever they hold."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quality.made_names import random_names, readable_names
from tests.reference.stems import features_of
from voyager_core.header_pass import heads, stems

ENDS = [
    *(".rar", ".PART01.rar", ".part1", ".r00", ".s123", ".7z.001", ".zip", ".001", ".0001", ".01"),
    *(".par2", ".vol03+04.PAR2", "_vol3+4.par2", ".vol-07.par2", ".p01", ".par", ".nfo", ".sfv"),
    *("-sample", ".sample", "[cover]", " - subs", ".proof", ".tmp", ".bak", ".mkv", ".mkv.001"),
    *(
        ".mp3",
        ".flac",
        ".vob",
        ".epub",
        "_www.site.info",
        ".www.a",
        "sample-",
        "(proof) ",
        '"',
        " ",
    ),
    *(
        ".vol1+2-Repost.par2",
        ".par2.par2",
        ".2010",
        ".x264",
        "0123456789abcdef0123",
        ".12",
        "\u017f",
        "\u0130",
    ),
]
NAMES = [
    name + end
    for (_, name), end in zip(
        [*readable_names(600, seed=3), *random_names(300, seed=3)], ENDS * 30, strict=False
    )
]
ODD = [
    *("", " ", '"', "\0", "...", ".rar", ".par2", "-sample", "sample-", "ΟΔΟΣ.rar", "ß.R00"),
    *("\u202egpj.exe", "龙之家族.part01.rar", "\u0301.r00", "a\u2028.nfo", "龙之家族.mp3", "a\n"),
]
LONG = [
    *("a" * 65_536, "." * 65_536, ".rar" * 16_000, ".vol1+1" * 9_000 + ".par2", "İ" * 20_000),
    *("-sample" * 9_000, "[a" * 30_000, "0" * 65_536, "_www.a" * 10_000),
]
# What Python's older tables do not know yet is no letter to them.
known = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=6)
pieces = st.lists(st.sampled_from(ENDS) | known, max_size=7).map("".join)


def told(names):
    return stems.features(pl.Series("name", names, dtype=pl.String)).to_dicts()


def assert_twins_agree(names):
    for name, found in zip(names, told(names), strict=True):
        expected = features_of(name)
        assert {key: found[key] for key in expected} == expected, name[:200]


def test_names_have_the_features_of_their_twin():
    assert_twins_agree(NAMES)


def test_odd_names_have_the_features_of_their_twin():
    assert_twins_agree(ODD)


def test_long_names_are_described():
    for name, found in zip(LONG, told(LONG), strict=True):
        assert found["_shown"] in name
        assert found["_shown"]


@settings(max_examples=200)
@given(st.lists(pieces, max_size=6))
def test_any_names_have_the_features_of_their_twin(names):
    assert_twins_agree(names)


def test_a_name_says_the_same_wherever_it_stands():
    once = {row["name"]: row for row in told(NAMES)}
    assert told([*NAMES[::-1], *NAMES]) == [once[name] for name in [*NAMES[::-1], *NAMES]]


def test_equal_texts_have_equal_numbers_and_others_have_others():
    rows = stems.features(pl.Series(NAMES))
    for text, number in (("_shown", "_shown_id"), ("_stem", "_stem_id")):
        pairs = rows.select(text, number).unique()
        assert pairs[text].n_unique() == pairs[number].n_unique() == pairs.height


def test_hostile_heads_are_graded_and_squeezed():
    texts = pl.Series([*ODD, *LONG])
    assert set(heads.grades(texts)) <= {heads.BANNER, heads.WORDS, heads.NAME}
    assert heads.squeezed(texts)["text"].str.contains(r"[._]").sum() == 0


def test_requests_that_are_none_are_empty():
    requests = pl.Series(["Re-Post", "FULL", "Some.Name"])
    assert heads.squeezed_requests(requests)["text"].to_list() == ["", "", "some name"]
