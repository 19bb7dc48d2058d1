"""Parts of a release add up to the same whatever their order and grouping."""

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from voyager_core.catalog.parts import (
    INT4_MAX,
    Facts,
    Naming,
    add_up,
    signed,
    unsigned,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
_small = st.one_of(st.none(), st.integers(0, 40))

_namings = st.builds(
    Naming,
    is_readable=st.booleans(),
    name=st.sampled_from(["", "a", "b", "é"]),
    category=st.integers(0, 3),
    season=_small,
    season_last=_small,
    episode=_small,
    episode_last=_small,
    aired_on=st.one_of(st.none(), st.dates(date(2020, 1, 1), date(2020, 1, 3))),
    year=_small,
    tok=st.lists(st.integers(-2, 2), max_size=2).map(tuple),
)
_times = st.integers(0, 5).map(lambda hours: START + timedelta(hours=hours))
_facts = st.builds(
    Facts,
    naming=_namings,
    newsgroup_id=st.integers(1, 3),
    group_ids=st.sets(st.integers(1, 4), max_size=3).map(lambda some: tuple(sorted(some))),
    poster=st.sampled_from([None, "a", "b"]),
    posted_at=_times,
    last_posted_at=_times,
    files=st.integers(0, 9),
    files_expected=_small,
    segments=st.integers(0, 9),
    segments_expected=_small,
    size_bytes=st.integers(0, 9),
    has_par2=st.booleans(),
)


@given(st.lists(_facts, min_size=1, max_size=5), st.data())
def test_order_and_grouping_play_no_role(facts, data):
    order = data.draw(st.permutations(facts))
    cut = data.draw(st.integers(1, len(facts)))
    grouped = [add_up(order[:cut]), *order[cut:]]
    assert add_up(grouped) == add_up(facts)


def facts(**values) -> Facts:
    row = {
        "naming": Naming(is_readable=True, name="Name", category=5040),
        "newsgroup_id": 1,
        "group_ids": (1,),
        "poster": "a",
        "posted_at": START,
        "last_posted_at": START,
        "files": 1,
        "files_expected": None,
        "segments": 5,
        "segments_expected": None,
        "size_bytes": 10,
        "has_par2": False,
    }
    return Facts(**(row | values))


def test_readable_name_wins():
    unreadable = Naming(is_readable=False, name="0", category=8020)
    both = add_up([facts(naming=unreadable), facts()])
    assert both.naming.name == "Name"


def test_poster_stays_only_when_it_is_the_same_for_all():
    assert add_up([facts(), facts()]).poster == "a"
    assert add_up([facts(), facts(poster="b"), facts()]).poster is None
    assert add_up([facts(), facts(poster=None)]).poster is None


def test_expected_counts_of_those_that_announce_them():
    both = add_up([facts(files_expected=9, segments_expected=50), facts(), facts(files_expected=8)])
    assert (both.files_expected, both.segments_expected) == (9, 50)
    assert (both.files, both.segments, both.size_bytes) == (3, 15, 30)


def test_sums_stop_at_what_the_columns_hold():
    assert add_up([facts(files=INT4_MAX), facts(files=5)]).files == INT4_MAX


@given(st.integers(0, (1 << 64) - 1))
def test_keys_keep_their_bits(key):
    assert -(1 << 63) <= signed(key) < 1 << 63
    assert unsigned(signed(key)) == key
