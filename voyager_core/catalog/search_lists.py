"""Which lists of the index of words are worth reading.

Costs are measured against a release that a walk passes by, whose neighbours are at hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# An entry of the shortest list that is read, of another one that is compared with it, what is found
# in a longer list by leaping, and a release that lists lead to: it may have to come from the disk.
ENTRY_COST = 0.08
OTHER_COST = 0.008
_LEAP_COST = 2.0
INDEX_COST = 8.0


@dataclass(frozen=True, slots=True)
class Lists:
    """Which lists of an index are read.

    Attributes:
        words: places of the words whose lists are compared; the others are looked for in the
            releases that these lead to.
        by_place: whether the list of the place in a series is among them.
        cost: what reading them costs.
        found: about how many releases have all of them.
    """

    words: tuple[int, ...]
    by_place: bool
    cost: float
    found: float


def lists_of(shares: Sequence[float], releases: float, series: float | None = None) -> Lists:
    """Returns the lists that are worth reading, the shortest first.

    To look a release up in a long list costs as much as reading the release, so that the list of
    a common word is only read when it spares many releases.

    Args:
        shares: of the words.
        releases: how many releases there are.
        series: the share of the place in a series, when its list may be read.
    """
    lists = [(share, at) for at, share in enumerate(shares)]
    if series is not None:
        lists.append((series, -1))
    if not lists:
        return Lists((), by_place=False, cost=releases, found=releases)
    lists.sort()
    entries = releases * lists[0][0]
    cost, found, taken = entries * ENTRY_COST, entries, [lists[0][1]]
    for share, at in lists[1:]:
        # The words of a title go together, wherever in a series.
        is_apart = at < 0 or taken == [-1]
        kept = share if is_apart else share**0.5
        compared = min(entries * _LEAP_COST, releases * share * OTHER_COST)
        compared += entries * ENTRY_COST / 2
        if (entries if is_apart else found) * (1 - kept) * INDEX_COST > compared:
            cost, found = cost + compared, found * kept
            taken.append(at)
    words = tuple(sorted(at for at in taken if at >= 0))
    return Lists(words, -1 in taken, cost, found)
