"""Posts of one key are one release or several, whatever the order in which they arrive."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.generations import (
    MAX_GENERATION,
    REPOST_WINDOW,
    Generation,
    Posted,
    Resolution,
    resolve,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
WINDOW_HOURS = REPOST_WINDOW.total_seconds() / 3600


def posted(first: float, last: float | None = None) -> Posted:
    end = first if last is None else last
    return Posted(START + timedelta(hours=first), START + timedelta(hours=end))


def generation(number: int, first: float, last: float | None = None) -> Generation:
    return Generation(number, posted(first, last))


def test_first_part_is_generation_0():
    assert resolve([], [posted(0)]) == Resolution((0,), (0,), ())


def test_part_within_the_window_joins_and_one_beyond_it_is_the_next_generation():
    known = [generation(0, 0, 10)]
    assert resolve(known, [posted(10 + WINDOW_HOURS)]) == Resolution((0,), (), ())
    assert resolve(known, [posted(10 + WINDOW_HOURS + 0.001)]) == Resolution((1,), (1,), ())
    assert resolve(known, [posted(-WINDOW_HOURS)]) == Resolution((0,), (), ())
    assert resolve(known, [posted(-WINDOW_HOURS - 0.001)]) == Resolution((1,), (1,), ())


def test_part_that_closes_a_gap_joins_both_sides_under_the_lower_number():
    known = [generation(1, 0), generation(0, 80), generation(2, 500)]
    assert resolve(known, [posted(40)]) == Resolution((0,), (), ((1, 0),))


def test_generations_that_nothing_new_touches_stay_apart():
    # They may be nearer than the window by another setting of it; only parts decide.
    known = [generation(0, 0), generation(1, 1)]
    assert resolve(known, [posted(500)]) == Resolution((2,), (2,), ())


def test_numbers_of_public_ids_are_not_used_again():
    assert resolve([generation(0, 0)], [posted(500)], used=[1, 7]).numbers == (8,)


def test_parts_of_one_span_are_told_apart_oldest_first():
    outcome = resolve([], [posted(500), posted(0), posted(501)])
    assert outcome == Resolution((1, 0, 1), (0, 1), ())


def test_long_part_reaches_over_others():
    assert resolve([], [posted(0, 400), posted(10), posted(440)]).numbers == (0, 0, 0)


def test_endless_reposts_are_an_error_at_last():
    with pytest.raises(ValueError, match="generations"):
        resolve([generation(MAX_GENERATION, 0)], [posted(500)])


_SPANS = st.tuples(st.integers(0, 400), st.integers(0, 60)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


def together(parts: list[tuple[int, int]], batches: list[int]) -> set[frozenset[int]]:
    """Adds the parts one batch after another; returns which of them ended up together."""
    members: dict[int, set[int]] = {}
    taken: set[int] = set()
    at = 0
    for size in batches:
        batch = list(range(at, min(at + size, len(parts))))
        at += size
        if not batch:
            break
        existing = [
            Generation(
                number,
                posted(min(parts[one][0] for one in some), max(parts[one][1] for one in some)),
            )
            for number, some in members.items()
        ]
        outcome = resolve(existing, [posted(*parts[one]) for one in batch], used=taken)
        for one, number in zip(batch, outcome.numbers, strict=True):
            members.setdefault(number, set()).add(one)
        for loser, winner in outcome.merged:
            assert winner < loser
            members[winner] |= members.pop(loser)
            taken.add(loser)
        taken |= set(members)
    return {frozenset(some) for some in members.values()}


@given(st.lists(_SPANS, min_size=1, max_size=12), st.data())
def test_outcome_does_not_depend_on_order_or_batches(parts, data):
    order = data.draw(st.permutations(range(len(parts))))
    batches = data.draw(st.lists(st.integers(1, 5), min_size=len(parts), max_size=len(parts)))
    straight = together(parts, [1] * len(parts))
    shuffled = together([parts[at] for at in order], batches)
    assert {frozenset(order[one] for one in some) for some in shuffled} == straight
