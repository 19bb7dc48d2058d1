"""What a pass works with, and what it says about its work."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from math import fsum

import voyager_native
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.stretches import OpenRange
from voyager_core.domain.ranges import Span, partition_key
from voyager_core.domain.rulesets import RuleSet
from voyager_core.errors import SettingsError, VoyagerError
from voyager_core.header_pass.fetch import FetchedSpan, FetchOptions, fetch_spans
from voyager_core.header_pass.parse import LIMITS
from voyager_core.header_pass.wait import SpanWaiter, fetcher_lives
from voyager_core.nntp.client import NewsClient
from voyager_core.storage.spool import Spool

# A fetcher reads what it brings for the second time; one that has just started knows no first time.
TIMES_AGAIN = 2


def _nothing(*_: object) -> None:
    """Does nothing."""


def _inflates(block: bytes) -> bool:
    """Tells whether the engine can read a block."""
    try:
        voyager_native.inflate(block)
    except ValueError:
        return False
    return True


class Stage(IntEnum):
    """How far a pass goes."""

    FETCH = 1
    PARSE = 2
    STORE = 3


@dataclass(frozen=True, slots=True)
class PassTools:
    """What a pass works with.

    Attributes:
        conn: the catalog, outside any transaction.
        news: an entered client of the server that the article numbers belong to; None in a
            process without an account, which works on what fetchers bring.
        spool: where fetched blocks wait.
        rules: the rule set in force.
        versions: of the parser, the rule set and the codec.
        clock: returns the time.
        options: how spans are fetched.
        stage: how far to go.
        hole_patience_seconds: how long numbers at the very end of a group that the server says
            it has, and does not show, are asked for again before they count as holes.
        before_span: called before each span, to share what is scarce.
        after_span: called with what became of each span, to tell of long work.
        asks_again: whether numbers at the newest end that have no line are asked for again later.
        uses_fetchers: whether spans may come from a fetcher where one is there.
        limits: files and bytes that a span may hold; what goes beyond is a span of its own.
    """

    conn: Connection
    news: NewsClient | None
    spool: Spool
    rules: RuleSet
    versions: Versions
    clock: Callable[[], datetime]
    options: FetchOptions = field(default_factory=FetchOptions)
    stage: Stage = Stage.STORE
    hole_patience_seconds: float = 0
    before_span: Callable[[], None] = _nothing
    after_span: Callable[["SpanOutcome"], None] = _nothing
    asks_again: bool = True
    uses_fetchers: bool = False
    limits: tuple[int, int] = LIMITS

    @property
    def server(self) -> str | None:
        """The host that blocks must be of; None where only fetchers know it."""
        return None if self.news is None else self.news.account.host

    @property
    def client(self) -> NewsClient:
        """The news server.

        Raises:
            SettingsError: this process has no account.
        """
        if self.news is None:
            msg = "this needs a news account: set VOYAGER_NEWS__URL"
            raise SettingsError(msg)
        return self.news

    def fetch_again(self, range_id: int, span: Span) -> FetchedSpan:
        """Fetches the blocks of a span anew that cannot be inflated, and returns the span.

        Raises:
            VoyagerError: see `fetch`, and what fetching raises.
        """
        self.spool.discard(span, _inflates)
        options = replace(self.options, unread=False)
        with replace(self, options=options).fetch([range_id], [span]) as again:
            return next(again)

    def whole(self, range_id: int, fetched: FetchedSpan) -> FetchedSpan:
        """Returns a span whose blocks all inflate; those that came unread are looked through.

        Raises:
            VoyagerError: see `fetch`, and what fetching raises.
        """
        for _ in range(TIMES_AGAIN):
            if not fetched.report.unread or not self.spool.discard(fetched.span, _inflates):
                break
            fetched = self.fetch_again(range_id, fetched.span)
        return fetched

    def fetch(
        self, range_ids: Sequence[int], spans: Sequence[Span]
    ) -> AbstractContextManager[Iterator[FetchedSpan]]:
        """Returns the spans in order, each as its blocks are in the spool.

        They come from a fetcher where one is there, else from the news server.

        Args:
            range_ids: the range of each span.
            spans: the article numbers.

        Raises:
            SettingsError: there is neither a fetcher nor an account.
        """
        waits = self.uses_fetchers and (self.news is None or fetcher_lives(self.conn))
        if not waits:
            return fetch_spans(self.client, self.spool, spans, self.options)
        return SpanWaiter(
            self.conn,
            self.spool,
            list(zip(range_ids, spans, strict=True)),
            client=self.news,
            options=self.options,
        )


@dataclass(frozen=True, slots=True)
class SpanOutcome:
    """What became of one span; of all its parts, where it was indexed in several.

    Attributes:
        range: the range that holds it.
        span: the article numbers.
        stored: whether this pass stored it; False when somebody else was faster, it failed,
            or the pass does not store.
        refused: whether somebody else was faster.
        error: why it failed, None when it did not.
        fetched_lines: overview lines that the server sent.
        lines: overview lines that the engine read.
        kept: of them, in a file.
        rejected: lines that are in no file, by reason.
        block_bytes: size of the fetched blocks.
        chunk_bytes: size of the chunks stored.
        recovered: articles that a changed rule brought back.
        cpu_seconds: processor time of this process since the span before.
    """

    range: OpenRange
    span: Span
    stored: bool = False
    refused: bool = False
    error: VoyagerError | None = None
    fetched_lines: int = 0
    lines: int = 0
    kept: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    block_bytes: int = 0
    chunk_bytes: int = 0
    recovered: int = 0
    cpu_seconds: float = 0.0

    def followed_by(self, part: "SpanOutcome") -> "SpanOutcome":
        """Returns the outcome with that of the part that came next."""
        rejected = dict(self.rejected)
        for reason, count in part.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + count
        return replace(
            part,
            span=Span(part.span.group, self.span.low, part.span.high),
            stored=self.stored or part.stored,
            lines=self.lines + part.lines,
            kept=self.kept + part.kept,
            rejected=rejected,
            chunk_bytes=self.chunk_bytes + part.chunk_bytes,
        )


@dataclass(frozen=True, slots=True)
class StretchReport:
    """What a pass did in one stretch.

    Attributes:
        group: the newsgroup.
        index: the stretch's number in the group.
        outcomes: of every span of this pass, in order.
    """

    group: str
    index: int
    outcomes: Sequence[SpanOutcome]

    @property
    def key(self) -> str:
        """The stretch's partition key."""
        return partition_key(self.group, self.index)

    @property
    def failures(self) -> list[tuple[str, VoyagerError]]:
        """What failed: the span's name and the error."""
        return [(str(each.span), each.error) for each in self.outcomes if each.error is not None]

    @property
    def lines(self) -> int:
        """Overview lines read by this pass."""
        return sum(each.lines for each in self.outcomes)

    @property
    def kept(self) -> int:
        """Lines of this pass that are in a file."""
        return sum(each.kept for each in self.outcomes)

    @property
    def rejected(self) -> dict[str, int]:
        """Lines of this pass that are in no file, by reason."""
        sums: dict[str, int] = {}
        for each in self.outcomes:
            for reason, count in each.rejected.items():
                sums[reason] = sums.get(reason, 0) + count
        return sums

    @property
    def block_bytes(self) -> int:
        """Size of the blocks that this pass read."""
        return sum(each.block_bytes for each in self.outcomes)

    @property
    def cpu_seconds(self) -> float:
        """Processor time of this pass."""
        return fsum(each.cpu_seconds for each in self.outcomes)
