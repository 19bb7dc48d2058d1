"""What the matches of a search are made of, as links that narrow the search."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from voyager_api.web.filters import CHOICES, Filters
from voyager_core.catalog.facets import AGES, Facets
from voyager_core.domain.category_names import category_label

_MOST: Final = 8
_COMPLETENESS: Final = ("complete", "repairable", "incomplete", "unknown")


@dataclass(frozen=True, slots=True)
class Entry:
    """A part of the matches.

    Attributes:
        label: what it is.
        count: matches in it.
        address: the query string that asks for it alone, "" = nothing does.
    """

    label: str
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A way to divide the matches."""

    label: str
    entries: tuple[Entry, ...]


def facets_of(asked: Filters, found: Facets) -> list[Facet]:
    """Returns the ways to narrow a search; one that does not divide the matches is left out."""
    first = replace(asked, offset=0)
    states = {choice.value: choice.label for choice in CHOICES.states}
    facets = (
        Facet(
            "Category",
            _entries(
                (category_label(number) or str(number), count, replace(first, cat=str(number)))
                for number, count in found.categories.items()
            ),
        ),
        Facet(
            "Newsgroup",
            _entries(
                (name, count, replace(first, group=name)) for name, count in found.groups.items()
            ),
        ),
        Facet(
            "State",
            _entries(
                (states.get(state, state), count, replace(first, state=state))
                for state, count in found.states.items()
            ),
        ),
        Facet("Posted within", _ages(first, found)),
        Facet("Articles", _told(found.completeness)),
    )
    return [facet for facet in facets if len(facet.entries) > 1]


def _entries(values: Iterable[tuple[str, int, Filters]]) -> tuple[Entry, ...]:
    entries = [Entry(label, count, asked.address) for label, count, asked in values]
    return tuple(entries[:_MOST])


def _ages(asked: Filters, found: Facets) -> tuple[Entry, ...]:
    """Returns how many are at most so old, as the filter asks; more than all is left out."""
    labels = {choice.value: choice.label for choice in CHOICES.ages}
    entries: list[Entry] = []
    count = 0
    for name, days in AGES:
        more = found.ages.get(name, 0)
        count += more
        if more:
            narrowed = replace(asked, age=str(days))
            entries.append(Entry(labels[str(days)], count, narrowed.address))
    if older := found.ages.get("older", 0):
        entries.append(Entry("longer ago", older, ""))
    return tuple(entries)


def _told(counts: Mapping[str, int]) -> tuple[Entry, ...]:
    return tuple(Entry(name, counts[name], "") for name in _COMPLETENESS if counts.get(name))
