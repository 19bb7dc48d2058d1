"""The grammar of binary subjects: which file, which part of it, which file of how many."""

import re
from dataclasses import dataclass, field

from tests.reference import names, words
from tests.reference.counters import Counter, bare_at, bare_ending_at, bracketed, last_before
from tests.reference.names import Name, clear
from tests.reference.words import only_filler, only_separators, trim

FLAGS = {
    "ambiguous": 1,
    "unknown_total": 1 << 1,
    "part_over_total": 1 << 2,
    "index_over_total": 1 << 3,
    "part_zero": 1 << 4,
    "index_spam": 1 << 5,
    "doubled": 1 << 6,
    "quoted_name": 1 << 7,
    "bracket_name": 1 << 8,
    "yenc": 1 << 9,
    "extension": 1 << 10,
    "tail_between": 1 << 11,
}
_GAP = 32


@dataclass(frozen=True)
class Segment:
    """The segment counter; `either` when it is the only one and may be the file's as well."""

    part: int = 0
    total: int = 0
    counted: bool = False
    either: bool = False
    cuts: tuple[tuple[int, int], ...] = ()

    @property
    def first_cut(self) -> int | None:
        """Where the counter or its first copy begins."""
        return self.cuts[0][0] if self.cuts else None

    def cuts_out(self, counter: Counter) -> bool:
        """Whether a counter is this one or a copy of it, or part of them."""
        return any(counter.start < end and start < counter.end for start, end in self.cuts)


@dataclass
class Subject:
    """All that a subject says. Stretches are offsets into the bytes."""

    text: bytes
    segment: Segment
    flags: int = 0
    name: tuple[int, int] = (0, 0)
    file_index: int | None = None
    file_total: int | None = None
    head: tuple[int, int] = (0, 0)
    tail: tuple[int, int] = (0, 0)
    request: tuple[int, int] = (0, 0)
    file_counter: tuple[int, int] = (0, 0)

    def of(self, stretch: tuple[int, int]) -> bytes:
        """The bytes of a stretch."""
        return self.text[stretch[0] : stretch[1]]

    def is_set(self, flag: str) -> bool:
        """Whether a flag is set."""
        return bool(self.flags & FLAGS[flag])


def parse(text: bytes) -> Subject:
    """Parses a decoded subject."""
    return details(text, find_segment(text))


def find_segment(s: bytes) -> Segment:
    """Returns the segment counter: the first of the rules that finds one."""
    yenc = words.last_yenc(s)
    found = _after_yenc(s, yenc[1]) if yenc else None
    found = found or _before_end(s) or _after_name(s, yenc and yenc[0])
    return found or _before_name(s) or _bare(s, yenc) or Segment()


def _after_yenc(s: bytes, start: int) -> Segment | None:
    """The last round counter after the last `yEnc`, else the last one there."""
    listed = _outside_quotes(s, start)
    if listed:
        round_ones = [each for each in listed if each.open == b"("]
        found = (round_ones or listed)[-1]
        # A copy stands between the counter and the name.
        quote = max(start, s.rfind(b'"', 0, found.start) + 1)
        copies = _outside_quotes(s, quote)
        return _counted(found, [each for each in copies if each.numbers == found.numbers])
    digit = re.compile(rb"[0-9]").search(s, start)
    bare = bare_at(s, digit.start()) if digit else None
    if digit and bare and only_separators(s, start, digit.start()):
        # `yEnc (12/14` is cut, and its total with it.
        is_cut = re.search(rb"[(\[{<]", s[start : digit.start()])
        fits = not is_cut and only_filler(s, bare.end, len(s))
        return _counted(bare, [bare]) if fits else None
    return None


def _outside_quotes(s: bytes, start: int) -> list[Counter]:
    found, at, quoted = [], start, False
    while at < len(s):
        if s[at : at + 1] == b'"':
            quoted = not quoted
        elif not quoted:
            counter = bracketed(s, at)
            if counter and counter.mark != "underscore":
                found.append(counter)
                at = counter.end
                continue
        at += 1
    return found


def _before_end(s: bytes) -> Segment | None:
    """The last counter, when only separators and sizes follow it."""
    found = _last_stroke(s, len(s))
    if not found or not only_filler(s, found.end, len(s)):
        return None
    # `"f.rar" (1/8) [3/12]`: as after `yEnc`, the round one is the segment's.
    round_ = _last_stroke(s, found.start) if found.open != b"(" else None
    if round_ and round_.open == b"(" and only_filler(s, round_.end, found.start):
        found = round_ if names.ends_name(s, round_.start) else found
    either = found.open != b"(" and names.ends_name(s, found.start) and _is_alone(s, found)
    return _settled(_counted(found, _with_copy(s, found), either=either))


def _after_name(s: bytes, yenc: int | None) -> Segment | None:
    """A counter between the name and `yEnc` or other words: `"f.nzb" (1/1) yEnc`."""
    found = _last_stroke(s, len(s) if yenc is None else yenc)
    if not found or not names.ends_name(s, found.start):
        return None
    return _settled(_counted(found, _with_copy(s, found), either=_is_alone(s, found)))


def _before_name(s: bytes) -> Segment | None:
    """The second of two counters before the name: `[003/120] [03/140] "f.r03"`."""
    name = s.find(b'"')
    found = _last_stroke(s, name) if name >= 0 else None
    file = _last_stroke(s, found.start) if found else None
    if not found or not file or file.open != found.open or found.is_years:
        return None
    joined = only_separators(s, file.end, found.start) and only_separators(s, found.end, name)
    return _counted(found, [found]) if joined else None


def _with_copy(s: bytes, found: Counter) -> list[Counter]:
    copy = last_before(s, found.start)
    doubled = (
        copy
        and copy.numbers == found.numbers
        and copy.open == found.open
        and not s[copy.end : found.start].strip(b" \t")
    )
    return [copy, found] if copy and doubled else [found]


def _settled(segment: Segment) -> Segment | None:
    """A lone `[00/40]` can only be the file's: parts begin at 1."""
    return segment if not segment.either or segment.part > 0 else None


def _bare(s: bytes, yenc: tuple[int, int] | None) -> Segment | None:
    """`5 of 42 yEnc`, `pic.jpg 05/42`."""
    if yenc and not only_filler(s, yenc[1], len(s)):
        return None
    limit = yenc[0] if yenc else len(s)
    digits = list(re.finditer(rb"[0-9]", s[:limit]))
    if not digits:
        return None
    end = digits[-1].end()
    found = bare_ending_at(s, end)
    if not found or not only_separators(s, end, limit):
        return None
    if found.start > 0 and s[found.start - 1] in b"([{<":
        return None
    named = names.ends_name(s, found.start)
    led = s[found.start : found.start + 1].isalpha()
    # `name.epub - File 1 of 4 - yEnc` counts files; without a name it is all there is.
    if named:
        is_segment = not led or found.total == 1
    else:
        is_segment = found.mark == "word" and (led or yenc is not None)
    return _settled(_counted(found, [found], either=named)) if is_segment else None


def _last_stroke(s: bytes, end: int) -> Counter | None:
    found = last_before(s, end)
    return found if found and found.mark != "underscore" else None


def _is_alone(s: bytes, found: Counter) -> bool:
    return last_before(s, names.start_before(s, found.start)) is None


def _counted(found: Counter, same: list[Counter], *, either: bool = False) -> Segment:
    cuts = list(dict.fromkeys((each.start, each.end) for each in same))[:3]
    own = (found.start, found.end)
    if own not in cuts:
        cuts[2:] = [own]
    return Segment(found.index, found.total, counted=True, either=either, cuts=tuple(cuts))


def name_limit(s: bytes, start: int, segment: Segment) -> int:
    """Where text that may hold a name ends: before the counter or a `yEnc` after `start`."""
    yenc = words.first_yenc(s, start)
    stops = [cut for cut, _ in segment.cuts if cut >= start]
    stops += [yenc] if yenc is not None else []
    return min(stops, default=len(s))


@dataclass
class _Found:
    name: Name | None = None
    file: Counter | None = None
    index: int | None = None
    folder: tuple[int, int] = (0, 0)
    tagged: bool = False
    flags: list[str] = field(default_factory=list)


def details(s: bytes, segment: Segment) -> Subject:
    """Parses what the segment counter leaves."""
    subject = Subject(s, segment)
    if not segment.counted and re.fullmatch(rb"[A-Za-z0-9_=+$@-]+", s):
        subject.head = (0, len(s))
        return subject
    yenc = words.last_yenc(s)
    subject.flags = _segment_flags(segment) | (FLAGS["yenc"] if yenc else 0)
    start = words.after_separators(s, 0)
    if s[start : start + 17].lower() == b"usenet index post":
        subject.flags |= FLAGS["index_spam"]
        return subject
    name = names.quoted(s, list(segment.cuts), lambda at: name_limit(s, at, segment))
    found = _quoted(s, segment, name) if name else _unquoted(s, segment, yenc)
    if segment.either:
        at = segment.cuts[0][0]
        found.file = bracketed(s, at) or bare_at(s, at)
    _fill(subject, yenc, found)
    return subject


def _segment_flags(segment: Segment) -> int:
    if not segment.counted:
        return 0
    bits = FLAGS["doubled"] if len(segment.cuts) > 1 else 0
    if segment.total == 0:
        return bits | FLAGS["unknown_total"]
    if segment.part == 0:
        return bits | FLAGS["part_zero"]
    return bits | (FLAGS["part_over_total"] if segment.part > segment.total else 0)


def _quoted(s: bytes, segment: Segment, name: Name) -> _Found:
    after = _file_after(s, segment, name.outer_end)
    if after and names.extension_rank(s[name.start : name.end]) == 0:
        # `"A title" - File 1 of 4 - name.nfo`
        other = clear(s, after.end, name_limit(s, after.end, segment))
        if other and names.extension_rank(s[other.start : other.end]) == 2:
            return _Found(other, after)
    leading, bare = _leading(s, name.outer_start), _bare_before(s, name.outer_start)
    file = (
        _file_before(s, segment, name.outer_start)
        or after
        or (leading if leading and not segment.cuts_out(leading) else None)
        or (bare if bare and not segment.cuts_out(bare) else None)
        or _before_limit(s, segment, name.outer_end)
        or _at_the_end(s, segment)
        or _apart(s, segment, name.outer_start)
    )
    return _Found(name, file, flags=["quoted_name"])


def _file_before(s: bytes, segment: Segment, name: int) -> Counter | None:
    """The counter right before a name."""
    found = last_before(s, name)
    if not found or name - found.end > _GAP or found.is_years or segment.cuts_out(found):
        return None
    yenc = words.first_yenc(s, found.end)
    if yenc is None or yenc + 4 > name:
        return found if only_filler(s, found.end, name) else None
    both = only_filler(s, found.end, yenc) and only_filler(s, yenc + 4, name)
    return found if both else None


def _file_after(s: bytes, segment: Segment, name: int) -> Counter | None:
    """The counter right after a name, or after the sizes that follow it."""
    at = name
    while at < min(name + _GAP, len(s)):
        found = bracketed(s, at)
        if found and segment.cuts_out(found):
            at = found.end
            continue
        if found:
            return None if found.is_years else found
        if step := words.separator_at(s, at):
            at += step
            continue
        if bare := bare_at(s, at):
            apart = bare.mark != "stroke" or s[name:at].endswith(b"< ")
            fits = apart and not segment.cuts_out(bare) and bare.index <= bare.total
            return bare if fits else None
        after = words.skip_filler(s, at)
        if after == at:
            return None
        at = after
    return None


def _leading(s: bytes, limit: int) -> Counter | None:
    """The counter that begins the subject."""
    at = 0
    while at < limit:
        if found := bracketed(s, at):
            return found if found.end <= limit and not found.is_years else None
        step = words.separator_at(s, at)
        if not step:
            return None
        at += step
    return None


def _bare_before(s: bytes, name: int) -> Counter | None:
    """`File 5 of 12 - "…`, and counters that lost their opening bracket: `Breed00/27] - "…`."""
    gap = re.search(rb"[^A-Za-z0-9]*\Z", s[:name])
    end = name - min(len(gap[0]) if gap else 0, _GAP)
    found = bare_ending_at(s, end)
    if not found or not only_separators(s, end, name):
        return None
    closed = s[end:name].lstrip(b" \t")[:1] in (b")", b"]", b"}", b">")
    fits = (found.mark != "stroke" or closed) and found.index <= found.total + 1
    return found if fits and not found.is_years else None


def _before_limit(s: bytes, segment: Segment, name: int) -> Counter | None:
    """The counter right before `yEnc` or the segment counter, apart from the name."""
    limit = name_limit(s, name, segment)
    found = last_before(s, limit)
    if not found or found.start < name or found.is_years or segment.cuts_out(found):
        return None
    return found if only_filler(s, found.end, limit) else None


def _at_the_end(s: bytes, segment: Segment) -> Counter | None:
    """A counter after the segment counter that ends the subject."""
    found = last_before(s, len(s))
    if not segment.counted or not found or found.is_years:
        return None
    cut = max(end for _, end in segment.cuts) if segment.cuts else 0
    fits = found.start >= cut and only_filler(s, cut, found.start)
    return found if fits and only_filler(s, found.end, len(s)) else None


def _apart(s: bytes, segment: Segment, name: int) -> Counter | None:
    """A counter with a description behind it: `Title (44/54) - Words - "…`; made by a tool."""
    found = last_before(s, name)
    if not found or found.mark != "stroke" or found.is_years or segment.cuts_out(found):
        return None
    rest = s[found.end : name].lstrip(b" \t\n\r\f")
    made = rest[:1] == b"-" or s[found.start + 1 : found.start + 2] == b"0"
    return found if made and found.index <= found.total + 1 else None


def _unquoted(s: bytes, segment: Segment, yenc: tuple[int, int] | None) -> _Found:
    cut = _cut(s, segment)
    limit = min(yenc[0], cut) if yenc else cut
    private = _is_private(s)
    if names.has_empty_quotes(s) and (found := _in_bracket(s, segment, cut, 0 if private else 1)):
        return found
    first = _after_first_yenc(s, limit)
    if found := _in_the_clear(s, segment, first, limit):
        return found
    if yenc and yenc[1] < cut and (name := clear(s, yenc[1], cut)):
        return _Found(name, _last(s, segment, limit) or _bare_before(s, yenc[0]))
    if found := _in_bracket(s, segment, cut, 1 if private else 2):
        return found
    file = _last(s, segment, limit)
    if not file:
        return _Found()
    start, end = trim(s, file.end, limit)
    start, end = _telling(s, start, end)
    return _Found(names.clear_name(start, end) if start < end else None, file)


def _is_private(s: bytes) -> bool:
    """Whether a tool says that it puts the name into a bracket."""
    return len(s) > 9 and re.search(rb"\[private\]", s[:72], re.IGNORECASE) is not None


def _cut(s: bytes, segment: Segment) -> int:
    if not segment.counted:
        return len(s)
    # A counter of the message-id cuts nothing out of the subject, and stands at its start.
    return segment.first_cut or 0


def _after_first_yenc(s: bytes, limit: int) -> int:
    start = words.after_separators(s, 0)
    leads = s[start : start + 4].lower() == b"yenc"
    leads = leads and words.separator_at(s[: start + 5], start + 4) > 0
    return min(start + 4, limit) if leads else 0


def _in_the_clear(s: bytes, segment: Segment, first: int, limit: int) -> _Found | None:
    """A name with an extension after a counter, before one, or alone."""
    at = limit
    for _ in range(8):
        file = last_before(s, at)
        if not file or file.start < first:
            break
        joined = re.match(rb"[A-Za-z0-9.]", s[file.end : file.end + 1])
        usable = not joined and not file.is_years and not segment.cuts_out(file)
        if usable and (name := clear(s, file.end, limit)):
            return _Found(name, file)
        at = file.start
    file = _last(s, segment, limit)
    if file and file.start >= first:
        name = clear(s, first, file.start)
        return _Found(name, file) if name else None
    end = limit
    while digits := list(re.finditer(rb"[0-9]", s[first:end])):
        last = first + digits[-1].start()
        file = bare_ending_at(s, last + 1)
        fits = file and file.mark != "stroke" and file.start >= first
        if file and fits and words.separator_at(s, file.end):
            name = None if segment.cuts_out(file) else clear(s, file.end, limit)
            if name:
                return _Found(name, file)
            break
        end = first + len(s[first:last].rstrip(b"0123456789"))
    name = clear(s, first, limit)
    return _Found(name) if name else None


def _last(s: bytes, segment: Segment, limit: int) -> Counter | None:
    found = last_before(s, limit)
    return found if found and not found.is_years and not segment.cuts_out(found) else None


def _in_bracket(s: bytes, segment: Segment, limit: int, least: int) -> _Found | None:
    """`[PRiVATE]-[WtFnZb]-[name.ext]-[1/10] - ""`."""
    bracket = names.in_brackets(s, limit, least)
    if not bracket:
        return None
    name = bracket.name
    file = _file_after(s, segment, name.outer_end) or _file_before(s, segment, name.outer_start)
    tagged = _is_private(s)
    return _Found(name, file, bracket.index, bracket.folder, tagged, ["bracket_name"])


def _fill(subject: Subject, yenc: tuple[int, int] | None, found: _Found) -> None:
    s, segment, name, file = subject.text, subject.segment, found.name, found.file
    for flag in found.flags:
        subject.flags |= FLAGS[flag]
    if name:
        subject.name = (name.start, name.end)
        if names.extension_rank(s[name.start : name.end]) > 0:
            subject.flags |= FLAGS["extension"]
    subject.file_index = found.index
    if file:
        subject.file_index = file.index
        subject.file_total = file.total or None
        subject.file_counter = (file.start, file.end)
        if file.index > file.total > 0:
            subject.flags |= FLAGS["index_over_total"]
        equal = segment.counted and file.numbers == (segment.part, segment.total)
        if equal and segment.total != 1:
            subject.flags |= FLAGS["ambiguous"]
    if found.tagged:
        subject.head = found.folder
        return
    start, end = _head_region(s, segment, yenc, found)
    inner = trim(s, start, end)
    subject.head = _telling(s, inner[0], words.trim_size_back(s, *inner))
    subject.request = _request(s, start, end)
    if name:
        between = _between(s, yenc, file, name) if file and end <= file.start else (0, 0)
        subject.tail = between if any(between) else _tail(s, segment, yenc, file, name)
        subject.flags |= FLAGS["tail_between"] if any(between) else 0


def _head_region(
    s: bytes, segment: Segment, yenc: tuple[int, int] | None, found: _Found
) -> tuple[int, int]:
    """Before the file counter or the name; between them when nothing is said before the counter."""
    cut = _cut(s, segment)
    limit = min(yenc[0], cut) if yenc else cut
    first = _after_first_yenc(s, limit)
    name = found.name.outer_start if found.name else limit
    if found.file and found.file.start < name:
        says = any(_telling(s, first, found.file.start))
        start, end = (first, found.file.start) if says else (found.file.end, name)
    else:
        start, end = first, name
    # A name behind the segment counter leaves only the text before that.
    end = next((at for at, _ in segment.cuts if start <= at < end), end)
    return start, max(start, end)


def _telling(s: bytes, start: int, end: int) -> tuple[int, int]:
    tells = re.search(rb"[A-Za-z0-9\x80-\xff]", s[start:end])
    return (start, end) if tells else (0, 0)


def _between(s: bytes, yenc: tuple[int, int] | None, file: Counter, name: Name) -> tuple[int, int]:
    """The free text between the file counter and the name."""
    if file.end >= name.outer_start:
        return 0, 0
    is_inside = yenc and yenc[0] >= file.end and yenc[1] <= name.outer_start
    start = yenc[1] if yenc and is_inside else file.end
    return _telling(s, *words.trim_filler(s, start, name.outer_start))


def _tail(
    s: bytes,
    segment: Segment,
    yenc: tuple[int, int] | None,
    file: Counter | None,
    name: Name,
) -> tuple[int, int]:
    """The first free text after the name."""
    stops = [*segment.cuts, *([yenc] if yenc else [])]
    stops += [(file.start, file.end)] if file else []
    stops = sorted(stop for stop in stops if stop[0] < stop[1] and stop[0] >= name.outer_end)
    at = name.outer_end
    for start, end in [*stops, (len(s), len(s))]:
        if at < start:
            text = _telling(s, *words.trim_filler(s, at, start))
            if text[0] < text[1]:
                return text
        at = max(at, end)
    return 0, 0


def _request(s: bytes, start: int, end: int) -> tuple[int, int]:
    """The name in the last bracket when the brackets before it are those of a request."""
    groups: list[tuple[int, int]] = []
    at = start
    while (open_ := s.find(b"[", at, end)) >= 0:
        close = words.closing_of(s[:end], open_)
        if close is None or len(groups) == 8:
            return 0, 0
        if groups and not only_separators(s, at, open_):
            groups = []
        groups.append((open_ + 1, close))
        at = close + 1
    if not groups:
        return 0, 0
    before = [s[first:last].strip(b" \t\n\r\f") for first, last in groups[:-1]]
    if len(before) == 1:
        is_request = _is_id(before[0]) and bool(re.search(rb"[A-Za-z]", before[0]))
    else:
        is_request = any(_is_id(text) or _is_channel(text) for text in before)
    first, last = groups[-1]
    if not is_request or not only_separators(s, at, end) or bracketed(s, first - 1):
        return 0, 0
    name = s[first:last]
    first += len(name) - len(name.lstrip(b" \t"))
    last -= len(name) - len(name.rstrip(b" \t"))
    if first >= last or all(words.separator_at(s, i) for i in range(first, last)):
        return 0, 0
    return first, last


def _is_id(text: bytes) -> bool:
    """`93921`, `#93921`, `ReqID: 93921`."""
    pattern = rb"(?:req(?:id)?[ \t\n\r\f]*)?:?[ \t\n\r\f]*#?[0-9]{1,9}"
    return re.fullmatch(pattern, text, re.IGNORECASE) is not None


def _is_channel(text: bytes) -> bool:
    """`FULL`, `#a.b.x@EFNet`, `altbinEFNet`."""
    lower = text.lower()
    return lower == b"full" or b"efnet" in lower or (text[:1] == b"#" and b"@" in text)
