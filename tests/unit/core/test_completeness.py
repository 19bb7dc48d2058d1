"""What is announced against what is there, and what parity makes good."""

from datetime import UTC, datetime

import polars as pl
import pytest

from tests.support.uploads import Upload, interleaved
from voyager_core.domain.completeness import Completeness, Counted, completeness_of
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_blocks
from voyager_core.header_pass.recovery import COLUMNS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEGMENT = 740_000


def state(files, expected, segments, announced, **values):
    return completeness_of(Counted(files, expected, segments, announced, **values))


def test_unknown_totals_are_not_nothing():
    assert state(3, None, 30, None) == Completeness.UNKNOWN
    assert state(3, 3, 30, None) == Completeness.UNKNOWN


def test_files_that_are_announced_and_missing_are_missed_without_totals_of_segments():
    assert state(2, 3, 30, None) == Completeness.INCOMPLETE


def test_all_there_is_complete():
    assert state(3, 3, 30, 30) == Completeness.COMPLETE
    assert state(3, None, 30, 30) == Completeness.COMPLETE


def test_one_more_than_announced_is_complete():
    # `[61/60]`, or the `[00/60]` of an NZB.
    assert state(61, 60, 300, 300) == Completeness.COMPLETE


@pytest.mark.parametrize(
    ("missing", "blocks", "expected"),
    [(2, 2, Completeness.REPAIRABLE), (3, 2, Completeness.INCOMPLETE)],
)
def test_blocks_make_segments_good(missing, blocks, expected):
    found = 100 - missing
    assert expected == state(
        5,
        5,
        found,
        100,
        size_bytes=found * SEGMENT,
        content_missing=missing,
        recovery_blocks=blocks,
        recovery_bytes=blocks * SEGMENT,
    )


def test_a_segment_a_little_bigger_than_a_block_needs_two():
    values = {"content_missing": 3, "size_bytes": 99 * SEGMENT}
    for blocks, expected in ((6, Completeness.REPAIRABLE), (5, Completeness.INCOMPLETE)):
        values |= {"recovery_blocks": blocks, "recovery_bytes": blocks * (SEGMENT - 1)}
        assert state(5, 5, 99, 102, **values) == expected


def test_a_segment_of_several_blocks_needs_them_all():
    values = {"size_bytes": 99 * SEGMENT, "content_missing": 1, "recovery_bytes": 2 * SEGMENT}
    assert state(5, 5, 99, 100, recovery_blocks=8, **values) == Completeness.REPAIRABLE
    # Blocks of a tenth of a segment: ten are lost with it.
    values["recovery_bytes"] = 8 * SEGMENT // 10
    assert state(5, 5, 99, 100, recovery_blocks=8, **values) == Completeness.INCOMPLETE


def test_missing_parity_needs_no_repair():
    assert state(5, 5, 99, 100, content_missing=0) == Completeness.REPAIRABLE


def test_a_missing_file_counts_as_the_biggest():
    values = {"size_bytes": 90 * SEGMENT, "largest_file": 10}
    for blocks, expected in ((10, Completeness.REPAIRABLE), (9, Completeness.INCOMPLETE)):
        values |= {"recovery_blocks": blocks, "recovery_bytes": blocks * SEGMENT}
        assert state(9, 10, 90, 90, **values) == expected


def built(upload):
    text, _ = interleaved([upload])
    parsed = parse_blocks("alt.binaries.test", [text], low=0, high=0, groups={}, now=NOW)
    return build_span(parsed, RuleSet(), now=NOW).releases


FILES = [
    *(("Great.Film.part1.rar", 10), ("Great.Film.part2.rar", 10), ("Great.Film.par2", 1)),
    *(("Great.Film.vol00+01.par2", 2), ("Great.Film.vol01+02.PAR2", 3)),
]


def test_the_header_pass_counts_blocks_and_what_is_missing():
    missing = frozenset({(1, 3), (2, 4), (4, 2)})
    releases = built(Upload("a", FILES, missing=missing))
    # The first volume lacks a segment, and with it an unknown number of blocks.
    assert releases.select(COLUMNS).rows() == [(2, 2, 740_000 * 2 + 370_000, 10)]
    assert releases.select("segments", "segments_expected").rows() == [(23, 26)]


def test_a_release_without_parity_has_no_blocks():
    releases = built(Upload("a", [("Great.Film.mkv", 4)], missing=frozenset({(1, 2)})))
    assert releases.select(COLUMNS).rows() == [(1, 0, 0, 4)]


def test_totals_that_nobody_states_miss_nothing():
    releases = built(Upload("a", [("Great.Film.mkv", 4)], '"{name}" yEnc ({p}/0)'))
    assert releases["content_missing"].to_list() == [0]
    assert releases["segments_expected"].to_list() == [None]
    assert releases.schema["content_missing"] == pl.UInt32
