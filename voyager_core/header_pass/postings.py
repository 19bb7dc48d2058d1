"""The pieces of one file, told apart: whose an equal counter is, and which posting each is of.

What the engine cannot see in a span is decided here on all pieces together, by its own rules:
a counter that is there twice (`[3/40] … (3/40)`), and articles that were sent again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import polars as pl

import voyager_native
from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.header_pass.retries import SHARE, is_retry, times_posted

Segments = Mapping[int, tuple[str, int]]
"""Message-id and size of each part."""

# With more postings the copies of a part are dealt out in order, whatever was lost.
_MOST_WEIGHED = 8

_IS_FILES = voyager_native.FILE_FLAGS["counter_is_files"]
_IS_SEGMENTS = voyager_native.FILE_FLAGS["counter_is_segments"]
_UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]
# As the engine makes the key of a file of one segment from that of its name without counters.
_SINGLE = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Piece:
    """What one span holds of a posting.

    Attributes:
        row: the file's row (`schemas.FRAGMENTS`).
        segments: its articles, by part.
        place: its place among those that are looked at; stays when its counters are decided.
    """

    row: Mapping[str, Any]
    segments: Segments
    place: int = 0

    @property
    def is_undecided(self) -> bool:
        """Whether the span did not tell whose its equal counters are."""
        return bool(self.row["flags"] & (_UNCERTAIN | _IS_FILES | _IS_SEGMENTS) == _UNCERTAIN)


@dataclass(slots=True)
class Posting:
    """A file as it was posted once.

    Attributes:
        shares: the pieces that have articles of it, and which; an article that two pieces have
            is the first one's.
        segments: all of them.
        fullest: the most parts of a posting that has all of its parts; its own may be the most.
    """

    shares: list[tuple[Piece, Segments]] = field(default_factory=list)
    segments: dict[int, tuple[str, int]] = field(default_factory=dict)
    fullest: int = 0

    def add(self, piece: Piece, segments: Segments) -> None:
        """Puts articles of a piece in; a piece comes once."""
        self.shares.append((piece, segments))
        self.segments.update(segments)

    def is_retry(self, share: float = SHARE) -> bool:
        """Tells whether a poster merely sent these articles again (see `retries`)."""
        return is_retry(len(self.segments), self.fullest, share)


def read_piece(row: Mapping[str, Any], place: int = 0) -> Piece:
    """Returns a stored row with its segments.

    Args:
        row: with a payload.
        place: its place among those that are looked at.

    Raises:
        ValueError: the payload is damaged.
    """
    table = pl.DataFrame(voyager_native.decode_segments(row["payload"]))
    rows = table.select("part", "message_id", "size_bytes").iter_rows()
    return Piece(row, {part: (message_id, size or 0) for part, message_id, size in rows}, place)


def files_of(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Returns the pieces of one base key by file, with equal counters decided.

    More than one file has the same base key only where the counters of a file and of its
    segments have one total.
    """
    doubtful = [each for each in pieces if each.is_undecided]
    segmented = [each for each in pieces if each.row["flags"] & _IS_SEGMENTS]
    by_index: dict[int | None, list[Piece]] = {}
    for each in pieces:
        if not each.is_undecided and not each.row["flags"] & _IS_SEGMENTS:
            by_index.setdefault(each.row["file_index"], []).append(each)
    parts = {part for each in doubtful for part in each.segments}
    if segmented or len(parts) > 1:
        segmented += [_as_segments(each) for each in doubtful]
    else:
        known = {index: some[0] for index, some in by_index.items()}
        for each in doubtful:
            index = each.row["file_index"]
            file = known.get(index)
            decided = _as_single(each) if file is None else _as_part_of(file, each)
            by_index.setdefault(index, []).append(decided)
    return [some for some in (segmented, *by_index.values()) if some]


def postings_of(pieces: Iterable[Piece]) -> list[Posting]:
    """Returns the postings of one file, the first one first, as the engine tells them apart.

    A part that is there twice under different message-ids was posted twice. Its copies belong
    to the postings in the order of their article numbers; where only few are there twice, the
    poster sent these again, and the file is whole with the copy that is nearest to its neighbours.
    What was merely sent again stands behind the postings, so that it moves none of them.

    Args:
        pieces: in the order of their times and article numbers.
    """
    found = [posting for session in _sessions(pieces) for posting in _dealt(_by_span(session))]
    held = sorted((posting.segments.keys() for posting in found), key=len, reverse=True)
    for posting in found:
        # What is nowhere else repeats nothing, however few articles it has.
        posting.fullest = next(len(parts) for parts in held if posting.segments.keys() <= parts)
    return sorted(found, key=Posting.is_retry)


def _sessions(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yields the pieces between silences after which a post is another release."""
    session: list[Piece] = []
    end: Any = None
    for piece in pieces:
        since, until = piece.row["first_posted_at"], piece.row["last_posted_at"]
        if end is not None and since is not None and since - end > REPOST_WINDOW:
            yield session
            session, end = [], None
        session.append(piece)
        if until is not None:
            end = until if end is None else max(end, until)
    if session:
        yield session


def _by_span(pieces: Sequence[Piece]) -> list[Piece]:
    """Returns pieces in the order of their spans, those of one span by their generations."""
    clusters: list[list[Piece]] = []
    end = -1
    for piece in sorted(pieces, key=lambda each: _numbers(each)[0]):
        first, last = _numbers(piece)
        # Spans have no number in common, so pieces that overlap are of one span.
        if first > end:
            clusters.append([])
        clusters[-1].append(piece)
        end = max(end, last)
    return [
        piece
        for cluster in clusters
        for piece in sorted(cluster, key=lambda each: each.row["generation"])
    ]


def _dealt(pieces: Sequence[Piece]) -> list[Posting]:
    copies: dict[int, dict[str, int]] = {}
    for place, piece in enumerate(pieces):
        for part, (message_id, _) in piece.segments.items():
            copies.setdefault(part, {}).setdefault(message_id, place)
    counts = sorted(map(len, copies.values()), reverse=True)
    most = counts[0] if counts else 0
    if most <= 1:
        whole = Posting()
        for place, piece in enumerate(pieces):
            whole.add(
                piece,
                {
                    part: copy
                    for part, copy in piece.segments.items()
                    if copies[part][copy[0]] == place
                },
            )
        return [whole]
    order = _Order(pieces, copies, times_posted(counts), is_weighed=most <= _MOST_WEIGHED)
    shares: list[dict[int, dict[int, tuple[str, int]]]] = [{} for _ in range(most)]
    for part in copies:
        for number, place in order.of(part):
            shares[number].setdefault(place, {})[part] = pieces[place].segments[part]
    postings = [Posting() for _ in shares]
    for posting, share in zip(postings, shares, strict=True):
        for place, segments in sorted(share.items()):
            posting.add(pieces[place], segments)
    return postings


class _Order:
    """Which posting each copy of a part is of."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        copies: Mapping[int, Mapping[str, int]],
        count: int,
        *,
        is_weighed: bool,
    ) -> None:
        self._places = {part: list(held.values()) for part, held in copies.items()}
        self._whole = sorted(part for part, held in copies.items() if len(held) == count)
        self._numbers = [_estimates(piece) for piece in pieces]
        self._held: list[list[int]] = [[] for _ in pieces]
        for whole in self._whole:
            for place in self._places[whole]:
                self._held[place].append(whole)
        self._count = count
        self._is_weighed = is_weighed and bool(self._whole)

    def of(self, part: int) -> Iterator[tuple[int, int]]:
        """Yields the posting and the piece of each copy of a part."""
        places = self._places[part]
        if len(places) == self._count or not self._is_weighed:
            return iter(enumerate(places))
        near = _nearest(self._whole, part)
        mine = [self._numbers[place][part] for place in places]
        theirs = [self._numbers[place][near] for place in self._places[near]]
        if len(places) < self._count:
            # Numbers are estimates, but what lies in one piece was posted together.
            known = (self._beside(place, part) for place in places)
            beside = [posting for posting in known if posting is not None]
            if len(set(beside)) < len(places):
                beside = _matched(mine, theirs)
            return zip(beside, places, strict=True)
        kept = _matched(theirs, mine)
        rest = [place for each, place in enumerate(places) if each not in kept]
        return iter(enumerate([*(places[each] for each in kept), *rest]))

    def _beside(self, place: int, part: int) -> int | None:
        """Returns the posting of the nearest article of a piece that no posting lacks."""
        held = self._held[place]
        return self._places[_nearest(held, part)].index(place) if held else None


def _estimates(piece: Piece) -> dict[int, float]:
    """Returns about which article number each part has: posters send them in order."""
    first, last = _numbers(piece)
    step = (last - first) / max(1, len(piece.segments) - 1)
    return {part: first + step * place for place, part in enumerate(sorted(piece.segments))}


def _numbers(piece: Piece) -> tuple[int, int]:
    return piece.row["first_number"], piece.row["last_number"]


def _nearest(whole: Sequence[int], part: int) -> int:
    """Returns the nearest part that no posting lacks; of two equally near ones the lower."""
    at = bisect_left(whole, part)
    beside = whole[max(0, at - 1) : at + 1]
    return min(beside, key=lambda each: (abs(each - part), each))


def _matched(copies: Sequence[float], anchor: Sequence[float]) -> list[int]:
    """Returns ascending postings such that the copies are least far from the anchor's."""
    places = range(len(anchor))
    return list(
        min(
            combinations(places, len(copies)),
            key=lambda chosen: sum(
                abs(copy - anchor[place]) for copy, place in zip(copies, chosen, strict=True)
            ),
        )
    )


def _as_segments(piece: Piece) -> Piece:
    flags = piece.row["flags"] & ~_UNCERTAIN | _IS_SEGMENTS
    row = {**piece.row, "flags": flags, "file_index": None, "file_total": None}
    return replace(piece, row=row)


def _as_part_of(file: Piece, piece: Piece) -> Piece:
    flags = piece.row["flags"] & ~_UNCERTAIN
    return replace(piece, row={**piece.row, "flags": flags, "file_key": file.row["file_key"]})


def _as_single(piece: Piece) -> Piece:
    base = piece.row["base_key"] ^ _SINGLE
    row = {
        **piece.row,
        "flags": piece.row["flags"] | _IS_FILES,
        "base_key": base,
        "file_key": base if piece.row["generation"] == 0 else piece.row["file_key"],
        "parts_total": 1,
    }
    return replace(piece, row=row, segments={1: next(iter(piece.segments.values()))})
