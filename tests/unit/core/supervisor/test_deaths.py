"""Services that die are started again, but not for ever."""

from itertools import pairwise

import pytest

from voyager_core.supervisor.children import ServiceError
from voyager_core.supervisor.deaths import MOST, WITHIN_SECONDS, Deaths


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def deaths(clock):
    return Deaths(now=clock)


def test_a_first_death_is_followed_by_a_start_at_once_and_more_by_growing_pauses(deaths):
    assert not deaths.any
    pauses = []
    for _ in range(MOST):
        deaths.note({"api": "api ended"})
        pauses.append(deaths.pause_seconds)
    assert deaths.any
    assert pauses[0] == 0
    assert all(before < after for before, after in pairwise(pauses))


def test_what_dies_again_and_again_is_given_up_with_its_last_words(deaths):
    for _ in range(MOST):
        deaths.note({"api": "api ended: no port"})
    with pytest.raises(ServiceError, match=r"api died 6 times within 10 minutes.*no port"):
        deaths.note({"api": "api ended: no port", "fetcher": "fetcher ended"})


def test_deaths_of_different_services_and_of_long_ago_do_not_add_up(deaths, clock):
    for _ in range(4 * MOST):
        deaths.note({"api": "x"})
        clock.seconds += WITHIN_SECONDS / MOST + 1
    for name in ("one", "two", "three"):
        for _ in range(MOST):
            deaths.note({name: "x"})
