"""A span is stored whole, once, and adds up to the same catalog in any order."""

from datetime import UTC, datetime

import polars as pl
import psycopg
import pytest

from tests.support.spans import (
    GROUP,
    START,
    add_ranges,
    built,
    hours,
    release,
    store,
)
from tests.support.stored import differences, everything
from voyager_core.catalog.checks import (
    check_sums,
)
from voyager_core.catalog.errors import SpanError
from voyager_core.catalog.months import EARLY
from voyager_core.catalog.ranges import get_range
from voyager_core.catalog.releases import chunks, get_release, public_id
from voyager_core.catalog.spans import Stored
from voyager_core.header_pass.schemas import BUILT_FILES

pytestmark = pytest.mark.postgres


def test_span_brings_its_releases_chunks_and_counts(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built(
        [release(1), release((1 << 64) - 1, name="Other.Name")],
        candidates=[(1, "archive_first", "x@y")],
        rule_counts=[("random", 30, 3)],
        rule_samples=[("random", (1 << 64) - 9, {"subject": "x\0y", "odd": ["\ud800"]})],
    )
    stored = store(catalog, range_id, 1, 600, contents, read_lines=60, rejects={"bad_line": 10})
    assert stored == Stored(
        stored=True,
        releases_added=2,
        chunks=2,
        chunk_bytes=sum(len(payload) for payload in contents.chunks["payload"]),
        segments=20,
        candidates=1,
        state="partial",
        resume_at=601,
    )
    found = get_release(catalog, public_id((1 << 64) - 1, 0))
    assert found is not None
    assert found.public_id == "ffffffffffffffff00"
    assert found.name == "Other.Name"
    assert found.groups == (GROUP,)
    assert (found.posted_at, found.state, found.completion) == (START, "open", 100)
    assert chunks(catalog, found.release_id) == [contents.chunks["payload"][1]]
    ledger = get_range(catalog, range_id)
    assert ledger is not None
    assert (ledger.lines, ledger.rejected, ledger.dropped, ledger.chunked_segments) == (
        60,
        10,
        30,
        20,
    )
    assert (ledger.parser_version, ledger.rules_version, ledger.codec_version) == (1, 1, 1)
    assert differences(catalog) == []


def test_span_that_was_stored_is_refused_and_changes_nothing(catalog):
    (range_id,) = add_ranges(catalog)
    assert store(catalog, range_id, 1, 600, built([release(1)])).stored
    before = everything(catalog)
    again = store(catalog, range_id, 1, 600, built([release(1), release(2)]))
    assert again == Stored(stored=False, state="partial", resume_at=601)
    assert everything(catalog) == before


def test_span_that_is_not_next_is_refused(catalog):
    (range_id,) = add_ranges(catalog)
    before = everything(catalog)
    assert not store(catalog, range_id, 2, 600, built([release(1)])).stored
    assert everything(catalog) == before


def test_range_is_done_at_its_last_number(catalog):
    (range_id,) = add_ranges(catalog)
    assert store(catalog, range_id, 1, 999, built()).state == "partial"
    last = store(catalog, range_id, 1000, 1000, built())
    assert (last.state, last.resume_at) == ("done", 1001)
    row = get_range(catalog, range_id)
    assert row is not None
    assert row.done_at is not None


def test_range_without_a_single_line_is_done_as_well(catalog):
    (range_id,) = add_ranges(catalog)
    assert store(catalog, range_id, 1, 1000, built()).state == "done"
    assert differences(catalog) == []


@pytest.mark.parametrize(
    ("group", "low", "high", "message"),
    [
        ("alt.binaries.other", 1, 10, "is not part of range"),
        (GROUP, 1, 1001, "is not part of range"),
        (GROUP, 1001, 1002, "is not part of range"),
    ],
)
def test_span_of_another_range_is_an_error(catalog, group, low, high, message):
    (range_id,) = add_ranges(catalog)
    with pytest.raises(SpanError, match=message):
        store(catalog, range_id, low, high, built(), group=group)


def test_unknown_range_is_an_error(catalog):
    with pytest.raises(SpanError, match="no range has the number 4711"):
        store(catalog, 4711, 1, 10, built())


def test_open_transaction_is_an_error(catalog):
    (range_id,) = add_ranges(catalog)
    with catalog.transaction():
        catalog.execute("select 1")
        with pytest.raises(SpanError, match="outside any transaction"):
            store(catalog, range_id, 1, 10, built())


@pytest.mark.parametrize("flaw", ["two chunks", "two rows", "no release", "lost candidate", "kind"])
def test_frames_that_contradict_each_other_leave_nothing(catalog, flaw):
    (range_id,) = add_ranges(catalog)
    contents = built([release(1), release(2)], candidates=[(1, "archive_first", "x@y")])
    if flaw == "two chunks":
        contents.chunks = pl.concat([contents.chunks, contents.chunks])
    elif flaw == "two rows":
        contents.releases = pl.concat([contents.releases, contents.releases])
    elif flaw == "no release":
        contents.releases = contents.releases.head(1)
    elif flaw == "lost candidate":
        contents.candidates = built(candidates=[(3, "archive_first", "x@y")]).candidates
    else:
        contents.candidates = built(candidates=[(1, "no such kind", "x@y")]).candidates
    before = everything(catalog)
    with pytest.raises((SpanError, psycopg.errors.CheckViolation)):
        store(catalog, range_id, 1, 600, contents)
    assert everything(catalog) == before
    assert store(catalog, range_id, 1, 600, built([release(1)])).stored


def test_what_a_name_states_is_stored_and_survives_growth(catalog):
    first, second = add_ranges(catalog, 2)
    said = {"year": 2023, "resolution": 1080, "source": "WEB-DL", "language": "German", "team": "G"}
    store(catalog, second, 1001, 2000, built([release(1, 5, 6, **said)]))
    store(catalog, first, 1, 1000, built([release(1, 1, 2, **said)]))
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert {name: getattr(found, name) for name in said} == said


def test_release_grows_over_spans_and_settling_starts_anew(catalog):
    first, second = add_ranges(catalog, 2)
    store(catalog, second, 1001, 2000, built([release(1, 5, 6, has_par2=True, files=3)]))
    catalog.execute("update release set settled_at = now(), grabs = 7")
    stored = store(
        catalog,
        first,
        1,
        1000,
        built([release(1, 1, 2, poster="other", groups=[GROUP, "alt.binaries.misc"])]),
    )
    assert (stored.releases_added, stored.releases_updated) == (0, 1)
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert (found.posted_at, found.last_posted_at) == (hours(1), hours(6))
    assert (found.files, found.segments, found.size_bytes) == (5, 20, 14_000_000)
    assert (found.poster, found.has_par2, found.settled_at, found.grabs) == (None, True, None, 7)
    assert found.groups == (GROUP, "alt.binaries.misc")
    assert len(chunks(catalog, found.release_id)) == 2
    assert differences(catalog) == []


def test_one_span_may_hold_a_post_and_its_repost(catalog):
    first, second = add_ranges(catalog, 2)
    contents = built(
        [release(1, 0), release(1, 90), release(1, 180), release(2, 0), release(2, 90)],
        candidates=[(1, "lone_random", "a@x")],
    )
    sessions = pl.Series("session", [0, 1, 2, 0, 1], dtype=pl.UInt32)
    contents.releases = contents.releases.with_columns(sessions)
    contents.chunks = contents.chunks.with_columns(sessions)
    contents.candidates = contents.candidates.with_columns(session=pl.lit(2, pl.UInt32))
    stored = store(catalog, second, 1001, 2000, contents)
    assert (stored.releases_added, stored.chunks) == (5, 5)
    found = [get_release(catalog, public_id(1, number)) for number in range(3)]
    assert [one.posted_at for one in found if one] == [hours(0), hours(90), hours(180)]
    last = found[2]
    assert last is not None
    queued = catalog.execute("select release_id from candidate").fetchall()
    assert queued == [(last.release_id,)]
    # The span before closes one gap and leaves the other open.
    contents = built([release(1, 45), release(2, -100)])
    stored = store(catalog, first, 1, 1000, contents)
    assert (stored.releases_added, stored.releases_updated, stored.releases_merged) == (1, 1, 1)
    assert get_release(catalog, public_id(1, 1)) == get_release(catalog, public_id(1, 0))
    assert differences(catalog) == []


def test_repost_is_the_next_generation_until_a_part_closes_the_gap(catalog):
    first, second, third = add_ranges(catalog, 3)
    store(catalog, first, 1, 1000, built([release(1, 0)]))
    store(catalog, third, 2001, 3000, built([release(1, 90)], candidates=[(1, "lone_random", "c")]))
    old, new = get_release(catalog, public_id(1, 0)), get_release(catalog, public_id(1, 1))
    assert old is not None
    assert new is not None
    assert (old.posted_at, new.posted_at) == (hours(0), hours(90))
    catalog.execute("update release set grabs = 2")
    stored = store(catalog, second, 1001, 2000, built([release(1, 45)]))
    assert (stored.releases_added, stored.releases_updated, stored.releases_merged) == (0, 1, 1)
    merged = get_release(catalog, public_id(1, 1))
    assert merged == get_release(catalog, public_id(1, 0))
    assert merged is not None
    assert merged.public_id == public_id(1, 0)
    assert (merged.files, merged.grabs, merged.last_posted_at) == (6, 4, hours(90))
    assert len(chunks(catalog, merged.release_id)) == 3
    assert differences(catalog) == []
    # The number of the merged generation stays with its public id.
    (fourth,) = add_ranges(catalog, 4)[3:]
    store(catalog, fourth, 3001, 4000, built([release(1, 900)]))
    assert get_release(catalog, public_id(1, 2)) is not None
    assert get_release(catalog, public_id(1, 1)) == merged


def test_post_of_a_key_that_was_merged_elsewhere_follows_it(catalog):
    first, second = add_ranges(catalog, 2)
    store(catalog, first, 1, 1000, built([release(1, 0), release(2, 0)]))
    one, two = get_release(catalog, public_id(1, 0)), get_release(catalog, public_id(2, 0))
    assert one is not None
    assert two is not None
    catalog.execute("update chunk set release_id = %s", [one.release_id])
    catalog.execute("delete from release where release_id = %s", [two.release_id])
    catalog.execute(
        "insert into release_alias (release_key, generation, release_id, reason)"
        " values (2, 0, %s, 'test')",
        [one.release_id],
    )
    stored = store(catalog, second, 1001, 2000, built([release(2, 10), release(3, 0)]))
    assert (stored.releases_added, stored.releases_updated) == (1, 1)
    found = get_release(catalog, public_id(2, 0))
    assert found is not None
    assert found.release_id == one.release_id
    assert len(chunks(catalog, one.release_id)) == 3
    assert get_release(catalog, public_id(2, 1)) is None


def test_undated_release_takes_the_date_of_its_neighbour(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built([release(1, 0), release(2, 0), release(3, 0)])
    contents.releases = contents.releases.with_columns(
        pl.when(pl.col("release_key") == 2).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("posted_at", "last_posted_at")
    )
    files = [(1, 100, hours(1)), (2, 190, None), (3, 200, hours(9))]
    contents.files = pl.DataFrame(
        [
            dict.fromkeys(BUILT_FILES)
            | {"release_key": key, "first_number": number, "first_posted_at": moment}
            for key, number, moment in files
        ],
        schema=dict(BUILT_FILES),
        orient="row",
    )
    store(catalog, range_id, 1, 1000, contents)
    found = get_release(catalog, public_id(2, 0))
    assert found is not None
    assert found.posted_at == found.last_posted_at == hours(9)
    assert chunks(catalog, found.release_id) != []


def test_release_in_a_span_without_any_date_is_kept(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built([release(1, 0)])
    contents.releases = contents.releases.with_columns(
        pl.lit(None, pl.Datetime("ms", "UTC")).alias(name)
        for name in ("posted_at", "last_posted_at")
    )
    store(catalog, range_id, 1, 1000, contents)
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert found.posted_at == datetime(1970, 1, 1, tzinfo=UTC)
    assert len(chunks(catalog, found.release_id)) == 1


@pytest.mark.parametrize(
    ("posted", "partition"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), "chunk_early"),
        (datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC), "chunk_early"),
        (datetime(2000, 1, 1, tzinfo=UTC), "chunk_2000_01"),
        (datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC), "chunk_2024_12"),
        (datetime(9999, 12, 31, tzinfo=UTC), "chunk_2099_12"),
    ],
)
def test_partition_of_the_month_is_made_when_it_is_needed(catalog, posted, partition):
    (range_id,) = add_ranges(catalog)
    contents = built([release(1, posted_at=posted, last_posted_at=posted)])
    store(catalog, range_id, 1, 1000, contents)
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert len(chunks(catalog, found.release_id)) == 1
    where = catalog.execute("select tableoid::regclass::text from chunk").fetchone()
    assert where == (partition,)
    storage = catalog.execute(
        "select attstorage from pg_attribute where attrelid = %s::regclass and attname = 'payload'",
        [partition],
    ).fetchone()
    assert storage == ("e",)


def test_months_of_early_and_first_partition_do_not_overlap(catalog):
    assert datetime(1970, 1, 1, tzinfo=UTC).date() == EARLY


def test_numbers_and_texts_that_posters_make_up_are_no_error(catalog):
    (range_id,) = add_ranges(catalog)
    most = (1 << 32) - 1
    name = "n\0ul " + "x" * 70_000
    row = release(
        1,
        name=name,
        poster="p\0",
        files_expected=most,
        segments_expected=most,
        season=(1 << 31) - 1,
        year=-(1 << 31),
        groups=[GROUP, "g\0", "", "g" * 300],
        tok=[],
    )
    contents = built(
        [row],
        candidates=[(1, "lone_random", "i\0d")],
        rule_counts=[("r\0ule", 5, 1)],
        rule_samples=[("r\0ule", 1, "\0")],
    )
    store(catalog, range_id, 1, 1000, contents, rejects={"crosspost:\0": 3})
    assert differences(catalog) == []
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert found.name.startswith("nul xxx")
    assert found.year is None
    assert found.segments_expected == most
    assert found.files_expected == (1 << 31) - 1
    assert found.completion == 0


def test_release_may_keep_no_chunk(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built([release(1)])
    contents.chunks = contents.chunks.clear()
    store(catalog, range_id, 1, 1000, contents)
    found = get_release(catalog, public_id(1, 0))
    assert found is not None
    assert chunks(catalog, found.release_id) == [b""]
    assert check_sums(catalog) == []


def test_fragments_wait_beside_the_catalog(catalog):
    (range_id,) = add_ranges(catalog)
    contents = built(fragments=[{"file_key": 5, "first": 900, "last": 999, "reach": (1, 5000)}])
    stored = store(catalog, range_id, 1, 1000, contents)
    assert (stored.fragments, stored.chunks) == (1, 0)
    assert catalog.execute("select count(*) from release").fetchone() == (0,)
    assert differences(catalog) == []
