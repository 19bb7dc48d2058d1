"""Tables and sizes as a terminal shows them."""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def readable_size(size_bytes: int) -> str:
    """Returns a size in decimal units, such as `4.3 GB`."""
    value = float(size_bytes)
    for unit in _UNITS:
        # What would be rounded to 1000.0 is one of the next unit.
        if value < 999.95 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def printable(text: str) -> str:
    """Returns text without control and direction-changing characters.

    Names come from strangers: an escape sequence in one must not reach the terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if unicodedata.category(character)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def printable_lines(text: str) -> str:
    """Returns text of several lines, each printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


def json_text(value: object, **options: Any) -> str:
    """Returns a value as `json.dumps` writes it, readable to a program and harmless to a terminal.

    Escaped it means the same; for a program names stay as they are, which is shorter.
    """
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return json.dumps(value, ensure_ascii=terminal, **options)


def shortened(text: str, length: int = 60) -> str:
    """Returns a text for a message: printable, its end cut off when it is long."""
    return printable(text if len(text) <= length else f"{text[: length - 1]}…")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as aligned columns; numbers are set right."""
    body = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [
        max([len(heading), *(_columns(row[column]) for row in body)])
        for column, heading in enumerate(headings)
    ]
    numeric = [
        bool(body) and all(_is_number(row[column]) for row in body)
        for column in range(len(headings))
    ]

    def line(cells: Sequence[str]) -> str:
        padded: list[str] = []
        for cell, width, right in zip(cells, widths, numeric, strict=True):
            space = " " * (width - _columns(cell))
            padded.append(space + cell if right else cell + space)
        return "  ".join(padded).rstrip()

    rule = ["─" * width for width in widths]
    return "\n".join([line(list(headings)), line(rule), *(line(row) for row in body)])


def _columns(text: str) -> int:
    """Returns how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _is_number(text: str) -> bool:
    digits = text.replace(",", "").replace(".", "").removesuffix(" %")
    return digits.isdecimal() or text == "-"
