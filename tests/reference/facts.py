"""What one name says, slowly: the twin of what the native core says of columns of names.

The tables of words and patterns are the same; they are asked one name at a time, and the place in a
series is always read thoroughly.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from voyager_core.domain import attributes
from voyager_core.domain.attribute_words import LANGUAGES, RESOLUTIONS, SOURCES
from voyager_core.domain.categories import category_from
from voyager_core.domain.category_names import HASHED
from voyager_core.domain.category_words import BRACKET_SHAPES, PLAIN_SHAPES, SHAPES
from voyager_core.domain.episodes import Episode, parse_thoroughly
from voyager_core.domain.name_features import (
    ANIME_GROUP,
    BITS,
    GAME_GROUPS,
    MARKS,
    MOST_CHARACTERS,
    SHOWN,
    TEAM,
    word_table,
)
from voyager_core.domain.names import is_readable_name

_NOTHING = (None,) * 10
_COLUMN_BITS = 64
_SOURCES, _LANGUAGES, _HEIGHTS = tuple(SOURCES), tuple(LANGUAGES), RESOLUTIONS[::-1]


_PLAIN = bytes(
    byte if 48 <= byte < 58 or 97 <= byte < 123 or byte == 0 else 32
    for byte in (upper + 32 if 65 <= upper < 91 else upper for upper in range(256))
)


def compiled(pattern: str) -> re.Pattern[str]:
    """Returns a pattern of the columns as Python reads it."""
    # `$` of the columns is the very end, never before a last line break.
    return re.compile(pattern.replace("$", r"\Z"))


_AFTER_TITLE = compiled(attributes.AFTER_TITLE)
_ENDING, _REPOSTED = compiled(attributes.ENDING), compiled(attributes.REPOSTED)
_NO_TEAM = compiled(attributes.NO_TEAM)
_FRAMED, _IN_FRONT = compiled(attributes.FRAMED), compiled(attributes.IN_FRONT)
_AFTER_HYPHEN = compiled(attributes.AFTER_HYPHEN)
_LAST_IN_BRACKETS = compiled(attributes.LAST_IN_BRACKETS)


def facts_of_one(name: str, group: str, *, last_year: int) -> tuple[object, ...]:
    """Returns the facts of a name in the order of `FACTS`."""
    if not is_readable_name(name):
        return (False, HASHED, *_NOTHING)
    episode = parse_episode(name)
    cut = name[:MOST_CHARACTERS]
    text = plain_text(cut)
    words = word_bits(text)
    marks = (
        episode.season is not None,
        episode.episode is not None,
        episode.air_date is not None,
    )
    kind = feature_bits(cut, words, marks)
    resolution, source = (words >> at * _COLUMN_BITS & _MOST for at in (1, 2))
    year = episode.year
    return (
        True,
        category_from(kind, group),
        episode.season,
        episode.season_last,
        episode.episode,
        episode.episode_last,
        episode.air_date,
        year if year is None or year <= last_year else None,
        _HEIGHTS[_lowest(resolution)] if resolution else None,
        _SOURCES[_lowest(source)] if source else None,
        _language(text, words >> 3 * _COLUMN_BITS),
        _team(cut),
    )


# No pattern of an ending takes more characters.
_LONGEST_END = 48
_MOST = (1 << _COLUMN_BITS) - 1


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _language(text: str, heard: int) -> str | None:
    if not heard:
        return None
    after = _AFTER_TITLE.search(text)
    if after:
        heard = word_bits(after[1]) >> 3 * _COLUMN_BITS
    return _languages(heard)


@lru_cache(maxsize=4096)
def _languages(bits: int) -> str | None:
    names = [name for place, name in enumerate(_LANGUAGES) if bits >> place & 1]
    return attributes.SEPARATOR.join(names) or None


def _team(name: str) -> str | None:
    bare = _without_end(_ENDING, name).strip(" ")
    cut = _without_end(_REPOSTED, _without_end(_REPOSTED, bare))
    found = (
        _IN_FRONT.match(bare),
        _AFTER_HYPHEN.search(cut, max(0, len(cut) - _LONGEST_END)),
        _FRAMED.search(bare, max(0, len(bare) - _LONGEST_END)),
        _LAST_IN_BRACKETS.search(cut) if cut.endswith((")", "]")) else None,
    )
    return next((match[1] for match in found if match and not _NO_TEAM.search(match[1])), None)


def _without_end(pattern: re.Pattern[str], name: str) -> str:
    match = pattern.search(name, max(0, len(name) - _LONGEST_END))
    return name[: match.start()] if match else name


def parse_episode(name: str) -> Episode:
    """Returns season, episode, air date and year of a release name."""
    return parse_thoroughly(name[:512], is_dated=True)


def category_of(name: str, *, group: str = "") -> int:
    """Returns the category of a release by its name, or else by its newsgroup."""
    category = facts_of_one(name, group, last_year=9999)[1]
    assert isinstance(category, int)
    return category


def plain_text(name: str) -> str:
    """Returns one name in plain form."""
    text = name.replace("\0", " ").encode("utf-8", "replace").translate(_PLAIN)
    return f" {text.decode('ascii')} "


def word_bits(text: str) -> int:
    """Returns the bits of the words of one plain text, the columns side by side."""
    alone, together = _lookup()
    bits = 0
    for word in text.split():
        bits |= alone.get(word, 0)
        for pattern, more in together.get(word, ()):
            if pattern in text:
                bits |= more
    return bits


def feature_bits(name: str, words: int, marks: Sequence[bool]) -> int:
    """Returns the features of one name as one number, with the bits of `BITS`.

    Args:
        name: the name.
        words: what `word_bits` says of it.
        marks: whether it has a season, an episode and a date.
    """
    name = name[:MOST_CHARACTERS]
    lower = name.lower()
    shapes, bracketed, silent = _compiled_shapes()
    if lower.startswith("["):
        shapes = shapes + bracketed
    if not words & SHOWN:
        shapes = shapes + silent
    bits = words % (1 << 64)
    for pattern, bit in shapes:
        if pattern.search(lower):
            bits |= bit
    for mark, holds in zip(MARKS, marks, strict=True):
        bits |= holds << BITS[mark]
    team = _TEAM_ALONE.search(lower)
    bits |= bool(team and team[1] in GAME_GROUPS) << BITS["game_group"]
    return bits | bool(_ANIME_GROUP_ALONE.search(name)) << BITS["anime_group"]


_TEAM_ALONE, _ANIME_GROUP_ALONE = compiled(TEAM), compiled(ANIME_GROUP)


@lru_cache(maxsize=1)
def _compiled_shapes() -> list[list[tuple[re.Pattern[str], int]]]:
    return [
        [(compiled(pattern), 1 << BITS[name]) for name, pattern in shapes.items()]
        for shapes in (SHAPES, BRACKET_SHAPES, PLAIN_SHAPES)
    ]


@lru_cache(maxsize=1)
def _lookup() -> tuple[dict[str, int], dict[str, list[tuple[str, int]]]]:
    """Returns the words that stand alone, and longer patterns by their first word."""
    alone: dict[str, int] = {}
    together: dict[str, list[tuple[str, int]]] = {}
    for pattern, columns in word_table().items():
        bits = sum(value << 64 * column for column, value in enumerate(columns))
        words = pattern.split()
        if len(words) == 1 and pattern.endswith(" "):
            alone[words[0]] = bits
        else:
            together.setdefault(words[0], []).append((pattern, bits))
    return alone, together
