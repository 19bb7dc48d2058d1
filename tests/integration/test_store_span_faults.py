"""A span is stored once and whole, whoever dies, and in any order."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.spans import (
    GROUP,
    add_ranges,
    built,
    hours,
    release,
    store,
)
from tests.support.stored import differences, everything, outline
from voyager_core.catalog import writing
from voyager_core.catalog.checks import (
    check_generations,
    check_sums,
)
from voyager_core.catalog.connect import connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.spans import Stored
from voyager_core.domain.generations import REPOST_WINDOW

pytestmark = pytest.mark.postgres


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
            " fragment, range_rule_count, range_recovery, reject_count, rule_sample,"
            " range_version, span_drop, span_rule_count"
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
