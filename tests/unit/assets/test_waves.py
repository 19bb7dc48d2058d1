from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_assets.sensors.waves import (
    RANGE_END,
    RANGE_START,
    Tried,
    Wanted,
    choose,
    neighbours,
    read_cursor,
    requests,
    under_way,
    write_cursor,
)

NOW = datetime(2025, 1, 1, tzinfo=UTC)
A = Wanted("a", 0, 100)


def test_a_stretch_is_asked_for_at_once_the_first_time():
    assert choose([A], {}, now=NOW) == ([A], {})


def test_one_that_made_no_progress_waits_longer_each_time():
    waits = []
    for times in range(1, 12):
        tried = {A.key: Tried(NOW, times, 100)}
        minutes = next(
            each for each in range(1000) if choose([A], tried, now=NOW + timedelta(minutes=each))[0]
        )
        waits.append(minutes)
    assert waits[:4] == [2, 4, 8, 16]
    assert waits[-1] == 360


def test_progress_ends_the_wait_and_growth_does_not():
    tried = {A.key: Tried(NOW, 5, 101)}
    assert choose([A], tried, now=NOW) == ([A], {})
    tried = {A.key: Tried(NOW, 5, 99)}
    assert choose([A], tried, now=NOW) == ([], tried)


def test_finished_stretches_are_forgotten():
    tried = {"b/000000": Tried(NOW, 5, 1), A.key: Tried(NOW, 1, 100)}
    assert choose([A], tried, now=NOW)[1] == {A.key: tried[A.key]}


def test_what_is_remembered_survives_the_cursor():
    tried = {A.key: Tried(NOW, 2, 100), "b/000001": Tried(NOW + timedelta(hours=1), 1, 3)}
    assert read_cursor(write_cursor(tried)) == tried


@given(st.text())
def test_no_cursor_is_an_error(text):
    assert isinstance(read_cursor(text), dict)


@pytest.mark.parametrize(
    "cursor", [None, "", "null", "[]", '{"a": 1}', '{"a": ["x", 1, 2]}', '{"a": [1, 2, 3]}']
)
def test_an_unreadable_cursor_remembers_nothing(cursor):
    assert read_cursor(cursor) == {}


def test_neighbours_share_a_run_and_waves_have_an_end():
    known = [f"a/{number:06d}" for number in range(20)]
    ready = [Wanted("a", number, 1) for number in range(20)]
    made = list(requests(ready, known, most=2, tags={"lane": "x"}, run_config={"ops": {}}))
    assert [keys for keys, _ in made] == [known[:4], known[4:8]]
    request = made[0][1]
    assert request.run_key is None
    assert request.run_config == {"ops": {}}
    assert request.tags == {
        "lane": "x",
        RANGE_START: "a/000000",
        RANGE_END: "a/000003",
        "stretches": "a/0-3",
    }


def test_the_list_of_runs_has_room_for_what_a_run_covers():
    group = "alt.binaries.sounds.mp3"
    known = [f"{group}/{number:06d}" for number in range(12_000, 12_004)]
    ready = [Wanted(group, number, 1) for number in range(12_000, 12_004)]
    ((_, request),) = requests(ready, known, most=1, tags={})
    assert request.tags["stretches"] == "a.b.sounds.mp3/12000-12003"
    ((_, alone),) = requests(ready[:1], known, most=1, tags={})
    assert alone.tags["stretches"] == "a.b.sounds.mp3/12000"


def test_the_most_urgent_stretch_brings_its_neighbours_along():
    ready = [Wanted("a", 2, 1), Wanted("b", 0, 1), Wanted("a", 0, 1), Wanted("a", 1, 1)]
    assert list(neighbours(ready)) == [["a/000000", "a/000001", "a/000002"], ["b/000000"]]


def test_a_stretch_that_should_not_wait_has_a_run_of_its_own():
    ready = [Wanted("a", 3, 1, alone=True), Wanted("a", 2, 1), Wanted("a", 1, 1)]
    assert list(neighbours(ready)) == [["a/000003"], ["a/000001", "a/000002"]]
    known = [f"a/{number:06d}" for number in range(4)]
    for order in (ready, ready[::-1]):
        made = [keys for keys, _ in requests(order, known, most=9, tags={})]
        assert sorted(made) == [["a/000001", "a/000002"], ["a/000003"]]


def test_a_full_queue_asks_for_nothing():
    assert list(requests([A], [A.key], most=0, tags={})) == []
    assert list(requests([A], [A.key], most=-3, tags={})) == []


def test_running_stretches_are_known_by_their_runs():
    with dg.DagsterInstance.ephemeral() as instance:
        known = [f"a/{number:06d}" for number in range(5)]
        ranges = {RANGE_START: known[1], RANGE_END: known[2]}
        for tags in (ranges, {"dagster/partition": known[4]}, {RANGE_START: "gone/000000"}, {}):
            instance.create_run_for_job(job(), tags=tags, status=dg.DagsterRunStatus.STARTED)
        done = {RANGE_START: known[0], RANGE_END: known[0]}
        instance.create_run_for_job(job(), tags=done, status=dg.DagsterRunStatus.SUCCESS)
        assert under_way(instance, known) == (2, {known[1], known[2], known[4]})


def job():
    @dg.job(name="work")
    def work():
        pass

    return work
