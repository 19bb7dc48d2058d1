"""The header pass over stored overview lines, without a database or a server.

What it writes is a contract: Parquet files `articles`, `files`, `releases`, `candidates` and
`rule_counts` with the columns below. It is how a rule or a parser is judged on real headers.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import polars as pl

import voyager_native
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import PermanentError, reason_of
from voyager_core.header_pass.build import BuiltSpan, build_span
from voyager_core.header_pass.parse import ParsedSpan, parse_blocks
from voyager_core.header_pass.rules import count_rejects
from voyager_core.storage.corpus import blocks_in, read_range_file
from voyager_core.storage.files import appearing

ARTICLES = ["number", "file_key", "part", "message_id", "size_bytes", "reason"]
FILES = [
    "file_key",
    "release_key",
    "name",
    "subject",
    "poster",
    "group",
    "file_index",
    "file_total",
    "parts_total",
    "parts_found",
    "size_bytes",
    "first_posted_at",
    "last_posted_at",
    "is_fragment",
    "dropped_by",
]
RELEASES = [
    "release_key",
    "name",
    "is_readable",
    "poster",
    "group",
    "posted_at",
    "files",
    "files_expected",
    "segments",
    "segments_expected",
    "size_bytes",
    "has_par2",
    "category",
]
CANDIDATES = ["release_key", "kind", "message_id", "file_key", "part"]
RULE_COUNTS = ["rule", "signature", "owner_group", "articles", "files"]

BLOCK_BYTES = 16 << 20
"""Lines are fed to the engine in blocks of about this size."""

_GZIP_MAGIC = b"\x1f\x8b"


class ReplayError(PermanentError):
    """An input cannot be read, or the output folder cannot be written."""


def replay(
    inputs: Sequence[Path],
    *,
    group: str,
    out: Path | None = None,
    rules: RuleSet | None = None,
    now: datetime | None = None,
) -> dict[str, object]:
    """Runs the header pass over overview files or captured range folders.

    Args:
        inputs: plain or gzip files of overview lines, or folders of captured ranges.
        group: the newsgroup that the lines come from.
        out: where to write the Parquet files; created when missing. None: only the totals.
        rules: the rule set; the built-in one when absent.
        now: the time that later dates are cut to; the year 2200 when absent, so that a replay
            gives the same result on every day.

    Returns:
        The totals: lines, kept, rejected by reason, files, releases and so on.

    Raises:
        ReplayError: an input or the output folder cannot be used.
    """
    return replayed(inputs, group=group, out=out, rules=rules, now=now)[0]


def replayed(
    inputs: Sequence[Path],
    *,
    group: str,
    out: Path | None = None,
    rules: RuleSet | None = None,
    now: datetime | None = None,
) -> tuple[dict[str, object], BuiltSpan]:
    """Returns the totals of `replay` and the frames that they are of."""
    moment = now or datetime(2200, 1, 1, tzinfo=UTC)
    low, high = _bounds(inputs)
    parsed = parse_blocks(
        group,
        blocks_of(inputs),
        low=low,
        high=high,
        groups={},
        now=moment,
        keep_articles=out is not None,
    )
    built = build_span(parsed, rules or RuleSet(), now=moment)
    if out is not None:
        _write(out, parsed, built)
    return _totals(group, parsed, built, rules or RuleSet()), built


def _bounds(inputs: Sequence[Path]) -> tuple[int, int]:
    """Returns the numbers that captured ranges cover; no bounds when a file is among the inputs."""
    captured = [read_range_file(path) if path.is_dir() else None for path in inputs]
    spans = [each.span for each in captured if each is not None]
    if not spans or len(spans) < len(inputs):
        return 0, 0
    return min(span.low for span in spans), max(span.high for span in spans)


def blocks_of(inputs: Iterable[Path]) -> Iterator[bytes]:
    """Yields the blocks of overview files and of folders of captured ranges, in order.

    Raises:
        ReplayError: an input cannot be read.
    """
    for path in inputs:
        try:
            if path.is_dir():
                yield from blocks_in(path)
            else:
                yield from _file_blocks(path)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"cannot read {path}: {reason_of(error, path)}"
            raise ReplayError(msg) from error


def _file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as plain:
        is_gzip = plain.read(2) == _GZIP_MAGIC
        plain.seek(0)
        if is_gzip:
            with gzip.open(plain) as text:
                yield from _line_blocks(text)
        else:
            yield from _line_blocks(plain)


def _line_blocks(text: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Yields blocks that end with a line; a line longer than a block stays whole."""
    rest = b""
    while data := text.read(BLOCK_BYTES):
        cut = data.rfind(b"\n") + 1
        if not cut:
            rest += data
            continue
        yield rest + data[:cut]
        rest = data[cut:]
    if rest:
        yield rest


def _write(out: Path, parsed: ParsedSpan, built: BuiltSpan) -> None:
    counts = pl.concat([built.rule_counts, count_rejects(parsed.rejects)])
    tables = {
        "articles": parsed.articles.select(ARTICLES).sort("number"),
        "files": one_key(built.files).select(FILES).sort("file_key"),
        "releases": one_key(built.releases).select(RELEASES).sort("release_key"),
        "candidates": one_key(built.candidates).select(CANDIDATES).sort("release_key", "kind"),
        "rule_counts": counts.select(RULE_COUNTS).sort("rule", "owner_group"),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            with appearing(out / f"{name}.parquet") as file:
                table.write_parquet(file)
    # A full disk is an error of the computation to polars.
    except (OSError, pl.exceptions.PolarsError) as error:
        msg = f"cannot write to {out}: {reason_of(error, out)}"
        raise ReplayError(msg) from error


def one_key(frame: pl.DataFrame) -> pl.DataFrame:
    """Gives sessions after the first a key of their own, as the catalog does with generations."""
    later = frame.filter(pl.col("session") > 0).select("release_key", "session").unique()
    if later.is_empty():
        return frame
    own = [
        int.from_bytes(hashlib.blake2b(f"{key}\n{session}".encode(), digest_size=8).digest())
        for key, session in later.iter_rows()
    ]
    later = later.with_columns(_own=pl.Series(own, dtype=pl.UInt64))
    return frame.join(later, on=["release_key", "session"], how="left").with_columns(
        release_key=pl.coalesce("_own", "release_key")
    )


def _totals(group: str, parsed: ParsedSpan, built: BuiltSpan, rules: RuleSet) -> dict[str, object]:
    files = built.files
    rejected = dict(parsed.rejects.select("reason", "count").sort("reason").iter_rows())
    return {
        "group": group,
        "lines": parsed.stats.get("lines", 0),
        "kept": parsed.stats.get("kept", 0),
        "rejected": rejected,
        "dropped": dict(built.rule_counts.select("rule", "articles").iter_rows()),
        "files": len(files),
        "fragments": len(built.fragments),
        "releases": len(built.releases),
        "readable_releases": int(built.releases["is_readable"].sum()),
        "segments": int(files["parts_found"].sum()),
        "size_bytes": int(files["size_bytes"].sum()),
        "candidates": len(built.candidates),
        "chunk_bytes": int(built.chunks["payload"].bin.size().sum()),
        "undecodable_blocks": len(parsed.errors),
        "parser_version": voyager_native.PARSER_VERSION,
        "codec_version": voyager_native.CODEC_VERSION,
        "rules_version": rules.version,
        "rules_digest": rules.digest,
    }
