"""The rule set: what the header pass leaves out of the catalog, under names that are counted.

A rule set is data. Its number is what people and the ledger speak of, its digest what tells
that two of the same number are not the same; a changed rule makes the ranges stale in which
it counted something.
"""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache

from voyager_core.domain.categories import CATEGORIES_VERSION
from voyager_core.domain.names import NAMES_VERSION

BLOCKED = "blocked"
"""Names that hint at the abuse of minors: counted, never stored, never sampled."""
DISGUISED_PROGRAM = "disguised_program"
"""Programs under a media name (`Film.mkv.exe`)."""
REPOST_REMNANT = "repost_remnant"
"""Single articles of a file sent twice (a retry of the poster), while the file itself is there."""

DROP_RULES = (BLOCKED, DISGUISED_PROGRAM, REPOST_REMNANT)
"""What drops files, the first that matches, in this order."""

UNSAMPLED = frozenset({BLOCKED})
"""Rules of which no sample is kept."""

# SHA-256 prefixes of lower-case words, so that the words themselves stand nowhere.
_BLOCKED_DIGESTS = frozenset(
    {
        "16f64adc72ca7660",
        "3011afcf6014f73e",
        "3272065f6d7a331f",
        "3f17c7fcf72f9210",
        "6593198799afe0cf",
        "82e695c9e75f5bc6",
        "9e508bbc832ead5f",
        "b5493c1682d6eb8c",
        "c14d290790d02126",
    }
)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything that decides what is kept.

    Attributes:
        version: the number that ranges record; raised with every change.
        dropped: names of the rules that are in force.
        blocked_digests: 16 hex characters of the SHA-256 of each blocked word.
        remnant_share: a second copy with at most this share of a file's parts is a remnant.
        sample_share: share of what a rule drops that is kept as samples.
        names_version: of the rules about random names.
        categories_version: of the category rules.
    """

    version: int = 1
    dropped: tuple[str, ...] = DROP_RULES
    blocked_digests: frozenset[str] = _BLOCKED_DIGESTS
    remnant_share: float = 0.1
    sample_share: float = 0.01
    names_version: int = NAMES_VERSION
    categories_version: int = CATEGORIES_VERSION

    def __post_init__(self) -> None:
        """Refuses shares that are none and rules that do not exist."""
        if not (0 <= self.remnant_share < 1 and 0 <= self.sample_share <= 1):
            msg = f"shares lie between 0 and 1: {self.remnant_share}, {self.sample_share}"
            raise ValueError(msg)
        unknown = [rule for rule in self.dropped if rule not in DROP_RULES]
        if unknown:
            msg = f"no such rule: {', '.join(unknown)} (there are {', '.join(DROP_RULES)})"
            raise ValueError(msg)

    def content(self) -> dict[str, object]:
        """Returns the rule set as JSON takes it, without its number."""
        content: dict[str, object] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name != "version":
                content[each.name] = sorted(value) if isinstance(value, frozenset) else value
        content["dropped"] = list(self.dropped)
        return content

    @property
    def digest(self) -> str:
        """The SHA-256 of the content: the same rules have it, whatever their number."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def is_blocked_word(self, word: str) -> bool:
        """Tells whether a word in lower case is blocked."""
        return _digest(word) in self.blocked_digests


@lru_cache(maxsize=65536)
def _digest(word: str) -> str:
    return hashlib.sha256(word.encode("utf-8", "replace")).hexdigest()[:16]
