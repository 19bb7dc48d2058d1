"""A span is stored whole, once, and adds up to the same catalog in any order."""

import pytest

from tests.support.spans import add_ranges, built, release, store
from voyager_core.catalog.ranges import get_range
from voyager_core.catalog.releases import chunks, get_release, public_id

pytestmark = pytest.mark.postgres


def test_span_brings_its_releases_chunks_and_counts(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built(
        [release(1), release((1 << 64) - 1, name="Other.Name")],
        candidates=[(1, "archive_first", "x@y")],
        rule_counts=[("random", 30, 3)],
        rule_samples=[("random", 9, {"subject": "x\0y"})],
    )
    stored = store(catalog, range_id, 1, 600, contents, read_lines=60, rejects={"bad_line": 10})
    assert stored.stored
    assert stored.state == "partial"
    assert (stored.releases_added, stored.chunks, stored.candidates) == (2, 2, 1)
    found = get_release(catalog, public_id((1 << 64) - 1, 0))
    assert found is not None
    assert found.name == "Other.Name"
    assert chunks(catalog, found.release_id) == [
        b"chunk 18446744073709551615 2024-03-01 00:00:00+00:00"
    ]
    ledger = get_range(catalog, range_id)
    assert ledger is not None
    assert (ledger.lines, ledger.rejected, ledger.dropped, ledger.chunked_segments) == (
        60,
        10,
        30,
        20,
    )
