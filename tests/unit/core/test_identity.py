"""Files to releases: every posting style alone, all of them mixed, and the known hard cases."""

import random
from collections import defaultdict
from datetime import timedelta

import polars as pl
import pytest

from tests.reference.files import Oracle
from tests.reference.frames import files_of
from tests.support.upload_styles import STYLES
from tests.support.uploads import START, Upload, interleaved, old_volumes, volumes
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.schemas import IDENTIFIED, SchemaMismatchError

GROUP = "alt.binaries.test"


def releases_of(text: bytes) -> dict[int, tuple[int, int]]:
    """Returns the release of every article number that is in a file."""
    identified = identify_releases(files_of(text, GROUP))
    keys = {
        row[0]: row[1:] for row in identified.select("file_key", "release_key", "session").rows()
    }
    oracle = Oracle(GROUP, groups={}, now=(1 << 32) - 1)
    oracle.feed(text)
    oracle.finish()
    return {number: keys[key] for number, key, _, _ in oracle.articles() if key is not None}


def wrong(uploads: list[Upload], *, seed: int = 0) -> set[str]:
    """Returns the uploads whose articles are not exactly one release."""
    text, truth = interleaved(uploads, seed=seed)
    found = releases_of(text)
    members: dict[object, set[int]] = defaultdict(set)
    expected: dict[str, set[int]] = defaultdict(set)
    for number, key in truth.items():
        expected[key].add(number)
        members[found.get(number)].add(number)
    exact = {frozenset(numbers) for numbers in members.values()}
    return {key for key, numbers in expected.items() if frozenset(numbers) not in exact}


def posts(*cases: tuple[str, list[tuple[str, int]]], **settings) -> list[Upload]:
    return [
        Upload(f"post{n}", files, subject, at=START + timedelta(seconds=30 * n), **settings)
        for n, (subject, files) in enumerate(cases)
    ]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_upload_is_one_release(style):
    chance = random.Random(1)
    uploads = [
        each
        for n in range(3)
        for each in style(chance, f"{style.__name__}#{n}", START + timedelta(seconds=50 * n))
    ]
    assert wrong(uploads) == set()


@pytest.mark.parametrize("seed", range(2))
def test_all_styles_mixed_are_exact(seed):
    chance = random.Random(seed)
    uploads = []
    for round_ in range(2):
        for n, style in enumerate(STYLES):
            at = START + timedelta(seconds=(round_ * len(STYLES) + n) * 25 + chance.random() * 20)
            uploads += style(chance, f"{style.__name__}#{round_}", at)
    assert wrong(uploads, seed=seed) == set()


def test_order_of_rows_does_not_matter():
    chance = random.Random(5)
    uploads = [each for style in STYLES for each in style(chance, style.__name__, START)]
    files = files_of(interleaved(uploads)[0], GROUP)
    columns = ["file_key", "release_key", "session", "release_rank", "release_name"]
    expected = identify_releases(files).select(columns).sort("file_key")
    for seed in range(3):
        shuffled = files.sample(fraction=1, shuffle=True, seed=seed)
        assert identify_releases(shuffled).select(columns).sort("file_key").equals(expected)


def test_different_albums_under_one_banner_stay_apart():
    subject = 'Presenter.net - [{i:02d}/{n:02d}] - "{name}" yEnc ({p}/{parts})'
    assert not wrong(
        posts(
            (subject, volumes("Some Artist - First", 15)),
            (subject, volumes("Other Artist - Second", 15)),
        )
    )


def test_phrase_over_different_totals_is_a_banner():
    subject = 'Rolling News [{i:02d}/{n:02d}] - "{name}" yEnc ({p}/{parts})'
    assert not wrong(
        posts((subject, volumes("First Concert 1972", 5)), (subject, volumes("Second Concert", 9)))
    )


def test_same_request_id_with_other_names_stays_apart():
    subject = '[383231]-[FULL]-[grp]-[ {0} ]-[{{i}}/{{n}}] - "{{name}}" yEnc ({{p}}/{{parts}})'
    assert not wrong(
        posts(
            (subject.format("01_title"), volumes("first", 3)),
            (subject.format("02_title"), volumes("first", 3)),
        )
    )


def test_subtitles_and_proofs_join_the_request():
    subject = '[149277]-[{i:03d}/{n}] - "{name}" yEnc ({p}/{parts})'
    files = [*old_volumes("149277", 9), ("149277-Subs.par2", 1), ("149277-proof.jpg", 1)]
    assert not wrong(posts((subject, files)))


def test_repost_after_two_days_is_another_session():
    first = Upload("first", volumes("Some.Show.S01E01.720p-GRP", 5))
    again = Upload(
        "again", first.files, salt="again", at=START + timedelta(days=3), poster=first.poster
    )
    assert wrong([first, again]) == set()
    text, _ = interleaved([first, again])
    found = set(releases_of(text).values())
    assert len({key for key, _ in found}) == 1
    assert {session for _, session in found} == {0, 1}


def test_repost_within_the_window_is_another_release():
    first = Upload("first", volumes("Some.Show.S01E01.720p-GRP", 5))
    again = Upload("again", first.files, salt="again", at=START + timedelta(hours=3))
    assert wrong([first, again]) == set()


def test_nfo_with_another_counter_joins_by_head_and_poster():
    main = '[Some Long Title] [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    uploads = [
        Upload("one", volumes("unrelated-stem", 6), main),
        Upload(
            "one",
            [("x9f2.nfo", 1)],
            '[Some Long Title] [1/1] - "{name}" yEnc (1/1)',
            at=START + timedelta(seconds=20),
        ),
    ]
    assert not wrong(uploads)


def test_end_of_one_upload_and_begin_of_the_next_are_two():
    # A span may hold the last half of one upload and the first half of the next: together
    # their numbers look complete.
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    older = [(f"older {n:02d}.mkv", 2) for n in range(7, 13)]
    newer = [(f"newer {n:02d}.mkv", 2) for n in range(1, 7)]
    uploads = [
        Upload("older", older, subject, first=7, total=12),
        Upload("newer", newer, subject, total=12, at=START + timedelta(minutes=5)),
    ]
    text, truth = interleaved(uploads)
    found = releases_of(text)
    assert not {found[n] for n in truth if truth[n] == "older"} & {
        found[n] for n in truth if truth[n] == "newer"
    }


def test_same_posts_in_two_groups_are_two_releases():
    text, _ = interleaved([Upload("one", volumes("Some.Show.S01E01-GRP", 3))])
    here = identify_releases(files_of(text, "alt.binaries.test"))
    there = identify_releases(files_of(text, "alt.binaries.other"))
    assert not set(here["release_key"]) & set(there["release_key"])


def test_key_of_a_release_never_changes():
    # The catalog refers to it: another key would lose what is stored.
    text, _ = interleaved([Upload("one", volumes("Some.Show.S01E01.720p.HDTV.x264-GRP", 2))])
    identified = identify_releases(files_of(text, GROUP))
    assert identified["release_key"].unique().to_list() == [KNOWN_KEY]


KNOWN_KEY = 18090668846005998722


@pytest.mark.parametrize(
    ("subject", "files", "name"),
    [
        (
            '[1]-[FULL]-[#a@EFNet]-[ Some.Show.S01E01-GRP ]-[{i}/{n}] - "{name}" ({p}/{parts})',
            volumes("grp-s01", 2),
            "Some.Show.S01E01-GRP",
        ),
        (
            'Some.Film.2010.720p.BluRay.x264-GRP [{i}/{n}] - "{name}" yEnc ({p}/{parts})',
            old_volumes("grp-sf720", 3),
            "Some.Film.2010.720p.BluRay.x264-GRP",
        ),
        ('[{i}/{n}] - "{name}" yEnc ({p}/{parts})', volumes("Plain Title", 2), "Plain Title"),
        (
            'Singer - Album [{i}/{n}] - "{name}" yEnc ({p}/{parts})',
            [("01 - One.mp3", 2), ("02 - Two.mp3", 2), ("03 - Three.mp3", 2)],
            "Singer - Album",
        ),
        ('"{name}" yEnc ({p}/{parts})', [("holiday film.mp4", 3)], "holiday film"),
        (
            '9842b7f07ed502f9[{i}/{n}] - "{name}" yEnc ({p}/{parts})',
            volumes("c1c3dba5b7dba5d931ac12bc0b330654", 2),
            "9842b7f07ed502f9",
        ),
    ],
)
def test_release_gets_the_best_name(subject, files, name):
    text, _ = interleaved([Upload("one", files, subject)])
    assert identify_releases(files_of(text))["release_name"].unique().to_list() == [name]


def test_no_files_are_no_releases():
    empty = files_of(b"")
    identified = identify_releases(empty)
    assert identified.columns == list(IDENTIFIED)
    assert identified.is_empty()


def test_frame_of_another_form_is_refused():
    with pytest.raises((SchemaMismatchError, pl.exceptions.ColumnNotFoundError)):
        identify_releases(pl.DataFrame({"name": ["x"]}))


def test_hostile_names_end_in_some_release():
    hostile = ["", ".", "..", ".rar", ".par2", "a" * 3000 + ".rar", "vol1+2.par2", "\u202e.r00"]
    lines = "".join(
        f'{n}\t[{n}/9] - "{name}" yEnc (1/1)\tx\t\t<{n}@x>\t\t1\t1\t\r\n'
        for n, name in enumerate(hostile, 1)
    )
    identified = identify_releases(files_of(lines.encode()))
    assert identified["release_key"].null_count() == 0
    assert identified["release_name"].null_count() == 0
