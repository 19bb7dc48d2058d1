"""Files cut by a span's edge wait for the other side and are merged exactly once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from tests.support.spans import (
    GROUP,
    START,
    add_ranges,
    built,
    fragment_row,
    hours,
    release,
    store,
)
from voyager_core.catalog.checks import check_generations, check_lines, check_ranges, check_sums
from voyager_core.catalog.connect import connect
from voyager_core.catalog.errors import SpanError
from voyager_core.catalog.fragments import count_fragments, ready_fragments, store_merged
from voyager_core.catalog.groups import add_group, record_water_marks
from voyager_core.catalog.ranges import mark_failed
from voyager_core.catalog.releases import chunks, get_release, public_id
from voyager_core.header_pass.schemas import FRAGMENTS

pytestmark = pytest.mark.postgres
KEY = (1 << 64) - 5


def cut(first: int, last: int, reach: tuple[int, int], key: int = KEY, **values):
    return built(
        fragments=[{"file_key": key, "first": first, "last": last, "reach": reach, **values}]
    )


def ready(conn, **values) -> list[list[int]]:
    return [[one.fragment_id for one in some] for some in ready_fragments(conn, GROUP, **values)]


def differences(conn) -> list[object]:
    return [
        *check_ranges(conn),
        *check_lines(conn),
        *check_sums(conn),
        *check_generations(conn),
    ]


def test_both_sides_are_ready_when_both_ranges_are_done(catalog):
    first, second, third = add_ranges(catalog, 3)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1400)))
    assert ready(catalog) == []
    store(catalog, third, 2001, 3000, built())
    assert ready(catalog) == []
    store(catalog, second, 1001, 1300, cut(1010, 1020, (700, 1400)))
    assert ready(catalog) == []
    store(catalog, second, 1301, 1400, built())
    assert ready(catalog) == [[1, 2]]
    assert count_fragments(catalog) == count_fragments(catalog, GROUP) == 2
    assert count_fragments(catalog, "alt.unknown") == 0


def test_fragment_comes_back_as_the_row_that_went_in(catalog):
    first, _ = add_ranges(catalog, 2)
    row = fragment_row(
        KEY,
        900,
        999,
        (950, 999),
        base_key=(1 << 64) - 6,
        generation=1,
        subject="s\0ubject é",
        parts_total=(1 << 32) - 1,
        first_posted_at=hours(3),
        last_posted_at=None,
        payload=bytes(range(256)),
        release_key=None,
        poster=None,
    )
    contents = built()
    contents.fragments = pl.DataFrame([row], schema=dict(FRAGMENTS), orient="row")
    store(catalog, first, 1, 1000, contents)
    ((fragment,),) = ready_fragments(catalog, GROUP)
    assert pl.DataFrame([fragment.file], schema=dict(FRAGMENTS)).rows(named=True) == [
        row | {"subject": "subject é"}
    ]
    assert (fragment.file_key, fragment.base_key, fragment.release_key) == (
        KEY,
        (1 << 64) - 6,
        None,
    )
    assert (fragment.group, fragment.range_id) == (GROUP, first)


def test_postings_of_one_file_come_together(catalog):
    (first,) = add_ranges(catalog)
    contents = built(
        fragments=[
            {"file_key": 7, "base_key": 5, "first": 900, "last": 999, "reach": (1, 1000)},
            {"file_key": 5, "base_key": 5, "first": 800, "last": 899, "reach": (1, 1000)},
            {"file_key": 6, "base_key": 6, "first": 700, "last": 799, "reach": (1, 1000)},
        ]
    )
    store(catalog, first, 1, 1000, contents)
    sets = ready_fragments(catalog, GROUP)
    assert [[one.file_key for one in some] for some in sets] == [[5, 7], [6]]
    assert ready(catalog, limit=2) == [[one.fragment_id for one in sets[0]]]
    assert ready(catalog, limit=1) == [[sets[0][0].fragment_id]]


@pytest.mark.parametrize("why", ["parked", "not planned", "below the plan"])
def test_what_will_never_be_read_is_not_waited_for(catalog, why):
    late = datetime.now(UTC) + timedelta(days=2)
    if why == "below the plan":
        group = add_group(catalog, GROUP)
        catalog.execute(
            "insert into range (newsgroup_id, low, high, resume_at) values (%s, 5001, 6000, 5001)",
            [group.newsgroup_id],
        )
        store(catalog, 1, 5001, 6000, cut(5001, 5100, (4000, 5200)))
        assert ready(catalog) == [[1]]
        return
    ids = add_ranges(catalog, 2 if why == "parked" else 1)
    store(catalog, ids[0], 1, 1000, cut(900, 990, (500, 1400)))
    assert ready(catalog) == []
    if why == "parked":
        mark_failed(catalog, ids[1], "broken", max_attempts=1)
        assert ready(catalog) == [[1]]
    else:
        assert ready(catalog, now=late) == [[1]]
        assert ready(catalog, patience_seconds=0) == [[1]]


def test_numbers_that_are_not_posted_yet_are_waited_for_a_day(catalog):
    (first,) = add_ranges(catalog)
    record_water_marks(catalog, {GROUP: (1, 600)}, START)
    store(catalog, first, 1, 600, cut(550, 600, (500, 700)))
    late = datetime.now(UTC) + timedelta(days=2)
    assert ready(catalog) == []
    assert ready(catalog, now=late) == [[1]]
    # Once they are posted they are waited for until they are read.
    record_water_marks(catalog, {GROUP: (1, 650)}, START)
    assert ready(catalog, now=late) == []
    store(catalog, first, 601, 700, built())
    assert ready(catalog) == [[1]]


def test_merge_replaces_fragments_by_a_chunk(catalog):
    first, second = add_ranges(catalog, 2)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1400)))
    store(catalog, second, 1001, 2000, cut(1010, 1020, (700, 1400)))
    merged = built([release(8, files=1, segments=10)], candidates=[(8, "archive_first", "a@x")])
    stored = store_merged(catalog, GROUP, [1, 2], merged)
    assert (stored.stored, stored.releases_added, stored.chunks, stored.candidates) == (
        True,
        1,
        1,
        1,
    )
    assert count_fragments(catalog) == 0
    found = get_release(catalog, public_id(8, 0))
    assert found is not None
    assert len(chunks(catalog, found.release_id)) == 1
    assert catalog.execute("select range_id, low, high, origin from chunk").fetchone() == (
        first,
        900,
        1020,
        "fragments",
    )
    assert differences(catalog) == []


def test_merge_adds_to_the_release_that_is_there(catalog):
    (first,) = add_ranges(catalog)
    contents = built([release(8)])
    contents.fragments = cut(900, 990, (500, 1000), release_key=8).fragments
    store(catalog, first, 1, 1000, contents)
    stored = store_merged(catalog, GROUP, [1], built([release(8, 1, files=1, segments=5)]))
    assert (stored.releases_added, stored.releases_updated) == (0, 1)
    found = get_release(catalog, public_id(8, 0))
    assert found is not None
    assert (found.files, found.segments) == (3, 15)
    assert differences(catalog) == []


def test_merge_is_refused_when_a_fragment_is_gone(catalog):
    (first,) = add_ranges(catalog)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1000)))
    assert not store_merged(catalog, GROUP, [1, 2], built([release(8)])).stored
    assert count_fragments(catalog) == 1
    assert store_merged(catalog, GROUP, [1], built([release(8, segments=5)])).stored
    assert not store_merged(catalog, GROUP, [1], built([release(8, segments=5)])).stored
    assert catalog.execute("select count(*), sum(files) from release").fetchone() == (1, 2)
    assert differences(catalog) == []


def test_merge_from_two_workers_happens_once(catalog, database):
    (first,) = add_ranges(catalog)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1000)))

    def merge(number: int) -> bool:
        with connect(database) as conn:
            return store_merged(conn, GROUP, [1], built([release(8, segments=5)])).stored

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(merge, range(4))) == [False, False, False, True]
    assert differences(catalog) == []


def test_merge_that_makes_no_sense_is_an_error(catalog):
    (first,) = add_ranges(catalog)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1000)))
    with pytest.raises(SpanError, match="no fragments"):
        store_merged(catalog, GROUP, [], built())
    with pytest.raises(SpanError, match="no newsgroup is called"):
        store_merged(catalog, "alt.unknown", [1], built())
    with pytest.raises(SpanError, match="must not bring new fragments"):
        store_merged(catalog, GROUP, [1], cut(900, 990, (500, 1000)))
    assert count_fragments(catalog) == 1


def test_merged_fragment_of_a_dropped_file_leaves_no_release(catalog):
    (first,) = add_ranges(catalog)
    store(catalog, first, 1, 1000, cut(900, 990, (500, 1000)))
    assert store_merged(catalog, GROUP, [1], built(rule_counts=[("random", 5, 1)])).stored
    assert count_fragments(catalog) == 0
    assert catalog.execute("select count(*) from release").fetchone() == (0,)
