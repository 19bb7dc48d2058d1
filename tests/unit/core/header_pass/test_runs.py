"""Uploads of which every file has a name and a poster of its own."""

import random
from datetime import timedelta

import polars as pl
import pytest

from tests.reference.frames import files_of
from tests.support.upload_styles import random_poster, token
from tests.support.uploads import START, Upload, interleaved
from voyager_core.header_pass.identity import identify_releases


def dark(key, count, *, at=START, seed=0, parts=6, subject=None):
    """An upload under random names, each file from somebody else."""
    chance = random.Random(f"{key}{seed}")
    return Upload(
        key,
        [(token(chance, 24), parts if 1 < n < count else 2) for n in range(1, count + 1)],
        subject or '[{i:02d}/{n:02d}] - "{name}" yEnc ({p}/{parts})',
        poster=lambda i: random_poster(random.Random(f"{key}{i}")),
        at=at,
    )


def releases_of(uploads, *, first=0, last=None):
    """Returns for each release the uploads that it holds, of a stretch of the lines."""
    text, truth = interleaved(uploads)
    lines = text.splitlines(keepends=True)[first:last]
    files = identify_releases(files_of(b"".join(lines)))
    held = {}
    for key, session, number in files.select("release_key", "session", "first_number").iter_rows():
        held.setdefault((key, session), set()).add(truth[number])
    return sorted(map(sorted, held.values()))


def test_a_complete_run_is_one_release():
    assert releases_of([dark("a", 12)]) == [["a"]]


@pytest.mark.parametrize(("first", "last"), [(20, None), (0, 40), (20, 50)])
def test_a_run_that_the_span_cuts_is_one_release(first, last):
    assert releases_of([dark("a", 12)], first=first, last=last) == [["a"]]


def test_a_run_with_a_gap_is_left_alone():
    whole = dark("a", 12)
    gap = Upload(
        "a",
        whole.files,
        whole.subject,
        poster=whole.poster,
        missing=frozenset((6, part) for part in range(1, 7)),
    )
    assert len(releases_of([gap])) == 11


def test_runs_after_each_other_are_two():
    later = START + timedelta(minutes=1)
    assert releases_of([dark("a", 8), dark("b", 8, at=later)]) == [["a"], ["b"]]


def test_runs_side_by_side_are_told_apart_by_their_progress():
    late = START + timedelta(seconds=12)
    found = releases_of([dark("a", 20), dark("b", 20, at=late)])
    assert found == [["a"], ["b"]]


def test_runs_that_cannot_be_told_apart_are_left_alone():
    found = releases_of([dark("a", 9), dark("b", 9)])
    assert all(len(uploads) == 1 for uploads in found)


def test_readable_names_are_not_joined_by_a_counter_that_is_cut():
    names = ["River Stone", "Paper Garden", "Silver Window", "Market Engine", "Harbor Winter"]
    flood = Upload(
        "a",
        [(f"{name}.mkv", 4) for name in names],
        '[{i}/{n}] - "{name}" yEnc ({p}/{parts})',
        poster=lambda i: random_poster(random.Random(i)),
        total=40,
    )
    assert len(releases_of([flood])) == 5


def test_the_order_of_rows_does_not_matter():
    uploads = [dark("a", 15), dark("b", 15, at=START + timedelta(seconds=11)), dark("c", 7)]
    files = files_of(interleaved(uploads)[0])
    expected = identify_releases(files).select("file_key", "release_key").sort("file_key")
    for seed in range(3):
        shuffled = files.sample(fraction=1, shuffle=True, seed=seed)
        found = identify_releases(shuffled).select("file_key", "release_key").sort("file_key")
        assert found.equals(expected)
    assert expected["release_key"].dtype == pl.UInt64
