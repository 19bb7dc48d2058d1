"""Overview blocks of a span to files: the engine's work, as polars frames."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.rules import block_samples
from voyager_core.header_pass.schemas import ARTICLES, FILES, REJECTS, conform, empty


@dataclass(frozen=True, slots=True)
class ParsedSpan:
    """What the engine found in a span.

    Attributes:
        files: one row a file (`schemas.FILES`).
        articles: one row a line (`schemas.ARTICLES`); empty unless asked for.
        rejects: lines that are in no file, by reason, with samples (`schemas.REJECTS`).
        stats: the engine's counters: lines, kept, rejected, blocks, times and sizes.
        errors: what could not be inflated; the rest of the span went on.
    """

    files: pl.DataFrame
    articles: pl.DataFrame
    rejects: pl.DataFrame
    stats: Mapping[str, int]
    errors: tuple[str, ...] = ()


LIMITS = voyager_native.SPAN_LIMITS
"""Files and bytes that a span may hold before it ends early."""


def parse_parts(
    span: Span,
    blocks: Iterable[bytes],
    *,
    groups: Mapping[str, int],
    now: datetime,
    limits: tuple[int, int] = LIMITS,
    is_begun: bool = False,
) -> Iterator[tuple[Span, ParsedSpan]]:
    """Yields a span in one part, or in as many as it takes to hold no more than the limits allow.

    Each part follows on the one before. Every line is counted in one of them, and where they end
    follows from the lines. All others of its frames should be given up before the next one.

    Args:
        span: the numbers that were asked for.
        blocks: as received, in order, each read when it is needed.
        groups: the indexed groups and their priority numbers.
        now: dates after it are taken as it.
        limits: files and bytes.
        is_begun: the part before this span ended in the first block.
    """
    low, errors = span.low, list[str]()
    indexer = _indexer(span, low, groups, now, limits)
    for block in blocks:
        report = indexer.feed(block, is_begun=is_begun)
        is_begun = False
        while report.ended_at is not None:
            yield Span(span.group, low, report.ended_at), _parsed(span.group, indexer, errors)
            low, errors = report.ended_at + 1, []
            indexer = _indexer(span, low, groups, now, limits)
            report = indexer.feed(block, is_begun=True)
        if report.error:
            errors.append(report.error)
    yield Span(span.group, low, span.high), _parsed(span.group, indexer, errors)


def _indexer(
    span: Span, low: int, groups: Mapping[str, int], now: datetime, limits: tuple[int, int]
) -> voyager_native.SpanIndexer:
    return voyager_native.SpanIndexer(
        span.group,
        low,
        span.high,
        groups=dict(groups),
        now=int(now.timestamp()),
        limits=limits,
    )


def parse_span(
    span: Span,
    blocks: Iterable[bytes],
    *,
    groups: Mapping[str, int],
    now: datetime,
    keep_articles: bool = False,
) -> ParsedSpan:
    """Returns the files of a span, whatever it holds.

    Nothing in a block is an error: what the engine does not understand is counted.

    Args:
        span: the numbers that were asked for.
        blocks: as received, in order: compressed in any of the known ways, or plain lines.
        groups: the indexed groups and their priority numbers; the lowest owns a crosspost.
        now: dates after it are taken as it.
        keep_articles: also return one row for every line.
    """
    return parse_blocks(
        span.group,
        blocks,
        low=span.low,
        high=span.high,
        groups=groups,
        now=now,
        keep_articles=keep_articles,
    )


def parse_blocks(
    group: str,
    blocks: Iterable[bytes],
    *,
    low: int,
    high: int,
    groups: Mapping[str, int],
    now: datetime,
    keep_articles: bool = False,
) -> ParsedSpan:
    """Returns the files of lines between two numbers; 0 for both means no bounds."""
    indexer = voyager_native.SpanIndexer(
        group,
        low,
        high,
        groups=dict(groups),
        now=int(now.timestamp()),
        keep_articles=keep_articles,
    )
    errors = [report.error for block in blocks if (report := indexer.feed(block)).error]
    return _parsed(group, indexer, errors)


def _parsed(group: str, indexer: voyager_native.SpanIndexer, errors: Iterable[str]) -> ParsedSpan:
    tables = indexer.finish()
    files = pl.DataFrame(tables.files).with_columns(group=pl.lit(group))
    articles = empty(ARTICLES) if tables.articles is None else pl.DataFrame(tables.articles)
    return ParsedSpan(
        files=conform(files, FILES, what="files"),
        articles=conform(articles, ARTICLES, what="articles"),
        rejects=_without_blocked(conform(pl.DataFrame(tables.rejects), REJECTS, what="rejects")),
        stats=dict(tables.stats),
        errors=tuple(errors),
    )


def _without_blocked(rejects: pl.DataFrame) -> pl.DataFrame:
    """Returns the reasons with their samples, but for lines that must not be kept anywhere."""
    return rejects.with_columns(samples=block_samples(rejects["samples"], RuleSet()))
