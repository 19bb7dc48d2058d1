"""Spans made to cost much: the work of the grouping grows with the files, not with their square."""

import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import polars as pl
import pytest

from tests.support.courses import NOW
from tests.support.uploads import START, Upload, interleaved
from voyager_core.header_pass import postings, runs, sessions
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_blocks
from voyager_core.header_pass.postings import Piece, postings_of

SMALL = 150
FACTOR = 4
# Twice the linear growth: a loop over pairs would grow by the square, 16.
MOST_GROWTH = 2 * FACTOR


def parsed(uploads):
    text, _ = interleaved(uploads)
    return parse_blocks("alt.binaries.test", [text], low=0, high=0, groups={}, now=NOW).files


def lines_run(modules, work: Callable[[], object]) -> int:
    """Returns how many lines of these modules the work runs."""
    files = {module.__file__ for module in modules}
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def one_file_posts(count):
    """One poster's posts of one file each, all under the same counter total and random names."""
    return [
        Upload(
            f"{n}",
            [(f"{n:04d}kq83hd82hd{n:04d}.bin", 1)],
            '[{i}/{n}] - "{name}" yEnc ({p}/{parts})',
            first=n % 9 + 1,
            total=9,
            at=START + timedelta(seconds=n),
        )
        for n in range(count)
    ]


def side_by_side(count):
    """Two uploads with random posters and names, so alike that every file may be of either."""
    return [
        Upload(
            f"{side}{n}",
            [(f"{side}{n:04d}kq83hd82hd{n:04d}", 1)],
            '[{i}/{n}] "{name}" yEnc ({p}/{parts})',
            poster=f"{side}{n}@example.invalid",
            first=n + 1,
            total=count,
            at=START + timedelta(seconds=10 * n),
        )
        for n in range(count)
        for side in "ab"
    ]


def companions(count):
    """One poster's sets and small companions, all under one head within ten minutes."""
    made = []
    for n in range(count):
        at = START + timedelta(seconds=n * 600 / count)
        subject = 'Fine Ships [{i}/{n}] - "{name}" yEnc ({p}/{parts})'
        made.append(Upload(f"set{n}", [(f"x{n:05d}fineships.rar", 3)], subject, total=2, at=at))
        made.append(Upload(f"nfo{n}", [(f"y{n:05d}companion.nfo", 1)], subject, total=1, at=at))
    return made


@pytest.mark.parametrize("made", [one_file_posts, side_by_side, companions])
def test_the_lines_that_a_span_runs_grow_with_its_files(made):
    counts = []
    for size in (SMALL, SMALL * FACTOR):
        work = partial(identify_releases, parsed(made(size)))
        counts.append(lines_run([sessions, runs], work))
    assert counts[1] <= MOST_GROWTH * counts[0], counts


@pytest.mark.parametrize("made", [one_file_posts, side_by_side, companions])
def test_no_table_that_a_span_makes_grows_faster_than_its_files(made, monkeypatch):
    tallest = 0
    join = pl.DataFrame.join

    def measured(*args, **kwargs):
        nonlocal tallest
        joined = join(*args, **kwargs)
        tallest = max(tallest, joined.height)
        return joined

    monkeypatch.setattr(pl.DataFrame, "join", measured)
    heights = []
    for size in (SMALL, SMALL * FACTOR):
        tallest = 0
        identify_releases(parsed(made(size)))
        heights.append(tallest)
    assert heights[1] <= MOST_GROWTH * heights[0], heights


def pieces(count, copies):
    """Pieces of one file: so many spans, in each every part so often under another message-id."""
    return [
        Piece(
            {
                "first_number": span * 1000 + copy,
                "last_number": span * 1000 + 500 + copy,
                "generation": copy,
                "first_posted_at": START,
                "last_posted_at": START,
            },
            {part: (f"{span}.{copy}.{part}@x", 1) for part in range(1, 11)},
        )
        for span in range(count)
        for copy in range(copies)
    ]


@pytest.mark.parametrize("copies", [1, 3])
def test_putting_pieces_together_grows_with_them(copies):
    counts = [
        lines_run([postings], partial(postings_of, pieces(size, copies)))
        for size in (40, 40 * FACTOR)
    ]
    assert counts[1] <= MOST_GROWTH * counts[0], counts
