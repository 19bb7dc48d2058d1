"""Pieces of made-up files, as spans and chunks hold them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

import voyager_native
from voyager_core.header_pass.postings import read_piece
from voyager_core.header_pass.reposts import Record, new_record
from voyager_core.header_pass.schemas import FRAGMENTS

START = datetime(2024, 5, 1, tzinfo=UTC)


def piece(
    parts: Iterable[int],
    *,
    first: int = 1000,
    total: int = 40,
    post: str = "a",
    hours: float = 0.0,
    base: int = 7,
    **values: Any,
) -> dict[str, Any]:
    """Returns a fragment that holds these parts; `post` names the posting that they are of."""
    return mixed(dict.fromkeys(parts, post), first=first, total=total, hours=hours, base=base) | (
        values
    )


def mixed(
    articles: Mapping[int, str],
    *,
    first: int = 1000,
    total: int = 40,
    hours: float = 0.0,
    base: int = 7,
    **values: Any,
) -> dict[str, Any]:
    """Returns a fragment that holds these parts, each of the posting that is named."""
    segments = pl.DataFrame(
        [(part, f"{part}-{post}@x", 1000) for part, post in sorted(articles.items())],
        schema={"part": pl.UInt32, "message_id": pl.String, "size_bytes": pl.UInt32},
        orient="row",
    )
    lowest = min(articles)
    row: dict[str, Any] = dict.fromkeys(FRAGMENTS)
    row |= {
        "file_key": base,
        "base_key": base,
        "generation": 0,
        "subject": f'[3/9] - "film.mkv" yEnc ({lowest}/{total})',
        "name": "film.mkv",
        "file_index": 3,
        "file_total": 9,
        "parts_total": total,
        "parts_found": len(articles),
        "size_bytes": 1000 * len(articles),
        "poster": "p",
        "poster_constant": True,
        "group": "alt.binaries.test",
        "groups": "alt.binaries.test",
        "first_posted_at": START + timedelta(hours=hours),
        "last_posted_at": START + timedelta(hours=hours, minutes=5),
        "first_number": first,
        "last_number": first + len(articles),
        "first_message_id": f"{lowest}-{articles[lowest]}@x",
        "flags": 0,
        "is_fragment": True,
        "reach_low": 1,
        "reach_high": 9999,
        "payload": voyager_native.encode_segments(segments),
        "release_key": 5,
        "session": 0,
        "release_rank": 1,
        "release_name": "film",
    }
    return row | values


def record(chunk: int, articles: Mapping[int, str], *, number: int = 0, **values: Any) -> Record:
    """Returns a file as a chunk holds it, with parts of the postings that are named."""
    return new_record(chunk, read_piece(mixed(articles, **values), chunk), number)
