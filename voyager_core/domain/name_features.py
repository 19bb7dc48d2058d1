"""What names show: a set of bits for each, by the table of `category_words`.

The forms that need a pattern are asked only of the names in which they can matter.
"""

from functools import lru_cache

from voyager_core.domain.attribute_words import LANGUAGES, RESOLUTIONS, SOURCES, WIDTHS
from voyager_core.domain.category_words import (
    BRACKET_SHAPES,
    FEATURES,
    GAME_GROUP_NAMES,
    PLAIN_SHAPES,
    SHAPES,
)

GAME_GROUPS = frozenset(GAME_GROUP_NAMES.split())

MARKS = ("season", "episode", "dated")
"""Forms that say of what an `episodes.Episode` tells."""

_WORDS = tuple(FEATURES)
_FORMS = (*SHAPES, *BRACKET_SHAPES, *PLAIN_SHAPES, *MARKS, "game_group", "anime_group")
BITS: dict[str, int] = {
    **{name: place for place, name in enumerate(_WORDS)},
    **{name: 64 + place for place, name in enumerate(_FORMS)},
}
"""The bit of every feature; those of words are below 64, those of forms from 64 on."""

MOST_CHARACTERS = 400
"""What is looked at of a name: subjects may be 64 KB long."""

ANIME_GROUP = r"-ANi[A-Za-z0-9]*$"
TEAM = r"-([a-z0-9_]+)$"
SHOWN = sum(1 << BITS[name] for name in ("codec", "resolution"))


@lru_cache(maxsize=1)
def word_table() -> dict[str, list[int]]:
    """Returns the plain texts of all words with four sets of bits each.

    They are those of features (`BITS`), of resolutions (the highest is bit 0), of sources and of
    languages.
    """
    heights = [
        f"{height}p {height}i {height}p50 {height}p60 {WIDTHS.get(height, '')}"
        for height in RESOLUTIONS[::-1]
    ]
    listed = (FEATURES.values(), heights, SOURCES.values(), LANGUAGES.values())
    bits: dict[str, list[int]] = {}
    for column, groups in enumerate(listed):
        for place, words in enumerate(groups):
            for word in words.split():
                for spelt in spellings(word):
                    bits.setdefault(spelt, [0] * len(listed))[column] |= 1 << place
    return bits


def spellings(word: str) -> list[str]:
    """Returns the plain texts that a word of the table stands for."""
    texts = [word.replace("_", " ")]
    while any("~" in text for text in texts):
        texts = [text.replace("~", joint, 1) for text in texts for joint in ("", " ")]
    if word.endswith("#"):
        return [f" {text[:-1]}{digit}" for text in texts for digit in range(10)]
    return [f" {text} " for text in texts]
