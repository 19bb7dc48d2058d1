"""Categories: against two lists of names, and against what real indexes filed."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tests.quality.data import QualityData
from tests.quality.names import half_of
from tests.quality.report import Result, share
from voyager_core.domain.category_names import CATEGORY_NAMES, parent_category
from voyager_core.domain.name_facts import facts_of

_GOLDEN = Path(__file__).parents[1] / "golden" / "categories.tsv"
# One of the sites numbers some kinds in its own way; what its items of these numbers are says so.
_OWN_NUMBERS = {
    "nzbsorg": {
        2050: {2040, 2080},
        2060: {2010},
        2070: {2060},
        4050: {7020, 7030, 4050},
        5070: {5030},
        5080: {5020},
        5090: {5040},
        7010: {8010, 8020},
        7040: {5070},
    }
}
_FOREIGN = {2010, 3060, 5020}
_OTHER = {8010, 8020, 5999}
_SHOWN = 12


def results(data: QualityData) -> Iterator[Result]:
    """Yields how many names get a category that they must or may have."""
    lines = _GOLDEN.read_text(encoding="utf-8").splitlines()
    cases = [line.split("\t") for line in lines if not line.startswith("#")]
    found = _categories([name for _, name in cases], [""] * len(cases))
    failing = [
        f"{name}: {category} instead of {wanted}"
        for (wanted, name), category in zip(cases, found, strict=True)
        if category != int(wanted)
    ]
    yield share("names of the two lists", failing, len(cases), bar=1.0)
    yield from _items(data.rows_with("title", "categories", "group"))


def _items(rows: list[dict[str, str]]) -> Iterator[Result]:
    if not rows:
        return
    found = _categories([row["title"] for row in rows], [row["group"] for row in rows])
    listed = [{int(number) for number in row["categories"].split(",")} for row in rows]
    meant = [
        _in_our_numbers(numbers, row.get("source", ""))
        for row, numbers in zip(rows, listed, strict=True)
    ]
    items = [(row["title"], category) for row, category in zip(rows, found, strict=True)]
    yield _main("main category of real items, numbers as they are", items, listed, bar=None)
    yield _main("main category of real items, numbers as the site means them", items, meant, 0.95)
    yield _sub("sub category of real items, numbers as they are", items, listed, bar=None)
    yield _sub("sub category of real items, numbers as the site means them", items, meant, None)
    # Foreign films and random names are filed by language or as misc only: that says nothing of
    # the picture, or means the same.
    told = [
        (item, numbers)
        for item, numbers in zip(items, meant, strict=True)
        if not numbers & (_FOREIGN | _OTHER) or item[1] in numbers
    ]
    yield _sub(
        "sub category of real items that are filed by their picture or form",
        [item for item, _ in told],
        [numbers for _, numbers in told],
        bar=0.85,
    )


def _categories(names: list[str], groups: list[str]) -> list[int]:
    return facts_of(pl.Series(names), pl.Series(groups), last_year=2030)["category"].to_list()


def _in_our_numbers(numbers: set[int], source: str) -> set[int]:
    """Returns what a site means, without the main categories that it repeats."""
    subs = {number for number in numbers if number % 1000}
    for site, own in _OWN_NUMBERS.items():
        if site in source.lower():
            subs = {each for number in subs for each in own.get(number, {number})}
    return subs or numbers


def _main(
    name: str, items: list[tuple[str, int]], listed: list[set[int]], bar: float | None
) -> Result:
    failing, counted, right = [], Counter[int](), Counter[int]()
    confused: Counter[tuple[int, int]] = Counter()
    for (title, category), numbers in zip(items, listed, strict=True):
        half = half_of(title)
        counted[half] += 1
        mains = {parent_category(number) for number in numbers}
        if parent_category(category) in mains:
            right[half] += 1
        else:
            confused[min(mains), parent_category(category)] += 1
            failing.append(f"{title}: {category} instead of {sorted(numbers)}")
    details = [f"half {half}: {right[half] / counted[half]:.1%}" for half in sorted(counted)]
    details += _confusion(confused)
    return share(name, failing, len(items), bar=bar, details=details)


def _sub(
    name: str, items: list[tuple[str, int]], listed: list[set[int]], bar: float | None
) -> Result:
    failing = []
    confused: Counter[tuple[int, int]] = Counter()
    for (title, category), numbers in zip(items, listed, strict=True):
        if category not in numbers:
            confused[max(numbers), category] += 1
            failing.append(f"{title}: {category} instead of {sorted(numbers)}")
    return share(name, failing, len(items), bar=bar, details=_confusion(confused))


def _confusion(confused: Counter[tuple[int, int]]) -> list[str]:
    return [
        f"{count:4} {_label(listed)} filed as {_label(category)}"
        for (listed, category), count in confused.most_common(_SHOWN)
    ]


def _label(number: int) -> str:
    return f"{number} {CATEGORY_NAMES.get(number, 'of a site')}"
