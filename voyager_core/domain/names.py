"""Random or readable: whether a name says anything about the content."""

import re
from functools import lru_cache

import polars as pl

import voyager_native

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

SEPARATED = re.compile(r"[^\W_]+")
_RUN = re.compile(r"[A-Za-z]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HEX_RUN = re.compile(r"(?<![g-zG-Z])(?:[0-9a-f][.]?){28,}(?![g-zG-Z])|(?:[0-9A-F]){28,}")
_HEX_TOKEN = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{10,}|(?=.*[0-9])[0-9A-F]{16,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_OBFUSCATED_PREFIX = re.compile(r"abc\.xyz(?:\.|$)", re.IGNORECASE)
_ROW_OF_NUMBERS = r"\d+(?:[-._ ]\d+){2,}"
_NUMBERS = re.compile(_ROW_OF_NUMBERS)
_MARKS = (
    r"s\d{1,4}(?:e\d{1,4})+|\d{1,4}x\d{1,4}|(?:480|540|576|720|1080|2160)[pi]"
    r"|[xh][. ]?26[45]|xvid|divx|dvd-?rip|blu-?ray|hdtv|web-?(?:dl|rip)|bdrip|ep?-?\d{1,4}"
)
_ANY_MARK = rf"(?:{_MARKS}|flac|mp3)"
_MARK = re.compile(rf"(?<![A-Za-z0-9]){_ANY_MARK}(?![A-Za-z0-9])", re.IGNORECASE)
# Names that are surely readable, and names that ids may stand in.
_SURELY = rf"(?i)(?:^|[^a-z0-9])(?:{_MARKS})(?:[^a-z0-9]|$)".replace(r"\d", "[0-9]")
_MAY_HOLD_ID = r"(?i-u)[0-9a-f][0-9a-f.]{27}|[0-9a-f]{8}-[0-9a-f]{4}-|^abc\.xyz"
_SURE_MARK = re.compile(_SURELY.replace("$", r"\Z"))
_MAYBE_ID = re.compile(_MAY_HOLD_ID.replace("(?i-u)", "(?i)"), re.ASCII)
_ANY_YEAR = r"(?:19|20)\d\d"
_YEAR = re.compile(rf"(?<![A-Za-z0-9]){_ANY_YEAR}(?![A-Za-z0-9])")
# `.x264` is no volume.
_ENDING = (
    r"\.(?:par2|rar|zip|7z|[r-wyz]\d{2,3}|x(?:\d\d|[^\D2]\d\d|2[^\D6]\d|26[^\D456])|part\d+"
    r"|vol\d+[+-]\d+|\d{2,3}|nfo|sfv|nzb|srr|mkv|mp4|m4v|avi|wmv|mov|mpe?g|ts|m2ts|iso|bin|img"
    r"|mp3|flac|m4a|epub|pdf|jpe?g|png|txt|exe)$"
)
_EXTENSION = re.compile(_ENDING, re.IGNORECASE)
_ALONE = r"(?:^|[^A-Za-z0-9])(?:{})(?:[^A-Za-z0-9]|$)"
"""A pattern between separators, for an engine without look-around that only tells whether."""

_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]|^[A-Z]+[0-9]*$")
_SYLLABLES = re.compile(r"(?:[b-df-hj-np-tv-z][aeiou])+[b-df-hj-np-tv-z]?")
_LONG_NOISE = 12
_MOST_OF_A_WORD = 20
_MOST_SYLLABLES = 12


def surprise(word: str) -> float:
    """Returns how unlike a word a run of ASCII letters is: mean bits a letter, 3 to 4 for words."""
    row, total = _SURPRISE[_START_ROW], 0
    for char in word.lower():
        column = ord(char) - 97
        total += ord(row[column]) - 48
        row = _SURPRISE[column + 1]
    return (total + ord(row[_END_COLUMN]) - 48) / (len(word) + 1)


def readable(names: pl.Series) -> pl.Series:
    """Tells for each name of a column what `is_readable_name` tells (Boolean, no nulls)."""
    told = pl.DataFrame(_rules().readable(names.to_frame("name"), "name")).to_series()
    # The native core knows printable ASCII, of which nearly all names are.
    rest = told.is_null().arg_true()
    if not len(rest):
        return told
    read = [is_readable_name(name) for name in names.gather(rest).to_list()]
    return told.scatter(rest, pl.Series(read, dtype=pl.Boolean))


@lru_cache(maxsize=1)
def _rules() -> voyager_native.ReadableRules:
    return voyager_native.ReadableRules(
        surprise=_SURPRISE,
        patterns={
            "surely": _SURELY,
            "may_hold_id": _MAY_HOLD_ID,
            "extension": f"(?i){_ENDING}",
            "year": _ALONE.format(_ANY_YEAR),
        },
        ids=[
            r"(?:^|[^g-zG-Z])(?:[0-9a-f][.]?){28,}(?:[^g-zG-Z]|$)|[0-9A-F]{28}",
            f"(?i){_UUID.pattern}",
            f"(?i)^(?:{_OBFUSCATED_PREFIX.pattern})",
        ],
        marks=[f"(?i){_ALONE.format(_ANY_MARK)}", f"^(?:{_ROW_OF_NUMBERS})$"],
    )


@lru_cache(maxsize=65536)
def is_readable_name(name: str) -> bool:
    """Tells whether a name says something about the content to a person.

    A doubtful name counts as readable when it holds a word, an episode or a resolution: a
    readable name called random hides a release, the reverse only shows a useless one.
    """
    if _SURE_MARK.search(name) and not _MAYBE_ID.search(name):
        return True
    name = name[:400].rstrip("\"'” ")
    while (cut := _EXTENSION.sub("", name)) != name:
        name = cut
    if _HEX_RUN.search(name) or _UUID.search(name) or _OBFUSCATED_PREFIX.match(name):
        return False
    return bool(_MARK.search(name) or _NUMBERS.fullmatch(name)) or _has_words(name)


def _has_words(name: str) -> bool:
    tokens = SEPARATED.findall(name)
    if sum(_foreign_letters(token) for token in tokens) > 1:
        return True
    if len(tokens) == 1 and _is_run_together(tokens[0]):
        return False
    words = [word for token in tokens for word in words_of(token, alone=len(tokens) == 1)]
    noise = max((len(token) for token in tokens if _is_noise(token)), default=0)
    if noise > _LONG_NOISE and sum(map(len, words)) * 2 < noise:
        return False
    if any(len(word) > 3 for word in words) or tokens == words != []:
        return True
    brief = sum(_is_brief(token) for token in tokens)
    if _YEAR.search(name):
        return brief > 1 or bool(words)
    return brief == len(tokens) > 0 and (brief > 1 or not tokens[0].isdigit())


def _is_run_together(token: str) -> bool:
    """Tells a lone token of words without a border between them, or of syllables."""
    bare = token.rstrip("0123456789")
    if len(token) >= _MOST_OF_A_WORD and token.isascii() and not _INNER_CAPITAL.search(token):
        return True
    return len(bare) >= _MOST_SYLLABLES and _SYLLABLES.fullmatch(bare.lower()) is not None


def _is_noise(token: str) -> bool:
    """Tells a token in which digits stand between letters, or capitals anywhere."""
    return len(token) > _LONG_NOISE and len(_CHANGES.findall(token)) > len(token) // 6


def _is_brief(token: str) -> bool:
    """Tells a token too short for a generator: `Up`, `24`, `1984`."""
    return len(token) < 5 if token.isdigit() else len(token) < 4 and token.isalpha()


def _foreign_letters(token: str) -> int:
    return 0 if token.isascii() else sum(char.isalpha() and char > "\u024f" for char in token)


def words_of(token: str, *, alone: bool) -> list[str]:
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
