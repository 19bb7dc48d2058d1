"""A report as text for a terminal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from voyager_core.header_pass.report import Report, Table

_ROWS = 10
_WIDEST = 70
_UNITS = ("B", "kB", "MB", "GB", "TB")
_SIZES = frozenset({"size", "smallest", "largest"})


def text_of(report: Report, changed: Iterable[Table] = (), earlier: Report | None = None) -> str:
    """Returns the report, with what changed since an earlier one first."""
    parts = [_figures(report, earlier)]
    if changed:
        parts += ["Changes", *(_table(table) for table in changed)]
    parts += [_table(table) for table in report.tables]
    return "\n\n".join(parts)


def cell(column: str, value: Any) -> str:
    """Returns a value of a table for people."""
    if value is None:
        return ""
    if column in _SIZES and isinstance(value, int):
        return size_of(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, int):
        return f"{value:,}"
    # Names come from strangers: nothing in them may reach the terminal but what prints.
    return "".join(char if char.isprintable() else "?" for char in str(value))


def size_of(size: int) -> str:
    """Returns a number of bytes with three digits and its unit."""
    value, place = float(size), 0
    while value >= 999.5 and place < len(_UNITS) - 1:
        value, place = value / 1000, place + 1
    return f"{value:.0f} B" if not place else f"{value:.3g} {_UNITS[place]}"


def figure(name: str, value: float) -> str:
    """Returns a figure for people: a share in percent, a count as it is."""
    is_share = name in ("readable", "of one file", "with all announced files")
    return f"{value:.1%}" if is_share else f"{value:,.0f}"


def _figures(report: Report, earlier: Report | None) -> str:
    rows = []
    for name, value in report.figures.items():
        before = None if earlier is None else earlier.figures.get(name)
        told = "" if before is None else figure(name, before)
        rows.append((name, figure(name, value), told))
    columns = ("figure", "now", "before") if earlier else ("figure", "now", "")
    return "\n".join(_lines(columns, rows))


def _table(table: Table) -> str:
    head = f"{table.title}: {table.count:,}"
    if not table.rows:
        return head
    shown = [
        tuple(cell(column, value) for column, value in zip(table.columns, row, strict=True))
        for row in table.rows[:_ROWS]
    ]
    lines = [head, *(f"  {line}" for line in _lines(table.columns, shown))]
    if table.count > len(shown):
        lines.append(f"  … and {table.count - len(shown):,} more")
    return "\n".join(lines)


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    texts = [[name.replace("_", " ") for name in columns], *rows]
    texts = [[_cut(text) for text in row] for row in texts]
    widths = [max(len(row[place]) for row in texts) for place in range(len(columns))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
