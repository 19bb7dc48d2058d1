"""A report as one page that needs nothing else: no network, no script."""

from collections.abc import Iterable, Sequence
from html import escape

from voyager_core.header_pass.report import Plot, Report, Table
from voyager_core.header_pass.report_text import cell, figure

_ROWS = 50
_BAR, _GAP, _LABEL, _WIDTH, _COUNT = 18, 6, 132, 190, 92
_NUMBERS = frozenset(
    {"files", "announced", "size", "releases", "smallest", "largest", "minutes_apart", "parts"}
)
_STYLE = """
:root { color-scheme: light dark; --fg: #1b1f24; --soft: #5b6673; --line: #d9dee4; --bar: #3568b8;
  --was: #b9c6da; --bg: #fff; --row: #f5f7f9; }
@media (prefers-color-scheme: dark) { :root { --fg: #e3e7ec; --soft: #98a3b0; --line: #333b45;
  --bar: #6d9be0; --was: #46566e; --bg: #14181d; --row: #1b2027; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; font: 15px/1.5 system-ui, sans-serif;
  color: var(--fg); background: var(--bg); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 0; }
p { margin: 0.1rem 0 0.6rem; color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr));
  gap: 0.7rem; margin: 1.2rem 0; padding: 0; list-style: none; }
.figures li { border: 1px solid var(--line); border-radius: 6px; padding: 0.5rem 0.8rem; }
.figures b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.figures span { color: var(--soft); font-size: 0.85rem; }
.figures small { display: block; color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(23rem, 1fr)); gap: 1.2rem; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; padding: 0.8rem; }
figcaption { font-weight: 600; margin-bottom: 0.5rem; }
svg { width: 100%; max-width: 34rem; height: auto; display: block; }
svg text { fill: var(--fg); font: 12px system-ui, sans-serif; }
svg .count { fill: var(--soft); } svg rect { fill: var(--bar); } svg rect.was { fill: var(--was); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: 0.87rem; }
th, td { text-align: left; padding: 0.3rem 0.7rem; vertical-align: top; }
th { color: var(--soft); font-weight: 600; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-letter { text-transform: uppercase; }
tr:nth-child(even) td { background: var(--row); }
td.text { overflow-wrap: anywhere; min-width: 14rem; }
td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
td.short { white-space: nowrap; }
.none { color: var(--soft); border: 1px dashed var(--line); border-radius: 6px;
  padding: 0.4rem 0.8rem; }
"""
_TEXTS = frozenset({"name", "odd", "beside", "before", "now"})


def page_of(report: Report, changed: Sequence[Table] = (), earlier: Report | None = None) -> str:
    """Returns the page, with what changed since an earlier report first."""
    group = str(report.totals.get("group", ""))
    since = f", against that of {earlier.made_at:%Y-%m-%d %H:%M}" if earlier else ""
    lines = report.totals.get("lines", 0)
    body = [
        f"<h1>Releases of {escape(group) or 'the corpus'}</h1>",
        f"<p>{lines:,} lines, report of {report.made_at:%Y-%m-%d %H:%M}{since}</p>",
        _figures(report, earlier),
    ]
    if earlier is not None:
        body.append(_changed(changed))
    body.append(_plots(report.plots, earlier.plots if earlier else ()))
    body += [_section(table) for table in report.tables]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Releases of {escape(group)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _figures(report: Report, earlier: Report | None) -> str:
    items = []
    for name, value in report.figures.items():
        before = None if earlier is None else earlier.figures.get(name)
        was = ""
        if before is not None:
            told = "as before" if before == value else f"before: {figure(name, before)}"
            was = f"<small>{told}</small>"
        items.append(
            f"<li><b>{figure(name, value)}</b><span>{escape(name.capitalize())}</span>{was}</li>"
        )
    return f'<ul class="figures">{"".join(items)}</ul>'


def _changed(changed: Iterable[Table]) -> str:
    changed = tuple(changed)
    counts = Plot("Releases that changed", tuple((each.title, each.count) for each in changed))
    return f'<div class="plots">{_figure(counts)}</div>{"".join(map(_section, changed))}'


def _plots(plots: Iterable[Plot], before: Iterable[Plot]) -> str:
    old = {plot.title: plot for plot in before}
    drawn = [_figure(plot, old.get(plot.title)) for plot in plots if plot.bars]
    if not drawn:
        return ""
    says = "<p>Pale bars and numbers in brackets are of the earlier report.</p>" if old else ""
    return f'<h2>Distributions</h2>{says}<div class="plots">{"".join(drawn)}</div>'


def _figure(plot: Plot, before: Plot | None = None) -> str:
    """Returns bars, with those of the earlier report behind them."""
    was = dict(before.bars) if before else {}
    most = max((*(count for _, count in plot.bars), *was.values(), 1))
    parts = []
    for place, (label, count) in enumerate(plot.bars):
        top = place * (_BAR + _GAP)
        middle = top + _BAR - 5
        width = _WIDTH * count / most
        if old := was.get(label):
            parts.append(_rect(top, _WIDTH * old / most, _BAR, ' class="was"'))
        parts.append(_rect(top + 4 * bool(before), width, _BAR - 8 * bool(before)))
        told = f"{count:,}" if not before or old == count else f"{count:,} ({old or 0:,})"
        end = _LABEL + max(width, _WIDTH * (old or 0) / most) + 6
        parts.append(
            f'<text x="{_LABEL - 8}" y="{middle}" text-anchor="end">{escape(_short(label))}'
            f"<title>{escape(label)}</title></text>"
            f'<text class="count" x="{end:.1f}" y="{middle}">{told}</text>'
        )
    height = max(len(plot.bars), 1) * (_BAR + _GAP)
    title = escape(plot.title)
    return (
        f'<figure><figcaption>{title}</figcaption><svg role="img" aria-label="{title}"'
        f' viewBox="0 0 {_LABEL + _WIDTH + _COUNT} {height}">{"".join(parts)}</svg></figure>'
    )


def _rect(top: float, width: float, height: float, extra: str = "") -> str:
    if not width:
        return ""
    return (
        f'<rect{extra} x="{_LABEL}" y="{top}" width="{max(width, 1):.1f}" height="{height}"'
        ' rx="2"></rect>'
    )


def _section(table: Table) -> str:
    head = f"<h2>{escape(table.title)}: {table.count:,}</h2><p>{escape(table.says)}</p>"
    if not table.rows:
        return f'{head}<div class="none">None.</div>'
    columns = "".join(
        f"<th{_class(name, header=True)}>{escape(name.replace('_', ' '))}</th>"
        for name in table.columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_class(name)}>{escape(cell(name, value))}</td>"
            for name, value in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows[:_ROWS]
    )
    more = table.count - min(len(table.rows), _ROWS)
    rest = f"<p>… and {more:,} more</p>" if more else ""
    return (
        f'{head}<div class="scroll"><table><thead><tr>{columns}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{rest}"
    )


def _class(column: str, *, header: bool = False) -> str:
    if column in _NUMBERS:
        return ' class="number"'
    if header:
        return ""
    return ' class="text"' if column in _TEXTS else ' class="short"'


def _short(label: str) -> str:
    return label if len(label) < 23 else f"{label[:21]}…"
