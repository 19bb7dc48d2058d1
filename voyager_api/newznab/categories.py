"""The category tree of the domain in the protocol's shapes (NZ-19, NZ-26)."""

from typing import Final

from voyager_api.newznab.caps import CapsCategory
from voyager_api.newznab.results import Category
from voyager_core.domain.category_names import (
    CATEGORY_NAMES,
    MISC,
    parent_category,
    subcategories,
)

KNOWN_CATEGORIES: Final = frozenset(CATEGORY_NAMES)


def category_tree() -> tuple[CapsCategory, ...]:
    """Returns every category; also those without releases, which Radarr's test asks for."""
    return tuple(
        CapsCategory(
            number, name, tuple((child, CATEGORY_NAMES[child]) for child in subcategories(number))
        )
        for number, name in CATEGORY_NAMES.items()
        if parent_category(number) == number
    )


def filed_under(number: int) -> Category:
    """Returns where a release is filed; a number that nobody knows is Other > Misc."""
    if number not in CATEGORY_NAMES:
        number = MISC
    parent = parent_category(number)
    if parent == number:
        return Category(parent, CATEGORY_NAMES[parent])
    return Category(parent, CATEGORY_NAMES[parent], number, CATEGORY_NAMES[number])
