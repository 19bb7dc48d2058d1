"""The header pass over made-up overviews: CPU as a ratio to inflating the same blocks alone.

Ratios hold on any machine; see `bench_measure` for how they are taken and `bench_sizes` for what
they are compared with.
"""

import json
import sys
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

import voyager_native
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import PermanentError, reason_of
from voyager_core.header_pass.bench_measure import (
    NOW,
    Blocks,
    measure,
    parse,
    peak_megabytes,
    thread_ratio,
)
from voyager_core.header_pass.bench_sizes import Family, judge
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.replay import blocks_of
from voyager_core.storage.corpus import RANGE_FILE, read_range_file

MIXES = ("boneless", "ath", "modern", "classic")
CORPUS = "corpus"
TOLERANCE = 0.15
"""A value may be this much beyond its budget: shared machines are never quiet."""
GATES = ("required", "reached")
"""The tables of the budgets: what must hold, and what a change may not lose again."""

_BLOCK_LINES = 50_000
_THREADS = 2


class BenchError(PermanentError):
    """The benchmark cannot run as it was asked to."""


@dataclass(frozen=True, slots=True)
class MixReport:
    """What the header pass does to one mix.

    Attributes:
        mix: name of the mix.
        lines: overview lines.
        kept: of them, in a file.
        rejected: of them, in no file.
        inflate_cpu_s: CPU of inflating the blocks alone: the unit of the ratios.
        total_cpu_s: CPU from blocks to releases and chunks.
        ratio: that in the unit.
        files_ratio: CPU from blocks to the files table, in the unit.
        stages: CPU of each stage, in the unit.
        payload_bytes_per_segment: what a segment takes in its chunk, without the names.
        floor_bytes_per_segment: the entropy of its message-id and size; None for a corpus.
        payload_over_floor: the first to the second.
        chunk_bytes_per_segment: what a segment takes with all names.
        families: records and entropy by the form of the message-ids.
        peak_rss_mb: memory of the engine above its import; None where it is not told.
        peak_pass_mb: memory of the whole pass above its imports.
        exact_files: share of the true files that came out with exactly their articles.
        exact_releases: share of the true uploads that came out as one release, whole.
        text_bytes_per_line: length of the overview lines.
        block_bytes_per_line: the same compressed.
        two_threads_ratio: CPU of a range beside another in a thread of its own, to it alone.
    """

    mix: str
    lines: int
    kept: int
    rejected: int
    inflate_cpu_s: float
    total_cpu_s: float
    ratio: float
    files_ratio: float
    stages: dict[str, float]
    payload_bytes_per_segment: float
    floor_bytes_per_segment: float | None
    payload_over_floor: float | None
    chunk_bytes_per_segment: float
    families: dict[str, Family]
    peak_rss_mb: float | None
    peak_pass_mb: float | None
    exact_files: float | None
    exact_releases: float | None
    text_bytes_per_line: float
    block_bytes_per_line: float
    two_threads_ratio: float | None


def run_bench(
    *,
    mixes: Sequence[str] | None = None,
    lines: int = 2_000_000,
    repeats: int = 5,
    as_json: bool = False,
    budgets: Path | None = None,
    gate: str = "required",
    corpus: Path | None = None,
) -> int:
    """Measures mixes and prints a report of each.

    Args:
        mixes: names of mixes, all generated ones by default; `corpus` for the lines of a folder.
        lines: overview lines of a mix.
        repeats: how often each is measured.
        as_json: print one JSON object a mix.
        budgets: a TOML file with the tables `required` and `reached`, in each a table per mix of
            the most (or least) that its values may be.
        gate: the table beyond which the outcome is 1; what is beyond the other one is only said.
        corpus: folder of captured ranges or overview files.

    Returns:
        0, or 1 when a value is beyond its budget by more than the tolerance.

    Raises:
        BenchError: there is no such mix, nothing to measure, or the budgets cannot be read.
    """
    limits = _read_budgets(budgets)
    if gate not in GATES:
        msg = f"no gate {gate}: known are {', '.join(GATES)}"
        raise BenchError(msg)
    broken = 0
    for report in measure_mixes(mixes or MIXES, lines=lines, repeats=repeats, corpus=corpus):
        text = json.dumps(asdict(report)) if as_json else _text_of(report)
        sys.stdout.write(f"{text}\n")
        for table in GATES:
            budget = limits.get(table, {}).get(report.mix, {})
            for complaint in over_budget(report, budget):
                sys.stderr.write(f"{complaint} ({table})\n")
                broken += table == gate
        sys.stdout.flush()
    return 1 if broken else 0


def measure_mixes(
    mixes: Sequence[str],
    *,
    lines: int,
    repeats: int = 5,
    seed: int = 1,
    corpus: Path | None = None,
) -> Iterator[MixReport]:
    """Yields a report of each mix.

    Raises:
        BenchError: there is no such mix, or nothing to measure.
    """
    if lines < 1 or repeats < 1:
        msg = f"nothing to measure: {lines} lines, {repeats} repeats"
        raise BenchError(msg)
    for mix in mixes:
        if mix == CORPUS:
            yield _report(mix, _corpus_blocks(corpus), truth=None, repeats=repeats)
            continue
        if mix not in MIXES:
            msg = f"no mix {mix}: known are {', '.join((*MIXES, CORPUS))}"
            raise BenchError(msg)
        overview = voyager_native.synthesize_overview(
            mix, lines, seed=seed, block_lines=_BLOCK_LINES
        )
        given = Blocks(overview.group, overview.groups, overview.blocks)
        yield _report(mix, given, truth=pl.DataFrame(overview.truth), repeats=repeats)


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


def _read_budgets(path: Path | None) -> dict[str, dict[str, dict[str, float]]]:
    if path is None:
        return {}
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"the budgets in {path} cannot be read: {reason_of(error, path)}"
        raise BenchError(msg) from error


def _corpus_blocks(folder: Path | None) -> Blocks:
    """Returns what a folder holds, as blocks of the usual size.

    Captured ranges stay as they were received; plain overview lines are compressed as a news
    server would.
    """
    if folder is None or not folder.is_dir():
        what = "none was named" if folder is None else f"{folder} is none"
        msg = f"a corpus is a folder of captured ranges or overview files; {what}"
        raise BenchError(msg)
    ranges = [read_range_file(each.parent) for each in sorted(folder.rglob(RANGE_FILE))]
    captured = [each for each in ranges if each is not None]
    if captured:
        group = captured[0].span.group
        of_group = [each.folder for each in captured if each.span.group == group]
        blocks = list(blocks_of(of_group))
        if blocks:
            return Blocks(group, {group: 1}, blocks)
    files = [path for path in sorted(folder.iterdir()) if path.name.endswith((".over", ".over.gz"))]
    lines = [line for block in blocks_of(files) for line in block.splitlines(keepends=True)]
    if not lines:
        msg = f"{folder} holds no captured ranges and no overview lines (.over, .over.gz)"
        raise BenchError(msg)
    starts = range(0, len(lines), _BLOCK_LINES)
    blocks = [zlib.compress(b"".join(lines[at : at + _BLOCK_LINES])) for at in starts]
    return Blocks(CORPUS, {CORPUS: 1}, blocks)


def _report(mix: str, given: Blocks, *, truth: pl.DataFrame | None, repeats: int) -> MixReport:
    costs = measure(given, repeats=repeats)
    parsed = parse(given)
    built = build_span(parsed, RuleSet(), now=NOW)
    quality = judge(parsed, built, truth)
    lines = parsed.stats["lines"]
    over = quality.payload / quality.floor if quality.floor else None
    return MixReport(
        mix=mix,
        lines=lines,
        kept=quality.kept,
        rejected=quality.rejected,
        inflate_cpu_s=costs.unit,
        total_cpu_s=costs.total,
        ratio=costs.total / costs.unit,
        files_ratio=costs.engine / costs.unit,
        stages=costs.stages,
        payload_bytes_per_segment=quality.payload,
        floor_bytes_per_segment=quality.floor,
        payload_over_floor=over,
        chunk_bytes_per_segment=quality.chunk,
        families=quality.families,
        peak_rss_mb=peak_megabytes(given),
        peak_pass_mb=peak_megabytes(given, whole_pass=True),
        exact_files=quality.exact_files,
        exact_releases=quality.exact_releases,
        text_bytes_per_line=parsed.stats["text_bytes"] / max(lines, 1),
        block_bytes_per_line=parsed.stats["block_bytes"] / max(lines, 1),
        two_threads_ratio=thread_ratio(given, threads=_THREADS, repeats=min(repeats, 2)),
    )


def _text_of(report: MixReport) -> str:
    stages = ", ".join(f"{name} {spent:.2f}" for name, spent in report.stages.items())
    floor = f"{report.floor_bytes_per_segment:.2f}" if report.floor_bytes_per_segment else "?"
    families = "; ".join(
        f"{name} {each.payload:.2f} of {each.floor or 0:.2f} ({each.segments})"
        for name, each in report.families.items()
    )
    exact = ""
    if report.exact_files is not None and report.exact_releases is not None:
        exact = (
            f"  exact files {report.exact_files:.2%}, exact releases {report.exact_releases:.2%}\n"
        )
    return (
        f"{report.mix}: {report.lines} lines ({report.text_bytes_per_line:.1f} bytes, compressed "
        f"{report.block_bytes_per_line:.1f}), {report.kept} kept, {report.rejected} rejected\n"
        f"  inflate I = {report.inflate_cpu_s:.3f} s CPU; total {report.total_cpu_s:.3f} s = "
        f"{report.ratio:.2f} I, up to the files {report.files_ratio:.2f} I; beside another range "
        f"{report.two_threads_ratio or 0:.2f} of alone\n"
        f"  stages in I: {stages}\n"
        f"{exact}"
        f"  payload {report.payload_bytes_per_segment:.2f} bytes a segment, entropy {floor}, ratio "
        f"{report.payload_over_floor or 0:.3f}; with all names "
        f"{report.chunk_bytes_per_segment:.2f}\n"
        f"  records by message-id, bytes of entropy (segments): {families}\n"
        f"  peak memory {report.peak_rss_mb or 0:.0f} MB above the import, "
        f"{report.peak_pass_mb or 0:.0f} MB with polars"
    )
