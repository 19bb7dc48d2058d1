"""Ranges of article numbers, the spans indexed within them, and partition keys."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PARTITION = re.compile(r"(?P<group>[^/\s]+)/(?P<index>\d{6,})")


@dataclass(frozen=True, slots=True)
class Span:
    """Article numbers `low … high` (both included) of a group, indexed in one transaction."""

    group: str
    low: int
    high: int

    def __post_init__(self) -> None:
        """Refuses a span that cannot exist."""
        if self.low < 1 or self.high < self.low:
            msg = f"no span of article numbers: {self.group} {self.low}-{self.high}"
            raise ValueError(msg)

    def __str__(self) -> str:
        """Returns `group low-high`, as log lines show it."""
        return f"{self.group} {self.low}-{self.high}"

    @property
    def size(self) -> int:
        """How many article numbers the span covers."""
        return self.high - self.low + 1


def range_low(number: int, *, size: int) -> int:
    """Returns the first number of the range that holds an article number (k·size + 1)."""
    return (number - 1) // size * size + 1


def range_bounds(index: int, *, size: int) -> tuple[int, int]:
    """Returns the first and last number of the range with this index (from 0)."""
    return index * size + 1, (index + 1) * size


def ranges_between(low: int, high: int, *, size: int) -> Iterator[tuple[int, int]]:
    """Yields the aligned ranges that touch the numbers `low … high`, oldest first."""
    for start in range(range_low(max(low, 1), size=size), high + 1, size):
        yield start, start + size - 1


def blocks_of(span: Span, *, block_size: int) -> Iterator[Span]:
    """Yields the parts of a span that one overview command asks for.

    Blocks are aligned to the block size, so that a span that grows at its end
    keeps the blocks that were fetched already.
    """
    low = span.low
    while low <= span.high:
        high = min((low - 1) // block_size * block_size + block_size, span.high)
        yield Span(span.group, low, high)
        low = high + 1


def partition_key(group: str, index: int) -> str:
    """Returns the Dagster partition key of a group's stretch, such as `alt.binaries.x/000012`."""
    return f"{group}/{index:06d}"


def parse_partition_key(key: str) -> tuple[str, int]:
    """Returns the group and the stretch index of a partition key.

    Raises:
        ValueError: the text is no partition key.
    """
    match = _PARTITION.fullmatch(key)
    if match is None:
        msg = f"not a partition key: {key!r} (expected group/000012)"
        raise ValueError(msg)
    return match["group"], int(match["index"])


def stretch_of(low: int, *, size: int, ranges_per_partition: int) -> int:
    """Returns the index of the stretch that holds the range starting at `low`."""
    return (low - 1) // size // ranges_per_partition
