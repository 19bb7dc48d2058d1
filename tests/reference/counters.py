"""Counters: `[3/25]`, `(1|12)`, `{05 of 12}`, `Datei 5 von 12`."""

import re
from dataclasses import dataclass

_LEAD = rb"(?:file|datei|part|teil)"
_BRACKETED = re.compile(
    rb"[(\[{<][ \t]{0,4}(?:" + _LEAD + rb"[ \t]{0,4})?(\d{1,9})(?!\d)[ \t]{0,4}"
    rb"([/|\\]|_|of|von|van|de|di|sur)[ \t]{0,4}(\d{1,9})(?!\d)[ \t]{0,4}[)\]}>]",
    re.IGNORECASE,
)
_BARE_AT = re.compile(
    rb"(?:" + _LEAD + rb"[ \t]{0,4})?(\d{1,9})(?!\d)[ \t]{0,4}"
    rb"([/|\\]|_|of|von|van|de|di|sur)[ \t]{0,4}(\d{1,9})(?!\d)",
    re.IGNORECASE,
)
_STROKE_END = re.compile(rb"(?<!\d)(\d{1,9})([/|])(\d{1,9})\Z")
_WORD_END = re.compile(rb"(?<!\d)(\d{1,9})[ \t]{1,4}(of|von)[ \t]{1,4}(\d{1,9})\Z", re.IGNORECASE)
_LEAD_END = re.compile(rb"(?<![A-Za-z0-9])" + _LEAD + rb"[ \t]{1,4}\Z", re.IGNORECASE)
_OTHER_THINGS = re.compile(
    rb"(?<![A-Za-z0-9])(?:disc|disk|cd|dvd|vol|volume|season|series|episode|book|chapter|day)"
    rb"[ \t\r\n\f]*\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Counter:
    """Two numbers that count something; `open` is the bracket, or nothing."""

    start: int
    end: int
    index: int
    total: int
    open: bytes
    mark: str

    @property
    def numbers(self) -> tuple[int, int]:
        """Both."""
        return self.index, self.total

    @property
    def is_years(self) -> bool:
        """Whether it reads as a range of years."""
        return 1900 <= self.index < self.total <= 2100


def _mark(text: bytes) -> str:
    return {b"_": "underscore", b"|": "bar", b"/": "stroke", b"\\": "stroke"}.get(text, "word")


def bracketed(s: bytes, at: int) -> Counter | None:
    """The counter whose bracket opens there."""
    match = _BRACKETED.match(s, at)
    if match is None:
        return None
    return Counter(at, match.end(), int(match[1]), int(match[3]), s[at : at + 1], _mark(match[2]))


def last_before(s: bytes, end: int) -> Counter | None:
    """The last bracketed one that ends at or before `end`."""
    for at in range(min(end, len(s)) - 1, -1, -1):
        if s[at] in b"([{<":
            found = bracketed(s, at)
            if found is not None and found.end <= end:
                return found
    return None


def bare_ending_at(s: bytes, end: int) -> Counter | None:
    """The one without brackets whose last digit stands before `end`."""
    if s[end : end + 1].isalnum():
        return None
    before = s[:end]
    match = _STROKE_END.search(before[-24:]) or _WORD_END.search(before[-40:])
    if match is None:
        return None
    start = end - (match.end() - match.start())
    mark = _mark(match[2])
    fresh = start == 0 or not re.match(rb"[A-Za-z0-9./,]", s[start - 1 : start])
    # `Breed00/27]` has lost its opening bracket together with the blank before it.
    cut = mark == "stroke" and s[end : end + 1] in (b")", b"]", b"}", b">")
    if not (fresh or cut) or (mark == "word" and _OTHER_THINGS.search(s[:start])):
        return None
    lead = _LEAD_END.search(s[:start])
    first = lead.start() if lead else start
    return Counter(first, end, int(match[1]), int(match[3]), b"", mark)


def bare_at(s: bytes, at: int) -> Counter | None:
    """The one without brackets that begins there."""
    match = _BARE_AT.match(s, at)
    if match is None:
        return None
    found = bare_ending_at(s, match.end())
    return found and Counter(at, found.end, found.index, found.total, b"", found.mark)
