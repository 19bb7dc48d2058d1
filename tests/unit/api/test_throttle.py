"""Bursts are bounded a name at a time, and memory is bounded for all of them."""

import threading

import pytest

from voyager_api import throttle
from voyager_api.throttle import Recent, Throttle, TooManyWaitError, Turns


def test_a_bucket_empties_and_fills_again_over_a_minute():
    bucket = Throttle(6, 60)
    assert [bucket.take("a", 100.0) for _ in range(6)] == [0.0] * 6
    assert bucket.take("a", 100.0) == pytest.approx(10)
    assert bucket.take("b", 100.0) == 0.0
    assert bucket.take("a", 104.0) == pytest.approx(6)
    assert bucket.take("a", 110.0) == 0.0
    assert bucket.take("a", 110.0) == pytest.approx(10)
    assert [bucket.take("a", 1000.0) for _ in range(7)] == pytest.approx([*[0.0] * 6, 10])


def test_asking_uses_nothing_up():
    bucket = Throttle(1, 60)
    assert bucket.wait("a", 0.0) == bucket.wait("a", 0.0) == 0.0
    bucket.take("a", 0.0)
    assert bucket.wait("a", 30.0) == pytest.approx(30)


def test_no_limit_never_waits():
    assert {Throttle(0, 60).take("a", 0.0) for _ in range(1000)} == {0.0}


def test_what_is_given_back_can_be_used_and_no_more_than_that():
    bucket = Throttle(2, 60)
    assert [bucket.take("a", 0.0), bucket.take("a", 0.0)] == [0.0, 0.0]
    bucket.give_back("a", 0.0)
    assert bucket.take("a", 0.0) == 0.0
    assert bucket.take("a", 0.0) == pytest.approx(30)
    for name in ("b", "b", "b"):
        bucket.give_back(name, 0.0)
    assert [bucket.take("b", 0.0) for _ in range(3)] == pytest.approx([0.0, 0.0, 30])


def test_a_clock_that_is_set_back_neither_gives_away_nor_locks_out():
    bucket = Throttle(1, 60)
    bucket.take("a", 10_000.0)
    assert bucket.take("a", 50.0) == pytest.approx(60)
    assert bucket.take("a", 80.0) == pytest.approx(30)
    assert bucket.take("a", 110.0) == 0.0


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(throttle, "_MOST_NAMES", 3)
    bucket, recent = Throttle(1, 60), Recent()
    for name in "abcd":
        bucket.take(name, 0.0)
        recent.add(name)
    assert bucket.wait("a", 0.0) == 0.0
    assert bucket.wait("b", 0.0) > 0
    assert "a" not in recent
    assert "b" in recent


def test_costly_work_waits_for_its_turn():
    turns = Turns(at_once=1, waiting=1)
    done = threading.Event()

    def work():
        with turns.one():
            done.set()

    with turns.one():
        waiting = threading.Thread(target=work)
        waiting.start()
        assert not done.is_set()
    assert done.wait(10)
    waiting.join(10)


def test_costly_work_for_which_there_is_no_room_is_refused():
    turns = Turns(at_once=1, waiting=0)
    with turns.one(), pytest.raises(TooManyWaitError), turns.one():
        pass
    with turns.one():
        pass
