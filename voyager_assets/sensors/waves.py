"""Runs over stretches in waves: a few at a time, so that the queue stays short and in order."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

import dagster as dg

from voyager_assets.automation import PARTITIONS_PER_RUN, STRETCHES_TAG, unfinished_runs
from voyager_assets.partitions import runs_of, stretches
from voyager_core.domain.ranges import parse_partition_key, partition_key

# Runs that are queued or under way at a time.
MOST_RUNS = 8
# A stretch that still has work after its run waits before the next one.
FIRST_WAIT = timedelta(minutes=2)
LONGEST_WAIT = timedelta(hours=6)

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A stretch with work.

    Attributes:
        group: the newsgroup.
        index: the stretch's number in the group.
        work: how much there is, in article numbers or ranges.
        alone: whether it should not wait for neighbours in its run.
    """

    group: str
    index: int
    work: int
    alone: bool = False

    @property
    def key(self) -> str:
        """The partition key."""
        return partition_key(self.group, self.index)


@dataclass(frozen=True, slots=True)
class Tried:
    """When a stretch was last asked for, how often without progress, and what was left."""

    at: datetime
    times: int
    work: int


def read_cursor(cursor: str | None) -> dict[str, Tried]:
    """Returns what a sensor remembers; nothing when the cursor cannot be read."""
    try:
        entries = json.loads(cursor or "{}")
        return {
            str(key): Tried(datetime.fromisoformat(at), int(times), int(work))
            for key, (at, times, work) in entries.items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}


def write_cursor(tried: Mapping[str, Tried]) -> str:
    """Returns what a sensor should remember, as text."""
    return json.dumps({key: [t.at.isoformat(), t.times, t.work] for key, t in tried.items()})


def choose(
    wanted: Sequence[Wanted], tried: Mapping[str, Tried], *, now: datetime
) -> tuple[list[Wanted], dict[str, Tried]]:
    """Returns the stretches to ask for now, and what to remember of the others.

    A stretch whose work became less since it was asked for is asked for again at once; one
    that made no progress waits, twice as long each time. Stretches without work are forgotten.
    """
    ready: list[Wanted] = []
    kept: dict[str, Tried] = {}
    for each in wanted:
        before = tried.get(each.key)
        if before is None or each.work < before.work:
            ready.append(each)
            continue
        kept[each.key] = before
        if now >= before.at + min(FIRST_WAIT * 2 ** (before.times - 1), LONGEST_WAIT):
            ready.append(each)
    return ready, kept


def under_way(instance: dg.DagsterInstance, known: Sequence[str]) -> tuple[int, set[str]]:
    """Returns how many runs over stretches are queued or running, and what they cover.

    Runs of a backfill that a person started count as well.
    """
    place = {key: number for number, key in enumerate(known)}
    covered: set[str] = set()
    runs = 0
    for run in unfinished_runs(instance):
        single = run.tags.get("dagster/partition")
        first, last = run.tags.get(RANGE_START, single), run.tags.get(RANGE_END, single)
        if first in place and last in place:
            runs += 1
            covered.update(known[place[first] : place[last] + 1])
    return runs, covered


def known_stretches(instance: dg.DagsterInstance) -> Sequence[str]:
    """Returns every partition key, in the order in which they were added."""
    return instance.get_dynamic_partitions(stretches.name or "")


def requests(
    ready: Sequence[Wanted],
    known: Sequence[str],
    *,
    most: int,
    tags: Mapping[str, str],
    run_config: Mapping[str, object] | None = None,
) -> Iterator[tuple[list[str], dg.RunRequest]]:
    """Yields `(keys, request)` for at most `most` runs; neighbours share one.

    Args:
        ready: the stretches, most urgent first.
        known: every partition key, in the order of addition.
        most: runs to ask for.
        tags: tags of each run.
        run_config: configuration of each run.
    """
    runs = (
        run for block in neighbours(ready) for run in runs_of(block, known, most=PARTITIONS_PER_RUN)
    )
    for first, last, covered in islice(runs, max(0, most)):
        places = {RANGE_START: first, RANGE_END: last, STRETCHES_TAG: _span_text(covered)}
        request = dg.RunRequest(run_key=None, tags={**tags, **places}, run_config=run_config)
        yield covered, request


def _span_text(keys: Sequence[str]) -> str:
    """Returns neighbours as the list of runs has room for: `a.b.boneless/4-7`."""
    group, first = parse_partition_key(keys[0])
    _, last = parse_partition_key(keys[-1])
    name = re.sub(r"^alt\.binaries\.", "a.b.", group)
    return f"{name}/{first}" if first == last else f"{name}/{first}-{last}"


def neighbours(ready: Sequence[Wanted]) -> Iterator[list[str]]:
    """Yields keys that may share a run, in order; the most urgent of them decides when."""
    blocks: dict[tuple[str, int, int], list[Wanted]] = {}
    for each in ready:
        block = each.index // PARTITIONS_PER_RUN
        blocks.setdefault((each.group, block, each.index if each.alone else -1), []).append(each)
    for members in blocks.values():
        yield [each.key for each in sorted(members, key=lambda each: each.index)]
