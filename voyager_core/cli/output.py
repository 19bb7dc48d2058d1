"""Tables and sizes as a terminal shows them."""

import unicodedata
from collections.abc import Iterable, Sequence

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def readable_size(size_bytes: int) -> str:
    """Returns a size in decimal units, such as `4.3 GB`."""
    value = float(size_bytes)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def printable(text: str) -> str:
    """Returns text without control and direction-changing characters.

    Names come from strangers: an escape sequence in one must not reach the terminal.
    """
    return "".join(
        character if unicodedata.category(character)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as aligned columns; numbers are set right."""
    body = [[printable(str(cell)) for cell in row] for row in rows]
    source = [list(row) for row in body]
    widths = [
        max([len(heading), *(len(row[column]) for row in source)])
        for column, heading in enumerate(headings)
    ]
    numeric = [
        bool(source) and all(_is_number(row[column]) for row in source)
        for column in range(len(headings))
    ]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ).rstrip()

    rule = ["─" * width for width in widths]
    return "\n".join([line(list(headings)), line(rule), *(line(row) for row in source)])


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").removesuffix(" %").isdigit()
