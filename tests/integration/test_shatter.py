"""Files of one upload in different newsgroups, each from somebody else, become one release."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.spans import VERSIONS, add_ranges
from tests.support.upload_styles import random_poster
from tests.support.uploads import START, Upload, interleaved
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.folds import list_folds, undo_fold
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.folds import fold_releases
from voyager_core.header_pass.parse import parse_span

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 1, tzinfo=UTC)
STEM = "d41d8cd98f00b204e9800998ecf8427e"


def post(catalog, group, numbers, *, stem=STEM, salt=""):
    """Stores these files of an upload of six, posted to a newsgroup."""
    upload = Upload(
        f"{group}{salt}",
        [(f"{stem}.part{n}.rar", 4) for n in range(1, 7)],
        poster=lambda i: random_poster(random.Random(f"{group}{i}")),
        missing=frozenset((i, p) for i in range(1, 7) for p in range(1, 5) if i not in numbers),
        salt=salt,
    )
    text, truth = interleaved([upload], first_number=100)
    text = text.replace(b"alt.binaries.test:", f"{group}:".encode())
    (range_id,) = add_ranges(catalog, group=group)
    span = Span(group, 1, 1000)
    built = build_span(parse_span(span, [text], groups={}, now=NOW), RuleSet(), now=NOW)
    store_span(catalog, span, built, range_id=range_id, read_lines=len(truth), versions=VERSIONS)
    catalog.execute("update release set settled_at = now()")


def releases(catalog):
    return catalog.execute(
        "select files, cardinality(group_ids) from release order by files desc, release_id"
    ).fetchall()


def fold(catalog):
    return fold_releases(catalog, first=START, last=START + timedelta(hours=1)).folded


def test_an_upload_over_three_newsgroups_is_one_release(catalog):
    post(catalog, "alt.binaries.a", {1, 2, 3})
    post(catalog, "alt.binaries.b", {4, 6})
    post(catalog, "alt.binaries.c", {5})
    assert releases(catalog) == [(3, 1), (2, 1), (1, 1)]
    assert fold(catalog) == {"session": 0, "shatter": 2}
    assert releases(catalog) == [(6, 3)]
    assert check_catalog(catalog) == []
    for entry in list_folds(catalog):
        undo_fold(catalog, entry.fold_id)
    assert releases(catalog) == [(3, 1), (2, 1), (1, 1)]
    assert check_catalog(catalog) == []


def test_the_same_upload_in_two_newsgroups_stays_two_releases(catalog):
    post(catalog, "alt.binaries.a", {1, 2, 3, 4})
    post(catalog, "alt.binaries.b", {1, 2, 3, 4})
    assert fold(catalog) == {"session": 0, "shatter": 0}
    assert releases(catalog) == [(4, 1), (4, 1)]


def test_a_short_stem_is_not_enough(catalog):
    post(catalog, "alt.binaries.a", {1, 2}, stem="d41d8cd98f")
    post(catalog, "alt.binaries.b", {3, 4}, stem="d41d8cd98f")
    assert fold(catalog) == {"session": 0, "shatter": 0}
