"""Files that span edges cut: their pieces, found in several spans, made whole again.

Pieces are merged on their segments. The same part under another message-id belongs to a
repost, so the outcome is one or more generations of the file, whatever the order in which
the spans were indexed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

import voyager_native
from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.header_pass.schemas import FRAGMENTS, IDENTIFIED, Schema, conform, empty

SEGMENTS: Schema = {
    "part": pl.UInt32(),
    "message_id": pl.String(),
    "size_bytes": pl.UInt32(),
}

_REACH_FACTOR = 4
_REACH_LEAST = 2000


@dataclass(slots=True)
class _Generation:
    """A file while its pieces are put together."""

    pieces: list[dict[str, Any]] = field(default_factory=list)
    segments: dict[int, tuple[str, int]] = field(default_factory=dict)

    def takes(self, piece: Mapping[str, Any], segments: Mapping[int, tuple[str, int]]) -> bool:
        """Tells whether a piece is of this posting: no part twice, no long silence between."""
        for part, (message_id, _) in segments.items():
            if part in self.segments and self.segments[part][0] != message_id:
                return False
        return all(_near(piece, other) for other in self.pieces) or bool(
            self.segments.keys() & segments.keys()
        )

    def add(self, piece: dict[str, Any], segments: Mapping[int, tuple[str, int]]) -> None:
        """Puts a piece in."""
        self.pieces.append(piece)
        self.segments.update(segments)


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
    """Returns the files that pieces of them make up (`schemas.IDENTIFIED`), none of them cut.

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
    for pieces in ordered.partition_by("base_key", maintain_order=True):
        generations = _generations(pieces.to_dicts())
        merged.extend(_whole(each, number) for number, each in enumerate(generations))
    if not merged:
        return empty(IDENTIFIED)
    whole = pl.DataFrame(merged, schema=dict(IDENTIFIED), orient="row")
    return conform(_sessions(whole), IDENTIFIED, what="merged files")


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


def _generations(pieces: list[dict[str, Any]]) -> list[_Generation]:
    generations: list[_Generation] = []
    for piece in pieces:
        segments = _segments(piece["payload"])
        home = next((each for each in reversed(generations) if each.takes(piece, segments)), None)
        if home is None:
            home = _Generation()
            generations.append(home)
        home.add(piece, segments)
    return generations


def _segments(payload: bytes) -> dict[int, tuple[str, int]]:
    table = pl.DataFrame(voyager_native.decode_segments(payload))
    rows = table.select("part", "message_id", "size_bytes").iter_rows()
    return {part: (message_id, size or 0) for part, message_id, size in rows}


def _whole(generation: _Generation, number: int) -> dict[str, Any]:
    pieces = generation.pieces
    parts = sorted(generation.segments)
    segments = pl.DataFrame(
        [(part, *generation.segments[part]) for part in parts], schema=dict(SEGMENTS), orient="row"
    )
    first = min(pieces, key=lambda piece: (_lowest_part(piece), piece["first_number"]))
    surest = min(pieces, key=lambda piece: (-piece["release_rank"], piece["release_key"]))
    flags = 0
    for piece in pieces:
        flags |= piece["flags"]
    times = [piece["first_posted_at"] for piece in pieces if piece["first_posted_at"]]
    ends = [piece["last_posted_at"] for piece in pieces if piece["last_posted_at"]]
    whole = {
        **first,
        "file_key": _file_key(generation, number),
        "generation": number,
        "parts_found": len(parts),
        "size_bytes": sum(size for _, size in generation.segments.values()),
        "poster_constant": all(piece["poster_constant"] for piece in pieces)
        and len({piece["poster"] for piece in pieces}) == 1,
        "first_posted_at": min(times, default=None),
        "last_posted_at": max(ends, default=None),
        "first_number": min(piece["first_number"] for piece in pieces),
        "last_number": max(piece["last_number"] for piece in pieces),
        "first_message_id": generation.segments[parts[0]][0],
        "flags": flags,
        "is_fragment": False,
        "payload": voyager_native.encode_segments(segments),
        "release_key": surest["release_key"],
        "session": 0,
        "release_rank": surest["release_rank"],
        "release_name": surest["release_name"],
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


def _lowest_part(piece: Mapping[str, Any]) -> int:
    return min(_segments(piece["payload"]), default=0)


def _file_key(generation: _Generation, number: int) -> int:
    base: int = generation.pieces[0]["base_key"]
    if number == 0:
        return base
    same: set[int] = {
        piece["file_key"] for piece in generation.pieces if piece["generation"] == number
    }
    if same:
        return min(same)
    text = f"{base:016x}\n{number}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _reach(whole: Mapping[str, Any]) -> dict[str, int]:
    """Returns the numbers in which missing parts can lie, as the engine reckons them."""
    found, total = whole["parts_found"], whole["parts_total"]
    first, last = whole["first_number"], whole["last_number"]
    missing = max(0, total - found)
    step = max(1, (last - first) // max(1, found - 1))
    margin = missing * step * _REACH_FACTOR + _REACH_LEAST
    return {"reach_low": max(1, first - margin), "reach_high": min(last + margin, (1 << 64) - 1)}


def _near(piece: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if piece["first_posted_at"] is None or other["last_posted_at"] is None:
        return True
    silence: timedelta = max(
        piece["first_posted_at"] - other["last_posted_at"],
        other["first_posted_at"] - piece["last_posted_at"],
    )
    return silence <= REPOST_WINDOW


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
