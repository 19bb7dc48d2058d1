"""Files and releases do not depend on where a group is cut, nor on the order of its spans."""

from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import voyager_native
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fragments import merge_fragments, split_remnants
from voyager_core.header_pass.parse import parse_blocks, parse_span

GROUP = "alt.binaries.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = 5_000_000_001

D1 = '[{p}/{parts}] - "{name}" yEnc ({p}/{parts})'
D2 = '[{i}/{n}] - "{name}" yEnc ({i}/{n})'
F4 = '[{i}/{n}] "{name}" yEnc ({p}/{parts})'


def uploads(retried):
    """Uploads of every kind whose files a cut may confuse."""
    plain = Upload("plain", [("Some.Film.2010.mkv", 60)], '"{name}" yEnc ({p}/{parts})')
    again = frozenset((1, part) for part in range(1, 61) if part not in retried)
    later = START + timedelta(seconds=3)
    return [
        plain,
        Upload("retries", plain.files, plain.subject, salt="again", missing=again),
        Upload("d1", [("e17a881978b12c92", 50)], D1, at=later),
        Upload("d2", [(f"{n}kq83hd82hd{n}.bin", 1) for n in range(1, 31)], D2, at=later),
        Upload("f4", [(f"Great.Show.S01E0{n}.rar", 9) for n in range(1, 10)], F4, at=later),
        Upload("set", volumes("Other.Show.S02E03.720p-GRP", 4, parts=8)),
        Upload("posters", volumes("Third.Show.S02E04.720p-GRP", 3), poster=lambda i: f"{i}@x"),
    ]


def segments(files):
    """Release, total, and part and message-id of every file's articles.

    Which release single files under random names are of shows in the whole upload alone.
    """
    return {
        (
            None if "kq83hd82hd" in row["name"] else row["release_key"],
            row["parts_total"],
            frozenset(
                pl.DataFrame(voyager_native.decode_segments(row["payload"]))
                .select("part", "message_id")
                .rows()
            ),
        )
        for row in files.iter_rows(named=True)
    }


def kept(files):
    return files.filter(pl.col("dropped_by").is_null()).drop("dropped_by")


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.integers(1, 270), min_size=1, max_size=7, unique=True),
    retried=st.lists(st.integers(1, 60), max_size=4, unique=True),
    chance=st.randoms(use_true_random=False),
    twice=st.booleans(),
)
def test_cuts_and_order_change_nothing(cuts, retried, chance, twice):
    text, truth = interleaved(uploads(retried), first_number=FIRST)
    parsed = parse_blocks(GROUP, [text], low=0, high=0, groups={}, now=NOW)
    whole = kept(build_span(parsed, RuleSet(), now=NOW).files)
    starts = [FIRST, *(FIRST + cut for cut in sorted(cuts) if cut < len(truth))]
    spans = [
        Span(GROUP, low, high - 1)
        for low, high in zip(starts, [*starts[1:], FIRST + len(truth)], strict=True)
    ]
    # Where one span holds the file whole, nobody can tell that a lone article is of it too.
    first = [number for number, key in truth.items() if key == "plain"]
    assume(not any(span.low > first[0] and span.high >= first[-1] for span in spans) or not retried)
    assume(not any(span.low <= first[0] and first[-1] <= span.high for span in spans))
    chance.shuffle(spans)
    built = [
        build_span(parse_span(span, [text] * (1 + twice), groups={}, now=NOW), RuleSet(), now=NOW)
        for span in spans
    ]
    merged = merge_fragments(pl.concat([each.fragments for each in built]))
    merged, _ = split_remnants(merged, RuleSet().remnant_share)
    files = [kept(each.files.filter(~pl.col("is_fragment"))) for each in built]
    found = pl.concat([*files, merged.select(files[0].columns)])
    assert segments(found) == segments(whole)
