"""A span is stored whole, once, and adds up to the same catalog in any order."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.spans import (
    GROUP,
    START,
    add_ranges,
    built,
    hours,
    release,
    store,
)
from voyager_core.catalog import writing
from voyager_core.catalog.checks import (
    Finding,
    check_generations,
    check_lines,
    check_ranges,
    check_sums,
)
from voyager_core.catalog.connect import connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.errors import CatalogUnavailable, SpanError
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.months import EARLY
from voyager_core.catalog.ranges import get_range
from voyager_core.catalog.releases import chunks, get_release, public_id
from voyager_core.catalog.spans import Stored
from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.header_pass.schemas import BUILT_FILES

pytestmark = pytest.mark.postgres

TABLES = (
    "release",
    "release_alias",
    "chunk",
    "fragment",
    "candidate",
    "range_rule_count",
    "rule_sample",
    "reject_count",
)


def everything(conn) -> dict[str, list[Any]]:
    """Returns what storing writes, to compare before and after."""
    found = {
        table: conn.execute(f"select t::text from {table} t order by 1").fetchall()
        for table in TABLES
    }
    found["range"] = conn.execute("select r::text from range r order by 1").fetchall()
    return found


def outline(conn) -> set[Any]:
    """Returns the releases with their chunks, whatever their numbers and generations."""
    rows = conn.execute(
        "select r.release_key, r.name, r.poster, r.posted_at, r.last_posted_at, r.files,"
        " r.files_expected, r.segments, r.segments_expected, r.size_bytes, r.has_par2,"
        " r.is_readable, r.category, r.season, r.tok, n.name,"
        " array(select g.name from group_name g where g.group_name_id = any (r.group_ids)"
        "  order by 1),"
        " array(select encode(c.payload, 'escape') from chunk c"
        "  where c.release_id = r.release_id order by 1),"
        " array(select c.message_id from candidate c where c.release_id = r.release_id order by 1)"
        " from release r join newsgroup n using (newsgroup_id)"
    ).fetchall()
    return {tuple(tuple(v) if isinstance(v, list) else v for v in row) for row in rows}


def differences(conn) -> list[Finding]:
    return [
        *check_ranges(conn),
        *check_lines(conn),
        *check_sums(conn),
        *check_generations(conn),
    ]


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


def breaking_at_copy(monkeypatch, action) -> None:
    """Makes the next writing of candidates do something first, inside the transaction."""
    real = writing._write_candidates

    def late(conn, candidates, placed):
        action(conn)
        real(conn, candidates, placed)

    monkeypatch.setattr(writing, "_write_candidates", late)


CONTENTS = built(
    [release(1), release(2)],
    candidates=[(1, "archive_first", "x@y")],
    rule_counts=[("random", 3, 1)],
    fragments=[{"file_key": 5, "first": 900, "last": 999, "reach": (1, 5000)}],
)


def test_death_of_the_session_in_the_middle_leaves_nothing(catalog, database, monkeypatch):
    (range_id,) = add_ranges(catalog)
    before = everything(catalog)

    def kill(conn) -> None:
        assert conn.execute("select count(*) from chunk").fetchone() == (2,)
        pid = conn.info.backend_pid
        catalog.execute("select pg_terminate_backend(%s, 10000)", [pid])

    with connect(database) as victim, monkeypatch.context() as patch:
        breaking_at_copy(patch, kill)
        with pytest.raises(CatalogUnavailable, match=f"storing {GROUP} 1-600"):
            store(victim, range_id, 1, 600, CONTENTS)
    assert everything(catalog) == before
    assert store(catalog, range_id, 1, 600, CONTENTS).stored
    assert differences(catalog) == []


def test_error_of_the_program_in_the_middle_leaves_nothing(catalog, monkeypatch):
    (range_id,) = add_ranges(catalog)
    before = everything(catalog)

    def fail(conn) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        breaking_at_copy(patch, fail)
        with pytest.raises(KeyboardInterrupt):
            store(catalog, range_id, 1, 600, CONTENTS)
    assert everything(catalog) == before
    assert store(catalog, range_id, 1, 600, CONTENTS).stored


@pytest.mark.slow
def test_death_of_the_server_in_the_middle_leaves_nothing(tmp_path, monkeypatch):
    options = {"shared_buffers": "16MB"}
    with EmbeddedPostgres(tmp_path / "pg", options=options) as server:
        migrate(server.dsn())
        with connect(server.dsn()) as conn:
            first, second = add_ranges(conn, 2)
            store(conn, first, 1, 600, CONTENTS)
            before = everything(conn)

        def kill(conn) -> None:
            # The session itself first: its process might finish before it notices.
            os.kill(conn.info.backend_pid, signal.SIGKILL)
            os.kill(server.pid, signal.SIGKILL)

        with connect(server.dsn()) as victim, monkeypatch.context() as patch:
            breaking_at_copy(patch, kill)
            with pytest.raises(CatalogUnavailable):
                store(victim, second, 1001, 2000, CONTENTS)
    with (
        EmbeddedPostgres(tmp_path / "pg", options=options) as server,
        connect(server.dsn()) as conn,
    ):
        assert everything(conn) == before
        assert store(conn, second, 1001, 2000, CONTENTS).stored
        assert differences(conn) == []


def test_same_span_from_two_workers_is_stored_once(catalog, database):
    (range_id,) = add_ranges(catalog)

    def work(number: int) -> Stored:
        with connect(database) as conn:
            return store(conn, range_id, 1, 600, CONTENTS)

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(work, range(4)))
    assert sorted(outcome.stored for outcome in outcomes) == [False, False, False, True]
    assert differences(catalog) == []


def test_workers_that_share_releases_neither_deadlock_nor_lose_anything(catalog, database, caplog):
    caplog.set_level(logging.INFO)
    # Every span holds the same keys, old and new ones mixed, in another order each.
    workers, spans = 4, 6
    ids = add_ranges(catalog, workers * spans)
    keys = list(range(1, 60))

    def work(number: int) -> int:
        stored = 0
        with connect(database) as conn:
            for at in range(spans):
                place = number * spans + at
                # Times that join, part, and close gaps between generations as they come.
                rows = [
                    release(key, (place * 7919 + key * 104_729) % 400)
                    for key in (keys if number % 2 else reversed(keys))
                    if (key + place) % 3
                ]
                low = place * 1000 + 1
                stored += store(conn, ids[place], low, low + 999, built(rows)).stored
        return stored

    with ThreadPoolExecutor(workers) as pool:
        assert sum(pool.map(work, range(workers))) == workers * spans
    assert check_sums(catalog) == []
    assert check_generations(catalog) == []
    counted = catalog.execute("select sum(files), (select count(*) from chunk) from release")
    total, number = counted.fetchone()
    assert number == sum(1 for place in range(workers * spans) for key in keys if (key + place) % 3)
    assert total == number * 2
    assert "deadlock" not in caplog.text


_rows = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 300), st.integers(0, 30), st.booleans()),
    max_size=4,
)


def by_session(rows) -> list[tuple[int, int, int, int, bool, int]]:
    """Returns key, session, first, last, readable, number of posts, as the header pass would."""
    found: list[list[Any]] = []
    for key, first, length, readable in sorted(rows):
        last = found[-1] if found and found[-1][0] == key else None
        if last is not None and hours(first) - hours(last[3]) <= REPOST_WINDOW:
            last[3] = max(last[3], first + length)
            last[4] |= readable
            last[5] += 1
        else:
            session = 0 if last is None else last[1] + 1
            found.append([key, session, first, first + length, readable, 1])
    return [tuple(row) for row in found]


@given(st.lists(_rows, min_size=2, max_size=6), st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_order_of_spans_gives_the_same_catalog(catalog, spans, data):
    order = data.draw(st.permutations(range(len(spans))))
    outlines = []
    for sequence in (range(len(spans)), order):
        catalog.execute(
            "truncate release, release_alias, chunk, candidate, range, newsgroup, group_name,"
            " fragment, range_rule_count, range_recovery, reject_count, rule_sample"
            " restart identity cascade"
        )
        ids = add_ranges(catalog, len(spans))
        for at in sequence:
            rows = by_session(spans[at])
            contents = built(
                [
                    release(
                        key,
                        first,
                        last,
                        name=f"Name.{at}",
                        is_readable=readable,
                        poster=f"poster {at % 2}",
                        groups=[GROUP, f"alt.binaries.{at}"],
                        season=at,
                        files=number,
                        segments_expected=None if readable else 12,
                        files_expected=at,
                    )
                    for key, _, first, last, readable, number in rows
                ],
                candidates=[(row[0], "archive_first", f"{at}@x") for row in rows],
            )
            sessions = pl.Series("session", [row[1] for row in rows], dtype=pl.UInt32)
            contents.releases = contents.releases.with_columns(sessions)
            contents.chunks = contents.chunks.with_columns(sessions)
            contents.candidates = contents.candidates.with_columns(sessions)
            assert store(catalog, ids[at], at * 1000 + 1, at * 1000 + 1000, contents).stored
        assert check_sums(catalog) == []
        assert check_generations(catalog) == []
        outlines.append(outline(catalog))
    assert outlines[0] == outlines[1]
    assert sum(one[5] for one in outlines[0]) == sum(map(len, spans))
