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


def test_stems_are_compared_without_case_and_separators():
    forms = stems.key_form(stems.display_stem(pl.Series(["Some Show.rar", "some_show.R00"])))
    assert forms.n_unique() == 1


@pytest.mark.parametrize(
    ("function", "yes", "no"),
    [
        (stems.is_par2, ["a.par2", "a.vol3+4.PAR2"], ["par2", "a.par2.mkv"]),
        (stems.is_par2_index, ["a.par2", "a.7z.001.par2"], ["a.vol-01.par2", "a.vol0+1.par2"]),
        (
            stems.is_member,
            ["a.r00", "a.part1.rar", "a.7z.002", "a.par2", "a.zip"],
            ["a.mkv", "a.nfo"],
        ),
        (
            stems.is_archive_start,
            ["a.part01.rar", "a.rar", "a.7z.001", "a.001", "a.zip"],
            ["a.r00"],
        ),
        (stems.is_archive_start, ["a.part1.rar"], ["a.part10.rar", "a.7z.011", "a.mkv"]),
        (stems.is_sidecar, ["a.nfo", "a.NZB", "a.jpg"], ["a.mkv", "a.rar"]),
        (stems.is_track, ["a.mp3", "a.FLAC"], ["a.mkv"]),
        (stems.is_piece, ["00001.clpi", "a.vob", "a.mp3"], ["a.mkv", "a.rar"]),
        (stems.is_book, ["a.epub", "a.PDF"], ["a.mkv"]),
        (stems.is_extra, ["a.sample.par2", "sample-a.rar", "a.subs.rar"], ["a.par2"]),
    ],
)
def test_kind(function, yes, no):
    assert function(pl.Series(yes)).all()
    assert not function(pl.Series(no)).any()


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
    frame = pl.DataFrame({"head": [head]}).select(heads.grade(pl.col("head")))
    assert frame.item() == grade
