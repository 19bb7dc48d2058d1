"""A release is settled when nothing can be added to it any more."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tests.support.spans import GROUP, add_ranges, built, hours, release, store
from voyager_core.catalog.candidates import (
    candidates_of_release,
    count_candidates,
)
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.ranges import mark_failed
from voyager_core.catalog.settle import Settled, settle, unread_periods
from voyager_core.header_pass.schemas import BUILT_FILES

pytestmark = pytest.mark.postgres


def span_of(*rows, first: float | None = None, last: float | None = None):
    """Returns a span whose files were posted from `first` to `last` (hours)."""
    contents = built(rows)
    if first is not None and last is not None:
        contents.files = pl.DataFrame(
            [
                dict.fromkeys(BUILT_FILES) | {"first_posted_at": hours(moment)}
                for moment in (first, last)
                for _ in range(30)
            ],
            schema=dict(BUILT_FILES),
            orient="row",
        )
    return contents


def later(**values: float) -> datetime:
    return datetime.now(UTC) + timedelta(**values)


def settled(conn) -> list[int]:
    rows = conn.execute(
        "select release_key from release where settled_at is not null order by 1"
    ).fetchall()
    return [key for (key,) in rows]


def test_release_settles_after_a_quiet_day(catalog):
    (range_id,) = add_ranges(catalog)
    store(catalog, range_id, 1, 1000, span_of(release(1), first=-10, last=90))
    assert settle(catalog).settled == 0
    assert settle(catalog, now=later(hours=23)).settled == 0
    outcome = settle(catalog, now=later(hours=25))
    assert outcome == Settled(settled=1, complete=1, incomplete=0, more=False)
    assert settled(catalog) == [1]
    assert settle(catalog, now=later(hours=25)).settled == 0


def test_completeness_is_counted(catalog):
    (range_id,) = add_ranges(catalog)
    rows = [
        release(1),
        release(2, segments=9),
        release(3, files=1),
        release(4, files_expected=None, segments_expected=None),
    ]
    store(catalog, range_id, 1, 1000, span_of(*rows, first=-10, last=90))
    outcome = settle(catalog, settle_after_seconds=0)
    assert (outcome.complete, outcome.incomplete) == (2, 2)


def test_newest_posts_wait_for_what_comes_next(catalog):
    (range_id,) = add_ranges(catalog)
    contents = span_of(release(1, 0), release(2, 95), first=-10, last=100)
    store(catalog, range_id, 1, 1000, contents)
    settle(catalog, settle_after_seconds=0)
    assert settled(catalog) == [1]


def test_release_beside_an_unread_range_waits_for_it(catalog):
    first, second, third = add_ranges(catalog, 3)
    store(catalog, first, 1, 1000, span_of(release(1, 0), release(2, 95), first=-10, last=100))
    contents = span_of(release(3, 215), release(4, 296), first=210, last=300)
    store(catalog, third, 2001, 3000, contents)
    settle(catalog, settle_after_seconds=0)
    # The unread range may hold what was posted from hour 100 to 210, give or take six.
    assert settled(catalog) == [1]
    store(catalog, second, 1001, 1500, span_of(first=100, last=150))
    settle(catalog, settle_after_seconds=0)
    assert settled(catalog) == [1, 2]
    store(catalog, second, 1501, 2000, span_of(first=150, last=210))
    settle(catalog, settle_after_seconds=0)
    assert settled(catalog) == [1, 2, 3]


def test_range_given_up_is_not_waited_for(catalog):
    first, second, third = add_ranges(catalog, 3)
    store(catalog, first, 1, 1000, span_of(release(1, 95), first=-10, last=100))
    store(catalog, third, 2001, 3000, span_of(first=210, last=300))
    assert settle(catalog, settle_after_seconds=0).settled == 0
    mark_failed(catalog, second, "broken", max_attempts=1)
    assert settle(catalog, settle_after_seconds=0).settled == 1


def test_unread_history_blocks_only_what_may_lie_in_it(catalog):
    _, second = add_ranges(catalog, 2)
    contents = span_of(release(1, 3), release(2, 50), first=0, last=100)
    store(catalog, second, 1001, 2000, contents)
    settle(catalog, settle_after_seconds=0)
    assert settled(catalog) == [2]


def test_nothing_read_means_everything_may_come(catalog):
    add_ranges(catalog, 2)
    group = add_group(catalog, GROUP)
    (period,) = unread_periods(catalog, group.newsgroup_id)
    assert period.first.year == 1
    assert period.last.year == 9999


def test_single_posts_with_wrong_dates_move_nothing(catalog):
    first, second, third = add_ranges(catalog, 3)
    odd = span_of(release(1, 95), first=-10, last=100)
    wrong = odd.files.head(1).with_columns(
        first_posted_at=pl.lit(hours(100_000)).cast(odd.files.schema["first_posted_at"])
    )
    odd.files = pl.concat([odd.files, wrong])
    store(catalog, first, 1, 1000, odd)
    store(catalog, third, 2001, 3000, span_of(first=210, last=300))
    assert settle(catalog, settle_after_seconds=0).settled == 0
    store(catalog, second, 1001, 2000, span_of(first=100, last=210))
    assert settle(catalog, settle_after_seconds=0).settled == 1


def test_limit_stops_a_round(catalog):
    (range_id,) = add_ranges(catalog)
    rows = [release(key) for key in range(1, 6)]
    store(catalog, range_id, 1, 1000, span_of(*rows, first=-10, last=90))
    assert settle(catalog, settle_after_seconds=0, limit=3) == Settled(3, 3, 0, more=True)
    assert settle(catalog, settle_after_seconds=0, limit=3) == Settled(2, 2, 0, more=False)


def test_late_part_opens_a_release_again(catalog):
    first, second = add_ranges(catalog, 2)
    store(catalog, first, 1, 1000, span_of(release(1), first=-10, last=90))
    mark_failed(catalog, second, "broken", max_attempts=1)
    settle(catalog, settle_after_seconds=0)
    assert settled(catalog) == [1]
    store(catalog, second, 1001, 2000, span_of(release(1, 3), first=90, last=200))
    assert settled(catalog) == []


def test_candidates_of_a_release_come_by_kind(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built(
        [release(1), release((1 << 64) - 1)],
        candidates=[
            (1, "archive_first", "a@x"),
            (1, "lone_random", "b@x"),
            ((1 << 64) - 1, "par2_index", "c@x"),
        ],
    )
    store(catalog, range_id, 1, 1000, contents)
    assert count_candidates(catalog) == {"archive_first": 1, "lone_random": 1, "par2_index": 1}
    ids = dict(catalog.execute("select release_key, release_id from release").fetchall())
    assert [one.message_id for one in candidates_of_release(catalog, ids[1])] == ["b@x", "a@x"]
    (one,) = candidates_of_release(catalog, ids[-1])
    assert (one.kind, one.file_key, one.part) == ("par2_index", (1 << 64) - 1, 1)
