"""The spool: fetched overview blocks that wait until their span is indexed.

It is a folder, or S3-compatible storage that fetchers and workers of several machines share.
"""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from voyager_core.domain.ranges import Span
from voyager_core.errors import SettingsError
from voyager_core.storage.blocks import BlockFacts, BlockFolder, BlockInfo
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockMissing
from voyager_core.storage.objects import BlockObjects, open_store

logger = logging.getLogger(__name__)

BlockStore = BlockFolder | BlockObjects


class Throttle:
    """Keeps reading below a number of bytes a second."""

    def __init__(
        self,
        bytes_per_second: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Begins with an empty account.

        Args:
            bytes_per_second: the most.
            monotonic: seconds.
            sleep: waits for so many seconds.
        """
        self._rate = bytes_per_second
        self._monotonic = monotonic
        self._sleep = sleep
        self._free_at = monotonic()

    def take(self, size_bytes: int) -> None:
        """Waits until what was taken before is paid for, then takes so many bytes."""
        now = self._monotonic()
        if self._free_at > now:
            self._sleep(self._free_at - now)
            now = self._free_at
        # Time in which nothing was read is no credit.
        self._free_at = max(self._free_at, now) + size_bytes / self._rate


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
        blocks: BlockStore | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        """Uses a folder, which is created when the first block is written.

        Args:
            root: the folder.
            max_bytes: most bytes of blocks; None = no bound.
            min_free_bytes: free space to leave on the disk.
            corpus: where captured ranges go; None: capturing is not possible.
            blocks: where blocks are instead of in the folder.
            throttle: slows down reading; None: as fast as it goes.
        """
        self.corpus = corpus
        self._throttle = throttle
        self._blocks: BlockStore = blocks or BlockFolder(
            root, max_bytes=max_bytes, min_free_bytes=min_free_bytes
        )

    @property
    def root(self) -> Path | None:
        """The folder, None in a storage that has none."""
        return self._blocks.root if isinstance(self._blocks, BlockFolder) else None

    @classmethod
    def at(
        cls,
        url: str | Path,
        *,
        max_bytes: int | None = None,
        min_free_bytes: int = 0,
        corpus: Corpus | None = None,
        bytes_per_second: float | None = None,
    ) -> "Spool":
        """Returns the spool at a path, a `file://` URL or an `s3://bucket/prefix` URL.

        Args:
            url: the place; see `voyager_core.storage.objects.open_store` for S3's options.
            max_bytes: most bytes of blocks; None = no bound.
            min_free_bytes: free space to leave on the disk of a folder.
            corpus: where captured ranges go; None: capturing is not possible.
            bytes_per_second: most bytes read in a second; None: as many as it gives.

        Raises:
            SettingsError: the URL cannot be used.
        """
        throttle = None if bytes_per_second is None else Throttle(bytes_per_second)
        text = str(url)
        scheme = urlsplit(text).scheme if "://" in text else ""
        if scheme in {"s3", "s3a"}:
            store, name = open_store(text)
            blocks = BlockObjects(store, name, max_bytes=max_bytes)
            return cls(Path(), corpus=corpus, blocks=blocks, throttle=throttle)
        if scheme not in {"", "file"}:
            msg = f"VOYAGER_SPOOL__URL begins with {scheme[:20]}://, not with file:// or s3://"
            raise SettingsError(msg)
        return cls(
            Path(unquote(urlsplit(text).path)) if scheme else Path(text),
            max_bytes=max_bytes,
            min_free_bytes=min_free_bytes,
            corpus=corpus,
            throttle=throttle,
        )

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
            if self._throttle is not None:
                self._throttle.take(info.size_bytes)
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

    def discard(self, span: Span, is_good: Callable[[bytes], bool]) -> int:
        """Deletes blocks of a span that are whole and still of no use, captured ones as well.

        Args:
            span: the article numbers.
            is_good: tells whether a block can be used.

        Returns:
            How many blocks were deleted.
        """
        deleted = 0
        for folder in self._folders():
            for info in folder.infos(span):
                try:
                    if is_good(folder.read(info)):
                        continue
                except BlockMissing:
                    continue
                folder.remove([info])
                deleted += 1
        return deleted

    def delete(self, span: Span) -> int:
        """Deletes the blocks of a span from the spool; returns the bytes freed."""
        return self.release(span)

    def bytes_used(self) -> int:
        """Returns how many bytes the blocks in the spool use, over all processes."""
        return self._blocks.used()

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

    def _folders(self) -> list[BlockStore]:
        return [self._blocks, *([self.corpus.blocks] if self.corpus is not None else [])]

    def covers(self, span: Span, *, server: str | None = None) -> bool:
        """Tells whether the blocks of a span are all there, without reading them."""
        try:
            self._cover(span, server)
        except BlockMissing:
            return False
        return True

    def held(self, span: Span) -> int:
        """Returns how many blocks of a span are there, of whatever server."""
        return sum(len(folder.infos(span)) for folder in self._folders())

    def _stretches(self, span: Span, server: str | None) -> Iterator[tuple[int, int]]:
        """Yields the whole blocks in a span that do not overlap, by number."""
        position = span.low
        for folder, info in self._all(span, server):
            if info.low >= position and folder.is_whole(info):
                yield info.low, info.high
                position = info.high + 1

    def _cover(self, span: Span, server: str | None) -> list[tuple[BlockStore, BlockInfo]]:
        covering: list[tuple[BlockStore, BlockInfo]] = []
        position = span.low
        for folder, info in self._all(span, server):
            if info.low == position:
                covering.append((folder, info))
                position = info.high + 1
        if position <= span.high:
            msg = f"{span} is not in the spool from number {position} on; fetch it first"
            raise BlockMissing(msg)
        return covering

    def _all(self, span: Span, server: str | None) -> list[tuple[BlockStore, BlockInfo]]:
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
