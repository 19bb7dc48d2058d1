"""A file cut by spans, with articles that were sent again, is whole in the catalog."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.spans import GROUP, VERSIONS, add_ranges
from tests.support.uploads import Upload, interleaved
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.rulecounts import rule_totals
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.settle import merge_ready_fragments

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_retries_across_an_edge_are_counted_and_the_file_is_whole(catalog, order):
    file = ("Some.Film.2010.mkv", 60)
    again = frozenset((1, part) for part in range(1, 61) if part not in (29, 33))
    uploads = [
        Upload("a", [file], '"{name}" yEnc ({p}/{parts})'),
        Upload("a", [file], '"{name}" yEnc ({p}/{parts})', salt="again", missing=again),
    ]
    text, truth = interleaved(uploads, first_number=971)
    assert len(truth) == 62
    ranges = add_ranges(catalog, 2)
    for at in order:
        span = Span(GROUP, at * 1000 + 1, at * 1000 + 1000)
        parsed = parse_span(span, [text], groups={}, now=NOW)
        inside = [number for number in truth if span.low <= number <= span.high]
        store_span(
            catalog,
            span,
            build_span(parsed, RuleSet(), now=NOW),
            range_id=ranges[at],
            read_lines=len(inside),
            versions=VERSIONS,
        )
    later = datetime.now(UTC) + timedelta(days=2)
    report = merge_ready_fragments(catalog, now=later, patience_seconds=0)
    assert report.files == 1
    assert report.segments == 60
    (total,) = rule_totals(catalog)
    assert (total.rule, total.articles) == (REPOST_REMNANT, 2)
    assert check_catalog(catalog) == []
    assert sum(row.lines for row in ranges_of(catalog, GROUP)) == 62
