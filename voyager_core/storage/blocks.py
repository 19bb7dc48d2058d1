"""Blocks in a folder: `<group>/<range>/<low>-<high>.zz`, each with a manifest beside it.

A block counts only with its manifest; the manifest is written last and removed first.
"""

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from isal import isal_zlib

from voyager_core.domain.ranges import Span, range_low
from voyager_core.storage.errors import BlockDamaged, BlockMissing, SpoolFull, storage_error
from voyager_core.storage.files import (
    TemporaryFile,
    folder_name,
    remove_leftovers,
    sync_folder,
)
from voyager_core.storage.usage import BLOCK_SUFFIX, Usage, count_blocks

logger = logging.getLogger(__name__)

MANIFEST_SUFFIX = ".json"
MANIFEST_VERSION = 1
# Article numbers of a folder; blocks of more numbers lie in the folder of their first one.
FOLDER_SIZE = 2_000_000
# Above so many folders, what is there is listed instead of asked for one by one.
_MANY_FOLDERS = 64
_NAME = re.compile(r"(\d{1,19})-(\d{1,19})")


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """What is known of a block when it is written.

    Attributes:
        encoding: `zlib`, `gzip` or `deflate`.
        lines: overview lines in it.
        first_number: article number of the first line; None when there is none.
        last_number: article number of the last line; None when there is none.
        text_bytes: size of the text, inflated.
        server: host that it came from; article numbers are per server.
        fetched_at: epoch seconds.
        stray_lines: lines that belong to no number of the block.
        unread: the block was not inflated when it came; lines, last number and size of the text
            are not known (`facts.read_facts` tells them).
    """

    encoding: str
    lines: int
    first_number: int | None
    last_number: int | None
    text_bytes: int
    server: str
    fetched_at: int
    stray_lines: int = 0
    unread: bool = False


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """A block on disk: its manifest.

    Attributes:
        group: the group.
        low: first article number asked for.
        high: last article number asked for.
        size_bytes: size of the block, compressed.
        crc32: CRC-32 of the block, compressed.
        facts: what was known when it was written.
    """

    group: str
    low: int
    high: int
    size_bytes: int
    crc32: int
    facts: BlockFacts

    @property
    def span(self) -> Span:
        """The article numbers that the block answers for."""
        return Span(self.group, self.low, self.high)

    @property
    def holes(self) -> int:
        """Numbers asked for that have no line."""
        return max(0, self.high - self.low + 1 - self.facts.lines)

    def to_json(self) -> bytes:
        """Returns the manifest."""
        fields = {"version": MANIFEST_VERSION, **asdict(self)}
        return json.dumps(fields, indent=1, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def from_json(cls, text: bytes) -> "BlockInfo | None":
        """Reads a manifest; None when it is torn or of another version."""
        try:
            fields = json.loads(text)
            if fields.pop("version") != MANIFEST_VERSION:
                return None
            facts = BlockFacts(**fields.pop("facts"))
            return cls(facts=facts, **fields)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


class BlockReader(Protocol):
    """Where a block can be read from."""

    def read(self, info: BlockInfo) -> bytes:
        """Returns a block whose checksum is right."""
        ...


class BlockFolder:
    """The blocks below one root."""

    def __init__(self, root: Path, *, max_bytes: int | None, min_free_bytes: int = 0) -> None:
        """Uses a folder, which is created when the first block is written.

        Args:
            root: the folder.
            max_bytes: most bytes that the blocks may use; None = no bound.
            min_free_bytes: free space to leave on the disk.
        """
        self.root = root
        self.usage = Usage(root)
        self._max_bytes = max_bytes
        self._min_free_bytes = min_free_bytes
        # Time and size at which a block was whole, by its path.
        self._verified: dict[Path, tuple[int, int]] = {}

    def path_of(self, span: Span) -> Path:
        """Returns where the block of these article numbers is, or would be."""
        low = range_low(span.low, size=FOLDER_SIZE)
        folder = self.root / folder_name(span.group) / f"{low}-{low + FOLDER_SIZE - 1}"
        return folder / f"{span.low}-{span.high}{BLOCK_SUFFIX}"

    def infos(self, span: Span) -> list[BlockInfo]:
        """Returns the blocks that lie wholly in a span, by first number."""
        found: list[BlockInfo] = []
        for folder in self._folders(span):
            found.extend(_infos_in(folder, span))
        return sorted(found, key=lambda info: (info.low, -info.high))

    def cover(self, span: Span) -> list[BlockInfo]:
        """Returns blocks that follow each other through a span; shorter where one is missing."""
        covering: list[BlockInfo] = []
        position = span.low
        for info in self.infos(span):
            if info.low == position:
                covering.append(info)
                position = info.high + 1
        return covering

    def used(self) -> int:
        """Returns how many bytes the blocks use, over all processes."""
        return self.usage.used()

    def check_room(self, size_bytes: int) -> None:
        """Refuses when so many more bytes would be over the cap or the free-space guard.

        Raises:
            SpoolFull: naming which of the two, and the numbers.
        """
        self._check_cap(self.usage.used(), size_bytes)
        self._check_free(size_bytes)

    def write(self, span: Span, data: bytes, facts: BlockFacts) -> BlockInfo:
        """Writes a block and its manifest, whole or not at all.

        Raises:
            SpoolFull: no room; nothing was written.
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        info = BlockInfo(span.group, span.low, span.high, len(data), isal_zlib.crc32(data), facts)
        path = self.path_of(span)
        self._check_free(len(data))
        temporaries: list[TemporaryFile] = []
        try:
            temporaries.append(TemporaryFile(path))
            temporaries[0].write(data, sync=True)
            temporaries.append(TemporaryFile(path.with_suffix(MANIFEST_SUFFIX)))
            # A manifest that a crash tears does not parse, so it needs no wait for the disk.
            temporaries[1].write(info.to_json(), sync=False)
            with self.usage.changing() as change:
                before = path.stat().st_size if path.exists() else 0
                self._check_cap(change.used, len(data) - before)
                for temporary in temporaries:
                    temporary.publish()
                change.used += len(data) - before
            sync_folder(path.parent)
        except OSError as error:
            raise storage_error(error, path, doing="writing a block") from error
        finally:
            for temporary in temporaries:
                temporary.discard()
        self._remember(path)
        return info

    def read(self, info: BlockInfo) -> bytes:
        """Returns a block whose checksum is right.

        Raises:
            BlockMissing: it is gone.
            BlockDamaged: it is torn; it was removed.
            TransientError: another fault of the disk.
        """
        path = self.path_of(info.span)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            msg = f"the block {info.span} is not at {path} any more; it is fetched again"
            raise BlockMissing(msg) from None
        except OSError as error:
            raise storage_error(error, path, doing="reading a block") from error
        if len(data) != info.size_bytes or isal_zlib.crc32(data) != info.crc32:
            self.remove([info])
            msg = f"the block {info.span} at {path} was damaged and is removed; it is fetched again"
            raise BlockDamaged(msg)
        return data

    def is_whole(self, info: BlockInfo) -> bool:
        """Tells whether a block is there and matches its checksum; a torn one is removed.

        Blocks that this process wrote or has checked are not read again while their size and
        time stay the same.
        """
        path = self.path_of(info.span)
        try:
            state = path.stat()
        except OSError:
            return False
        if self._verified.get(path) == (state.st_mtime_ns, state.st_size):
            return True
        try:
            self.read(info)
        except BlockMissing as error:
            logger.warning("%s", error)
            return False
        self._remember(path)
        return True

    def remove(self, infos: Iterable[BlockInfo]) -> int:
        """Removes blocks and folders that are empty then; returns the bytes freed.

        Raises:
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        freed = 0
        folders: set[Path] = set()
        with self.usage.changing() as change:
            for info in infos:
                path = self.path_of(info.span)
                folders.add(path.parent)
                self._verified.pop(path, None)
                try:
                    # Manifest first: a block without one counts as not there.
                    path.with_suffix(MANIFEST_SUFFIX).unlink(missing_ok=True)
                    size = path.stat().st_size if path.exists() else 0
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise storage_error(error, path, doing="removing a block") from error
                change.used -= size
                freed += size
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()
                folder.parent.rmdir()
        return freed

    def sweep(self, *, forget_before: float | None = None) -> int:
        """Removes what crashed writers left and counts the bytes anew.

        Args:
            forget_before: epoch seconds; blocks written before are removed as well. They were
                fetched for a span that nobody came back to, such as one of a removed group.

        Returns:
            How many files were removed.

        Raises:
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        try:
            return self._sweep(forget_before or 0)
        except OSError as error:
            raise storage_error(error, self.root, doing="sweeping") from error

    def _sweep(self, forget_before: float) -> int:
        removed = remove_leftovers(self.root)
        with self.usage.changing() as change:
            for path in list(self.root.glob(f"*/*/*{BLOCK_SUFFIX}")):
                manifest = path.with_suffix(MANIFEST_SUFFIX)
                if path.stat().st_mtime < forget_before:
                    manifest.unlink(missing_ok=True)
                if not manifest.exists():
                    path.unlink(missing_ok=True)
                    removed += 1
            for path in list(self.root.glob(f"*/*/*{MANIFEST_SUFFIX}")):
                named = _NAME.fullmatch(path.stem) is not None
                if named and not path.with_suffix(BLOCK_SUFFIX).exists():
                    path.unlink(missing_ok=True)
                    removed += 1
            change.used = count_blocks(self.root)
        return removed

    def _folders(self, span: Span) -> Iterator[Path]:
        first = range_low(span.low, size=FOLDER_SIZE)
        if span.high - first < _MANY_FOLDERS * FOLDER_SIZE:
            for low in range(first, span.high + 1, FOLDER_SIZE):
                yield self.path_of(Span(span.group, low, low)).parent
            return
        with suppress(OSError):
            yield from (self.root / folder_name(span.group)).iterdir()

    def _remember(self, path: Path) -> None:
        with suppress(OSError):
            state = path.stat()
            self._verified[path] = (state.st_mtime_ns, state.st_size)

    def _check_cap(self, used: int, more: int) -> None:
        if self._max_bytes is not None and used + more > self._max_bytes:
            msg = (
                f"{self.root} holds {used} bytes and may hold {self._max_bytes}: no room for "
                f"{more} more; index what is spooled, or raise VOYAGER_SPOOL__MAX_BYTES"
            )
            raise SpoolFull(msg)

    def _check_free(self, more: int) -> None:
        free = free_bytes(self.root)
        if free is not None and free - more < self._min_free_bytes:
            msg = (
                f"the disk of {self.root} has {free} bytes free, of which {self._min_free_bytes} "
                f"are to stay free: no room for {more} more; make room on it"
            )
            raise SpoolFull(msg)


def _infos_in(folder: Path, span: Span) -> Iterator[BlockInfo]:
    """Yields the blocks of a folder that lie wholly in a span and are as big as they should be."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return
    for name in names:
        match = _NAME.fullmatch(name.removesuffix(MANIFEST_SUFFIX))
        if not name.endswith(MANIFEST_SUFFIX) or match is None:
            continue
        low, high = int(match[1]), int(match[2])
        if low < span.low or high > span.high or high < low:
            continue
        path = folder / name
        try:
            info = BlockInfo.from_json(path.read_bytes())
            size = path.with_suffix(BLOCK_SUFFIX).stat().st_size
        except OSError:
            continue
        if info is None or (info.group, info.low, info.high) != (span.group, low, high):
            continue
        if info.size_bytes == size:
            yield info


def free_bytes(root: Path) -> int | None:
    """Returns the free space of the disk that holds a folder; None when it cannot be told."""
    for folder in (root, *root.parents):
        try:
            state = os.statvfs(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return state.f_bavail * state.f_frsize
    return None
