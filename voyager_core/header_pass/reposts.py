"""Posts of one release key that lie in different spans, told apart as one span tells them.

A span that holds a file twice gives its second post a key of its own, and drops what a poster
merely sent again. Where a cut separates them, both spans state the same key. When nothing is
added to a release any more, all that is stored under its key is looked at together, by the
same rules; so the outcome does not depend on the cuts.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl

import voyager_native
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.fragments import SetAside
from voyager_core.catalog.repost_keys import first_keys, posts_of
from voyager_core.catalog.reposts import HeldChunk, held_chunks
from voyager_core.catalog.settle import Periods, in_several_chunks, read_periods
from voyager_core.catalog.telling_apart import Rewritten, store_apart
from voyager_core.domain.generations import REPOST_WINDOW, repost_key
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.header_pass.build import build_files
from voyager_core.header_pass.fragments import SEGMENTS
from voyager_core.header_pass.postings import (
    PARTS_A_RETRY,
    Piece,
    Posting,
    Segments,
    files_of,
    postings_of,
    read_piece,
)
from voyager_core.header_pass.run import versions_of
from voyager_core.header_pass.schemas import FILES, IDENTIFIED

logger = logging.getLogger(__name__)

_SAME = ("name", "head", "tail", "request", "file_index", "file_total", "parts_total")
_KEYS_AT_A_TIME = 50
_STATED = 1
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Record:
    """A file as one chunk holds it, and what becomes of it.

    Attributes:
        chunk: place of its chunk among those of its key.
        piece: its row and segments.
        number: which post its key stands for: 0 the first, 1 that posted again and so on.
        target: which post it is of.
        kept: its segments afterwards; empty when a rule drops all of them.
        gone: what a rule drops of it, by part.
        fullest: the most parts that a post of the file has.
    """

    chunk: int
    piece: Piece
    number: int
    target: int
    kept: Segments
    gone: Segments = field(default_factory=dict)
    fullest: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether it is to be written anew."""
        return self.target != self.number or self.kept != self.piece.segments


def part_reposts(
    conn: Connection,
    *,
    settle_after_seconds: float,
    now: datetime,
    rules: RuleSet,
    periods: Periods | None = None,
) -> int:
    """Tells posts apart in all releases that are finished and not settled yet.

    Args:
        conn: the catalog, outside any transaction.
        settle_after_seconds: how long nothing may have arrived.
        now: the time.
        rules: those in force.
        periods: what is read, where releases settle by the same; absent: what is read now.

    Returns:
        How many keys were written anew.

    Raises:
        CatalogUnavailable: the database does not answer; what was done stays done.
    """
    periods = read_periods(conn) if periods is None else periods
    written = 0
    seen: set[int] = set()
    for keys in in_several_chunks(
        conn, periods, settle_after_seconds=settle_after_seconds, now=now
    ):
        # Hardly any holds a file twice, and only these are asked about their reposts.
        repeated = [
            key
            for start in range(0, len(keys), _KEYS_AT_A_TIME)
            for key in _with_repeats(conn, keys[start : start + _KEYS_AT_A_TIME])
        ]
        firsts = dict.fromkeys(first_keys(conn, repeated).values())
        written += sum(part_key(conn, key, rules, now=now) for key in firsts if key not in seen)
        seen.update(firsts)
    return written


def _with_repeats(conn: Connection, keys: Sequence[int]) -> list[int]:
    """Returns the keys under which some file is stored more than once."""
    held: dict[int, list[HeldChunk]] = defaultdict(list)
    for chunk in held_chunks(conn, keys):
        held[chunk.release_key].append(chunk)
    if not held and len(keys) > 1:
        # Too many together; alone they may do.
        return [key for each in keys for key in _with_repeats(conn, [each])]
    return [key for key, chunks in held.items() if _repeated(_files(key, chunks))]


def part_key(conn: Connection, key: int, rules: RuleSet, *, now: datetime) -> bool:
    """Tells the posts of one key apart; tells whether anything was written.

    Args:
        conn: the catalog, outside any transaction.
        key: that of a first post.
        rules: those in force.
        now: the time.

    Raises:
        CatalogUnavailable: the database does not answer; nothing was changed.
    """
    numbers = posts_of(conn, key)
    held = held_chunks(conn, list(numbers))
    frames = _files(key, held)
    if not _repeated(frames):
        return False
    records = [
        Record(place, piece, number, number, piece.segments)
        for place, (frame, each) in enumerate(zip(frames, held, strict=True))
        for number in (numbers[each.release_key],)
        for piece in map(read_piece, _dated(frame).to_dicts())
    ]
    tell_apart(records, share=rules.remnant_share if _drops(rules) else None)
    changed = {each.chunk for each in records if each.is_changed}
    if not changed:
        return False
    of_chunk: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        of_chunk[record.chunk].append(record)
    rewritten = [
        _rewritten(held[place], of_chunk[place], key, rules, now) for place in sorted(changed)
    ]
    numbers |= {repost_key(key, each.target): each.target for each in records}
    outcome = store_apart(conn, numbers, held, rewritten)
    if outcome.stored:
        logger.info("posts of release %016x told apart in %d chunks", key, len(changed))
    else:
        logger.info("posts of release %016x changed meanwhile and are left as they are", key)
    return outcome.stored


def tell_apart(records: Sequence[Record], *, share: float | None) -> None:
    """Decides of which post each record is, and what of it is left of a retry.

    Args:
        records: all of one key and its reposts, in any order.
        share: of a file's parts that a retry sends again at most; None keeps retries.
    """
    for session in _sessions(records):
        of_file: dict[tuple[Any, ...], list[Record]] = {}
        for record in session:
            of_file.setdefault(_file_of(record), []).append(record)
        for same in of_file.values():
            if len(same) > 1:
                by_row = {id(record.piece.row): record for record in same}
                for file in files_of([record.piece for record in same]):
                    some = [by_row[id(piece.row)] for piece in file if id(piece.row) in by_row]
                    _place_file(some, postings_of(file), share)


def _file_of(record: Record) -> tuple[Any, ...]:
    """Returns what is the same for all posts of a file; a cut one may have lost its base key."""
    return tuple(record.piece.row[name] for name in _SAME)


def _place_file(
    records: Sequence[Record], postings: Sequence[Posting], share: float | None
) -> None:
    if len(records) < 2:
        return
    total = max(record.piece.row["parts_total"] for record in records)
    fullest = max(len(posting.segments) for posting in postings)
    most = max(1, total // PARTS_A_RETRY if share is None else int(total * share))
    full = [each for each in postings if len(each.segments) > most or fullest <= most]
    remnants = [each for each in postings if not (len(each.segments) > most or fullest <= most)]
    # Which postings a record has articles of.
    numbers: dict[int, list[int]] = defaultdict(list)
    for number, posting in enumerate([*full, *remnants]):
        for row in posting.pieces:
            numbers[id(row)].append(number)
    for record in records:
        record.fullest = fullest
    if len(full) == 1 and remnants:
        _mend(records, full[0], is_dropped=share is not None)
        return
    for record in records:
        number = numbers[id(record.piece.row)][0]
        if share is not None and number >= len(full):
            record.kept, record.gone = {}, record.piece.segments
        else:
            record.target = number


def _mend(records: Sequence[Record], whole: Posting, *, is_dropped: bool) -> None:
    """Gives the fullest record one article of each part; the rest is a retry."""
    ordered = sorted(records, key=lambda each: (-len(each.piece.segments), each.chunk))
    taken: set[int] = set()
    for record in ordered:
        segments = record.piece.segments
        mine = {part: whole.segments[part] for part in segments if part not in taken}
        again = [part for part in segments if part in taken]
        if again and not is_dropped:
            # Without the rule a retry is a post of its own.
            record.target = 1
            continue
        taken.update(mine)
        record.kept = mine
        record.gone = {part: _copy_left_out(part, records, whole) for part in again}
        record.target = 0


def _copy_left_out(part: int, records: Sequence[Record], whole: Posting) -> tuple[str, int]:
    """Returns the copy of a part that the whole file has not."""
    copies = [each.piece.segments[part] for each in records if part in each.piece.segments]
    kept = whole.segments[part]
    return next((copy for copy in copies if copy[0] != kept[0]), kept)


def _sessions(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yields the records between pauses of a repost's length, each in the order of posting."""
    ordered = sorted(records, key=_order)
    session: list[Record] = []
    end: datetime | None = None
    for record in ordered:
        since, until = record.piece.row["first_posted_at"], record.piece.row["last_posted_at"]
        if end is not None and since is not None and since - end > REPOST_WINDOW:
            yield session
            session, end = [], None
        session.append(record)
        if until is not None:
            end = until if end is None else max(end, until)
    if session:
        yield session


def _order(record: Record) -> tuple[Any, ...]:
    row = record.piece.row
    return (
        row["first_posted_at"] or _LATEST,
        row["first_number"],
        row["last_number"],
        row["file_key"],
    )


def _rewritten(
    chunk: HeldChunk, records: Sequence[Record], key: int, rules: RuleSet, now: datetime
) -> Rewritten:
    rows: list[dict[str, Any]] = []
    aside: list[dict[str, Any]] = []
    moved: dict[str, int] = {}
    for record in records:
        target = repost_key(key, record.target)
        stated = {"session": 0, "release_rank": _STATED, "release_name": chunk.name}
        row = {**record.piece.row, **stated, "release_key": target}
        if record.gone:
            left = _with_segments(row, record.gone)
            generation = max(1, row["generation"])
            aside.append({**left, "generation": generation, "fullest": record.fullest})
        if record.kept:
            is_whole = record.kept == record.piece.segments
            rows.append(row if is_whole else _with_segments(row, record.kept))
        if record.target != record.number:
            moved.update((message_id, target) for message_id, _ in record.kept.values())
    files = pl.DataFrame(rows, schema=dict(IDENTIFIED), orient="row")
    schema = {**IDENTIFIED, "fullest": pl.UInt32()}
    dropped = pl.DataFrame(aside, schema=schema, orient="row")
    return Rewritten(
        chunk=chunk,
        built=build_files(files, now=now) if rows else None,
        gone=[message_id for record in records for message_id, _ in record.gone.values()],
        moved=moved,
        aside=SetAside(dropped, REPOST_REMNANT, versions_of(rules)) if aside else None,
    )


def _with_segments(row: Mapping[str, Any], segments: Segments) -> dict[str, Any]:
    parts = sorted(segments)
    table = pl.DataFrame(
        [(part, *segments[part]) for part in parts], schema=dict(SEGMENTS), orient="row"
    )
    return {
        **row,
        "parts_found": len(parts),
        "size_bytes": sum(size for _, size in segments.values()),
        "first_message_id": segments[parts[0]][0],
        "payload": voyager_native.encode_segments(table),
    }


def _files(key: int, held: Sequence[HeldChunk]) -> list[pl.DataFrame]:
    """Returns the files of each chunk; none when a chunk is damaged."""
    try:
        return [pl.DataFrame(voyager_native.decode_chunk(each.payload).files) for each in held]
    except ValueError as error:
        # The check of the catalog names the chunk; the other releases go on.
        logger.warning("release %016x is left as it is: %s", key, error)
        return []


def _repeated(frames: Sequence[pl.DataFrame]) -> bool:
    """Tells whether some file is there more than once."""
    if len(frames) < 2:
        return False
    files = pl.concat([frame.select(_SAME) for frame in frames])
    return files.n_unique() < files.height


def _dated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(kind) for name, kind in FILES.items())


def _drops(rules: RuleSet) -> bool:
    return REPOST_REMNANT in rules.dropped
