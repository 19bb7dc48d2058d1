"""Words of subjects that are neither names nor counters: `yEnc`, sizes, separators, edges."""

import re

_YENC = re.compile(
    rb"yenc(?:$|(?=[-.](?![A-Za-z0-9]))|(?=[^A-Za-z0-9_.-]))", re.IGNORECASE | re.DOTALL
)
_SEPARATOR = re.compile(rb"(?:[ \t\-:|\[\](){}<>~*=_.,;\"]|\xe2\x80[\x93\x94\x9c\x9d\x9e])")
_SIZE = re.compile(
    rb"\d[\d.,]*?(?![\d.,])(?:[ \t]{0,2}(?:bytes?|[kmgt]ib|[kmgt]b|[kmgb])(?![A-Za-z0-9]))",
    re.IGNORECASE,
)
_WHOLE = re.compile(rb"\d+(?![\d.,A-Za-z/])")
_EDGE = re.compile(rb"(?:[ \t\-_:|~*=,;<>\".]|\xe2\x80[\x93\x94\x9c\x9d\x9e])")
_MARKS = b'!+#?^@ \t-_:|~*=,;<>".'
_ROUNDS = 24
# A bracket closes within so many bytes, or it is not looked for.
_REACH = 1024
_LONGEST_SIZE = 20
_CLOSING = {0x28: 0x29, 0x5B: 0x5D, 0x7B: 0x7D}
_OPENING = {close: open_ for open_, close in _CLOSING.items()}


def yencs(s: bytes) -> list[tuple[int, int]]:
    """Every word `yEnc`, with the position after it."""
    return [(m.start(), m.start() + 4) for m in _YENC.finditer(s)]


def last_yenc(s: bytes) -> tuple[int, int] | None:
    """The last one."""
    found = yencs(s)
    return found[-1] if found else None


def first_yenc(s: bytes, start: int) -> int | None:
    """Where the first one at or after `start` begins."""
    return next((at for at, _ in yencs(s) if at >= start), None)


def separator_at(s: bytes, at: int) -> int:
    """The length of the separator there."""
    match = _SEPARATOR.match(s, at)
    return match.end() - at if match else 0


def after_separators(s: bytes, at: int) -> int:
    """The position after the separators there."""
    while step := separator_at(s, at):
        at += step
    return at


def size_at(s: bytes, at: int, end: int | None = None) -> int | None:
    """The end of the size that begins there: `1,45 GB`, `46101356`."""
    s = s if end is None else s[:end]
    match = _SIZE.match(s, at) or _WHOLE.match(s, at)
    return match.end() if match else None


def skip_filler(s: bytes, at: int) -> int:
    """The position after separators and sizes."""
    while True:
        after = after_separators(s, at)
        size = size_at(s, after)
        if size is None:
            return after
        at = size


def only_filler(s: bytes, start: int, end: int) -> bool:
    """Whether nothing but separators and sizes stands there."""
    return start >= end or (end <= len(s) and skip_filler(s[:end], start) == end)


def only_separators(s: bytes, start: int, end: int) -> bool:
    """Whether nothing but separators stands there."""
    return start >= end or after_separators(s, start) >= end


def trim(s: bytes, start: int, end: int) -> tuple[int, int]:
    """The stretch without what means nothing at its ends; brackets that pair up stay."""
    end = min(end, len(s))
    for _ in range(_ROUNDS):
        while start < end and (match := _EDGE.match(s, start)):
            start = match.end()
        while start < end and (step := _edge_before(s, end)):
            end -= step
        if start >= end:
            return start, start
        inner = s[start:end]
        last = re.search(rb"[^ \t]*$", inner)
        first = re.match(rb"[^ \t]*", inner)
        assert last
        assert first
        if len(last[0]) < len(inner) and all(byte in _MARKS for byte in last[0]):
            end -= len(last[0])
        elif len(first[0]) < len(inner) and all(byte in _MARKS for byte in first[0]):
            start += len(first[0])
        elif inner[0] in _CLOSING and closing_of(inner, 0) == len(inner) - 1:
            start, end = start + 1, end - 1
        elif inner[0] in _CLOSING and closing_of(inner, 0) is None:
            start += 1
        elif inner[-1] in _OPENING and _opening_of(inner, len(inner) - 1) is None:
            end -= 1
        elif inner[0] in _OPENING:
            start += 1
        elif inner[-1] in _CLOSING:
            end -= 1
        else:
            break
    return start, end


def _edge_before(s: bytes, end: int) -> int:
    if _EDGE.fullmatch(s, end - 1, end):
        return 1
    return 3 if end >= 3 and _SEPARATOR.fullmatch(s, end - 3, end) else 0


def trim_size_back(s: bytes, start: int, end: int) -> int:
    """The end moved before the sizes there."""
    for _ in range(_ROUNDS):
        size = _size_start(s, start, end)
        if size is None:
            break
        end = trim(s, start, size)[1]
    return end


def trim_filler(s: bytes, start: int, end: int) -> tuple[int, int]:
    """The stretch without separators and sizes at its ends."""
    start, end = trim(s, min(skip_filler(s, start), end), end)
    return start, trim_size_back(s, start, end)


def _size_start(s: bytes, start: int, end: int) -> int | None:
    for at in range(max(end - _LONGEST_SIZE, start, 0), end):
        begins = at == start or not re.match(rb"[A-Za-z0-9.,/]", s[at - 1 : at])
        if begins and s[at : at + 1].isdigit() and size_at(s, at, end) == end:
            # A number without a unit at the end of a title is part of the title.
            return at if at > start and not s[at:end].isdigit() else None
    return None


def closing_of(s: bytes, at: int) -> int | None:
    """Where the bracket that opens there closes."""
    depth = 0
    for i in range(at, min(len(s), at + _REACH)):
        depth += (s[i] == s[at]) - (s[i] == _CLOSING[s[at]])
        if depth == 0:
            return i
    return None


def _opening_of(s: bytes, at: int) -> int | None:
    depth = 0
    for i in range(at, max(-1, at - _REACH), -1):
        depth += (s[i] == s[at]) - (s[i] == _OPENING[s[at]])
        if depth == 0:
            return i
    return None
