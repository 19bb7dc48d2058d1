"""Releases of which the spans saw parts are folded, entered into the ledger, and taken apart."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.spans import GROUP, VERSIONS, add_ranges
from tests.support.upload_styles import random_poster, token
from tests.support.uploads import START, Upload, interleaved
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.folds import FoldError, apply_fold, list_folds, undo_fold
from voyager_core.catalog.releases import get_release, public_id
from voyager_core.catalog.spans import store_span
from voyager_core.domain.folds import SESSION
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.folds import fold_releases
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.settle import merge_ready_fragments

pytestmark = pytest.mark.postgres
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime.now(UTC) + timedelta(days=3)
COLUMNS = (
    "release_id, release_key, generation, name, poster, group_ids, files, files_expected, segments,"
    " segments_expected, size_bytes, posted_at, last_posted_at, has_par2, listed_at, settled_at"
)


@pytest.fixture
def cut_upload(catalog):
    """An upload under random names, cut by the edge of two ranges, stored and settled."""
    chance = random.Random(4)
    upload = Upload(
        "a",
        [(token(chance, 24), 10) for _ in range(12)],
        poster=lambda i: random_poster(random.Random(i)),
    )
    text, truth = interleaved([upload], first_number=951)
    for at, range_id in enumerate(add_ranges(catalog, 2)):
        span = Span(GROUP, at * 1000 + 1, at * 1000 + 1000)
        built = build_span(parse_span(span, [text], groups={}, now=NOW), RuleSet(), now=NOW)
        lines = sum(span.low <= number <= span.high for number in truth)
        store_span(catalog, span, built, range_id=range_id, read_lines=lines, versions=VERSIONS)
    merge_ready_fragments(catalog, now=LATER, patience_seconds=0)
    # Nothing was posted after it that would show the upload to be finished.
    catalog.execute("update release set settled_at = %s", [LATER])
    return catalog


def rows(catalog):
    return catalog.execute(f"select {COLUMNS} from release order by release_id").fetchall()


def fold(catalog):
    return fold_releases(catalog, first=START, last=START + timedelta(hours=1))


def owners(catalog):
    """The release of every chunk and candidate."""
    return (
        catalog.execute("select release_id, low, segments from chunk order by 1, 2, 3").fetchall(),
        catalog.execute("select candidate_id, release_id from candidate order by 1").fetchall(),
    )


def test_a_session_is_folded_and_counted(cut_upload):
    before = rows(cut_upload)
    assert len(before) == 2
    report = fold(cut_upload)
    assert (report.folds, report.folded) == (
        {"session": 1, "shatter": 0},
        {"session": 1, "shatter": 0},
    )
    ((winner, *_),) = rows(cut_upload)
    assert winner in {row[0] for row in before}
    assert rows(cut_upload)[0][6:9] == (12, 12, 120)
    assert check_catalog(cut_upload) == []
    # Both public ids lead to it.
    for row in before:
        assert get_release(cut_upload, public_id(row[1], row[2])).release_id == winner
    (entry,) = list_folds(cut_upload)
    assert (entry.rule, entry.version, entry.winner_id, entry.undone_at) == (
        SESSION,
        1,
        winner,
        None,
    )
    assert fold(cut_upload).folds == {"session": 0, "shatter": 0}


def test_undo_restores_everything(cut_upload):
    before, owned = rows(cut_upload), owners(cut_upload)
    fold(cut_upload)
    (entry,) = list_folds(cut_upload)
    undo_fold(cut_upload, entry.fold_id)
    assert rows(cut_upload) == before
    assert owners(cut_upload) == owned
    assert check_catalog(cut_upload) == []
    assert list_folds(cut_upload)[0].undone_at is not None
    with pytest.raises(FoldError, match="not in force"):
        undo_fold(cut_upload, entry.fold_id)


def test_what_was_taken_apart_is_not_folded_again(cut_upload):
    fold(cut_upload)
    undo_fold(cut_upload, list_folds(cut_upload)[0].fold_id)
    assert fold(cut_upload).folds == {"session": 0, "shatter": 0}
    assert len(rows(cut_upload)) == 2


def test_a_fold_of_a_release_that_is_gone_changes_nothing(cut_upload):
    before = rows(cut_upload)
    assert not apply_fold(cut_upload, SESSION, before[0][0], [before[1][0], 999_999])
    assert rows(cut_upload) == before
    assert list_folds(cut_upload) == []


def test_folds_into_folded_releases_are_taken_back_in_turn(catalog):
    ranges = add_ranges(catalog, 3)
    for at, range_id in enumerate(ranges):
        upload = Upload(f"u{at}", [(f"Film.Number{at}.mkv", 4)])
        text, _ = interleaved([upload], first_number=at * 1000 + 100)
        span = Span(GROUP, at * 1000 + 1, at * 1000 + 1000)
        built = build_span(parse_span(span, [text], groups={}, now=NOW), RuleSet(), now=NOW)
        store_span(catalog, span, built, range_id=range_id, read_lines=4, versions=VERSIONS)
    before, owned = rows(catalog), owners(catalog)
    first, second, third = (row[0] for row in before)
    assert apply_fold(catalog, SESSION, second, [third])
    assert apply_fold(catalog, SESSION, first, [second])
    inner, outer = sorted(each.fold_id for each in list_folds(catalog))
    assert check_catalog(catalog) == []
    with pytest.raises(FoldError, match="part of another"):
        undo_fold(catalog, inner)
    undo_fold(catalog, outer)
    assert check_catalog(catalog) == []
    assert get_release(catalog, public_id(before[2][1], before[2][2])).release_id == second
    undo_fold(catalog, inner)
    assert (rows(catalog), owners(catalog)) == (before, owned)
    assert check_catalog(catalog) == []
