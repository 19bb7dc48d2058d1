"""Categories: against two lists of names, and against what real indexes filed."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tests.quality.data import QualityData
from tests.quality.names import half_of
from tests.quality.report import Result, share
from voyager_core.domain.category_names import CATEGORY_NAMES, parent_category
from voyager_core.domain.category_traits import TRAITS, traits_of
from voyager_core.domain.name_facts import facts_of

_GOLDEN = Path(__file__).parents[1] / "golden" / "categories.tsv"
# One of the sites has numbers of its own. Its replies say what they mean in the text beside them
# (`Other-Anime` for 7040), which the list of names leaves out (nzbhydra, tests/mock/nzbsorg*.json).
_OWN_NUMBERS = {
    "nzbsorg": {
        2010: {2070},  # Movies-DVD
        2040: {2030, 2040},  # Movies-x264
        2050: {2020},  # Movies-Other
        2060: {2010},  # Movies-Foreign
        2070: {2060},  # Movies-3D
        4050: {7010, 7020, 7030, 7040},  # Apps-Ebook
        5070: {5030},  # TV-BoxSD
        5080: {5020},  # TV-Foreign
        5090: {5040},  # TV-BoxHD
        7010: {8010},  # Other-Misc
        7040: {5070},  # Other-Anime
    }
}
# Sites without a category for random names put them into this one.
_UNSORTED = {8010: {8010, 8020}}
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class _Filed:
    """Where a name is filed, and the categories that it is in beside that one."""

    title: str
    category: int
    traits: tuple[int, ...]


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
    items = list(_filed(rows))
    listed = [{int(number) for number in row["categories"].split(",")} for row in rows]
    meant = [
        _in_our_numbers(numbers, row.get("source", ""))
        for row, numbers in zip(rows, listed, strict=True)
    ]
    yield _main("main category of real items, numbers as they are", items, listed, bar=None)
    yield _main("main category of real items, numbers as the site means them", items, meant, 0.95)
    yield _sub("sub category of real items, numbers as they are", items, listed, bar=None)
    yield _sub("sub category of real items, numbers as the site means them", items, meant, 0.85)


def _filed(rows: list[dict[str, str]]) -> Iterator[_Filed]:
    names, groups = ([row[column] for row in rows] for column in ("title", "group"))
    facts = facts_of(pl.Series(names), pl.Series(groups), last_year=2030)
    told = facts.select("category", "source", "language").iter_rows()
    for name, (category, source, language) in zip(names, told, strict=True):
        traits = traits_of(TRAITS, category, name=name, source=source, language=language)
        yield _Filed(name, category, traits)


def _categories(names: list[str], groups: list[str]) -> list[int]:
    return facts_of(pl.Series(names), pl.Series(groups), last_year=2030)["category"].to_list()


def _in_our_numbers(numbers: set[int], source: str) -> set[int]:
    """Returns what a site means, without the main categories that it repeats."""
    subs = {number for number in numbers if number % 1000}
    for site, own in _OWN_NUMBERS.items():
        if site in source.lower():
            subs = {each for number in subs for each in own.get(number, {number})}
    subs = {each for number in subs for each in _UNSORTED.get(number, {number})}
    return subs or numbers


def _main(name: str, items: list[_Filed], listed: list[set[int]], bar: float | None) -> Result:
    failing, counted, right = [], Counter[int](), Counter[int]()
    confused: Counter[tuple[int, int]] = Counter()
    for item, numbers in zip(items, listed, strict=True):
        title, category = item.title, item.category
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


def _sub(name: str, items: list[_Filed], listed: list[set[int]], bar: float | None) -> Result:
    failing = []
    confused: Counter[tuple[int, int]] = Counter()
    for item, numbers in zip(items, listed, strict=True):
        if numbers.isdisjoint((item.category, *item.traits)):
            confused[max(numbers), item.category] += 1
            failing.append(f"{item.title}: {item.category} instead of {sorted(numbers)}")
    return share(name, failing, len(items), bar=bar, details=_confusion(confused))


def _confusion(confused: Counter[tuple[int, int]]) -> list[str]:
    return [
        f"{count:4} {_label(listed)} filed as {_label(category)}"
        for (listed, category), count in confused.most_common(_SHOWN)
    ]


def _label(number: int) -> str:
    return f"{number} {CATEGORY_NAMES.get(number, 'of a site')}"
