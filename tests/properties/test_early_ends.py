"""A range that is indexed in parts for want of memory gives what it gives in one piece."""

from datetime import UTC, datetime

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.test_cuts import FIRST, GROUP, kept, segments, uploads
from tests.support.uploads import interleaved
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fragments import merge_fragments, split_remnants
from voyager_core.header_pass.parse import parse_blocks, parse_parts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ROOM = 100 << 20


@settings(max_examples=8, deadline=None)
@given(
    files=st.sampled_from([2, 5, 11, 23, 40]),
    sizes=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    seed=st.integers(0, 99),
)
def test_parts_are_the_range(files, sizes, seed):
    text, truth = interleaved(uploads([]), seed=seed, first_number=FIRST)
    lines = text.splitlines(keepends=True)
    whole = kept(
        build_span(
            parse_blocks(GROUP, [text], low=0, high=0, groups={}, now=NOW), RuleSet(), now=NOW
        ).files
    )
    span = Span(GROUP, FIRST, FIRST + len(truth) - 1)
    ways = []
    for size in sizes:
        blocks = [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]
        ways.append(list(parse_parts(span, blocks, groups={}, now=NOW, limits=(files, ROOM))))
    one, other = ways
    assert [part for part, _ in one] == [part for part, _ in other]
    assert sum(parsed.stats["lines"] for _, parsed in one) == len(lines)
    for (_, parsed), (_, again) in zip(one, other, strict=True):
        assert parsed.files.equals(again.files)
    built = [build_span(parsed, RuleSet(), now=NOW) for _, parsed in one]
    merged = merge_fragments(pl.concat([each.fragments for each in built]))
    merged, _ = split_remnants(merged, RuleSet().remnant_share)
    found = [kept(each.files.filter(~pl.col("is_fragment"))) for each in built]
    assert segments(pl.concat([*found, merged.select(found[0].columns)])) == segments(whole)
