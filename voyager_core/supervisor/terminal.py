"""What a person sees while things start and run: lines, a progress line, tables."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

_NARROWEST, _WIDEST = 60, 130


class Terminal:
    """Writes lines; on a terminal, progress stays on one line that is overwritten."""

    def __init__(self, output: TextIO | None = None) -> None:
        self._output = output or sys.stdout
        self._is_terminal = self._output.isatty()
        self._open = 0
        self._last = ""

    @property
    def width(self) -> int:
        """How many characters a line may have."""
        columns = shutil.get_terminal_size((_WIDEST, 24)).columns
        return max(_NARROWEST, min(columns, _WIDEST))

    def line(self, text: str = "") -> None:
        """Writes a line."""
        self._write(("\n" if self._open else "") + text + "\n")
        self._open = 0

    def step(self, text: str) -> None:
        """Writes a line about something that has just happened."""
        self.line(f"  {text}")

    def progress(self, text: str) -> None:
        """Shows how far something is; the same text again shows nothing new."""
        if text == self._last:
            return
        self._last = text
        if not self._is_terminal:
            self.step(text)
            return
        text = f"  {text}"[: self.width - 1]
        self._write("\r" + text.ljust(self._open))
        self._open = len(text)

    def _write(self, text: str) -> None:
        """Writes, and goes on in silence when nobody reads any more (`voyager up | head`)."""
        try:
            self._output.write(text)
            self._output.flush()
        except (OSError, ValueError):
            if self._output is sys.stdout:
                # Python flushes it once more at exit, and would complain.
                sys.stdout = _nowhere()
            self._output = _nowhere()

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, right: str) -> None:
        """Writes a table.

        Args:
            header: the columns' names.
            rows: the cells.
            right: one letter a column, `r` for numbers, `l` for text; the first column is cut
                when the lines would become too long.
        """
        widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
        rest = sum(widths[1:]) + 2 * len(widths)
        widths[0] = min(widths[0], max(20, self.width - rest))
        for cells in (header, *rows):
            shown = [cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
            aligned = [
                cell.rjust(width) if side == "r" else cell.ljust(width)
                for cell, width, side in zip(shown, widths, right, strict=True)
            ]
            self.line(("  " + "  ".join(aligned)).rstrip())


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the rest of the run


def cut(text: str, width: int) -> str:
    """Returns a text of at most `width` characters, its middle left out when it is longer."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def size(count: int) -> str:
    """Returns bytes as people read them: `1.2 MB`."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"
