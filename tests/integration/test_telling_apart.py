"""What becomes of releases and their public ids when the posts of a key are told apart."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.courses import LATER
from tests.support.reposts import course, read
from tests.support.spans import add_ranges, built, release, store
from tests.support.stored import differences, everything
from tests.support.uploads import START, Upload
from voyager_core.catalog import reposts, settle
from voyager_core.catalog.connect import connect
from voyager_core.catalog.releases import get_release, public_id
from voyager_core.catalog.reposts import held_chunks
from voyager_core.catalog.settle import in_several_chunks
from voyager_core.catalog.telling_apart import Rewritten, store_apart
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.reposts import part_reposts
from voyager_core.header_pass.settle import merge_ready_fragments

pytestmark = pytest.mark.postgres

# The first post has the highest key, hence the last row.
KEY, SECOND, THIRD = 300, 100, 200
POSTS = {KEY: 0, SECOND: 1, THIRD: 2}


def held_of(conn):
    return held_chunks(conn, list(POSTS))


def chunk_of(held, key, low=None):
    (found,) = (each for each in held if each.release_key == key and low in {None, each.span.low})
    return found


def holders(conn):
    """Returns key, generation and segments of each release."""
    return conn.execute(
        "select release_key, generation, segments from release order by 1, 2"
    ).fetchall()


def aliases(conn):
    return conn.execute(
        "select a.release_key, r.release_key, a.reason from release_alias a"
        " join release r using (release_id) order by 1"
    ).fetchall()


def three_posts(conn):
    (range_id,) = add_ranges(conn)
    store(conn, range_id, 1, 1000, built([release(key, key / 100) for key in POSTS]))


def test_an_emptied_release_leads_to_the_first_post(catalog):
    three_posts(catalog)
    held = held_of(catalog)
    second, third = chunk_of(held, SECOND), chunk_of(held, THIRD)
    changed = [
        Rewritten(second, built([release(SECOND, 1, segments=6), release(KEY, 1, segments=4)])),
        Rewritten(third, built([release(KEY, 2)])),
    ]
    assert store_apart(catalog, POSTS, held, changed).stored
    assert holders(catalog) == [(SECOND, 0, 6), (KEY, 0, 24)]
    assert aliases(catalog) == [(THIRD, KEY, "posted again")]
    assert get_release(catalog, public_id(THIRD, 0)).segments == 24
    assert differences(catalog) == []


def test_without_a_first_post_the_lowest_number_takes_over(catalog):
    (range_id,) = add_ranges(catalog)
    fourth = 50
    store(catalog, range_id, 1, 1000, built([release(key) for key in (fourth, SECOND, THIRD)]))
    all_posts = {**POSTS, fourth: 3}
    held = held_chunks(catalog, list(all_posts))
    changed = [Rewritten(chunk_of(held, THIRD), built([release(fourth)]))]
    assert store_apart(catalog, all_posts, held, changed).stored
    assert aliases(catalog) == [(THIRD, SECOND, "posted again")]


def test_a_release_that_lost_its_chunks_before_does_not_stay_listed(catalog):
    three_posts(catalog)
    catalog.execute(
        "delete from chunk where release_id ="
        " (select release_id from release where release_key = %s)",
        [THIRD],
    )
    held = held_of(catalog)
    changed = [Rewritten(chunk_of(held, SECOND), built([release(KEY, 1)]))]
    assert store_apart(catalog, POSTS, held, changed).stored
    assert holders(catalog) == [(KEY, 0, 20)]
    assert [row[:2] for row in aliases(catalog)] == [(SECOND, KEY), (THIRD, KEY)]


def test_a_post_that_had_ended_is_one_of_its_own_again(catalog):
    three_posts(catalog)
    held = held_of(catalog)
    store_apart(catalog, POSTS, held, [Rewritten(chunk_of(held, THIRD), built([release(KEY, 2)]))])
    assert holders(catalog) == [(SECOND, 0, 10), (KEY, 0, 20)]
    held = held_of(catalog)
    one = next(each for each in held if each.release_key == KEY)
    changed = [Rewritten(one, built([release(THIRD, 3)]))]
    assert store_apart(catalog, POSTS, held, changed).stored
    assert holders(catalog) == [(SECOND, 0, 10), (THIRD, 0, 10), (KEY, 0, 10)]
    assert aliases(catalog) == []
    assert get_release(catalog, public_id(THIRD, 0)).segments == 10
    assert differences(catalog) == []


def test_a_public_id_goes_back_to_what_is_left_of_its_key(catalog):
    first, second = add_ranges(catalog, 2)
    store(catalog, first, 1, 1000, built([release(key, 0) for key in POSTS]))
    store(catalog, second, 1001, 2000, built([release(THIRD, 100), release(KEY, 100)]))
    held = held_of(catalog)
    store_apart(
        catalog, POSTS, held, [Rewritten(chunk_of(held, THIRD, 1), built([release(KEY, 0)]))]
    )
    assert aliases(catalog) == [(THIRD, KEY, "posted again")]
    held = held_of(catalog)
    changed = [Rewritten(chunk_of(held, SECOND), built([release(THIRD, 70)]))]
    assert store_apart(catalog, POSTS, held, changed).stored
    # The second post has ended; the third one's first id leads to its second one again.
    assert holders(catalog) == [(THIRD, 1, 20), (KEY, 0, 20), (KEY, 1, 10)]
    assert aliases(catalog) == [(SECOND, KEY, "posted again"), (THIRD, THIRD, "posted again")]
    assert differences(catalog) == []


def test_nothing_is_written_where_nothing_would_be_left(catalog):
    three_posts(catalog)
    before = everything(catalog)
    held = held_of(catalog)
    assert not store_apart(catalog, POSTS, held, [Rewritten(each, None) for each in held]).stored
    assert everything(catalog) == before


def test_a_gap_that_closes_meanwhile_doubles_no_article(catalog):
    first, second, third = add_ranges(catalog, 3)
    store(catalog, first, 1, 1000, built([release(SECOND, 0)]))
    store(catalog, second, 1001, 2000, built([release(SECOND, 90)]))
    store(catalog, third, 2001, 3000, built([release(KEY, 45), release(THIRD, 45)]))
    assert [row[:2] for row in holders(catalog)] == [(SECOND, 0), (SECOND, 1), (THIRD, 0), (KEY, 0)]
    held = held_of(catalog)
    changed = [
        # Both generations of the second post become one, and rows move under the second change.
        Rewritten(chunk_of(held, KEY), built([release(SECOND, 45)])),
        Rewritten(
            chunk_of(held, SECOND, 1001),
            built([release(SECOND, 90, segments=4), release(KEY, 90, segments=6)]),
        ),
    ]
    assert store_apart(catalog, POSTS, held, changed).stored
    assert holders(catalog) == [(SECOND, 0, 24), (THIRD, 0, 10), (KEY, 0, 6)]
    assert differences(catalog) == []


def test_a_row_that_is_not_there_stops_all(catalog):
    three_posts(catalog)
    before = everything(catalog)
    held = held_of(catalog)
    same = chunk_of(held, SECOND)
    changed = [Rewritten(same, built([release(KEY)])), Rewritten(same, built([release(THIRD)]))]
    assert not store_apart(catalog, POSTS, held, changed).stored
    assert everything(catalog) == before


def test_a_settled_repost_that_changes_is_looked_at_again(catalog):
    three_posts(catalog)
    catalog.execute("update release set settled_at = now()")
    held = held_of(catalog)
    changed = [Rewritten(chunk_of(held, KEY), built([release(SECOND, 3)]))]
    store_apart(catalog, POSTS, held, changed)
    rows = catalog.execute("select release_key from release where settled_at is null").fetchall()
    assert rows == [(SECOND,)]


def retried():
    film = [("Some.Film.2010.720p-GRP.mkv", 40)]
    alone = '"{name}" yEnc ({p}/{parts})'
    rest = frozenset((1, part) for part in range(1, 41) if part != 17)
    return [
        [Upload("film", film, alone)],
        [Upload("retry", film, alone, at=START.replace(minute=2), salt="again", missing=rest)],
    ]


@pytest.mark.parametrize("origin", ["span", "fragments"])
def test_ranges_are_locked_before_releases(catalog, database, origin):
    made = course(catalog, retried())
    read(made)
    merge_ready_fragments(catalog, now=LATER, patience_seconds=0)
    if origin == "span":
        # As if the span had not been cut there.
        catalog.execute("update chunk set origin = 'span'")
        catalog.execute(
            "update range set chunked_segments = chunked_segments + merged_segments,"
            " fragment_segments = 0, merged_segments = 0"
        )
    assert differences(catalog) == []
    retry = catalog.execute("select range_id from range where low = 41").fetchone()

    def tell_apart() -> int:
        with connect(database, application_name="settling") as conn:
            return part_reposts(conn, settle_after_seconds=0, now=LATER, rules=RuleSet())

    with connect(database) as span, ThreadPoolExecutor(1) as pool:
        with span.transaction():
            # As whoever stores a span does: its range first, then the releases.
            span.execute("select from range where range_id = %s for update", retry)
            work = pool.submit(tell_apart)
            waiting = (
                "select pg_sleep(0.02) from pg_stat_activity where application_name = 'settling'"
                " and wait_event_type = 'Lock' and datname = current_database()"
            )
            while not work.done() and catalog.execute(waiting).fetchone() is None:
                pass
            span.execute("select from release where name like 'Some%' for update nowait")
        assert work.result() == 1
    assert differences(catalog) == []
    assert catalog.execute("select sum(dropped)::int from range").fetchone() == (1,)


def test_pages_hold_each_release_in_several_chunks_once(catalog):
    first, second = add_ranges(catalog, 2)
    other, following = add_ranges(catalog, 2, group="alt.binaries.other")
    # Three moments, several releases each; every third one lies in one span only.
    keys = [key for key in range(1, 20) if key % 3]
    store(catalog, first, 1, 1000, built([release(key, key % 4) for key in range(1, 20)]))
    store(catalog, second, 1001, 2000, built([release(key, key % 4) for key in keys]))
    for range_id, low in ((other, 1), (following, 1001)):
        store(
            catalog,
            range_id,
            low,
            low + 999,
            built([release(77, 3), release(78, 3)]),
            group="alt.binaries.other",
        )
    stretch = settle.Stretch(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))
    groups = catalog.execute("select newsgroup_id from newsgroup").fetchall()
    periods = {number: [stretch] for (number,) in groups}
    pages = list(in_several_chunks(catalog, periods, settle_after_seconds=0, now=LATER, page=4))
    assert sorted(key for page in pages for key in page) == [*keys, 77, 78]
    assert max(map(len, pages)) <= 4


def test_pages_go_by_the_index_of_unsettled_releases(catalog):
    add_ranges(catalog)
    catalog.execute(
        "insert into release (release_key, size_bytes, posted_at, last_posted_at, listed_at,"
        " changed_at, settled_at, newsgroup_id, category, files, segments, generation, has_par2,"
        " is_readable, group_ids, tok, name)"
        " select i, 1, at, at, now(), now(), case when i % 50 > 0 then now() end, n.newsgroup_id,"
        "  0, 1, 1, 0, false, false, '{}', '{}', ''"
        " from newsgroup n, generate_series(1, 20000) as i,"
        "  lateral (select timestamptz '2024-05-01' + i * interval '1 minute') as t (at)"
    )
    catalog.execute("analyze release")
    values = {
        "newsgroup_id": 1,
        "first": START,
        "last": LATER,
        "now": LATER,
        "idle": 0,
        "at": START + timedelta(days=3),
        "after": 5,
        "limit": 100,
    }
    plan = [line for (line,) in catalog.execute(f"explain {settle.FINISHED}", values).fetchall()]
    (condition,) = (line for line in plan if "Index Cond" in line)
    assert any("release_unsettled" in line for line in plan)
    # Where the page begins is looked up too, so that no page reads those before it.
    assert "posted_at >= " in condition


def test_posts_in_too_many_chunks_are_not_read_and_that_is_said(catalog, monkeypatch, caplog):
    ranges = add_ranges(catalog, 2)
    for place, range_id in enumerate(ranges):
        low = place * 1000 + 1
        store(catalog, range_id, low, low + 999, built([release(key) for key in POSTS]))
    assert len(held_of(catalog)) == 6
    # Over all releases, not for each of them.
    assert not caplog.messages
    monkeypatch.setattr(reposts, "MOST_CHUNKS", 5)
    assert held_of(catalog) == []
    (said,) = caplog.messages
    assert "are not told apart: they are in 6 chunks or more with 60 segments" in said
    monkeypatch.setattr(reposts, "MOST_CHUNKS", 6)
    assert len(held_of(catalog)) == 6
    monkeypatch.setattr(reposts, "MOST_SEGMENTS", 59)
    assert held_of(catalog) == []
