"""Files that span edges cut: their pieces, found in several spans, made whole again.

Pieces are merged on their segments. The same part under another message-id belongs to a
repost, so the outcome is one or more generations of the file, whatever the order in which
the spans were indexed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

import voyager_native
from voyager_core.domain.generations import REPOST_WINDOW, repost_key
from voyager_core.header_pass.editions import numbered_posts
from voyager_core.header_pass.postings import Posting, files_of, postings_of, read_piece
from voyager_core.header_pass.retries import SHARE, retries
from voyager_core.header_pass.schemas import FRAGMENTS, IDENTIFIED, Schema, conform, empty

SEGMENTS: Schema = {
    "part": pl.UInt32(),
    "message_id": pl.String(),
    "size_bytes": pl.UInt32(),
}

MERGED: Schema = {**IDENTIFIED, "fullest": pl.UInt32()}
"""A merged file, and the most parts of a posting that has all of its parts."""

_REACH_FACTOR = 4
_REACH_LEAST = 2000


def fragments_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Returns stored fragments as the frame that `merge_fragments` takes.

    Args:
        rows: mappings with the columns of `schemas.FRAGMENTS`; times may be epoch seconds.
    """
    moments = ("first_posted_at", "last_posted_at")
    plain = [{**row, **{each: _moment(row.get(each)) for each in moments}} for row in rows]
    columns = [{name: row.get(name) for name in FRAGMENTS} for row in plain]
    return conform(
        pl.DataFrame(columns, schema=dict(FRAGMENTS), orient="row"), FRAGMENTS, what="fragments"
    )


def merge_fragments(fragments: pl.DataFrame) -> pl.DataFrame:
    """Returns the files that pieces of them make up (`MERGED`), none of them cut.

    All pieces with one base key should come together. A file keeps the key of its base; its
    release is the one that the surest of its pieces names.

    Args:
        fragments: rows of `schemas.FRAGMENTS`, of any number of files, in any order.

    Raises:
        ValueError: a payload is damaged.
    """
    ordered = conform(fragments, FRAGMENTS, what="fragments").sort(
        "base_key", "first_posted_at", "first_number", "last_number", "file_key", nulls_last=True
    )
    merged: list[dict[str, Any]] = []
    numbers: list[int] = []
    for pieces in ordered.partition_by("base_key", maintain_order=True):
        for file in files_of([read_piece(row) for row in pieces.to_dicts()]):
            rows = list(_whole_files(postings_of(file)))
            numbers += [len(merged)] * len(rows)
            merged.extend(rows)
    if not merged:
        return empty(MERGED)
    whole = pl.DataFrame(merged, schema=dict(MERGED), orient="row")
    posts = _posts(_sessions(whole.with_columns(_file=pl.Series(numbers, dtype=pl.UInt32))))
    return conform(posts, MERGED, what="merged files")


def _posts(files: pl.DataFrame) -> pl.DataFrame:
    """Gives what was posted again within a session the key of a repost, as one span does."""
    # What was merely sent again has the highest generations.
    generation = pl.col("generation").cast(pl.UInt32)
    rank = generation.rank("dense").over("release_key", "session", "_file").cast(pl.UInt32) - 1
    files = files.with_row_index("_row").with_columns(number=rank)
    name = pl.col("name").str.to_lowercase()
    has_from = pl.col("poster_constant") & (pl.col("poster") != "")
    edition = numbered_posts(
        files.select(
            *("_row", "release_key", "session", "first_number", "_file", "generation"),
            _name_id=pl.when(name != "").then(name.hash()),
            _total=pl.col("file_total").fill_null(0),
            _index=pl.col("file_index").cast(pl.Int64).fill_null(-1),
            _from_id=pl.when(has_from).then(pl.col("poster").hash()).otherwise(0),
            _sent_again=retries(SHARE),
        ),
        "release_key",
    )
    if edition.height:
        files = files.join(edition, on="_row", how="left", maintain_order="left")
        # What was merely sent again is of no edition, and behind them all.
        behind = pl.col("number") + (pl.col("_editions").fill_null(1) - 1)
        number = pl.coalesce("_edition", pl.when(pl.col("number") > 0).then(behind).otherwise(0))
        files = files.with_columns(number=number)
    again = files.select("release_key", "number")
    keys = [repost_key(key, number) if number else key for key, number in again.iter_rows()]
    return files.with_columns(release_key=pl.Series(keys, dtype=pl.UInt64))


def split_remnants(merged: pl.DataFrame, share: float | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns merged files without what is left of retries, and that, with `fullest`.

    Args:
        merged: files of `merge_fragments`.
        share: of the parts that are there of a file, a retry has at most so many, or one; None
            keeps retries.
    """
    return merged.filter(~retries(share)).drop("fullest"), merged.filter(retries(share))


def set_aside_frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Returns files that were set aside as they were: `schemas.IDENTIFIED`, and `fullest`."""
    kept = list(rows)
    fullest = pl.Series("fullest", [row["fullest"] for row in kept], dtype=pl.UInt32)
    return fragments_frame(kept).with_columns(fullest)


def pending(merged: pl.DataFrame, covered: Sequence[tuple[int, int]]) -> pl.Series:
    """Tells for each merged file whether a missing part can still come.

    Args:
        merged: files of `merge_fragments`.
        covered: stretches of article numbers that are indexed for good, ends included.
    """
    joined = _joined(covered)
    waits = [
        0 < found < total and not any(low <= first and last <= high for low, high in joined)
        for found, total, first, last in merged.select(
            "parts_found", "parts_total", "reach_low", "reach_high"
        ).iter_rows()
    ]
    return pl.Series("pending", waits, dtype=pl.Boolean)


def _whole_files(postings: Sequence[Posting]) -> Iterator[dict[str, Any]]:
    """Yields the row of each posting of a file."""
    used: set[int] = set()
    for number, posting in enumerate(postings):
        key = _file_key(posting, number, used)
        used.add(key)
        yield _whole(posting, number, key)


def _whole(posting: Posting, number: int, file_key: int) -> dict[str, Any]:
    pieces = [piece.row for piece, _ in posting.shares]
    parts = sorted(posting.segments)
    segments = pl.DataFrame(
        [(part, *posting.segments[part]) for part in parts], schema=dict(SEGMENTS), orient="row"
    )
    # A subject is that of the lowest part of its piece, whichever posting has that.
    first, _ = min(
        posting.shares, key=lambda each: (min(each[0].segments), each[0].row["first_number"])
    )
    # A lone line whose equal counters were undecided knows less than others.
    surest = min(
        pieces,
        key=lambda each: (-each["release_rank"], -each["parts_found"], each["release_key"]),
    )
    flags = 0
    for piece in pieces:
        flags |= piece["flags"]
    times = [piece["first_posted_at"] for piece in pieces if piece["first_posted_at"]]
    ends = [piece["last_posted_at"] for piece in pieces if piece["last_posted_at"]]
    whole = {
        **first.row,
        "file_key": file_key,
        "generation": number,
        "parts_found": len(parts),
        "size_bytes": sum(size for _, size in posting.segments.values()),
        "poster_constant": all(piece["poster_constant"] for piece in pieces)
        and len({piece["poster"] for piece in pieces}) == 1,
        "first_posted_at": min(times, default=None),
        "last_posted_at": max(ends, default=None),
        "first_number": min(piece["first_number"] for piece in pieces),
        "last_number": max(piece["last_number"] for piece in pieces),
        "first_message_id": posting.segments[parts[0]][0],
        "flags": flags,
        "is_fragment": False,
        "payload": voyager_native.encode_segments(segments),
        "release_key": surest["release_key"],
        "session": 0,
        "release_rank": surest["release_rank"],
        "release_name": surest["release_name"],
        "fullest": posting.fullest,
    }
    return {**whole, **_reach(whole)}


def _sessions(files: pl.DataFrame) -> pl.DataFrame:
    """Tells files of one release key apart that were posted later than a repost begins."""
    dated = files.with_columns(
        _since=pl.col("first_posted_at").fill_null(strategy="forward").over("release_key"),
        _until=pl.col("last_posted_at").fill_null(strategy="forward").over("release_key"),
    ).sort("release_key", "_since", "file_key", nulls_last=True)
    silence = pl.col("_since") - pl.col("_until").cum_max().shift(1).over("release_key")
    return dated.with_columns(_late=(silence > REPOST_WINDOW).fill_null(value=False)).with_columns(
        session=pl.col("_late").cum_sum().over("release_key").cast(pl.UInt32)
    )


def _file_key(posting: Posting, number: int, used: set[int]) -> int:
    """Returns the key of a posting: that of the highest generation that a span saw in it.

    A span that saw an earlier posting may hold that one whole, under the key without a number.
    """
    pieces = [piece.row for piece, _ in posting.shares]
    ranked = sorted(
        (-piece["generation"], piece["file_key"])
        for piece in pieces
        if piece["file_key"] not in used
    )
    if ranked and (number > 0 or len(pieces) == len(ranked)):
        return int(ranked[0][1])
    text = f"{pieces[0]['base_key']:016x}\n{number}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _reach(whole: Mapping[str, Any]) -> dict[str, int]:
    """Returns the numbers in which missing parts can lie, as the engine reckons them."""
    found, total = whole["parts_found"], whole["parts_total"]
    first, last = whole["first_number"], whole["last_number"]
    missing = max(0, total - found)
    step = max(1, (last - first) // max(1, found - 1))
    margin = missing * step * _REACH_FACTOR + _REACH_LEAST
    return {"reach_low": max(1, first - margin), "reach_high": min(last + margin, (1 << 64) - 1)}


def _moment(value: object) -> datetime | None:
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return value if isinstance(value, datetime) else None


def _joined(covered: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns stretches with those made one that touch or overlap."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(covered):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
