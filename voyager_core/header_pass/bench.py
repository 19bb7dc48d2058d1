"""The header pass over made-up overviews: CPU as a ratio to inflating the same blocks alone.

Ratios hold on any machine. Everything is measured in one process, the unit interleaved with
what is measured, and of every block the least of several times counts: a busy machine only
makes things slower.
"""

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import voyager_native
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import PermanentError
from voyager_core.header_pass.build import BuiltSpan, build_span
from voyager_core.header_pass.parse import ParsedSpan, parse_blocks

MIXES = ("boneless", "ath", "modern", "classic")
TOLERANCE = 0.15
"""A value may be this much beyond its budget: shared machines are never quiet."""

_BLOCK_LINES = 100_000
_NOW = datetime(2030, 1, 1, tzinfo=UTC)


class BenchError(PermanentError):
    """The benchmark cannot run as it was asked to."""


@dataclass(frozen=True, slots=True)
class MixReport:
    """What the header pass does to one mix.

    Attributes:
        mix: name of the mix.
        lines: overview lines.
        kept: of them, in a file.
        inflate_seconds: CPU of inflating the blocks alone: the unit of the ratios.
        engine_ratio: blocks to files, in the unit.
        pass_ratio: blocks to releases and chunks, in the unit.
        exact_files: share of the true files that came out with exactly their articles.
        exact_releases: share of the true uploads that came out as one release, whole.
        payload_ratio: what the segments take in their chunks, to the entropy of ids and sizes.
        payload_bytes: that for one segment.
        chunk_bytes: the same with all names.
        peak_megabytes: memory of the engine above importing it; None where it is not told.
    """

    mix: str
    lines: int
    kept: int
    inflate_seconds: float
    engine_ratio: float
    pass_ratio: float
    exact_files: float
    exact_releases: float
    payload_ratio: float
    payload_bytes: float
    chunk_bytes: float
    peak_megabytes: float | None


def run_bench(
    *,
    mixes: Sequence[str] | None = None,
    lines: int = 200_000,
    repeats: int = 5,
    as_json: bool = False,
    budgets: Path | None = None,
) -> int:
    """Measures mixes and prints a report of each.

    Args:
        mixes: names of mixes, all by default.
        lines: overview lines of a mix.
        repeats: how often each is measured.
        as_json: print one JSON object a mix.
        budgets: a TOML file with a table per mix of the most (or least) that its values may be.

    Returns:
        0, or 1 when a value is beyond its budget by more than the tolerance.

    Raises:
        BenchError: there is no such mix, nothing to measure, or the budgets cannot be read.
    """
    limits = _read_budgets(budgets)
    broken = 0
    for report in measure_mixes(mixes or MIXES, lines=lines, repeats=repeats):
        text = json.dumps(asdict(report)) if as_json else _text_of(report)
        sys.stdout.write(f"{text}\n")
        for complaint in over_budget(report, limits.get(report.mix, {})):
            sys.stderr.write(f"{complaint}\n")
            broken += 1
        sys.stdout.flush()
    return 1 if broken else 0


def measure_mixes(
    mixes: Sequence[str], *, lines: int, repeats: int = 5, seed: int = 1
) -> Iterator[MixReport]:
    """Yields a report of each mix.

    Raises:
        BenchError: there is no such mix, or nothing to measure.
    """
    if lines < 1 or repeats < 1:
        msg = f"nothing to measure: {lines} lines, {repeats} repeats"
        raise BenchError(msg)
    for mix in mixes:
        if mix not in MIXES:
            msg = f"no mix {mix}: known are {', '.join(MIXES)}"
            raise BenchError(msg)
        overview = voyager_native.synthesize_overview(
            mix, lines, seed=seed, block_lines=_BLOCK_LINES
        )
        yield _measure(mix, overview, lines=lines, repeats=repeats)


def over_budget(report: MixReport, budget: dict[str, float]) -> Iterator[str]:
    """Yields a complaint for each value of a report that is beyond its budget.

    Shares are at least their budget, everything else at most it and the tolerance.
    """
    values = asdict(report)
    for name, limit in budget.items():
        if not isinstance(values.get(name, ""), int | float | None):
            yield f"{report.mix}: the budget names {name}, which is no value of a report"
        elif values[name] is None:
            continue
        elif name.startswith("exact_"):
            if values[name] < limit:
                yield f"{report.mix}: {name} is {values[name]:.4f}, below {limit}"
        elif values[name] > limit * (1 + TOLERANCE):
            yield f"{report.mix}: {name} is {values[name]:.3f}, beyond {limit} + {TOLERANCE:.0%}"


def _read_budgets(path: Path | None) -> dict[str, dict[str, float]]:
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as error:
        msg = f"the budgets in {path} cannot be read: {error}"
        raise BenchError(msg) from error


def _text_of(report: MixReport) -> str:
    return (
        f"{report.mix}: {report.lines} lines, {report.kept} kept; "
        f"inflate {report.inflate_seconds:.3f} s CPU; to it: "
        f"files {report.engine_ratio:.2f}, releases {report.pass_ratio:.2f}\n"
        f"  exact files {report.exact_files:.2%}, exact releases {report.exact_releases:.2%}\n"
        f"  {report.payload_bytes:.2f} bytes a segment ({report.payload_ratio:.3f} of the entropy "
        f"of ids and sizes), {report.chunk_bytes:.2f} with all names; "
        f"peak memory {report.peak_megabytes or 0:.0f} MB above the import"
    )


def _measure(
    mix: str, overview: voyager_native.SyntheticOverview, *, lines: int, repeats: int
) -> MixReport:
    blocks = overview.blocks
    inflate = [1 << 62] * len(blocks)
    feed = [1 << 62] * len(blocks)
    finish = build = 1 << 62
    parsed = None
    for _ in range(repeats):
        indexer = _indexer(overview)
        for place, block in enumerate(blocks):
            inflate[place] = min(inflate[place], *voyager_native.inflate_ns([block], repeats=2))
            start = time.thread_time_ns()
            indexer.feed(block)
            feed[place] = min(feed[place], time.thread_time_ns() - start)
        start = time.thread_time_ns()
        tables = indexer.finish()
        finish = min(finish, time.thread_time_ns() - start)
        files = pl.DataFrame(tables.files)
        parsed = ParsedSpan(files, pl.DataFrame(), pl.DataFrame(), tables.stats)
        # Polars works in threads of its own.
        start = time.process_time_ns()
        build_span(parsed, RuleSet(), now=_NOW)
        build = min(build, time.process_time_ns() - start)
    unit, engine = sum(inflate), sum(feed) + finish
    quality = _quality(overview)
    return MixReport(
        mix=mix,
        lines=lines,
        kept=quality.kept,
        inflate_seconds=unit / 1e9,
        engine_ratio=engine / unit,
        pass_ratio=(engine + build) / unit,
        exact_files=quality.exact_files,
        exact_releases=quality.exact_releases,
        payload_ratio=quality.payload_ratio,
        payload_bytes=quality.payload_bytes,
        chunk_bytes=quality.chunk_bytes,
        peak_megabytes=_peak_megabytes(overview),
    )


def _indexer(overview: voyager_native.SyntheticOverview) -> voyager_native.SpanIndexer:
    return voyager_native.SpanIndexer(
        overview.group, 0, 0, groups=overview.groups, now=int(_NOW.timestamp())
    )


@dataclass(frozen=True, slots=True)
class _Quality:
    kept: int
    exact_files: float
    exact_releases: float
    payload_ratio: float
    payload_bytes: float
    chunk_bytes: float


def _quality(overview: voyager_native.SyntheticOverview) -> _Quality:
    """Compares files and releases with the truth, and sizes with the entropy."""
    parsed = parse_blocks(
        overview.group,
        overview.blocks,
        low=0,
        high=0,
        groups=overview.groups,
        now=_NOW,
        keep_articles=True,
    )
    built = build_span(parsed, RuleSet(), now=_NOW)
    truth = pl.DataFrame(overview.truth)
    rows = truth.join(parsed.articles, on="number", how="left")
    crossposts = pl.col("reason").str.starts_with("crosspost:").fill_null(value=False)
    rows = rows.filter(~crossposts & pl.col("file").is_not_null())
    releases = built.files.filter(~pl.col("is_fragment")).select(
        "file_key", release=pl.struct("release_key", "session").hash()
    )
    uploads = rows.join(releases, on="file_key", how="left")
    segments = int(parsed.files["parts_found"].sum())
    entropy = float(rows.filter(pl.col("reason").is_null())["entropy_bits"].sum()) / 8
    chunks = int(built.chunks["payload"].bin.size().sum())
    payload = chunks - _names_only(built)
    return _Quality(
        kept=segments,
        exact_files=_exact(rows, "file", "file_key"),
        exact_releases=_exact(uploads, "upload", "release"),
        payload_ratio=payload / entropy if entropy else 1.0,
        payload_bytes=payload / max(segments, 1),
        chunk_bytes=chunks / max(segments, 1),
    )


def _names_only(built: BuiltSpan) -> int:
    """Returns the size of the chunks if there were no segments in them."""
    empty = voyager_native.merge_records([])
    files = built.files.filter(~pl.col("is_fragment") & pl.col("release_key").is_not_null())
    files = files.with_columns(
        payload=pl.lit(empty),
        first_message_id=pl.lit(""),
        _chunk=pl.struct("release_key", "session").rank("dense").cast(pl.UInt64),
    )
    chunks = pl.DataFrame(voyager_native.encode_chunks(files, by="_chunk"))
    return int(chunks["payload"].bin.size().sum())


def _exact(rows: pl.DataFrame, truth: str, found: str) -> float:
    """Returns the share of true groups whose rows are exactly those of one found group."""
    rows = rows.select(pl.col(truth).alias("truth"), pl.col(found).alias("found"))
    pairs = rows.group_by("truth", "found").len()
    splits = pairs.group_by("truth").agg(
        pl.col("found").n_unique().alias("pieces"), pl.col("found").null_count().alias("lost")
    )
    merges = pairs.drop_nulls().group_by("found").agg(pl.col("truth").n_unique().alias("sources"))
    merged = pairs.join(merges, on="found", how="left").group_by("truth").agg(pl.max("sources"))
    total = splits.height
    exact = splits.join(merged, on="truth").filter(
        (pl.col("pieces") == 1) & (pl.col("lost") == 0) & (pl.col("sources") == 1)
    )
    return exact.height / total if total else 1.0


_CHILD = """
import sys, voyager_native
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
before = peak()
group, files = sys.argv[1], sys.argv[2:]
indexer = voyager_native.SpanIndexer(group, 0, 0, groups={group: 1}, now=1 << 31)
for path in files:
    with open(path, "rb") as file:
        indexer.feed(file.read())
tables = indexer.finish()
print(peak() - before)
"""


def _peak_megabytes(overview: voyager_native.SyntheticOverview) -> float | None:
    """Returns the memory that the engine takes above its import, in a process of its own."""
    if not sys.platform.startswith("linux"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{place:05}.zz") for place in range(len(overview.blocks))]
        for path, block in zip(paths, overview.blocks, strict=True):
            path.write_bytes(block)
        command = [sys.executable, "-c", _CHILD, overview.group, *map(str, paths)]
        child = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return int(child.stdout) * 1024 / 1e6
