"""The corpus: blocks of captured ranges, kept to judge changes of rules and parsers on."""

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from voyager_core.domain.ranges import Span, range_low
from voyager_core.storage.blocks import FOLDER_SIZE, BlockFolder, BlockInfo, BlockReader
from voyager_core.storage.errors import BlockMissing, SpoolFull, storage_error
from voyager_core.storage.facts import read_facts
from voyager_core.storage.files import write_file

logger = logging.getLogger(__name__)

RANGE_FILE = "range.json"


@dataclass(frozen=True, slots=True)
class CapturedRange:
    """A folder of the corpus.

    Attributes:
        span: the article numbers that its blocks cover without a gap.
        lines: overview lines in them.
        blocks: how many blocks.
        complete: whether they cover all numbers of the folder.
        folder: where the blocks are, by first number `<low>-<high>.zz`.
    """

    span: Span
    lines: int
    blocks: int
    complete: bool
    folder: Path


class Corpus:
    """Captured ranges: `<group>/<low>-<high>/` with the blocks and a `range.json`."""

    def __init__(
        self, root: Path, *, max_bytes: int | None = None, min_free_bytes: int = 0
    ) -> None:
        """Uses a folder, which is created when the first range is captured.

        Args:
            root: the folder.
            max_bytes: most bytes to keep; None = no bound.
            min_free_bytes: free space to leave on the disk.
        """
        self.blocks = BlockFolder(root, max_bytes=max_bytes, min_free_bytes=min_free_bytes)

    @property
    def root(self) -> Path:
        """The folder."""
        return self.blocks.root

    def keep(self, source: BlockReader, infos: list[BlockInfo]) -> int:
        """Moves blocks of a captured range here; returns how many bytes were kept.

        A full corpus keeps nothing more and says so in the log: the range itself is indexed
        all the same.

        Raises:
            StorageUnusable: the folder cannot be written to.
            TransientError: another fault of the disk.
        """
        kept = 0
        for info in infos:
            try:
                data = source.read(info)
                self.blocks.write(info.span, data, read_facts(data, info.facts))
            except BlockMissing as error:
                logger.warning("not captured: %s", error)
            except SpoolFull as error:
                logger.warning("not captured: %s and what follows (%s)", info.span, error)
                break
            else:
                kept += info.size_bytes
        for low in {range_low(info.low, size=FOLDER_SIZE) for info in infos}:
            self._describe(Span(infos[0].group, low, low + FOLDER_SIZE - 1))
        return kept

    def ranges(self) -> Iterator[CapturedRange]:
        """Yields what was captured, by group and number."""
        for file in sorted(self.root.glob(f"*/*/{RANGE_FILE}"), key=_folder_order):
            captured = read_range_file(file.parent)
            if captured is not None:
                yield captured

    def _describe(self, folder_span: Span) -> None:
        infos = self.blocks.infos(folder_span)
        if not infos:
            return
        covering = self.blocks.cover(Span(folder_span.group, infos[0].low, folder_span.high))
        last = covering[-1].high
        fields = {
            "group": folder_span.group,
            "low": infos[0].low,
            "high": last,
            "lines": sum(info.facts.lines for info in covering),
            "blocks": len(covering),
            "complete": (infos[0].low, last) == (folder_span.low, folder_span.high),
        }
        path = self.blocks.path_of(infos[0].span).with_name(RANGE_FILE)
        try:
            write_file(path, json.dumps(fields, indent=1).encode() + b"\n")
        except OSError as error:
            raise storage_error(error, path, doing="describing a captured range") from error


def read_range_file(folder: Path) -> CapturedRange | None:
    """Returns what a folder of the corpus holds; None when it is no such folder."""
    try:
        fields = json.loads((folder / RANGE_FILE).read_bytes())
        return CapturedRange(
            Span(str(fields["group"]), int(fields["low"]), int(fields["high"])),
            int(fields["lines"]),
            int(fields["blocks"]),
            bool(fields["complete"]),
            folder,
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def blocks_in(folder: Path) -> Iterator[bytes]:
    """Yields the blocks of a captured range folder in order, checked.

    Raises:
        BlockMissing: the folder is no captured range, or a block is gone.
        BlockDamaged: a block does not match its checksum.
    """
    captured = read_range_file(folder)
    if captured is None:
        msg = f"{folder} is no captured range: it has no {RANGE_FILE} that can be read"
        raise BlockMissing(msg)
    # The group's folder and the range's folder are the last two parts of the path.
    blocks = BlockFolder(folder.parent.parent, max_bytes=None)
    for info in blocks.cover(captured.span):
        yield blocks.read(info)


def _folder_order(file: Path) -> tuple[str, int]:
    low = file.parent.name.partition("-")[0]
    with suppress(ValueError):
        return file.parent.parent.name, int(low)
    return file.parent.parent.name, 0
