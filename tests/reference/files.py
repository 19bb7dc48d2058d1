"""Overview lines to files: the whole of a span at once, from lists and dictionaries."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import xxhash

from tests.reference import subjects, uncounted
from tests.reference.dates import parse_date
from tests.reference.lines import Line, group_names, owner, split_lines
from tests.reference.subjects import FLAGS, Segment
from tests.reference.text import subject_text, to_text

FILE_FLAGS = {
    "undated": 1 << 16,
    "size_unknown": 1 << 17,
    "counted_by_id": 1 << 18,
    "single_by_name": 1 << 19,
    "counter_is_segments": 1 << 20,
    "counter_is_files": 1 << 21,
    "counter_uncertain": 1 << 22,
    "subject_cut": 1 << 23,
    "repost": 1 << 24,
}
_SUBJECT_LIMIT = 2000
_BY_COUNTERS = sum(
    FILE_FLAGS[name] for name in ("counter_is_segments", "counter_is_files", "counter_uncertain")
)
_NOT_BY_SUBJECT = _BY_COUNTERS | FILE_FLAGS["counted_by_id"] | FILE_FLAGS["single_by_name"]
_SINGLE = 0x9E3779B97F4A7C15
_PARTS_A_RETRY = 10
_U32 = (1 << 32) - 1
_U64 = (1 << 64) - 1


@dataclass
class Article:
    """A line that is in a file, or on its way there."""

    row: int
    line: Line
    subject: bytes
    part: int
    posted: int
    key: int = 0

    @property
    def number(self) -> int:
        """Article number."""
        assert self.line.number is not None
        return self.line.number

    @property
    def size(self) -> int:
        """Size, 0 when unknown."""
        return self.line.size if self.line.size and self.line.size <= _U32 else 0


@dataclass
class Kept:
    """A file before its postings are told apart."""

    total: int
    flags: int = 0
    articles: list[Article] = field(default_factory=list)
    texts_of: Article | None = None
    renumbered: int | None = None

    def lowest(self) -> Article:
        """The article that the file's texts are taken from."""
        return min(self.articles, key=lambda each: (each.part, each.number))


class Oracle:
    """The lines of one span, filed."""

    def __init__(
        self, group: str, low: int = 0, high: int = 0, *, groups: Mapping[str, int], now: int
    ) -> None:
        self.group, self.low, self.high = group, low, high
        self.groups, self.now = dict(groups), now
        self.reasons: dict[int, str] = {}
        self.lines: list[Line] = []
        self._ordinary: dict[int, Kept] = {}
        self._doubtful: dict[int, Kept] = {}
        self.files: list[dict[str, Any]] = []

    def feed(self, text: bytes) -> None:
        """Files the lines of a text."""
        for line in split_lines(text):
            row = len(self.lines)
            self.lines.append(line)
            reason = self._file(row, line)
            if reason is not None:
                self.reasons[row] = reason

    def _file(self, row: int, line: Line) -> str | None:
        if line.reason is not None:
            return line.reason
        number = line.number
        assert number is not None
        if number < self.low or (self.high and number > self.high):
            return "outside_span"
        owned_by = owner(self.group, self.groups, line.xref)
        if owned_by != self.group:
            return f"crosspost:{owned_by}"
        text = subject_text(line.subject).encode()
        segment, how = subjects.find_segment(text), 0
        if not segment.counted:
            counted = self._uncounted(text, line.message_id)
            if isinstance(counted, str):
                return counted
            segment, how = counted
        elif segment.part == 0:
            if segment.total > 0:
                return "description"
            segment = Segment(1, 0, counted=True, either=segment.either, cuts=segment.cuts)
        details = subjects.details(text, segment)
        if details.is_set("index_spam"):
            return "index_spam"
        moment = parse_date(line.date)
        posted = 0 if moment is None else min(moment, self.now)
        article = Article(row, line, text, segment.part, posted if 0 <= posted <= _U32 else 0)
        cuts = list(segment.cuts)
        if not how and details.is_set("ambiguous"):
            key = self._key(text, [details.file_counter, *cuts], segment.total)
            self._doubtful.setdefault(key, Kept(segment.total)).articles.append(article)
        else:
            key = self._key(text, cuts, segment.total)
            self._ordinary.setdefault(key, Kept(segment.total, how)).articles.append(article)
        return None

    def _uncounted(self, text: bytes, message_id: bytes) -> tuple[Segment, int] | str:
        match = re.match(rb"part([0-9]{1,9})of([0-9]{1,9})\.", message_id, re.IGNORECASE)
        if match:
            part, total = int(match[1]), int(match[2])
            if part == 0 and total > 0:
                return "description"
            return Segment(max(part, 1), total, counted=True), FILE_FLAGS["counted_by_id"]
        details = subjects.details(text, Segment())
        if b"." in text and details.is_set("index_spam"):
            return "index_spam"
        if details.name[0] == details.name[1] or not details.is_set("extension"):
            return uncounted.reason(text, message_id)
        return Segment(1, 1, counted=True), FILE_FLAGS["single_by_name"]

    def _key(self, text: bytes, cuts: Iterable[tuple[int, int]], total: int) -> int:
        rest, at = b"", 0
        for start, end in sorted(cut for cut in cuts if cut[0] < cut[1]):
            rest += text[at : max(start, at)]
            at = max(end, at)
        rest += text[at:]
        seed = xxhash.xxh3_64_intdigest(self.group.encode()) ^ (total * 0x9E3779B97F4A7C15 & _U64)
        return xxhash.xxh3_64_intdigest(rest, seed=seed)

    def finish(self) -> None:
        """Decides what was left open and makes the rows of `files`."""
        self._decide()
        for base, kept in self._ordinary.items():
            texts = kept.texts_of or kept.lowest()
            for generation, articles in enumerate(self._postings(kept.articles)):
                key = base
                if generation:
                    key = xxhash.xxh3_64_intdigest(base.to_bytes(8, "little"), seed=generation)
                for each in articles:
                    each.key = key
                row = self._row(kept, texts, articles)
                keys = {"file_key": key, "base_key": base, "generation": generation}
                if row["is_fragment"] and not kept.flags & _NOT_BY_SUBJECT:
                    keys["base_key"] = self._base_of_fragment(base, articles[0], kept)
                self.files.append(keys | row)

    def _base_of_fragment(self, base: int, article: Article, kept: Kept) -> int:
        """The key without any counter, where equal counters may belong to a part of the file."""
        text = article.subject
        said = subjects.parse(text)
        if said.file_index is None or said.file_total != kept.total or kept.total < 2:
            return base
        return self._key(text, [said.file_counter, *said.segment.cuts], kept.total)

    def _decide(self) -> None:
        doubtful = self._doubtful.items()
        parsed = {key: subjects.parse(kept.lowest().subject) for key, kept in doubtful}
        siblings: dict[tuple[bytes, int], int] = defaultdict(int)
        for each in parsed.values():
            siblings[each.of(each.head), each.segment.total] += 1
        # Files of one segment join what is there already, the ones of segments never.
        for key, kept in self._doubtful.items():
            details = parsed[key]
            if len({each.part for each in kept.articles}) > 1:
                kept.flags = FILE_FLAGS["counter_is_segments"]
                self._join(key, kept, kept.lowest())
                continue
            text, cuts = kept.lowest().subject, list(details.segment.cuts)
            ordinary = self._key(text, cuts, details.segment.total)
            if ordinary in self._ordinary:
                self._join(ordinary, kept, kept.lowest())
                continue
            kept.flags = FILE_FLAGS["counter_is_files"]
            if siblings[details.of(details.head), details.segment.total] == 1:
                kept.flags |= FILE_FLAGS["counter_uncertain"]
            lowest = kept.lowest()
            numbers = [each.number for each in kept.articles]
            if self._reach(kept.total, 1, min(numbers), max(numbers))[0]:
                # Other parts of it may lie outside the span; merging will tell.
                kept.flags = FILE_FLAGS["counter_uncertain"]
                self._join(key, kept, lowest)
                continue
            for article in kept.articles:
                article.part = 1
            kept.total = 1
            self._join(key ^ _SINGLE, kept, lowest)

    def _join(self, key: int, kept: Kept, texts: Article) -> None:
        home = self._ordinary.get(key)
        if home is None:
            kept.texts_of = texts
            self._ordinary[key] = kept
            return
        other = home.texts_of or home.lowest()
        part = min(each.part for each in kept.articles)
        if (part, texts.number) < (other.part, other.number):
            home.texts_of = texts
        else:
            home.texts_of = other
        home.articles += kept.articles

    def _postings(self, articles: list[Article]) -> list[list[Article]]:
        """Tells the postings of a file apart, each by part; marks the duplicates."""
        seen: set[bytes] = set()
        by_part: dict[int, list[Article]] = defaultdict(list)
        for each in sorted(articles, key=lambda a: (a.number, a.part, a.line.message_id)):
            if each.line.message_id in seen:
                self.reasons[each.row] = "duplicate"
                continue
            seen.add(each.line.message_id)
            by_part[each.part].append(each)
        # What only few parts have more of was sent again: the file is whole without it.
        counts = sorted(map(len, by_part.values()), reverse=True)
        retried = max(1, len(counts) // _PARTS_A_RETRY)
        count = counts[retried] if retried < len(counts) else 1
        whole = {part: copies for part, copies in by_part.items() if len(copies) == count}
        postings: list[list[Article]] = [[] for _ in range(counts[0])]
        for part in sorted(by_part):
            copies = by_part[part]
            ordered, places = copies, list(range(len(copies)))
            if len(copies) != count and counts[0] <= 64 and whole:
                near = whole[min(whole, key=lambda other: (abs(other - part), other))]
                if len(copies) < count:
                    places = _nearest(copies, near)
                else:
                    chosen = [copies[place] for place in _nearest(near, copies)]
                    ordered = chosen + [each for each in copies if each not in chosen]
            for place, copy in zip(places, ordered, strict=True):
                postings[place].append(copy)
        return postings

    def _row(
        self,
        kept: Kept,
        texts: Article,
        articles: list[Article],
    ) -> dict[str, Any]:
        lowest, numbers = articles[0], [each.number for each in articles]
        text = _cut(texts.subject)
        if lowest.part != texts.part:
            text = _with_part(text, lowest.part)
        said = subjects.parse(text)
        times = [each.posted for each in articles if each.posted]
        posters = {each.line.poster for each in articles}
        total, found = kept.total, len(articles)
        counted = not kept.flags & FILE_FLAGS["counter_is_segments"]
        first, last = min(numbers), max(numbers)
        is_fragment, reach_low, reach_high = self._reach(total, found, first, last)
        is_fragment |= (kept.flags & _BY_COUNTERS) == FILE_FLAGS["counter_uncertain"]
        return {
            "subject": to_text(text),
            "name": to_text(said.of(said.name)),
            "head": to_text(said.of(said.head)),
            "tail": to_text(said.of(said.tail)),
            "request": to_text(said.of(said.request)),
            "file_index": said.file_index if counted else None,
            "file_total": said.file_total if counted else None,
            "parts_total": total,
            "parts_found": found,
            "size_bytes": sum(each.size for each in articles),
            "poster": to_text(lowest.line.poster),
            "poster_constant": len(posters) == 1,
            "group": self.group,
            "groups": self._groups(texts.line.xref),
            "first_posted_at": _moment(min(times, default=0)),
            "last_posted_at": _moment(max(times, default=0)),
            "first_number": first,
            "last_number": last,
            "first_message_id": to_text(lowest.line.message_id),
            "is_fragment": is_fragment,
            "reach_low": reach_low,
            "reach_high": reach_high,
            "segments": [
                (each.part, to_text(each.line.message_id), each.size) for each in articles
            ],
        }

    def _groups(self, xref: bytes) -> str:
        listed = dict.fromkeys([self.group.encode(), *group_names(xref)])
        return " ".join(to_text(name) for name in listed)

    def _reach(self, total: int, found: int, first: int, last: int) -> tuple[bool, int, int]:
        if found >= total:
            return False, first, last
        step = max(1, (last - first) // max(1, found - 1))
        distance = min((total - found) * step * 4 + 2000, _U64)
        low, high = max(0, first - distance), min(last + distance, _U64)
        leaves = (self.low > 0 and low < self.low) or (self.high > 0 and high > self.high)
        return leaves, low, high

    def articles(self) -> list[tuple[int | None, int | None, int | None, str | None]]:
        """Returns number, file key, part and reason of every line."""
        keys: dict[int, tuple[int, int]] = {}
        for kept in [*self._ordinary.values()]:
            for each in kept.articles:
                if each.row not in self.reasons:
                    keys[each.row] = each.key, each.part
        return [
            (line.number, *keys.get(row, (None, None)), self.reasons.get(row))
            for row, line in enumerate(self.lines)
        ]


def _nearest(copies: list[Article], anchor: list[Article]) -> list[int]:
    """Returns ascending places for copies, their numbers as near as can be to the anchor's."""
    best: dict[tuple[int, int], int] = {}

    def least(copy: int, place: int) -> int:
        if copy == len(copies):
            return 0
        if place == len(anchor):
            return 1 << 200
        if (copy, place) not in best:
            here = least(copy + 1, place + 1) + abs(copies[copy].number - anchor[place].number)
            best[copy, place] = min(here, least(copy, place + 1))
        return best[copy, place]

    places, place = [], 0
    for copy in range(len(copies)):
        while least(copy, place) == least(copy, place + 1):
            place += 1
        places.append(place)
        place += 1
    return places


def _cut(text: bytes) -> bytes:
    return text[:_SUBJECT_LIMIT].decode("utf-8", "ignore").encode()


def _with_part(text: bytes, part: int) -> bytes:
    """The subject of another part of the file: that number in its counter and the copies."""
    out, at = b"", 0
    for start, end in subjects.find_segment(text).cuts:
        number = re.compile(rb"[0-9]+").search(text, start, end)
        if number is None or start < at:
            continue
        out += text[at : number.start()] + b"%0*d" % (len(number[0]), part)
        at = number.end()
    return out + text[at:]


def _moment(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


__all__ = ["FILE_FLAGS", "FLAGS", "Oracle"]
