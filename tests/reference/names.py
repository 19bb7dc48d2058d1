"""File names in subjects: in quotes, in the brackets of a tool, or in the clear."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.reference import counters, words

_MOST_MARKS = 16
_MOST_BRACKETS = 32
_KNOWN = frozenset(
    b"7z db gz rm ts xz"
    b" 3ds 3gp aac ac3 ace ape apk arj asf ass avi azw bin bmp bup bz2 cab cbr cbz ccd chm cia css"
    b" csv cue dat deb dmg doc dts evo exe flv gcm gho gif htm idx ifo img iso jar jpg lit log lzh"
    b" m2v m3u m4a m4b m4v md5 mdf mds mid mkv mov mp3 mp4 mpc mpg msi nds nfo nrg nsp nzb ogg ogm"
    b" par pdb pdf php pkg png ppt prc psd rar rpm rtf sfv sit sqx srr srs srt sub swf tar tgz tif"
    b" ttf txt url vdi vob vtt wav wma wmv xci xls xml xps zip"
    b" aiff azw3 bdmv clpi divx djvu docx epub flac heic html jpeg json m2ts m3u8 mobi mpeg mpls"
    b" opus par2 pptx rmvb temp tiff vmdk wbfs webm webp xlsx xvid torrent appimage".split()
)
# Straight, an entity that lost its ampersand, curly, and Windows-1252 by itself or as UTF-8.
_QUOTE = re.compile(
    rb"\"|#34;|\xe2\x80[\x9c-\x9e]|(?<![\x80-\xff])[\x84\x93\x94]|\xc2[\x84\x93\x94]"
)


@dataclass(frozen=True)
class Name:
    """A name, and the text that it takes up with its quotes or brackets."""

    start: int
    end: int
    outer_start: int
    outer_end: int


def clear_name(start: int, end: int) -> Name:
    """A name without quotes."""
    return Name(start, end, start, end)


def extension_rank(name: bytes) -> int:
    """2 for a known extension, 1 for some extension, 0 for none."""
    _, dot, extension = name.rpartition(b".")
    return _rank(extension) if dot else 0


def _rank(extension: bytes) -> int:
    lower = extension.lower()
    if not re.fullmatch(rb"[a-z0-9]{1,8}", lower):
        return 0
    if lower in _KNOWN or re.fullmatch(rb"[r-z0-9][0-9]{2}", lower):
        return 2
    return int(len(lower) <= 5) if lower.isdigit() else int(2 <= len(lower) <= 4)


@dataclass(frozen=True)
class _Mark:
    start: int
    end: int


def _marks(s: bytes) -> tuple[list[_Mark], bool]:
    """The quotation marks that may begin or end a name, and whether empty quotes are there."""
    marks: list[_Mark] = []
    empty, at = False, 0
    while at < len(s) and len(marks) < _MOST_MARKS:
        start, run = at, 0
        while match := _QUOTE.match(s, at):
            at, run = match.end(), run + 1
        if run == 0:
            at += 1
        elif run % 2 == 0 and _is_edge(s, start - 1) and _is_edge(s, at):
            empty = True
        else:
            marks.append(_Mark(start, at))
    return marks, empty


def _is_edge(s: bytes, at: int) -> bool:
    return not 0 <= at < len(s) or (s[at] < 0x80 and not s[at : at + 1].isalnum())


def _is_blank(s: bytes, at: int) -> bool:
    return not 0 <= at < len(s) or s[at] in b" \t"


def has_empty_quotes(s: bytes) -> bool:
    """Whether the subject has a pair of quotes with nothing between them."""
    return b'""' in s and _marks(s)[1]


def _pairs(s: bytes) -> tuple[list[Name], _Mark | None]:
    """Names between marks, and the last opening mark that nothing closed."""
    pairs: list[Name] = []
    opened: list[_Mark] = []
    orphan: _Mark | None = None
    for mark in _marks(s)[0]:
        blank_before, blank_after = _is_blank(s, mark.start - 1), _is_blank(s, mark.end)
        opens = _is_edge(s, mark.start - 1) and not blank_after
        closes = not blank_before and _is_edge(s, mark.end)
        # A mark that can be either closes what is open.
        if not (bool(opened) if opens == closes else closes):
            opened.append(mark)
        elif opened:
            first = opened.pop()
            pairs.append(Name(first.end, mark.start, first.start, mark.end))
        elif pairs:
            pairs[-1] = replace(pairs[-1], end=mark.start, outer_end=mark.end)
        elif orphan is not None:
            pairs.append(Name(orphan.end, mark.start, orphan.start, mark.end))
            orphan = mark
        else:
            orphan = mark
    return pairs, opened[-1] if opened else None


def quoted(s: bytes, cuts: list[tuple[int, int]], limit_after: Callable[[int], int]) -> Name | None:
    """The quoted name: the last with a known extension, else with any, else the last."""
    clean = _only_pair(s)
    if clean is not None and (name := _usable(s, clean, cuts)):
        return name
    pairs, unclosed = _pairs(s)
    best: tuple[tuple[int, int], Name] | None = None
    for pair in pairs:
        inside_other = any(
            other.outer_start < pair.outer_start and pair.outer_end < other.outer_end
            for other in pairs
        )
        name = _usable(s, pair, cuts)
        if inside_other or name is None:
            continue
        rank = (extension_rank(s[name.start : name.end]), name.outer_start)
        if best is None or rank > best[0]:
            best = (rank, name)
    if best is not None:
        return best[1]
    if unclosed is None:
        return None
    name = clear(s, unclosed.end, limit_after(unclosed.end))
    return name and replace(name, outer_start=unclosed.start)


def _only_pair(s: bytes) -> Name | None:
    """The stretch between the only two straight quotes, whatever else might be a quote."""
    first, last = s.find(b'"'), s.rfind(b'"')
    if not s.isascii() or s.count(b'"') != 2 or last == first + 1:
        return None
    opens = _is_edge(s, first - 1) and not _is_blank(s, first + 1)
    closed = not _is_blank(s, first - 1) and _is_edge(s, first + 1)
    closes = not _is_blank(s, last - 1) and _is_edge(s, last + 1)
    return Name(first + 1, last, first, last + 1) if opens and not closed and closes else None


def _usable(s: bytes, pair: Name, cuts: list[tuple[int, int]]) -> Name | None:
    """The name between two marks; none when it is blank or the segment counter stands inside."""
    straddles = any(pair.start < end and start < pair.end for start, end in cuts)
    name = _without_blanks(s, pair)
    return None if straddles or name.start >= name.end else name


def _without_blanks(s: bytes, name: Name) -> Name:
    start, end = name.start, name.end
    while start < end and s[start] in b" \t":
        start += 1
    while start < end and s[end - 1] in b" \t":
        end -= 1
    return replace(name, start=start, end=end)


def clear(s: bytes, start: int, end: int) -> Name | None:
    """The name in the clear: all of it with an extension, else up to the last known one."""
    start, end = words.trim(s, start, end)
    end = words.trim_size_back(s, start, end)
    text = s[start:end]
    if len(text) > 1 and text[:1] == b"'" == text[-1:]:
        start, end = start + 1, end - 1
        text = text[1:-1]
    # In `need help with .wmv` the dot belongs to no name.
    dots = re.finditer(rb"(?<=[^ \t])\.([A-Za-z0-9]*)(?=[ \t]|\Z)", text)
    for found in reversed(list(dots)):
        if _rank(found[1]) >= (1 if found.end() == len(text) else 2):
            return clear_name(start, start + found.end())
    return None


def ends_name(s: bytes, at: int) -> bool:
    """Whether a name ends before `at`, apart from separators and sizes."""
    quote = s.rfind(b'"')
    return clear(s, 0, at) is not None if quote < 0 else quote < at


def start_before(s: bytes, at: int) -> int:
    """Where the first quote before `at` stands, else `at`."""
    quote = s.find(b'"', 0, at)
    return at if quote < 0 else quote


@dataclass(frozen=True)
class BracketName:
    """A name in square brackets, with the number and folder that may stand before it."""

    name: Name
    index: int | None = None
    folder: tuple[int, int] = (0, 0)


def in_brackets(s: bytes, end: int, least: int) -> BracketName | None:
    """The bracket before `end` with the best name, the last of equals.

    Without an extension it is one unless it is a tag of the tool or a number.
    """
    best: tuple[int, int, int] | None = None
    at, tool = 0, False
    for _ in range(_MOST_BRACKETS):
        bracket = re.compile(rb"[\[(]").search(s, at, end)
        if not bracket:
            break
        open_ = bracket.start()
        close = words.closing_of(s[:end], open_)
        if close is None:
            at = open_ + 1
            continue
        content = s[open_ + 1 : close].strip(b" \t\n\r\f")
        private = content.lower() == b"private"
        is_tag, tool = private or tool, private
        rank = extension_rank(content)
        # Round brackets are part of many names.
        fits = rank >= (2 if bracket[0] == b"(" else least)
        names_file = rank > 0 or not (is_tag or re.fullmatch(rb"[0-9]*", content))
        better = best is None or rank >= best[0]
        if fits and names_file and better and not counters.bracketed(s, open_):
            best = (rank, open_, close)
        at = close + 1
    return None if best is None else _inside(s, best[1], best[2])


def _inside(s: bytes, open_: int, close: int) -> BracketName:
    whole = _without_blanks(s, Name(open_ + 1, close, open_, close + 1))
    path, slash, _ = s[whole.start : whole.end].rpartition(b"/")
    if not slash:
        return BracketName(whole)
    name = replace(whole, start=whole.start + len(path) + 1)
    number = re.match(rb"([0-9]{1,5})(?:/|\Z)", path)
    index = int(number[1]) if number else None
    last = path.rfind(b"/") + 1
    folder = path[last:]
    # Only a path from the root names the upload; `1/series/name` merely sorts it.
    names_upload = path[:1] == b"/" or not path
    if folder[-9:].lower() == b"-wtf[nzb]":
        folder = folder[:-9]
        names_upload = True
    start = whole.start + last
    span = (start, start + len(folder))
    # A single file is posted in a folder that bears its name; the file itself may be renamed.
    if extension_rank(folder) == 2:
        name = replace(name, start=span[0], end=span[1])
    return BracketName(name, index, span if names_upload else (0, 0))
