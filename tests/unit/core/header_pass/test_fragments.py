"""Files cut by span edges come together again, whatever the cuts and their order."""

import random
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voyager_native
from tests.support.upload_styles import STYLES
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_files, build_span
from voyager_core.header_pass.fragments import fragments_frame, merge_fragments, pending
from voyager_core.header_pass.parse import parse_blocks, parse_span
from voyager_core.header_pass.schemas import FRAGMENTS, IDENTIFIED, empty

GROUP = "alt.binaries.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = 5_000_000_001


def whole(text):
    parsed = parse_blocks(GROUP, [text], low=0, high=0, groups={}, now=NOW)
    return build_span(parsed, RuleSet(), now=NOW)


def in_spans(text, edges):
    """Builds each stretch between the edges; returns their frames in that order."""
    built = []
    for low, high in edges:
        parsed = parse_span(Span(GROUP, low, high), [text], groups={}, now=NOW)
        built.append(build_span(parsed, RuleSet(), now=NOW))
    return built


def together(spans):
    """Returns the files of spans with their fragments merged."""
    fragments = pl.concat([each.fragments for each in spans])
    kept = pl.concat([each.files.filter(~pl.col("is_fragment")) for each in spans])
    kept = kept.drop("dropped_by")
    return pl.concat([kept, merge_fragments(fragments).select(kept.columns)])


def contents(files):
    """Returns release and segments of every file."""
    return {
        (row["file_key"], row["release_key"]): frozenset(
            pl.DataFrame(voyager_native.decode_segments(row["payload"])).rows()
        )
        for row in files.iter_rows(named=True)
    }


def stretches(numbers, size):
    return [(low, low + size - 1) for low in range(min(numbers), max(numbers) + 1, size)]


@pytest.mark.parametrize("size", [300, 90, 41])
def test_cut_uploads_are_as_if_never_cut(size):
    uploads = [
        Upload("a", volumes("Some.Show.S01E02.720p-GRP", 6, parts=20)),
        Upload("b", [("Some.Film.2010.mkv", 200)], '"{name}" yEnc ({p}/{parts})'),
        Upload("c", volumes("kd83hgb72ndk38fhw93kd82h", 4, parts=30), poster="r@x"),
    ]
    text, truth = interleaved(uploads, first_number=FIRST)
    spans = in_spans(text, stretches(truth, size))
    random.Random(size).shuffle(spans)
    assert sum(len(each.fragments) for each in spans) > 3
    assert contents(together(spans)) == contents(whole(text).files)


def test_pure_styles_do_not_depend_on_the_cuts():
    # Where each file states its release, cutting cannot change it. A disc structure and an
    # album without a head are only recognised as a whole.
    as_a_whole = {"disc_structure", "album_without_head", "season_of_videos", "album_under_banner"}
    chance = random.Random(3)
    uploads = []
    for n, style in enumerate(each for each in STYLES if each.__name__ not in as_a_whole):
        uploads += style(chance, style.__name__, START + timedelta(seconds=20 * n))
    text, truth = interleaved(uploads, first_number=FIRST)
    expected = contents(whole(text).files)
    found = contents(together(in_spans(text, stretches(truth, 400))))
    assert len(set(expected) - set(found)) <= len(expected) // 50


def test_merged_file_has_the_facts_of_the_whole():
    upload = Upload("a", [("Some.Film.2010.mkv", 120)], missing=frozenset({(1, 50)}))
    text, truth = interleaved([upload], first_number=FIRST)
    spans = in_spans(text, stretches(truth, 50))
    merged = merge_fragments(pl.concat([each.fragments for each in spans])).row(0, named=True)
    expected = whole(text).files.row(0, named=True)
    apart = ("payload", "reach_low", "reach_high", "flags")
    same = [name for name in IDENTIFIED if name not in apart]
    assert {name: merged[name] for name in same} == {name: expected[name] for name in same}


def test_repost_in_another_span_is_another_generation():
    first = Upload("a", [("Some.Film.2010.mkv", 60)])
    again = Upload("b", first.files, salt="again", at=START + timedelta(minutes=2))
    text, truth = interleaved([first, again], first_number=FIRST)
    numbers = sorted(truth)
    # The edge lies inside each posting, so that both are cut.
    edges = [(numbers[0], numbers[29]), (numbers[30], numbers[89]), (numbers[90], numbers[-1])]
    merged = merge_fragments(pl.concat([each.fragments for each in in_spans(text, edges)]))
    assert merged["parts_found"].sum() == 120
    for payload in merged["payload"]:
        parts = pl.DataFrame(voyager_native.decode_segments(payload))["part"]
        assert parts.n_unique() == len(parts)


def test_merging_does_not_depend_on_the_order():
    upload = Upload("a", volumes("Some.Show-GRP", 3, parts=40))
    text, truth = interleaved([upload], first_number=FIRST)
    fragments = pl.concat([each.fragments for each in in_spans(text, stretches(truth, 35))])
    expected = merge_fragments(fragments)
    for seed in range(4):
        shuffled = fragments.sample(fraction=1, shuffle=True, seed=seed)
        assert merge_fragments(shuffled).equals(expected)


def test_surest_piece_names_the_release():
    text, truth = interleaved([Upload("a", [("Some.Film.2010.mkv", 90)])], first_number=FIRST)
    fragments = pl.concat([each.fragments for each in in_spans(text, stretches(truth, 30))])
    ranked = fragments.with_row_index().with_columns(
        release_key=pl.when(pl.col("index") == 1).then(77).otherwise("release_key").cast(pl.UInt64),
        release_rank=pl.when(pl.col("index") == 1).then(2).otherwise(0).cast(pl.UInt8),
    )
    merged = merge_fragments(ranked.drop("index"))
    assert merged["release_key"].to_list() == [77]


def test_piece_waits_for_the_numbers_that_can_hold_the_rest():
    text, truth = interleaved([Upload("a", [("Some.Film.2010.mkv", 90)])], first_number=FIRST)
    numbers = sorted(truth)
    (span,) = in_spans(text, [(numbers[0], numbers[40])])
    merged = merge_fragments(span.fragments)
    reach = merged.select("reach_low", "reach_high").row(0)
    assert pending(merged, []).to_list() == [True]
    assert pending(merged, [(numbers[0], numbers[40])]).to_list() == [True]
    assert pending(merged, [reach]).to_list() == [False]
    middle = numbers[20]
    assert pending(merged, [(reach[0], middle), (middle + 1, reach[1])]).to_list() == [False]
    assert pending(merged, [(reach[0], middle), (middle + 2, reach[1])]).to_list() == [True]


def test_whole_file_waits_for_nothing():
    text, truth = interleaved([Upload("a", [("Some.Film.2010.mkv", 90)])], first_number=FIRST)
    spans = in_spans(text, stretches(truth, 30))
    merged = merge_fragments(pl.concat([each.fragments for each in spans]))
    assert pending(merged, []).to_list() == [False]


def test_stored_rows_come_back_as_fragments():
    text, truth = interleaved([Upload("a", [("Some.Film.2010.mkv", 90)])], first_number=FIRST)
    (span,) = in_spans(text, [(min(truth), min(truth) + 40)])
    rows = span.fragments.to_dicts()
    for row in rows:
        for name in ("first_posted_at", "last_posted_at"):
            row[name] = int(row[name].timestamp())
    assert fragments_frame(rows).equals(span.fragments)


def test_merged_files_build_a_release():
    text, truth = interleaved([Upload("a", [("Some.Film.2010.mkv", 90)])], first_number=FIRST)
    spans = in_spans(text, stretches(truth, 30))
    merged = merge_fragments(pl.concat([each.fragments for each in spans]))
    built = build_files(merged, now=NOW)
    assert built.releases.select("name", "segments").rows() == [("Some.Film.2010", 90)]
    assert len(built.chunks) == 1


def test_nothing_merges_to_nothing():
    assert merge_fragments(empty(FRAGMENTS)).is_empty()
    assert fragments_frame([]).is_empty()


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 179), min_size=1, max_size=6, unique=True), st.randoms())
def test_any_cuts_in_any_order(cuts, chance):
    uploads = [
        Upload("a", [("Some.Film.2010.mkv", 120)]),
        Upload("b", volumes("Some.Show.S01E02-GRP", 3, parts=14)),
    ]
    text, truth = interleaved(uploads, first_number=FIRST)
    edges = sorted({min(truth) + 1 + each % (len(truth) - 2) for each in cuts})
    starts = [min(truth), *edges]
    ends = [each - 1 for each in edges] + [max(truth)]
    spans = in_spans(text, list(zip(starts, ends, strict=True)))
    chance.shuffle(spans)
    assert contents(together(spans)) == contents(whole(text).files)
