"""Made-up spans for tests of the catalog: releases with chunks, ready to be stored."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import add_group
from voyager_core.catalog.ranges import Versions, plan, ranges_of
from voyager_core.catalog.spans import Stored, store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.tokens import token_hashes
from voyager_core.header_pass.schemas import (
    BUILT_FILES,
    CANDIDATES,
    CHUNKS,
    FRAGMENTS,
    RELEASES,
    RULE_COUNTS,
    RULE_SAMPLES,
    empty,
)

GROUP = "alt.binaries.test"
VERSIONS = Versions(parser=1, rules=1, codec=1)
START = datetime(2024, 3, 1, tzinfo=UTC)


def hours(number: float) -> datetime:
    """Returns a posting time, so many hours after `START`."""
    return START + timedelta(hours=number)


@dataclass
class FakeBuilt:
    """The frames of a span, empty unless given."""

    files: pl.DataFrame = field(default_factory=lambda: empty(BUILT_FILES))
    releases: pl.DataFrame = field(default_factory=lambda: empty(RELEASES))
    chunks: pl.DataFrame = field(default_factory=lambda: empty(CHUNKS))
    fragments: pl.DataFrame = field(default_factory=lambda: empty(FRAGMENTS))
    candidates: pl.DataFrame = field(default_factory=lambda: empty(CANDIDATES))
    rule_counts: pl.DataFrame = field(default_factory=lambda: empty(RULE_COUNTS))
    rule_samples: pl.DataFrame = field(default_factory=lambda: empty(RULE_SAMPLES))


def release(
    key: int, posted: float = 0, last: float | None = None, **values: Any
) -> dict[str, Any]:
    """Returns a row of the releases frame, posted so many hours after `START`."""
    name = values.get("name", f"Release.{key:x}")
    row = {
        "release_key": key,
        "name": name,
        "is_readable": True,
        "poster": "poster <a@b.example>",
        "group": GROUP,
        "groups": [GROUP],
        "posted_at": hours(posted),
        "last_posted_at": hours(posted if last is None else last),
        "files": 2,
        "files_expected": 2,
        "segments": 10,
        "segments_expected": 10,
        "size_bytes": 7_000_000,
        "has_par2": False,
        "category": 5040,
        "season": None,
        "season_last": None,
        "episode": None,
        "episode_last": None,
        "aired_on": None,
        "year": None,
        "resolution": None,
        "source": None,
        "language": None,
        "team": None,
        "tok": token_hashes(name),
    }
    return row | values


def built(
    releases: Sequence[dict[str, Any]] = (),
    *,
    payloads: dict[int, bytes] | None = None,
    candidates: Sequence[tuple[int, str, str]] = (),
    rule_counts: Sequence[tuple[str, int, int]] = (),
    rule_samples: Sequence[tuple[str, int | None, Any]] = (),
    fragments: Sequence[dict[str, Any]] = (),
) -> FakeBuilt:
    """Returns the frames of a span; every release has a chunk that names its key."""
    chunks = [
        {
            "release_key": row["release_key"],
            "payload": (payloads or {}).get(
                row["release_key"], f"chunk {row['release_key']} {row['posted_at']}".encode()
            ),
        }
        for row in releases
    ]
    return FakeBuilt(
        releases=pl.DataFrame(list(releases), schema=dict(RELEASES), orient="row"),
        chunks=pl.DataFrame(chunks, schema=dict(CHUNKS), orient="row"),
        candidates=pl.DataFrame(
            [
                {
                    "release_key": key,
                    "kind": kind,
                    "message_id": message_id,
                    "file_key": key,
                    "part": 1,
                }
                for key, kind, message_id in candidates
            ],
            schema=dict(CANDIDATES),
            orient="row",
        ),
        rule_counts=pl.DataFrame(
            [
                {
                    "rule": rule,
                    "signature": "",
                    "owner_group": "",
                    "articles": articles,
                    "files": files,
                }
                for rule, articles, files in rule_counts
            ],
            schema=dict(RULE_COUNTS),
            orient="row",
        ),
        rule_samples=pl.DataFrame(
            [
                {"rule": rule, "release_key": key, "detail": json.dumps(detail)}
                for rule, key, detail in rule_samples
            ],
            schema=dict(RULE_SAMPLES),
            orient="row",
        ),
        fragments=pl.DataFrame(
            [fragment_row(**values) for values in fragments],
            schema=dict(FRAGMENTS),
            orient="row",
        ),
    )


def fragment_row(
    file_key: int, first: int, last: int, reach: tuple[int, int], **values: Any
) -> dict[str, Any]:
    """Returns a row of the fragments frame."""
    row: dict[str, Any] = dict.fromkeys(FRAGMENTS)
    row |= {
        "file_key": file_key,
        "base_key": file_key,
        "generation": 0,
        "subject": '[1/2] - "file.bin" yEnc (1/10)',
        "name": "file.bin",
        "parts_total": 10,
        "parts_found": 5,
        "size_bytes": 3_500_000,
        "group": GROUP,
        "groups": GROUP,
        "first_posted_at": START,
        "last_posted_at": START,
        "first_number": first,
        "last_number": last,
        "first_message_id": "a@b.example",
        "flags": 0,
        "is_fragment": True,
        "reach_low": reach[0],
        "reach_high": reach[1],
        "payload": b"segments",
        "release_key": 77,
    }
    return row | values


def add_ranges(
    conn: Connection, number: int = 1, *, group: str = GROUP, size: int = 1000
) -> list[int]:
    """Adds a newsgroup with so many planned ranges; returns the ranges' numbers."""
    newsgroup = add_group(conn, group)
    plan(
        conn,
        newsgroup.newsgroup_id,
        [(at * size + 1, (at + 1) * size) for at in range(number)],
    )
    return [row.range_id for row in ranges_of(conn, group)]


def store(
    conn: Connection,
    range_id: int,
    low: int,
    high: int,
    contents: FakeBuilt,
    *,
    group: str = GROUP,
    read_lines: int | None = None,
    **values: Any,
) -> Stored:
    """Stores a span with the usual versions, by default with as many lines as add up."""
    if read_lines is None:
        read_lines = (
            int(contents.releases["segments"].sum())
            + int(contents.fragments["parts_found"].sum())
            + int(contents.rule_counts["articles"].sum())
            + sum((values.get("rejects") or {}).values())
        )
    return store_span(
        conn,
        Span(group, low, high),
        contents,
        range_id=range_id,
        read_lines=read_lines,
        versions=VERSIONS,
        **values,
    )
