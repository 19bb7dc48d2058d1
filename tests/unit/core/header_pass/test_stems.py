"""Stems and kinds of file names."""

import polars as pl
import pytest

from voyager_core.header_pass import heads, stems


def one(function, name):
    return function(pl.Series([name]))[0]


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("Some.Show.part01.rar", "Some.Show"),
        ("Some.Show.part001.rar.par2", "Some.Show"),
        ("Some.Show.rar", "Some.Show"),
        ("Some.Show.r00", "Some.Show"),
        ("Some.Show.s07", "Some.Show"),
        ("SOME.SHOW.S07", "SOME.SHOW"),
        ("Some.Show.S07", "Some.Show.S07"),
        ("Some.Show.S07.part01.rar", "Some.Show.S07"),
        ("Some.Show.S07.vol03+04.par2", "Some.Show.S07"),
        ("some.show.s07.rar", "some.show.s07"),
        ("Some.Show.r05.par2", "Some.Show"),
        ("Some.Show.t00", "Some.Show"),
        ("Some.Show.z29", "Some.Show"),
        ("Some.Show.001", "Some.Show"),
        ("Some.Show.7z.001", "Some.Show"),
        ("Some.Show.7z.001.par2", "Some.Show"),
        ("Some.Show.zip.001", "Some.Show"),
        ("Some.Show.mkv.001", "Some.Show"),
        ("Some.Show.mkv", "Some.Show"),
        ("Some.Show.mkv.par2", "Some.Show"),
        ("Some.Show.mkv.nzb", "Some.Show"),
        ("Some.Show.tar.gz", "Some.Show"),
        ("Some.Show.vol127+128.par2", "Some.Show"),
        ("Some.Show.vol001-003.par2", "Some.Show"),
        ("Some.Show.vol-07.par2", "Some.Show"),
        ("Some.Show.vol127+128-Repost.PAR2", "Some.Show"),
        ("Some.Show_vol3+4.par2", "Some.Show"),
        ("Some.Show.vol0063+0064.par2.temp", "Some.Show"),
        ("Some.Show-sample.mkv", "Some.Show"),
        ("sample-Some.Show.mkv", "Some.Show"),
        ("Some.Show.sample.vol01+2.par2", "Some.Show"),
        ("Some.Show.subs.rar", "Some.Show"),
        ("Some.Show.proof.jpg", "Some.Show"),
        ("Some.Show.nfo", "Some.Show"),
        ("Some.Show.sfv", "Some.Show"),
        ("Some.Show__www.some-site.info__.nfo", "Some.Show"),
        ("c1c3dba5b7dba5d931ac12bc0b330654.10", "c1c3dba5b7dba5d931ac12bc0b330654"),
        ("Some.Film.2010.mkv", "Some.Film.2010"),
        ("Some.Film.2010.par2", "Some.Film.2010"),
        ("some.show.101.part01.rar", "some.show.101"),
        ("some.show.101.vol3+4.par2", "some.show.101"),
        ("Some.Film.x.264.mkv", "Some.Film.x.264"),
        ("Show Vol-3.mkv", "Show Vol-3"),
        ("Version 2.0", "Version 2.0"),
        ("63258-2.0", "63258-2.0"),
        ("01 - Song.flac", "01 - Song"),
        (".rar", "rar"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_stem(name, stem):
    assert one(stems.display_stem, name) == stem


@pytest.mark.parametrize(
    ("title", "shown"),
    [("some.show.s07", "some.show.s07"), ("f.part03.rar", "f"), ("f.r05", "f")],
)
def test_a_title_may_hold_a_file_and_ends_with_a_season(title, shown):
    assert stems.display_stem(pl.Series([title]), is_file=False).item() == shown


def test_stems_are_compared_without_case_and_separators():
    forms = stems.key_form(stems.display_stem(pl.Series(["Some Show.rar", "some_show.R00"])))
    assert forms.n_unique() == 1


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [
        ("par2", ["a.par2", "a.vol3+4.PAR2"], ["par2", "a.par2.mkv"]),
        ("member", ["a.r00", "a.part1.rar", "a.7z.002", "a.par2", "a.zip"], ["a.mkv", "a.nfo"]),
        ("lone_archive", ["a.rar", "a.zip"], ["a.r00", "a.mkv"]),
        ("start", ["a.part01.rar", "a.rar", "a.7z.001", "a.001", "a.zip"], ["a.r00"]),
        ("start", ["a.part1.rar"], ["a.part10.rar", "a.7z.011", "a.mkv"]),
        ("sidecar", ["a.nfo", "a.NZB", "a.jpg"], ["a.mkv", "a.rar"]),
        ("track", ["a.mp3", "a.FLAC"], ["a.mkv"]),
        ("piece", ["00001.clpi", "a.vob", "a.mp3"], ["a.mkv", "a.rar"]),
        ("book", ["a.epub", "a.PDF"], ["a.mkv"]),
    ],
)
def test_kind(kind, yes, no):
    told = stems.features(pl.Series([*yes, *no]))
    assert told[f"_is_{kind}"].to_list() == [True] * len(yes) + [False] * len(no)


def test_extras_of_an_upload():
    assert stems.is_extra(pl.Series(["a.sample.par2", "sample-a.rar", "a.subs.rar"])).all()
    assert not stems.is_extra(pl.Series(["a.par2"])).any()


@pytest.mark.parametrize(
    ("name", "number"),
    [("a.part07.rar", 7), ("a.7z.012", 12), ("a.r05", 5), ("a.001", 1), ("a.mkv", 0)],
)
def test_volume_number(name, number):
    assert one(stems.volume_number, name) == number


@pytest.mark.parametrize(
    ("head", "grade"),
    [
        ("", heads.BANNER),
        ("????", heads.BANNER),
        ("TOWN ]-[ www.town.ag ]-[ partner of www.ssl-news.info", heads.BANNER),
        ("Presenter.net", heads.BANNER),
        ("The Elite Team Presents", heads.BANNER),
        ("Film", heads.BANNER),
        ("PRiVATE]-[WtFnZb", heads.BANNER),
        ("Singer - Album (2005)", heads.WORDS),
        ("Jungle Tapes", heads.WORDS),
        ("Some.Film.2012.720p.BluRay.x264-GRP", heads.NAME),
        (">site.org<< Some.Show.S03E02.German-GRP >>www.site.info>", heads.NAME),
        ("cbc - rmr - s6e07", heads.NAME),
        ("149277", heads.NAME),
        ("9842b7f07ed502f959f29f0507dbbd14", heads.NAME),
        ("t2EI3CdWdF0hi5b8L9tkx", heads.NAME),
        ("80894690-n-YuO", heads.NAME),
    ],
)
def test_grade_of_head(head, grade):
    assert one(heads.grades, head) == grade
