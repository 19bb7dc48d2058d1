"""What the header pass costs, stage by stage, as ratios to inflating the same blocks alone.

Everything is measured in one process, the unit interleaved with what is measured, and of every
block the least of several times counts: a busy machine only makes things slower.
"""

import gc
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

import voyager_native
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import BuiltSpan, build_span, encode_chunks
from voyager_core.header_pass.parse import ParsedSpan, parse_blocks

NOW = datetime(2030, 1, 1, tzinfo=UTC)
_UNSEEN = 1 << 62
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Blocks:
    """What is measured: blocks as a news server sends them.

    Attributes:
        group: the newsgroup that they are of.
        groups: the indexed newsgroups with their priority numbers.
        blocks: compressed, in order.
    """

    group: str
    groups: Mapping[str, int]
    blocks: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU of the header pass.

    Attributes:
        unit: CPU seconds of inflating alone.
        engine: CPU seconds from blocks to the files table.
        total: CPU seconds from blocks to releases and chunks.
        stages: CPU of each stage, in the unit.
    """

    unit: float
    engine: float
    total: float
    stages: dict[str, float]


def measure(given: Blocks, *, repeats: int) -> Costs:
    """Returns what the pass costs, the least of `repeats` times."""
    count = len(given.blocks)
    inflate, feed = [_UNSEEN] * count, [_UNSEEN] * count
    finish = arrow = build = encode = records = _UNSEEN
    for _ in range(repeats):
        indexer = _indexer(given)
        for place, block in enumerate(given.blocks):
            inflate[place] = min(inflate[place], *voyager_native.inflate_ns([block], repeats=2))
            start = time.thread_time_ns()
            indexer.feed(block)
            feed[place] = min(feed[place], time.thread_time_ns() - start)
        start = time.thread_time_ns()
        tables = indexer.finish()
        finish = min(finish, time.thread_time_ns() - start)
        arrow = min(arrow, tables.stats["arrow_ns"])
        files = pl.DataFrame(tables.files)
        parsed = ParsedSpan(files, pl.DataFrame(), pl.DataFrame(), tables.stats)
        # Polars works in threads of its own.
        built, spent = _process_time(partial(build_span, parsed, RuleSet(), now=NOW))
        build = min(build, spent)
        whole = built.files.filter(~pl.col("is_fragment") & pl.col("release_key").is_not_null())
        encode = min(encode, _process_time(partial(encode_chunks, whole))[1])
        records = min(records, voyager_native.records_ns(files.select("payload")))
    unit, engine = sum(inflate), sum(feed) + finish
    lines = voyager_native.stages_ns(
        list(given.blocks), given.group, groups=dict(given.groups), repeats=min(repeats, 3)
    )
    _, scan, dates, subjects, xrefs = (sum(stage) for stage in zip(*lines, strict=True))
    known = unit + xrefs + records + arrow
    stages = {
        "inflate": unit,
        "scan": scan,
        "dates": dates - scan,
        "subject": subjects - dates,
        "xref": xrefs - subjects,
        "grouping": engine - known,
        "codec": records,
        "arrow": arrow,
        "polars": build - encode,
        "chunks": encode,
    }
    return Costs(
        unit=unit / 1e9,
        engine=engine / 1e9,
        total=(engine + build) / 1e9,
        stages={name: spent / unit for name, spent in stages.items()},
    )


def thread_ratio(given: Blocks, *, threads: int, repeats: int) -> float:
    """Returns the CPU of one range beside others in threads of their own, to its CPU alone."""
    alone = together = _UNSEEN
    for _ in range(repeats):
        alone = min(alone, _process_time(partial(_pass, given))[1])
        together = min(together, _process_time(partial(_at_once, given, threads))[1])
    return together / threads / alone


def parse(given: Blocks) -> ParsedSpan:
    """Returns the files of the blocks, with articles."""
    return parse_blocks(
        given.group,
        given.blocks,
        low=0,
        high=0,
        groups=given.groups,
        now=NOW,
        keep_articles=True,
    )


def peak_megabytes(given: Blocks, *, whole_pass: bool = False) -> float | None:
    """Returns the memory above the imports, in a process of its own; None where it is not told.

    Args:
        given: the blocks.
        whole_pass: up to releases and chunks, instead of to the files table.
    """
    if not sys.platform.startswith("linux"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{place:05}.zz") for place in range(len(given.blocks))]
        for path, block in zip(paths, given.blocks, strict=True):
            path.write_bytes(block)
        code = _CHILD.format(imports=_UP_TO_CHUNKS if whole_pass else "")
        command = [sys.executable, "-c", code, given.group, *map(str, paths)]
        child = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return int(child.stdout) * 1024 / 1e6


def _indexer(given: Blocks) -> voyager_native.SpanIndexer:
    return voyager_native.SpanIndexer(
        given.group, 0, 0, groups=given.groups, now=int(NOW.timestamp())
    )


def _pass(given: Blocks) -> BuiltSpan:
    indexer = _indexer(given)
    for block in given.blocks:
        indexer.feed(block)
    tables = indexer.finish()
    parsed = ParsedSpan(pl.DataFrame(tables.files), pl.DataFrame(), pl.DataFrame(), tables.stats)
    return build_span(parsed, RuleSet(), now=NOW)


def _at_once(given: Blocks, threads: int) -> None:
    at_work = [threading.Thread(target=_pass, args=(given,)) for _ in range(threads)]
    for each in at_work:
        each.start()
    for each in at_work:
        each.join()


def _process_time(work: Callable[[], _Result]) -> tuple[_Result, int]:
    gc.collect()
    start = time.process_time_ns()
    result = work()
    return result, time.process_time_ns() - start


_UP_TO_CHUNKS = """
import polars as pl
from datetime import UTC, datetime
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import ParsedSpan
# What a first use sets up belongs to the import.
pl.DataFrame({"a": ["x"]}).select(pl.col("a").str.contains("x$"))
"""

_CHILD = """
import sys, voyager_native
{imports}
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
before = peak()
group, files = sys.argv[1], sys.argv[2:]

def begin(low):
    return voyager_native.SpanIndexer(
        group, low, 0, groups={{group: 1}}, now=1 << 31, limits=voyager_native.SPAN_LIMITS
    )

def end(indexer):
    tables = indexer.finish()
    if "build_span" in globals():
        files = pl.DataFrame(tables.files)
        parsed = ParsedSpan(files, pl.DataFrame(), pl.DataFrame(), tables.stats)
        build_span(parsed, RuleSet(), now=datetime(2030, 1, 1, tzinfo=UTC))

indexer = begin(0)
for path in files:
    with open(path, "rb") as file:
        block = file.read()
    report = indexer.feed(block)
    while report.ended_at is not None:
        end(indexer)
        indexer = begin(report.ended_at + 1)
        report = indexer.feed(block, is_begun=True)
end(indexer)
print(peak() - before)
"""
