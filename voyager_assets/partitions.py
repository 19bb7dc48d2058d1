"""Stretches of newsgroups as Dagster partitions.

A partition is a stretch: consecutive ranges of one group, with a key such as
`alt.binaries.x/000012`. The range ledger in Postgres stays the truth about what is indexed;
Dagster only knows the keys.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from voyager_core.domain.ranges import parse_partition_key

stretches = dg.DynamicPartitionsDefinition(name="stretch")

# Dagster's documented limit of keys in one addition.
MOST_KEYS_PER_CALL = 25_000


def add_stretches(instance: dg.DagsterInstance, keys: Sequence[str]) -> int:
    """Adds the keys that Dagster does not know yet, in the given order; returns how many.

    The order is kept because a selection of partitions from one key to another goes by the
    order in which they were added, so the keys of a group must come one after the other.
    """
    known = set(instance.get_dynamic_partitions(stretches.name or ""))
    new = [key for key in dict.fromkeys(keys) if key not in known]
    for start in range(0, len(new), MOST_KEYS_PER_CALL):
        instance.add_dynamic_partitions(
            stretches.name or "", new[start : start + MOST_KEYS_PER_CALL]
        )
    return len(new)


def runs_of(
    wanted: Sequence[str], known: Sequence[str], *, most: int
) -> Iterator[tuple[str, str, list[str]]]:
    """Yields `(first key, last key, keys)` of the runs that together cover the wanted stretches.

    One run covers a contiguous selection, and Dagster reads contiguous as neighbours in the order
    of addition; so a run ends where that order has another key in between, where the group
    changes and after `most` keys. Wanted keys that Dagster does not know are left out.

    Args:
        wanted: the keys to be covered, most urgent first.
        known: every key, in the order of addition.
        most: keys in one run at most.
    """
    place = {key: number for number, key in enumerate(known)}
    run: list[str] = []
    for key in wanted:
        if key not in place:
            continue
        follows = (
            run
            and len(run) < most
            and place[key] == place[run[-1]] + 1
            and parse_partition_key(key)[0] == parse_partition_key(run[-1])[0]
        )
        if run and not follows:
            yield run[0], run[-1], run
            run = []
        run.append(key)
    if run:
        yield run[0], run[-1], run
