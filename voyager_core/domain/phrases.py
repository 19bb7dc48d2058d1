"""Whether names that were found by the hashes of their words hold the words themselves.

A name of plain letters shows it at a glance; taking names apart takes forty times as long.
"""

import re
from collections.abc import Callable

from voyager_core.domain.tokens import (
    OPTIONAL_WORDS,
    PAIRS,
    QueryTerms,
    matches,
)

_JOINED = frozenset(word for pair, joined in PAIRS.items() for word in (*pair, joined))
_PLAIN = re.compile(r"[a-z0-9]+")
# Half of a season and episode, which are one word when they stand side by side.
_HALF = re.compile(r"s(?:\d\d|\d{4})|e\d{2,3}|s(?:\d\d|\d{4})e\d{2,3}")


def checker_of(terms: QueryTerms) -> Callable[[str], bool]:
    """Returns what tells whether a name is what the terms ask for.

    The name is one that the hashes of all required words, and of no excluded ones, led to.
    """
    required = terms.required
    runs = [_pattern(run) for run in terms.phrases]

    def fits(name: str) -> bool:
        text = name.lower()
        if not all(any(word in text for word in group) for group in required):
            return matches(name, terms)
        if not runs:
            return True
        if None in runs or not text.isascii() or "'" in text or "`" in text:
            return matches(name, terms)
        return all(run is not None and run.search(text) is not None for run in runs)

    return fits


def _pattern(run: tuple[str, ...]) -> re.Pattern[str] | None:
    """Returns how a run stands in a plain name; None when words of it may be joined to others."""
    if any(word in _JOINED or _HALF.fullmatch(word) or not _PLAIN.fullmatch(word) for word in run):
        return None
    between = rf"[^a-z0-9]+(?:(?:{'|'.join(sorted(OPTIONAL_WORDS))})[^a-z0-9]+)*"
    return re.compile(rf"(?<![a-z0-9]){between.join(run)}(?![a-z0-9])")
