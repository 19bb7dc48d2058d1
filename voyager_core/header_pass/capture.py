"""Fetch the blocks of marked ranges that were indexed before they were marked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from voyager_core.catalog.capture import MarkedRange, marked_ranges
from voyager_core.domain.ranges import Span
from voyager_core.errors import VoyagerError
from voyager_core.header_pass.fetch import fetch_spans
from voyager_core.header_pass.run import PassTools, is_everywhere, unforeseen
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockMissing


@dataclass(frozen=True, slots=True)
class Captured:
    """What became of a marked range.

    Attributes:
        span: the article numbers.
        lines: overview lines fetched.
        is_kept: whether the corpus holds all of it now; it does not when it is full.
        error: why it could not be fetched.
    """

    span: Span
    lines: int = 0
    is_kept: bool = False
    error: VoyagerError | None = None


def is_captured(corpus: Corpus, span: Span) -> bool:
    """Tells whether the corpus holds every block of a span."""
    try:
        return bool(corpus.blocks.cover(span))
    except BlockMissing:
        return False


def uncaptured(tools: PassTools, corpus: Corpus) -> list[MarkedRange]:
    """Returns marked ranges that are indexed and not, or not wholly, in the corpus.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return [
        each
        for each in marked_ranges(tools.conn)
        if not is_captured(corpus, Span(each.group, each.low, each.resume_at - 1))
    ]


def capture_marked(tools: PassTools, *, most: int | None = None) -> Iterator[Captured]:
    """Fetches marked ranges into the corpus, byte for byte as the server sends them.

    Args:
        tools: catalog, server and a spool with a corpus.
        most: ranges to fetch at most.

    Raises:
        VoyagerError: a fault that every range would meet.
    """
    corpus = tools.spool.corpus
    if corpus is None:
        return
    spans = [
        Span(each.group, each.low, each.resume_at - 1) for each in uncaptured(tools, corpus)[:most]
    ]
    options = replace(tools.options, unread=False)
    with fetch_spans(tools.client, tools.spool, spans, options) as fetcher:
        for span in spans:
            tools.before_span()
            try:
                with unforeseen(span):
                    fetched = next(fetcher)
                    fetched.release(capture=True)
                kept = is_captured(corpus, span)
                yield Captured(span, fetched.report.lines, kept)
                if not kept:
                    # The corpus is full; what follows would be fetched for nothing.
                    return
            except VoyagerError as error:
                if is_everywhere(error):
                    raise
                yield Captured(span, error=error)
