"""Titles that stand between the file counter and the name."""

import pytest

from tests.support.courses import NOW
from tests.support.uploads import Upload, interleaved
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.offers import title_text
from voyager_core.header_pass.parse import parse_blocks


def names(subject, files):
    text, _ = interleaved([Upload("u", files, subject)])
    parsed = parse_blocks("alt.binaries.test", [text], low=0, high=0, groups={}, now=NOW)
    return identify_releases(parsed.files)["release_name"].unique().to_list()


FILES = [(f"crew-wf720p.r{n:02d}", 2) for n in range(4)]


def test_a_title_after_the_counter_names_the_release():
    subject = (
        "[REPOST][Crew Presents]({i:02d}/{n:02d}) - Winter Flight 2012 720p BRRip AC3 x264 Crew"
        ' - "{name}" - 4.09 GB - yEnc ({p}/{parts})'
    )
    assert names(subject, FILES) == ["Winter Flight 2012 720p BRRip AC3 x264 Crew"]


def test_a_remark_after_the_counter_does_not():
    subject = 'A Ship Season Nine ({i:03d}/{n:03d}) - Description - "{name}" yEnc ({p}/{parts})'
    assert names(subject, FILES) == ["A Ship Season Nine"]


def test_a_text_that_differs_from_file_to_file_names_none():
    subject = '[Crew]({i:02d}/{n:02d}) - Winter Flight {i} 2012 720p - "{name}" yEnc ({p}/{parts})'
    assert "Winter" not in names(subject, FILES)[0]


@pytest.mark.parametrize(
    ("head", "between", "wanted"),
    [
        ("Some.Film.2010.720p.BluRay.x264-GRP", "Other Words 2012 720p HDTV x264 here", 0),
        ("Crew presents", "Winter Flight 2012 720p", 1),
        ("Crew presents", "", 0),
        ("Winter Flight 2012", "Description", 0),
    ],
)
def test_the_text_that_says_clearly_more_is_the_title(head, between, wanted):
    assert title_text(head, between) == (head, between)[wanted]


def test_seasons_of_a_show_are_releases_of_their_own():
    uploads = [
        Upload(f"s{n}", [(f"Some.Show.S0{n}.part{part}.rar", 2) for part in (1, 2, 3)])
        for n in (3, 4)
    ]
    text, _ = interleaved(uploads)
    parsed = parse_blocks("alt.binaries.test", [text], low=0, high=0, groups={}, now=NOW)
    found = identify_releases(parsed.files)
    assert found["release_key"].n_unique() == 2
    assert sorted(found["release_name"].unique()) == ["Some.Show.S03", "Some.Show.S04"]
