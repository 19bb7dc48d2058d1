"""Many posts of one key, read, settled and disturbed in any order: no article lost or doubled."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.support.courses import LATER, Course
from tests.support.reposts import articles, course, of_name, posts, read, sent
from tests.support.stored import differences, everything
from voyager_core.catalog import reposts as catalog_reposts
from voyager_core.catalog import telling_apart
from voyager_core.catalog.connect import connect
from voyager_core.catalog.errors import CatalogUnavailable
from voyager_core.domain.generations import repost_key
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass import reposts, settle
from voyager_core.header_pass.reposts import part_key, part_reposts
from voyager_core.header_pass.settle import settle_releases

pytestmark = pytest.mark.postgres
NAMES = [f"Some.{word}.2010.720p-GRP" for word in ("Film", "Show", "Tale", "Song", "Play", "Hunt")]
FILES = [f"{name}.mkv" for name in NAMES]


def finish(conn) -> int:
    report = settle_releases(conn, now=LATER, settle_after_seconds=0, rules=RuleSet())
    return report.parted


def assert_told_apart(conn, made: Course, name: str, count: int) -> None:
    """Every post is a release of its own, under the key that its number gives it."""
    found = of_name(conn, name)
    assert [row[1:] for row in found] == [(1, 3)] * count
    first = next(key for key, *_ in found if repost_key(key, 1) in {each for each, *_ in found})
    assert {key for key, *_ in found} == {repost_key(first, number) for number in range(count)}
    assert articles(conn) == sent(made)
    assert differences(conn) == []


def test_every_post_of_several_spans_gets_the_key_of_its_number(catalog):
    made = course(catalog, [posts(FILES, 0, 4), posts(FILES, 4, 4)])
    read(made)
    finish(catalog)
    for name in NAMES:
        assert_told_apart(catalog, made, name, 8)
    assert part_reposts(catalog, settle_after_seconds=0, now=LATER, rules=RuleSet()) == 0


def test_posts_beyond_the_first_dozens_are_known_again(catalog):
    made = course(
        catalog, [posts(FILES[:1], 0, 20), posts(FILES[:1], 20, 20), posts(FILES[:1], 40, 3)]
    )
    read(made, 0, 1)
    # The range between is given up for now, so that the others settle.
    catalog.execute("update range set state = 'parked' where resume_at = low and low > 100")
    read(made, 3)
    finish(catalog)
    assert len(of_name(catalog, NAMES[0])) == 40
    assert finish(catalog) == 0
    catalog.execute("update range set state = 'planned' where state = 'parked'")
    read(made, 2)
    finish(catalog)
    assert_told_apart(catalog, made, NAMES[0], 43)
    assert finish(catalog) == 0


@pytest.mark.parametrize("noted", [True, False])
def test_a_repost_is_known_without_its_first_post(catalog, noted):
    made = course(catalog, [posts(FILES, 0, 2), posts(FILES, 2, 2)])
    read(made)
    # The first posts are settled and not looked for; the reposts hold every file twice.
    catalog.execute(
        "update release set settled_at = now() where name like 'Some%%' and release_key = any (%s)",
        [[min_key(catalog, name) for name in NAMES]],
    )
    if not noted:
        # As a catalog holds them that is older than the notes.
        catalog.execute("delete from repost")
        catalog.execute("update release set listed_at = '2020-01-01'")
    finish(catalog)
    for name in NAMES:
        assert_told_apart(catalog, made, name, 4)


def min_key(conn, name: str) -> int:
    """Returns the signed key of the first post of a name."""
    keys = [key for key, *_ in of_name(conn, name)]
    (first,) = (key for key in keys if repost_key(key, 1) in keys)
    return first - (1 << 64) if first >= 1 << 63 else first


def test_what_is_read_meanwhile_does_not_settle_untold(catalog, monkeypatch):
    made = course(catalog, [posts(FILES[:1], 0, 1), posts(FILES[:1], 1, 1)])
    read(made, 0, 2)
    real = settle.part_reposts

    def and_then_a_range_is_read(conn, **values) -> int:
        done = real(conn, **values)
        read(made, 1)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(settle, "part_reposts", and_then_a_range_is_read)
        finish(catalog)
    unsettled = "select count(*) from release where settled_at is null and name like 'Some%'"
    assert catalog.execute(unsettled).fetchone() == (1,)
    finish(catalog)
    assert_told_apart(catalog, made, NAMES[0], 2)


@pytest.mark.parametrize("later", [timedelta(minutes=30), timedelta(days=4)])
def test_a_span_of_the_key_that_is_stored_meanwhile_is_not_written_over(
    catalog, monkeypatch, later
):
    third = posts(FILES[:1], 2, 1)
    third[0].at += later
    made = course(catalog, [posts(FILES[:1], 0, 1), posts(FILES[:1], 1, 1), third])
    read(made, 0, 1)
    states: list[dict[str, list[object]]] = []
    real = reposts.store_apart

    def after_the_span(conn, *rest):
        read(made, 2)
        states.append(everything(conn))
        outcome = real(conn, *rest)
        states.append(everything(conn))
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(reposts, "store_apart", after_the_span)
        ((key, *_),) = of_name(catalog, NAMES[0])
        assert not reposts.part_key(catalog, key, RuleSet(), now=LATER)
    assert states[0] == states[1]
    read(made, 3)
    finish(catalog)
    assert sum(row[2] for row in of_name(catalog, NAMES[0])) == 9
    assert len(of_name(catalog, NAMES[0])) == 3
    assert articles(catalog) == sent(made)
    assert differences(catalog) == []


def test_keys_that_are_too_many_together_are_looked_at_alone(catalog, monkeypatch):
    made = course(catalog, [posts(FILES, 0, 2), posts(FILES, 2, 2)])
    read(made)
    monkeypatch.setattr(catalog_reposts, "MOST_CHUNKS", 5)
    finish(catalog)
    for name in NAMES:
        assert_told_apart(catalog, made, name, 4)


def test_spans_that_come_while_posts_are_told_apart_lose_nothing(catalog, database):
    made = course(catalog, [posts(FILES[:1], 2 * n, 2) for n in range(12)])
    read(made, 0)
    first = min_key(catalog, NAMES[0]) % (1 << 64)
    done, tried = threading.Event(), threading.Semaphore(0)

    def tell_apart() -> int:
        written = 0
        with connect(database) as conn:
            while not done.is_set():
                written += part_key(conn, first, RuleSet(), now=LATER)
                tried.release()
        return written

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(tell_apart)
        try:
            for place in range(1, 13):
                read(made, place)
                if place % 4 == 0:
                    # Most come at any moment, these after a try that nobody disturbed.
                    while tried.acquire(blocking=False):
                        pass
                    for _ in range(2):
                        assert tried.acquire(timeout=60)
        finally:
            done.set()
        assert work.result() > 0
    finish(catalog)
    assert_told_apart(catalog, made, NAMES[0], 24)


STEPS = ("_write_anew", "place", "write_chunks", "_end_empty", "add_up_chunks", "note_reposts")


@pytest.mark.parametrize("step", STEPS)
def test_death_in_the_middle_leaves_all_as_it_was(catalog, database, monkeypatch, step):
    made = course(catalog, [posts(FILES[:2], 0, 2), posts(FILES[:2], 2, 2)])
    read(made)
    before = everything(catalog)
    real = getattr(telling_apart, step)

    def kill(conn, *rest, **values):
        done = real(conn, *rest, **values)
        catalog.execute("select pg_terminate_backend(%s, 10000)", [conn.info.backend_pid])
        return done

    with connect(database) as victim, monkeypatch.context() as patch:
        patch.setattr(telling_apart, step, kill)
        with pytest.raises(CatalogUnavailable):
            part_reposts(victim, settle_after_seconds=0, now=LATER, rules=RuleSet())
    assert everything(catalog) == before
    finish(catalog)
    for name in NAMES[:2]:
        assert_told_apart(catalog, made, name, 4)
