"""The words of a release name, as the writer stores them and the search asks for them.

One normaliser serves both sides: case and diacritics are folded, every separator is
equal, apostrophes are deleted (and the split form kept as well), spellings such as
`H.264`, `h264` and `h 264` are one word, initials such as `S.W.A.T` are found as
`swat` too, and scripts that are written without spaces are cut into pairs of characters.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_TOKENS = 120
"""Distinct words kept of one name; a subject may be 64 KB long."""

OPTIONAL_WORDS = frozenset({"and", "the"})
"""Words of a query that a name may leave out (`&`, `and` and nothing are the same)."""

_NO_WORD = "?"
_APOSTROPHES = "'’‘`´ʼ‛′"  # noqa: RUF001 - these are the characters that people type
_QUOTES = '"“”„«»'
_ASCII_PIECE = re.compile(r"[A-Za-z0-9'`]+")
_TERM = re.compile(r"""(?P<negate>--?|!)?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))""")

_LETTERS = str.maketrans(
    {
        "ø": "o",
        "đ": "d",
        "ł": "l",
        "ħ": "h",
        "ŧ": "t",
        "\u0131": "i",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ð": "d",
        "ŋ": "n",
    }
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})

# Pairs that posters write joined, dotted or hyphenated without meaning anything by it.
PAIRS = {
    ("web", "dl"): "webdl",
    ("web", "rip"): "webrip",
    ("blu", "ray"): "bluray",
    ("dvd", "rip"): "dvdrip",
    ("bd", "rip"): "bdrip",
    ("br", "rip"): "brrip",
    ("hd", "rip"): "hdrip",
    ("hd", "tv"): "hdtv",
    ("h", "263"): "h263",
    ("h", "264"): "h264",
    ("h", "265"): "h265",
    ("h", "266"): "h266",
    ("x", "264"): "x264",
    ("x", "265"): "x265",
    ("x", "266"): "x266",
}
_PARTS = {joined: pair for pair, joined in PAIRS.items()}
_FIRST_OF_PAIR = frozenset(first for first, _ in PAIRS)

# `Grey.s.Anatomy` and `Don.t.Look`: what is left of a word when its apostrophe became a separator.
CONTRACTED = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """What a search asks of a name.

    Attributes:
        required: groups of alternative words; a name must hold one word of every group.
        excluded: groups of words; a name that holds all words of one group is left out.
        phrases: runs of words that must stand side by side (checked on the name itself).
    """

    required: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()

    @property
    def required_hashes(self) -> list[list[int]]:
        """The groups of alternatives as token hashes: one of each group must be stored."""
        return [[token_hash(word) for word in group] for group in self.required]

    @property
    def excluded_hashes(self) -> list[list[int]]:
        """The excluded groups as token hashes: no group may be stored whole."""
        return [[token_hash(word) for word in group] for group in self.excluded]


def token_hash(word: str) -> int:
    """Returns the signed 32-bit hash under which a word is stored (`int4` in Postgres)."""
    value = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return value - (1 << 32) if value >= 1 << 31 else value


def token_hashes(name: str) -> list[int]:
    """Returns the sorted, distinct hashes of the words of a name."""
    found: set[int] = set()
    if name.isascii() and "'" not in name and "`" not in name:
        words = [word.lower() for word in _split(name)]
        is_plain = CONTRACTED.isdisjoint(words) and not any(map(_are_initials, words, words[1:]))
        if is_plain and len(words) * 2 < MAX_TOKENS:
            for word in words:
                found.update(_hashes_of(word))
            return sorted(found)
    return sorted({token_hash(word) for word in tokenize(name)})


@lru_cache(maxsize=65536)
def _hashes_of(word: str) -> tuple[int, ...]:
    """Returns the hashes of a plain word and of its halves."""
    return tuple(token_hash(each) for each in (word, *_PARTS.get(word, ())))


def tokenize(name: str) -> list[str]:
    """Returns the distinct words that a name is found by, in order of their appearance.

    Beside the words themselves these are the second spellings: the halves of `WEB-DL`,
    the split form of `Grey's`, `gruesse` for `Grüße`, `swat` for `S.W.A.T`.
    """
    found: dict[str, None] = {}
    for word in _spellings(name):
        found[word] = None
        if len(found) == MAX_TOKENS:
            break
    return list(found)


def query_terms(text: str) -> QueryTerms:
    """Returns what a search text asks for; no text is an error.

    `-word`, `--word` and `!word` exclude, `"two words"` must stand side by side; a hyphen
    inside a word separates. `and` and `the` are dropped unless nothing else is asked. A text
    of signs alone, such as `???`, asks for a word that no name holds.
    """
    wanted: list[str] = []
    excluded: dict[tuple[str, ...], None] = {}
    phrases: dict[tuple[str, ...], None] = {}
    for match in _TERM.finditer(_one_quote(text)):
        part = match["phrase"] if match["phrase"] is not None else match["word"]
        words = _words(part)
        if not words:
            continue
        if match["negate"]:
            excluded[tuple(words)] = None
            continue
        wanted.append(part)
        run = _without_optional(words)
        if match["phrase"] is not None and len(run) > 1:
            phrases[tuple(run)] = None
    # Taken together, so that a pair such as `H 264` or `S01 E02` is one word here as well.
    groups = dict.fromkeys(_with_initials(list(_groups(" ".join(wanted)))))
    required = [group for group in groups if group[0] not in OPTIONAL_WORDS]
    if not groups and not excluded and not _is_blank(text):
        # Clients take whatever a search gives for what they asked for.
        groups = {(_NO_WORD,): None}
    return QueryTerms(
        required=tuple(required or groups),
        excluded=tuple(excluded),
        phrases=tuple(phrases),
    )


def matches(name: str, terms: QueryTerms) -> bool:
    """Tells whether a name is what the terms ask for: the check behind the token hashes."""
    words = set(tokenize(name))
    if not all(any(word in words for word in group) for group in terms.required):
        return False
    if any(all(word in words for word in group) for group in terms.excluded):
        return False
    if not terms.phrases:
        return True
    run = _without_optional(_words(name))
    return all(_contains_run(run, phrase) for phrase in terms.phrases)


def _contains_run(words: list[str], run: tuple[str, ...]) -> bool:
    return any(tuple(words[at : at + len(run)]) == run for at in range(len(words) - len(run) + 1))


def _without_optional(words: Iterable[str]) -> list[str]:
    return [word for word in words if word not in OPTIONAL_WORDS]


def _is_blank(text: str) -> bool:
    return not any(char.isprintable() and not char.isspace() for char in text)


def _one_quote(text: str) -> str:
    """Returns the text with every kind of double quote alike and an unpaired last one removed."""
    for quote in _QUOTES[1:]:
        text = text.replace(quote, '"')
    if text.count('"') % 2:
        at = text.rindex('"')
        text = text[:at] + " " + text[at + 1 :]
    return text


def _groups(text: str) -> Iterator[tuple[str, ...]]:
    """Yields one group of alternatives for each word of a piece of a query."""
    for raw in _split(text):
        words = _words(raw)
        if len(words) == 1:
            yield (words[0], *_alternatives(raw, words[0]))
        else:
            for word in words:
                yield (word,)


def _with_initials(groups: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yields the groups, of which initials in a row may be one word instead."""
    at = 0
    while at < len(groups):
        end = at + 1
        while end < len(groups) and _are_initials(groups[end - 1][0], groups[end][0]):
            end += 1
        run = groups[at:end]
        joined = ("".join(group[0] for group in run),) if len(run) > 1 else ()
        yield from (group + joined for group in run)
        at = end


def _are_initials(word: str, following: str) -> bool:
    pair = word + following
    return len(word) == len(following) == 1 and pair.isascii() and pair.isalpha()


def _alternatives(raw: str, word: str) -> Iterator[str]:
    """Yields the other words by which a name may hold a query's word."""
    longest = max(_halves(raw), key=len)
    if len(longest) > 2 and longest != word:
        yield longest
    expanded = _fold(raw.lower().translate(_UMLAUTS))
    if expanded not in (word, longest):
        yield expanded


def _halves(raw: str) -> list[str]:
    """Returns the pieces of a word between its apostrophes."""
    if not any(mark in raw for mark in _APOSTROPHES):
        return [_fold(raw)]
    return [half for half in map(_fold, re.split(f"[{_APOSTROPHES}]", raw)) if half]


@lru_cache(maxsize=4096)
def _split(text: str) -> tuple[str, ...]:
    """Cuts at everything but letters, digits and apostrophes, and joins the known pairs."""
    if text.isascii():
        pieces = _ASCII_PIECE.findall(text)
    else:
        pieces = "".join(
            char if char in _APOSTROPHES or unicodedata.category(char)[0] in "LNM" else " "
            for char in unicodedata.normalize("NFKC", text)
        ).split()
    return tuple(_joined(pieces))


def _joined(pieces: list[str]) -> Iterator[str]:
    at = 0
    while at < len(pieces):
        first = pieces[at].lower()
        if first not in _FIRST_OF_PAIR and first[0] != "s":
            yield pieces[at]
            at += 1
            continue
        second = pieces[at + 1].lower() if at + 1 < len(pieces) else ""
        if first in _FIRST_OF_PAIR and (first, second) in PAIRS:
            yield PAIRS[first, second]
            at += 2
        elif _is_season(first) and _is_episode(second):
            yield first + second
            at += 2
        else:
            yield pieces[at]
            at += 1


def _is_season(word: str) -> bool:
    return len(word) in (3, 5) and word[0] == "s" and word[1:].isdigit()


def _is_episode(word: str) -> bool:
    return len(word) in (3, 4) and word[0] == "e" and word[1:].isdigit()


def _fold(word: str) -> str:
    """Returns a word in lower case without apostrophes, accents and ligatures."""
    if word.isascii():
        return word.replace("'", "").replace("`", "").lower()
    text = unicodedata.normalize("NFKD", word).casefold()
    text = unicodedata.normalize("NFKD", text)
    text = "".join(char for char in text if not "̀" <= char <= "ͯ" and char not in _APOSTROPHES)
    return unicodedata.normalize("NFC", text.translate(_LETTERS))


def _words(text: str) -> list[str]:
    """Returns the words of a text in order, each in its first spelling."""
    words: list[str] = []
    for raw in _split(text):
        word = _fold(raw)
        if not word:
            continue
        if word.isascii():
            words.append(word)
        else:
            words.extend(piece for run in _script_runs(word) for piece in _pairs_of(run))
    return words


def _spellings(name: str) -> Iterator[str]:
    """Yields every word of a name in every spelling that finds it."""
    before = initials = ""
    for raw in _split(name):
        word = _fold(raw)
        if not word:
            continue
        if initials and _are_initials(initials[-1], word):
            initials += word
        else:
            yield from _joined_initials(initials)
            initials = word if len(word) == 1 else ""
        yield from _first_spellings(word)
        halves = () if raw.isalnum() else _halves(raw)
        if len(halves) > 1:
            yield from halves
        elif word in CONTRACTED and before:
            yield before + word
        if not raw.isascii():
            expanded = _fold(raw.lower().translate(_UMLAUTS))
            if expanded.isascii():
                yield expanded
        before = word if len(word) > 1 and word.isalpha() else ""
    yield from _joined_initials(initials)


def _joined_initials(initials: str) -> Iterator[str]:
    # Sonarr and its relatives take the dots of a title away, and names keep them.
    if len(initials) > 1:
        yield initials


def _first_spellings(word: str) -> Iterator[str]:
    """Yields a folded word, the halves of a known pair, and single characters of a run."""
    if word.isascii():
        yield word
        yield from _PARTS.get(word, ())
        return
    for run in _script_runs(word):
        yield from _pairs_of(run)
        if len(run) > 1 and _is_unspaced(run[0]):
            yield from run


def _script_runs(word: str) -> Iterator[str]:
    """Yields the stretches of a word that are written with spaces, and those that are not."""
    start = 0
    for at in range(1, len(word) + 1):
        if at == len(word) or _is_unspaced(word[at]) != _is_unspaced(word[start]):
            yield word[start:at]
            start = at


def _pairs_of(run: str) -> Iterator[str]:
    """Yields the overlapping pairs of an unspaced run, or the run itself when it is a word."""
    if len(run) < 3 or not _is_unspaced(run[0]):
        yield run
    else:
        yield from (run[at : at + 2] for at in range(len(run) - 1))


def _is_unspaced(char: str) -> bool:
    """Tells whether a character belongs to a script without spaces between its words."""
    code = ord(char)
    return code >= 0x0E00 and (
        code <= 0x0EFF  # Thai, Lao
        or 0x1000 <= code <= 0x109F  # Burmese
        or 0x1100 <= code <= 0x11FF  # Hangul letters
        or 0x1780 <= code <= 0x17FF  # Khmer
        or 0x3005 <= code <= 0x3007
        or 0x3040 <= code <= 0x30FF  # Kana
        or 0x3130 <= code <= 0x318F
        or 0x31F0 <= code <= 0x31FF
        or 0x3400 <= code <= 0x9FFF  # Han
        or 0xAC00 <= code <= 0xD7FF  # Hangul
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x3FFFF
    )
