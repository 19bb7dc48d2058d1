"""Random or readable, and which name a release gets."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.names import is_readable_name, surprise
from voyager_core.domain.titles import best_name, scene_name


@pytest.mark.parametrize(
    "name",
    [
        "Some.Show.S01E01.720p.HDTV.x264-GRP",
        "S07E23.mkv",
        "5x09 - 100 [720p WEB-DL].mkv",
        "The Paper Moon (2019)",
        "Catullus.avi",
        "Bonjour.1969.avi",
        "this_that_S01E11",
        "F.E.A.R.3.Update.1-SKIDROW",
        "It.Is.Us.2019",
        "inthemix",
        "test.mp3",
        "ngPost_v4.16_libssl3-x86_64.AppImage",
        "龙之家族 第一季",
        "Война и мир",
        "111226-13091-012",
        "ubuntu-mate-16.04.2-desktop-amd64.iso.part01.rar",
        "karatefylla.s02e01.pdtv.x264-d2v",
    ],
)
def test_name_is_readable(name):
    assert is_readable_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "b2d3075d94af88c6742b1fdfc34b225e.16",
        "xqJc9cLkzgbVTTSlQflzdiuWtCWE2O6n2.part1.rar",
        "L3iMP7Tg4XaObh32FqTzvP6durgw7wZi.mkv",
        "83f5c794-1b1a-4bc3-88cb-87dff4060f2e",
        "ac4rcq47pkqt4flatz2xf",
        "afgm.avi",
        "abc.xyz.a4c567edbcbf27.BLA",
        "a4c7d1f239b71a.a1c0a8b1790e65c9430d5a601037a4.7893",
        "xkcdqwrtypsdfghjklmnbvcxz",
        '[01/10] - "xK9mR2pL4qW7nT3vB.part01.rar"',
        "VGhpc0lzTm90QVNob3dOYW1lMTIzNDU2Nzg5MA==",
        "",
        "...",
    ],
)
def test_name_is_random(name):
    assert not is_readable_name(name)


def test_real_names(shared_data):
    rows = [
        line.split("\t")
        for line in (shared_data / "names" / "random_vs_readable.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    ]
    readable = [row[0] for row in rows if row[1] == "readable"]
    scrambled = [row[0] for row in rows if row[1] == "random"]
    # A readable name called random hides a release; the reverse only shows a useless name.
    assert sum(not is_readable_name(name) for name in readable) / len(readable) <= 0.005
    assert sum(is_readable_name(name) for name in scrambled) / len(scrambled) <= 0.05


@pytest.mark.parametrize(
    ("alphabet", "length"),
    [
        (string.ascii_letters + string.digits, 24),
        (string.ascii_letters + string.digits, 32),
        (string.ascii_letters, 20),
        ("0123456789abcdef", 32),
        (string.ascii_lowercase + string.digits, 16),
    ],
)
def test_generated_names_are_random(alphabet, length):
    chance = random.Random(1)
    names = ["".join(chance.choices(alphabet, k=length)) for _ in range(500)]
    assert sum(not is_readable_name(name) for name in names) > 485


def test_words_surprise_less_than_letters():
    assert surprise("thunder") < surprise("thbldns")
    assert surprise("the") < 4


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            ">ghost-of-usenet.org<< Some.Show.S03E02.German.DVDRip.XviD-GRP >>www.SSL-News.info>",
            "Some.Show.S03E02.German.DVDRip.XviD-GRP",
        ),
        ("Some_Band-The_Album-WEB-2021-GRP", "Some_Band-The_Album-WEB-2021-GRP"),
        ("plain words only", ""),
        ("www.some.site.example-abc", ""),
        ("", ""),
    ],
)
def test_scene_name_is_found_in_a_head(text, name):
    assert scene_name(text) == name


def test_names_by_rank():
    def best(request="", head="", stem="", shared=True):
        return best_name(request, head, stem, is_shared_stem=shared)

    assert best("Some.Show.S01E01-GRP", "other words", "stem words") == "Some.Show.S01E01-GRP"
    assert best("", "A.Scene.Name.2019-GRP", "stem words") == "A.Scene.Name.2019-GRP"
    assert best("", "other words", "stem words") == "stem words"
    assert best("", "Singer - Album", "01 - Song", shared=False) == "Singer - Album"
    assert best("", "xq7zk93kd0sl2mv8", "stem words", shared=False) == "stem words"
    assert best("", "", "c1c3dba5b7dba5d931ac12bc0b330654") == "c1c3dba5b7dba5d931ac12bc0b330654"
    assert best() == ""


def test_scene_rows_of_real_subjects_are_named(shared_data):
    # The quoted file's stem alone gives 173 of the 364 scene names.
    import polars as pl

    from tests.reference.subjects import parse
    from voyager_core.header_pass import stems

    rows = [
        line.split("\t")
        for line in (shared_data / "subjects" / "subjects_named.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    ]
    rows = [row for row in rows if len(row) > 3 and row[3] == "A"]
    right = 0
    for row in rows:
        said = parse(row[0].encode())
        texts = (said.name, said.head, said.request, said.tail)
        name, head, request, tail = (said.of(each).decode() for each in texts)
        titles = stems.display_stem(pl.Series([head]), is_file=False)
        shown = [*stems.display_stem(pl.Series([name])), *titles]
        found = best_name(request, shown[1], shown[0], is_shared_stem=True, tail=tail)
        right += found == row[2]
    assert right / len(rows) > 0.85


@given(st.text(max_size=300))
def test_any_text_is_judged(text):
    assert is_readable_name(text) in (True, False)
    assert isinstance(scene_name(text), str)
