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
from voyager_core.catalog.errors import CatalogRefused
from voyager_core.catalog.fragments import SetAside
from voyager_core.catalog.repost_keys import first_keys, posts_of
from voyager_core.catalog.reposts import HeldChunk, held_chunks
from voyager_core.catalog.settle import Periods, in_several_chunks, read_periods
from voyager_core.catalog.telling_apart import Rewritten, store_apart
from voyager_core.domain.generations import REPOST_WINDOW, repost_key
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.errors import TransientError
from voyager_core.header_pass.build import build_files
from voyager_core.header_pass.editions import Named, editions
from voyager_core.header_pass.fragments import MERGED, SEGMENTS
from voyager_core.header_pass.postings import (
    Piece,
    Segments,
    files_of,
    postings_of,
    read_piece,
)
from voyager_core.header_pass.retries import dropped_share
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
        piece: its row and segments; its place is that of the record among all of the key.
        number: which post its key stands for: 0 the first, 1 that posted again and so on.
        kept: its articles afterwards, by the post that they are of.
        gone: what a rule drops of it, by the post that this would be.
        doubled: articles that another record has as well, and keeps.
        fullest: the most parts of a post that has what is gone.
        is_decided: whether the row tells more than the chunk's.
        is_placed: whether other records are of the same file.
    """

    chunk: int
    piece: Piece
    number: int
    kept: dict[int, Segments]
    gone: dict[int, Segments] = field(default_factory=dict)
    doubled: Segments = field(default_factory=dict)
    fullest: int = 0
    is_decided: bool = False
    is_placed: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether it is to be written anew."""
        return self.is_decided or self.kept != {self.number: self.piece.segments}


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
    try:
        records = _records(_files(key, held), held, numbers)
        tell_apart(records, share=dropped_share(rules))
        rewritten = _changed(records, held, key, rules, now)
        if not rewritten:
            return False
        posts = {repost_key(key, number): number for each in records for number in each.kept}
        outcome = store_apart(conn, numbers | posts, held, rewritten)
    except (TransientError, CatalogRefused):
        raise
    except Exception as error:
        # Whatever is wrong with one release, the others go on.
        logger.warning("release %016x is left as it is: %r", key, error, exc_info=True)
        return False
    if outcome.stored:
        logger.info("posts of release %016x told apart in %d chunks", key, len(rewritten))
    else:
        logger.info("posts of release %016x changed meanwhile and are left as they are", key)
    return outcome.stored


def _records(
    frames: Sequence[pl.DataFrame], held: Sequence[HeldChunk], numbers: Mapping[int, int]
) -> list[Record]:
    """Returns the files of chunks as they are; none where no file is there more than once."""
    if not _repeated(frames):
        return []
    rows = [(chunk, row) for chunk, frame in enumerate(frames) for row in _dated(frame).to_dicts()]
    return [
        new_record(chunk, read_piece(row, place), numbers[held[chunk].release_key])
        for place, (chunk, row) in enumerate(rows)
    ]


def _changed(
    records: Sequence[Record], held: Sequence[HeldChunk], key: int, rules: RuleSet, now: datetime
) -> list[Rewritten]:
    """Returns what becomes of the chunks that change."""
    of_chunk: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        of_chunk[record.chunk].append(record)
    return [
        _rewritten(held[chunk], mine, key, rules, now)
        for chunk, mine in sorted(of_chunk.items())
        if any(record.is_changed for record in mine)
    ]


def new_record(chunk: int, piece: Piece, number: int) -> Record:
    """Returns a file that stays as it is."""
    return Record(chunk, piece, number, {number: piece.segments})


def tell_apart(records: Sequence[Record], *, share: float | None) -> None:
    """Decides of which post each record is, and what of it is left of a retry.

    Args:
        records: all of one key and its reposts, in any order.
        share: of a file's parts that a retry sends again at most; None keeps retries.
    """
    of_place = {record.piece.place: record for record in records}
    for session in _sessions(records):
        of_file: dict[tuple[Any, ...], list[Record]] = {}
        for record in session:
            of_file.setdefault(_file_of(record), []).append(record)
        for same in of_file.values():
            if len(same) > 1:
                for file in files_of([record.piece for record in same]):
                    _place_file(file, of_place, share)
        _place_editions(session)


def _place_editions(session: Sequence[Record]) -> None:
    """Numbers the posts of a session anew, where its files are of several editions."""
    posts = [
        # The number of a lone record is what its span made of the posts that it saw.
        (record, number, _file_of(record), number if record.is_placed else 0)
        for record in session
        for number in sorted(record.kept)
    ]
    numbers = editions(
        [
            Named(
                name=(row := record.piece.row)["name"].lower(),
                file=(file, post),
                total=row["file_total"] or 0,
                place=row["file_index"] or 0,
                poster=row["poster"] if row["poster_constant"] else None,
                first=row["first_number"],
            )
            for record, _, file, post in posts
        ]
    )
    if not any(numbers):
        return
    held = {id(record): record.kept for record in session}
    for record in session:
        record.kept = {}
    for (record, number, _, _), edition in zip(posts, numbers, strict=True):
        record.kept[edition] = held[id(record)][number]


def _file_of(record: Record) -> tuple[Any, ...]:
    """Returns what is the same for all posts of a file; a cut one may have lost its base key."""
    return tuple(record.piece.row[name] for name in _SAME)


def _place_file(file: Sequence[Piece], of_place: Mapping[int, Record], share: float | None) -> None:
    """Gives every article of a file to the post that it is of; a lone record stays as it is."""
    for piece in file:
        record = of_place[piece.place]
        record.is_decided = piece is not record.piece
        record.is_placed = len(file) > 1
        record.piece = piece
        record.kept = {record.number: piece.segments} if len(file) < 2 else {}
    if len(file) < 2:
        return
    for number, posting in enumerate(postings_of(file)):
        # The first posting is what the others repeat.
        is_dropped = share is not None and number > 0 and posting.is_retry(share)
        for piece, segments in posting.shares:
            record = of_place[piece.place]
            if is_dropped and segments:
                record.gone[number] = segments
                record.fullest = max(record.fullest, posting.fullest)
            elif segments:
                record.kept[number] = segments
    for piece in file:
        record = of_place[piece.place]
        own = {
            part for held in (record.kept, record.gone) for each in held.values() for part in each
        }
        record.doubled = {part: piece.segments[part] for part in piece.segments.keys() - own}


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
    for record in records:
        row = {**record.piece.row, "session": 0, "release_rank": _STATED}
        row["release_name"] = chunk.name
        for number, segments in sorted(record.kept.items()):
            stays = {**row, "release_key": repost_key(key, number)}
            is_whole = segments == record.piece.segments and not record.is_decided
            rows.append(stays if is_whole else _with_segments(stays, segments))
        for number, segments in sorted(record.gone.items()):
            left = {**row, "release_key": repost_key(key, number)}
            left["generation"] = max(1, row["generation"])
            aside.append({**_with_segments(left, segments), "fullest": record.fullest})
    files = pl.DataFrame(rows, schema=dict(IDENTIFIED), orient="row")
    dropped = pl.DataFrame(aside, schema=dict(MERGED), orient="row")
    return Rewritten(
        chunk=chunk,
        built=build_files(files, now=now) if rows else None,
        gone=[
            message_id
            for record in records
            for segments in record.gone.values()
            for message_id, _ in segments.values()
        ],
        moved={
            message_id: repost_key(key, number)
            for record in records
            for number, segments in record.kept.items()
            for message_id, _ in segments.values()
            if number != record.number
        },
        doubled=sum(len(record.doubled) for record in records),
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
    """Tells whether some file, or some name of files, is there more than once."""
    if len(frames) < 2:
        return False
    names = pl.concat([frame.select(pl.col("name").str.to_lowercase()) for frame in frames])
    return names.n_unique() < names.height


def _dated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(kind) for name, kind in FILES.items())
