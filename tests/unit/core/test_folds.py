"""Which releases are parts of one upload, and which are left apart."""

import random
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.folds import SESSION, SHATTER, Member, find_folds

START = datetime(2024, 5, 1, tzinfo=UTC)
_ids = count(1)


def member(indexes, total=10, minutes=0.0, **values):
    number = next(_ids)
    fields = {
        "release_id": number,
        "release_key": number * 7919 % 10_007,
        "group": "alt.binaries.test",
        "total": total,
        "indexes": frozenset(indexes),
        "files": len(list(indexes)),
        "stems": frozenset({f"stem{number}"}),
        "is_readable": False,
        "since": START + timedelta(minutes=minutes),
        "until": START + timedelta(minutes=minutes + 5),
    }
    return Member(**(fields | values))


def folded(members, rule):
    return sorted(
        sorted(each.release_id for each in (fold.winner, *fold.losers))
        for fold in find_folds(members, rule)
    )


def ids(*members):
    return sorted(each.release_id for each in members)


def test_halves_of_an_upload_are_one_session():
    one, other = member(range(1, 7)), member(range(7, 11), minutes=6)
    assert folded([other, one], SESSION) == [ids(one, other)]
    (fold,) = find_folds([one, other], SESSION)
    assert fold.winner == one


@pytest.mark.parametrize(
    "other",
    [
        member(range(8, 11), minutes=6),  # 7 is missing
        member(range(6, 11), minutes=6),  # 6 is there twice
        member(range(7, 11), total=11, minutes=6),
        member(range(7, 11), minutes=90),
        member(range(7, 11), minutes=6, is_readable=True),
        member(range(7, 11), minutes=6, group="alt.binaries.other"),
        member(range(7, 11), minutes=6, files=5),
        member(range(7, 11), minutes=6, tool="nyuu"),
        member(range(7, 11), minutes=6, volume=20),
    ],
)
def test_what_does_not_cover_all_is_no_session(other):
    assert folded([member(range(1, 7)), other], SESSION) == []


def test_single_files_in_a_row_are_one_session():
    members = [member([n], total=6, minutes=n) for n in range(1, 7)]
    assert folded(members, SESSION) == [ids(*members)]


def test_two_uploads_beside_each_other_are_told_apart_where_their_cuts_differ():
    one = [member(range(1, 5)), member(range(5, 11), minutes=5)]
    two = [member(range(1, 8)), member(range(8, 11), minutes=5)]
    assert folded([*one, *two], SESSION) == sorted([ids(*one), ids(*two)])


def test_two_uploads_cut_at_one_number_are_left_apart():
    members = [member(range(1, 5)), member(range(5, 11), minutes=5)]
    members += [member(range(1, 5)), member(range(5, 11), minutes=5)]
    assert folded(members, SESSION) == []


@pytest.mark.parametrize(("firsts", "seconds"), [(2, 1), (1, 2)])
def test_a_half_that_two_others_could_go_with_is_left_apart(firsts, seconds):
    begins = [member(range(1, 7)) for _ in range(firsts)]
    ends = [member(range(7, 11), minutes=6) for _ in range(seconds)]
    assert folded([*begins, *ends], SESSION) == []


def test_a_release_of_long_duration_is_near_what_was_posted_during_it():
    slow = member(range(1, 7), until=START + timedelta(minutes=60))
    quick, last = member(range(7, 9), minutes=10), member(range(9, 11), minutes=70)
    assert folded([slow, quick, last], SESSION) == [ids(slow, quick, last)]


def test_halves_far_apart_are_no_session_whatever_was_posted_between():
    first, last = member(range(1, 7)), member(range(7, 11), minutes=40)
    between = [member([3, 5], minutes=15), member([2, 8], minutes=30)]
    assert folded([first, *between, last], SESSION) == []


def test_two_files_are_too_few_to_be_taken_for_one_upload():
    assert folded([member([1], total=2), member([2], total=2, minutes=6)], SESSION) == []
    assert folded([member([1], total=3), member([2, 3], total=3, minutes=6)], SESSION)


def test_an_album_that_a_span_cut_is_one_session_of_its_poster():
    one = member(range(1, 7), is_readable=True, poster="p", volume=3)
    other = member(range(7, 11), minutes=6, is_readable=True, poster="p", volume=4)
    assert folded([one, other], SESSION) == [ids(one, other)]
    stranger = member(range(7, 11), minutes=6, is_readable=True, poster="q")
    assert folded([one, stranger], SESSION) == []


def test_a_flood_of_books_stays_apart():
    books = [member([n], minutes=n, is_readable=True, poster="p") for n in range(1, 11)]
    assert folded(books, SESSION) == []


def test_a_long_stem_is_one_upload_whatever_the_group():
    stem = frozenset({"kd83hgb72ndk38fhw93kd82h"})
    members = [
        member([n], minutes=200 * n, stems=stem, group=f"alt.binaries.g{n}") for n in (2, 5, 6)
    ]
    assert folded(members, SHATTER) == [ids(*members)]


@pytest.mark.parametrize(
    "values",
    [
        {"stems": frozenset({"short.stem"})},
        {"stems": frozenset({"kd83hgb72ndk38fhw93kd82h"}), "indexes": frozenset({2}), "files": 1},
        {"stems": frozenset({"another3hgb72ndk38fhw93kd82h"})},
        {"stems": frozenset({"kd83hgb72ndk38fhw93kd82h"}), "total": 11},
        {"stems": frozenset({"kd83hgb72ndk38fhw93kd82h"}), "minutes": 60 * 72},
        {"stems": frozenset({"kd83hgb72ndk38fhw93kd82h", "b"})},
    ],
)
def test_what_is_not_surely_of_the_stem_is_left_apart(values):
    stems = values.get("stems", frozenset())
    one = member([2], stems=frozenset({"short.stem"}) if "short.stem" in stems else stems)
    if stems == frozenset({"another3hgb72ndk38fhw93kd82h"}):
        one = member([2], stems=frozenset({"kd83hgb72ndk38fhw93kd82h"}))
    other = member(**({"indexes": frozenset({3})} | values))
    assert folded([one, other], SHATTER) == []


def test_a_name_in_two_groups_is_folded_only_when_it_covers_all():
    stem = frozenset({"great.show.s01e01.720p-grp"})
    part = member(range(1, 9), stems=stem, is_readable=True)
    rest = member(range(9, 11), stems=stem, is_readable=True, group="alt.binaries.other")
    assert folded([part, rest], SHATTER) == [ids(part, rest)]
    less = member([9], stems=stem, is_readable=True, group="alt.binaries.other")
    assert folded([part, less], SHATTER) == []


@given(st.lists(st.integers(1, 39), max_size=5, unique=True), st.randoms())
def test_the_order_of_releases_does_not_matter(cuts, chance):
    edges = [0, *sorted(cuts), 40]
    members = [
        member(range(low + 1, high + 1), total=40, minutes=low / 4, release_key=low)
        for low, high in pairwise(edges)
    ]
    members.append(member(range(3, 9), total=39))
    expected = folded(members, SESSION)
    assert expected == ([ids(*members[:-1])] if cuts else [])
    chance.shuffle(members)
    assert folded(members, SESSION) == expected
    random.Random(1).shuffle(members)
    assert folded(members, SESSION) == expected
