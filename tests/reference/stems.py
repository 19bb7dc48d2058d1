"""Stems and kinds of file names, one pattern and one name at a time: the slow twin.

The tables are those of the rules themselves; what is repeated here is what is done with them.
"""

import re
import unicodedata
from typing import Any

from voyager_core.header_pass import stems

_IGNORED = re.IGNORECASE | re.ASCII
_ENDINGS = {
    name: re.compile(rf"(?:{pattern})\Z", _IGNORED) for name, pattern in stems.ENDINGS.items()
}
_PATTERNS = {
    name: re.compile(
        pattern.replace("(?i-u)", "").replace("$", r"\Z"), _IGNORED if "(?i-u)" in pattern else 0
    )
    for name, pattern in stems.PATTERNS.items()
}
_SEPARATORS = re.compile(r"(?:[._]|(?![\x1c-\x1f])\s)+")
"""Python counts four control characters among the blanks."""
_SPECIFIC_LENGTH = 8


def features_of(name: str) -> dict[str, Any]:
    """Returns what `stems.features` says of one name, without the numbers of its texts."""
    bare = name.strip(' "')
    plain = _cut(bare, "temporary")
    cut = bare
    starts = [found.start() for each in stems.VOLUMES if (found := _ENDINGS[each].search(bare))]
    if starts and min(starts):
        cut = bare[: min(starts)]
    for each in ["capitals_volume", *stems.CUTS]:
        cut = _cut(cut, each)
    shown = cut.strip(" \t._-") or cut
    stem = _SEPARATORS.sub(".", shown.lower())
    kinds = {
        kind: _ends_with_any(name, some) and not _ends_with_any(name, none)
        for kind, (some, none) in stems.KINDS_BY_ENDING.items()
    }
    kinds["_is_start"] |= kinds["_is_lone_archive"]
    return {
        "_shown": shown,
        "_stem": stem,
        "_is_member": _ends_with_any(plain, stems.MEMBERS),
        "_is_specific": _is_specific(stem) and not kinds["_is_track"],
        **kinds,
    }


def _cut(text: str, name: str) -> str:
    if name in _ENDINGS:
        left = _ENDINGS[name].sub("", text, count=1)
    else:
        pattern = _PATTERNS[name]
        left = pattern.sub(r"\1" if pattern.groups else "", text, count=1)
    return left or text


def _ends_with_any(text: str, names: list[str]) -> bool:
    return any((_ENDINGS.get(name) or _PATTERNS[name]).search(text) for name in names)


def _is_specific(stem: str) -> bool:
    return (
        re.search(rf"[a-z0-9]{{{_SPECIFIC_LENGTH}}}", stem) is not None
        or sum(map(_is_letter, stem)) >= _SPECIFIC_LENGTH
    )


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LN"
