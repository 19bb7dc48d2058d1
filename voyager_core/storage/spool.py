"""The spool: fetched overview blocks that wait until their span is indexed."""

import logging
from collections.abc import Iterator
from pathlib import Path

from voyager_core.domain.ranges import Span
from voyager_core.storage.blocks import BlockFacts, BlockFolder, BlockInfo
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockMissing

logger = logging.getLogger(__name__)


class Spool:
    """Blocks on disk, ahead of the header pass; every process may use it at the same time.

    Blocks of captured ranges are read from the corpus, so that indexing them again needs no
    news server.
    """

    def __init__(
        self,
        root: Path,
        *,
        max_bytes: int | None = None,
        min_free_bytes: int = 0,
        corpus: Corpus | None = None,
    ) -> None:
        """Uses a folder, which is created when the first block is written.

        Args:
            root: the folder.
            max_bytes: most bytes of blocks; None = no bound.
            min_free_bytes: free space to leave on the disk.
            corpus: where captured ranges go; None: capturing is not possible.
        """
        self.corpus = corpus
        self._blocks = BlockFolder(root, max_bytes=max_bytes, min_free_bytes=min_free_bytes)

    @property
    def root(self) -> Path:
        """The folder."""
        return self._blocks.root

    def missing(self, span: Span, block_size: int, *, server: str | None = None) -> list[Span]:
        """Returns the blocks that are still to be fetched for a span, by number.

        Blocks end at multiples of the block size, so that a span that grows at its end keeps
        the blocks it has. Blocks on disk are checked; torn ones are removed and count as
        missing, as do those of another server.
        """
        if server is not None:
            foreign = [each for each in self._blocks.infos(span) if each.facts.server != server]
            self._blocks.remove(foreign)
        wanted: list[Span] = []
        position = span.low
        for low, high in self._stretches(span, server):
            wanted.extend(_cut(span.group, position, low - 1, block_size))
            position = high + 1
        wanted.extend(_cut(span.group, position, span.high, block_size))
        return wanted

    def write(self, span: Span, data: bytes, facts: BlockFacts) -> BlockInfo:
        """Writes a block, whole or not at all, over one with the same numbers.

        Args:
            span: the article numbers asked for.
            data: the block as received, compressed.
            facts: what is known of it.

        Raises:
            SpoolFull: no room (cap, free-space guard, disk); nothing was written.
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        return self._blocks.write(span, data, facts)

    def infos(self, span: Span, *, server: str | None = None) -> list[BlockInfo]:
        """Returns the manifests of the blocks that cover a span, by number.

        Args:
            span: the article numbers.
            server: only blocks of this server; article numbers mean nothing on another.

        Raises:
            BlockMissing: they do not cover it; fetch it first.
        """
        return [info for _, info in self._cover(span, server)]

    def blocks(self, span: Span, *, server: str | None = None) -> Iterator[bytes]:
        """Yields the blocks of a span in order, each read when it is asked for and checked.

        Args:
            span: the article numbers.
            server: only blocks of this server; article numbers mean nothing on another.

        Raises:
            BlockMissing: the span is not all there; fetch it (again).
            BlockDamaged: a block was torn; it is removed, fetch the span again.
        """
        for folder, info in self._cover(span, server):
            yield folder.read(info)

    def release(self, span: Span, *, capture: bool = False) -> int:
        """Gives up the blocks of a span that is indexed; captured ones move to the corpus.

        Returns:
            The bytes freed in the spool. A span without blocks frees none.
        """
        infos = self._blocks.infos(span)
        if capture and infos:
            if self.corpus is None:
                logger.warning("%s is not captured: no corpus folder is set", span)
            else:
                self.corpus.keep(self._blocks, infos)
        return self._blocks.remove(infos)

    def delete(self, span: Span) -> int:
        """Deletes the blocks of a span from the spool; returns the bytes freed."""
        return self.release(span)

    def bytes_used(self) -> int:
        """Returns how many bytes the blocks in the spool use, over all processes."""
        return self._blocks.usage.used()

    def check_room(self, size_bytes: int = 1) -> None:
        """Refuses when so many more bytes do not fit.

        Raises:
            SpoolFull: saying why.
        """
        self._blocks.check_room(size_bytes)

    def sweep(self, *, forget_before: float | None = None) -> int:
        """Removes what crashed writers left and counts the bytes anew; for the start of a run.

        Args:
            forget_before: epoch seconds; blocks written before are removed as well, since
                nobody came back to their span. Who needs one all the same fetches it again.

        Returns:
            How many files were removed.
        """
        return self._blocks.sweep(forget_before=forget_before)

    def _folders(self) -> list[BlockFolder]:
        return [self._blocks, *([self.corpus.blocks] if self.corpus is not None else [])]

    def _stretches(self, span: Span, server: str | None) -> Iterator[tuple[int, int]]:
        """Yields the whole blocks in a span that do not overlap, by number."""
        position = span.low
        for folder, info in self._all(span, server):
            if info.low >= position and folder.is_whole(info):
                yield info.low, info.high
                position = info.high + 1

    def _cover(self, span: Span, server: str | None) -> list[tuple[BlockFolder, BlockInfo]]:
        covering: list[tuple[BlockFolder, BlockInfo]] = []
        position = span.low
        for folder, info in self._all(span, server):
            if info.low == position:
                covering.append((folder, info))
                position = info.high + 1
        if position <= span.high:
            msg = f"{span} is not in the spool from number {position} on; fetch it first"
            raise BlockMissing(msg)
        return covering

    def _all(self, span: Span, server: str | None) -> list[tuple[BlockFolder, BlockInfo]]:
        found = [
            (folder, info)
            for folder in self._folders()
            for info in folder.infos(span)
            if server is None or info.facts.server == server
        ]
        return sorted(found, key=lambda each: (each[1].low, -each[1].high))


def _cut(group: str, low: int, high: int, block_size: int) -> Iterator[Span]:
    """Yields aligned blocks for the numbers `low … high`; none when there are no numbers."""
    while low <= high:
        end = min((low - 1) // block_size * block_size + block_size, high)
        yield Span(group, low, end)
        low = end + 1
