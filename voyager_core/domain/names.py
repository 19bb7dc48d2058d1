"""What a name is worth: random or readable, and which of several names a release gets."""

import re
from collections.abc import Iterable
from functools import lru_cache

NAMES_VERSION = 1
"""Raised with every change that calls other names random or chooses other names."""

# How surprising a letter is after another, in bits (9 for nine and more): rows are the start
# of a word and a-z, columns a-z and the end. Counted over 135,000 words of 20 European languages.
_SURPRISE = (
    "344444454544444364345456659",
    "554487565653427583435578662",
    "266727673673763773563777573",
    "285738823645762785644788653",
    "277627772676753685564678652",
    "564456575654427582346676762",
    "366634662664662674554767673",
    "367627553765643773553777672",
    "277627763665653775644667672",
    "454545577654424674336577752",
    "266526664655653666453666662",
    "276737763754752784444668672",
    "277527672663663787544688583",
    "247627773776463387664778773",
    "375336373666754888435689572",
    "655466576654426482345458752",
    "276736763764762472544778673",
    "555555555555555555552555552",
    "266527673756553785444678662",
    "374737753745664587424779652",
    "287827862866763894544778572",
    "455546574553436483336677653",
    "266627772666753775565677573",
    "265636653666654665565666462",
    "454535553555555355535555552",
    "354546565555444475445657662",
    "266527663665544676654657453",
)
_START_ROW = 0
_END_COLUMN = 26

_SEPARATED = re.compile(r"[^\W_]+")
_RUN = re.compile(r"[A-Za-z]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HEX_RUN = re.compile(r"(?<![g-zG-Z])(?:[0-9a-f][.]?){28,}(?![g-zG-Z])|(?:[0-9A-F]){28,}")
_HEX_TOKEN = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{10,}|(?=.*[0-9])[0-9A-F]{16,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_OBFUSCATED_PREFIX = re.compile(r"abc\.xyz(?:\.|$)", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+(?:[-._ ]\d+){2,}")
_MARK = re.compile(
    r"(?<![A-Za-z0-9])(?:s\d{1,4}(?:e\d{1,4})+|\d{1,4}x\d{1,4}|(?:480|540|576|720|1080|2160)[pi]"
    r"|[xh][. ]?26[45]|xvid|divx|dvd-?rip|blu-?ray|hdtv|web-?(?:dl|rip)|bdrip|flac|mp3"
    r"|ep?-?\d{1,4})"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![A-Za-z0-9])(?:19|20)\d\d(?![A-Za-z0-9])")
_EXTENSION = re.compile(
    r"\.(?:par2|rar|zip|7z|[r-z]\d{2,3}|part\d+|vol\d+[+-]\d+|\d{2,3}|nfo|sfv|nzb|srr|mkv|mp4|m4v"
    r"|avi|wmv|mov|mpe?g|ts|m2ts|iso|bin|img|mp3|flac|m4a|epub|pdf|jpe?g|png|txt|exe)$",
    re.IGNORECASE,
)
_FULL_OF_DOTS = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9][\w'()&+,!.-]{7,}-[A-Za-z0-9_]{2,}(?![A-Za-z0-9])"
)
_PRESENTS = re.compile(r"^.*?(?:uploader[. _])?presents[-. _:]+", re.IGNORECASE)
_CAPITALS = re.compile(r"[A-Z].*[A-Z].*[A-Z]")


def surprise(word: str) -> float:
    """Returns how unlike a word a run of ASCII letters is: mean bits a letter, 3 to 4 for words."""
    row, total = _SURPRISE[_START_ROW], 0
    for char in word.lower():
        column = ord(char) - 97
        total += ord(row[column]) - 48
        row = _SURPRISE[column + 1]
    return (total + ord(row[_END_COLUMN]) - 48) / (len(word) + 1)


def is_random_name(names: Iterable[str]) -> list[bool]:
    """Tells for each name whether it says nothing about the content."""
    return [not is_readable_name(name) for name in names]


@lru_cache(maxsize=65536)
def is_readable_name(name: str) -> bool:
    """Tells whether a name says something about the content to a person.

    A doubtful name counts as readable when it holds a word, an episode or a resolution: a
    readable name called random hides a release, the reverse only shows a useless one.
    """
    name = name[:400].rstrip("\"'” ")
    while (cut := _EXTENSION.sub("", name)) != name:
        name = cut
    if _HEX_RUN.search(name) or _UUID.search(name) or _OBFUSCATED_PREFIX.match(name):
        return False
    if _MARK.search(name) or _NUMBERS.fullmatch(name):
        return True
    tokens = _SEPARATED.findall(name)
    if sum(_foreign_letters(token) for token in tokens) > 1:
        return True
    words = [word for token in tokens for word in _words_of(token, alone=len(tokens) == 1)]
    if _YEAR.search(name) and (words or sum(token.isalpha() for token in tokens) > 1):
        return True
    return any(len(word) > 3 for word in words) or tokens == words != []


def scene_name(text: str) -> str:
    """Returns the release name in scene form inside a text, or nothing.

    Such a name has no blanks, three or more parts, and a group after its last hyphen; two
    parts are enough before a group in capitals.
    """
    best = ""
    hyphens = text.count("-")
    if not hyphens or (hyphens < 3 and "." not in text and "_" not in text):
        return best
    if "presents" in text.casefold():
        text = _PRESENTS.sub("", text)
    for match in _FULL_OF_DOTS.finditer(text):
        name = match[0].strip("-._,")
        parts = [part for part in re.split(r"[._]", name) if part]
        pieces = [part for part in name.split("-") if part]
        is_name = len(parts) > 2 or len(pieces) > 3
        is_name = is_name or (len(parts) == 2 and _CAPITALS.search(pieces[-1]) is not None)
        if is_name and "www." not in name.lower():
            best = max(best, name, key=len)
    return best if best and is_readable_name(best) else ""


def best_name(request: str, head: str, stem: str, *, is_shared_stem: bool, tail: str = "") -> str:
    """Returns the name of a release out of what its subjects offer.

    Args:
        request: the name between the brackets of a request post.
        head: the text before the file counter.
        stem: the common name of the archive, or of the biggest file.
        is_shared_stem: whether the stem names the set and not one file of many.
        tail: the text after the file name.
    """
    if request and is_readable_name(request):
        return request
    # A name in the clear may have swallowed what stands before it, with blanks.
    named = scene_name(head) or (scene_name(stem) if " " in stem else "")
    if not named and not scene_name(stem):
        named = scene_name(tail)
    if named:
        return named
    if stem and is_shared_stem and is_readable_name(stem):
        return stem
    if head and is_readable_name(head):
        return head
    if stem and is_readable_name(stem):
        return stem
    return (stem if is_shared_stem else "") or request or head or stem


def _foreign_letters(token: str) -> int:
    return 0 if token.isascii() else sum(char.isalpha() and char > "\u024f" for char in token)


def _words_of(token: str, *, alone: bool) -> list[str]:
    """Returns the pronounceable runs of letters of a token; a lone token must do better."""
    if token.isalpha():
        return [token] if _is_word(token, alone=alone) else []
    if _HEX_TOKEN.fullmatch(token):
        return []
    runs = _RUN.findall(token)
    # Digits between letters are what generators make; a number at one end is ordinary.
    if len(runs) == 1 and len(runs[0]) > 3:
        return [runs[0]] if _is_word(runs[0], alone=alone) else []
    return [run for run in runs if len(run) > 7 and len(runs) < 4 and _is_word(run, alone=True)]


def _is_word(run: str, *, alone: bool) -> bool:
    if not run.isascii():
        return len(run) > 1
    length = len(run)
    if length < 3:
        return False
    humps = len(_HUMP.findall(run))
    if humps > 2 and length < 4 * (humps + 1):
        return False
    limit = 4.7 if length < 5 else 4.6 if length < 7 else 4.45 if length < 10 else 4.3
    return surprise(run) <= (limit - 0.3 if alone else limit)
