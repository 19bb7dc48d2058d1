"""Newznab categories: their numbers and names, and the one that a release name asks for.

The numbers are the standard ones of the protocol. A release gets one category, by the
first row of `category_rules` that fits its name; the class of the picture (SD, HD, UHD) is
preferred to source and codec, because that is what clients ask for by default.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from voyager_core.domain.category_names import MISC
from voyager_core.domain.category_rules import ROWS, WEAK_ROWS, Row
from voyager_core.domain.category_words import GROUP_HINTS
from voyager_core.domain.name_features import BITS


@lru_cache(maxsize=65536)
def category_from(features: int, group: str) -> int:
    """Returns the category of a readable name with these features (bits of `BITS`)."""
    return (
        _first(_STRONG, features)
        or next((number for pattern, number in _HINTS if pattern.search(group)), 0)
        or _first(_WEAK, features)
        or MISC
    )


def _first(rows: Sequence[tuple[int, int, int, int]], features: int) -> int:
    for category, every, some, without in rows:
        if features & every == every and (not some or features & some) and not features & without:
            return category
    return 0


def _masks(row: Row) -> tuple[int, int, int, int]:
    every, some, without = (
        sum(1 << BITS[name] for name in set(listed.split())) for listed in row[1:]
    )
    return row.category, every, some, without


_STRONG = [_masks(row) for row in ROWS]
_WEAK = [_masks(row) for row in WEAK_ROWS]
_HINTS = [(re.compile(pattern), number) for pattern, number in GROUP_HINTS]
