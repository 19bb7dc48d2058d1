"""Captured ranges as Parquet, for DuckDB: every overview line, every file, every release.

Folders are `parsed_headers/group=…/range=…/`, `files/…` and `releases/…`, which DuckDB reads as
columns. Numbers and times are stored as deltas, subjects and message-ids as deltas of bytes,
what repeats as dictionaries, all with zstd.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

import voyager_native
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import PermanentError, reason_of
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import ParsedSpan, parse_blocks
from voyager_core.storage.corpus import CapturedRange, blocks_in
from voyager_core.storage.files import appearing

PARSED_HEADERS = "parsed_headers"
FILES = "files"
RELEASES = "releases"
TABLES = (PARSED_HEADERS, FILES, RELEASES)

_NAME = "part.parquet"
_MADE_OF = b"voyager"
_HEADERS = [
    ("number", pl.UInt64()),
    ("posted_at", pl.Datetime("ms", "UTC")),
    ("subject", pl.String()),
    ("poster", pl.String()),
    ("message_id", pl.String()),
    ("size_bytes", pl.UInt64()),
    ("xref", pl.String()),
    ("file_key", pl.UInt64()),
    ("part", pl.UInt32()),
    ("reason", pl.String()),
]
_LEFT_OUT = {FILES: ["payload", "group"], RELEASES: ["group", "tok"]}
_ENCODINGS = {
    "number": "DELTA_BINARY_PACKED",
    "posted_at": "DELTA_BINARY_PACKED",
    "last_posted_at": "DELTA_BINARY_PACKED",
    "first_posted_at": "DELTA_BINARY_PACKED",
    "first_number": "DELTA_BINARY_PACKED",
    "last_number": "DELTA_BINARY_PACKED",
    "subject": "DELTA_BYTE_ARRAY",
    "message_id": "DELTA_BYTE_ARRAY",
    "first_message_id": "DELTA_BYTE_ARRAY",
}


class ParquetError(PermanentError):
    """The Parquet files cannot be written."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a captured range.

    Attributes:
        captured: the range.
        rows: rows of each table; empty when the files were there and up to date.
        bytes_written: their size.
    """

    captured: CapturedRange
    rows: dict[str, int]
    bytes_written: int


def write_parquet(
    captured: CapturedRange,
    root: Path,
    *,
    rules: RuleSet | None = None,
    now: datetime | None = None,
) -> Written:
    """Writes a captured range, unless what is there was made of the same by this version.

    Each file appears whole or not at all.

    Args:
        captured: the range.
        root: the folder of the tables.
        rules: the rule set; the one built in when absent.
        now: the time that later dates are cut to; the year 2200 when absent.

    Raises:
        ParquetError: the folder cannot be written to.
        BlockMissing: a block of the corpus is gone.
        BlockDamaged: a block does not match its checksum.
    """
    rules = rules or RuleSet()
    moment = now or datetime(2200, 1, 1, tzinfo=UTC)
    made_of = _made_of(captured, rules)
    if all(_is_made_of(path_of(root, table, captured), made_of) for table in TABLES):
        return Written(captured, {}, 0)
    parsed = parse_blocks(
        captured.span.group,
        blocks_in(captured.folder),
        low=captured.span.low,
        high=captured.span.high,
        groups={},
        now=moment,
        keep_articles=True,
    )
    built = build_span(parsed, rules, now=moment)
    frames = {
        PARSED_HEADERS: _headers(captured, parsed),
        FILES: iter([built.files.drop(_LEFT_OUT[FILES])]),
        RELEASES: iter([built.releases.drop(_LEFT_OUT[RELEASES])]),
    }
    rows: dict[str, int] = {}
    size = 0
    try:
        for table, parts in frames.items():
            path = path_of(root, table, captured)
            rows[table] = _write(path, parts, made_of)
            size += path.stat().st_size
    except OSError as error:
        msg = f"cannot write Parquet to {root}: {reason_of(error, root)}"
        raise ParquetError(msg) from error
    return Written(captured, rows, size)


def path_of(root: Path, table: str, captured: CapturedRange) -> Path:
    """Returns where a table of a captured range is."""
    span = captured.span
    # DuckDB undoes percent signs in the names of folders.
    group = span.group.replace("%", "%25")
    return root / table / f"group={group}" / f"range={span.low}" / _NAME


def _made_of(captured: CapturedRange, rules: RuleSet) -> bytes:
    """Returns what the files follow from, as text that can be compared."""
    content = {
        "high": captured.span.high,
        "lines": captured.lines,
        "blocks": captured.blocks,
        "parser": voyager_native.PARSER_VERSION,
        "rules": rules.digest,
        "columns": [name for name, _ in _HEADERS],
    }
    return json.dumps(content, sort_keys=True).encode()


def _is_made_of(path: Path, made_of: bytes) -> bool:
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return bool(metadata.get(_MADE_OF) == made_of)


def _headers(captured: CapturedRange, parsed: ParsedSpan) -> Iterator[pl.DataFrame]:
    """Yields the lines of each block with the file that each belongs to."""
    places = parsed.articles.select("number", "file_key", "part", _reason="reason").unique(
        "number", keep="first", maintain_order=True
    )
    for block in blocks_in(captured.folder):
        lines = pl.DataFrame(voyager_native.parse_lines(voyager_native.inflate(block)))
        joined = lines.join(places, on="number", how="left", maintain_order="left")
        reason = pl.coalesce("_reason", "reason")
        yield joined.with_columns(reason=reason).select(
            pl.col(name).cast(dtype) for name, dtype in _HEADERS
        )


def _write(path: Path, frames: Iterator[pl.DataFrame], made_of: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    first = next(frames, None)
    if first is None:
        return 0
    rows = 0
    schema = _table(first, made_of).schema
    with (
        appearing(path) as new,
        pq.ParquetWriter(new, schema, **_options(first)) as writer,
    ):
        for frame in chain([first], frames):
            writer.write_table(_table(frame, made_of))
            rows += len(frame)
    return rows


def _table(frame: pl.DataFrame, made_of: bytes) -> pa.Table:
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.replace_schema_metadata({_MADE_OF: made_of})


def _options(frame: pl.DataFrame) -> dict[str, Any]:
    encodings = {name: code for name, code in _ENCODINGS.items() if name in frame.columns}
    return {
        "compression": "zstd",
        "compression_level": 9,
        "column_encoding": encodings,
        "use_dictionary": [name for name in frame.columns if name not in encodings],
        "write_statistics": True,
    }
