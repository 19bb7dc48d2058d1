import dagster as dg
import pytest

from voyager_assets import partitions
from voyager_assets.partitions import add_stretches, runs_of


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def test_keys_are_added_once_and_keep_their_order(instance):
    first = ["b/000000", "b/000001", "a/000000"]
    assert add_stretches(instance, first) == 3
    assert add_stretches(instance, [*first, "a/000001", "a/000001"]) == 1
    assert instance.get_dynamic_partitions("stretch") == [*first, "a/000001"]


def test_more_keys_than_one_call_takes_are_added_in_parts(instance, monkeypatch):
    monkeypatch.setattr(partitions, "MOST_KEYS_PER_CALL", 10)
    sizes = []
    add = type(instance).add_dynamic_partitions
    monkeypatch.setattr(
        type(instance),
        "add_dynamic_partitions",
        lambda self, name, keys: (sizes.append(len(keys)), add(self, name, keys))[1],
    )
    keys = [f"a/{number:06d}" for number in range(25)]
    assert add_stretches(instance, keys) == 25
    assert sizes == [10, 10, 5]
    assert instance.get_dynamic_partitions("stretch") == keys


def test_runs_end_at_a_group_a_hole_and_the_most_keys():
    known = ["a/000000", "a/000001", "a/000002", "b/000000", "b/000001", "a/000003"]
    wanted = ["a/000000", "a/000001", "a/000002", "a/000003", "b/000000", "b/000001"]
    assert [run[2] for run in runs_of(wanted, known, most=2)] == [
        ["a/000000", "a/000001"],
        ["a/000002"],
        ["a/000003"],
        ["b/000000", "b/000001"],
    ]


def test_a_run_never_covers_a_key_that_was_not_wanted():
    # Dagster takes everything between the two keys in the order of addition.
    known = ["a/000000", "b/000000", "a/000001"]
    for first, last, keys in runs_of(["a/000000", "a/000001"], known, most=4):
        covered = known[known.index(first) : known.index(last) + 1]
        assert covered == keys


def test_unknown_keys_are_left_out():
    assert list(runs_of(["x/000009"], ["a/000000"], most=4)) == []
