"""Categories that are a trait: foreign, from the web, in the newer codec.

A release is filed by the class of its picture or by its form. The protocol also has numbers for
what may go with any of these; a release is in such a category beside its own, so that whoever
picks `TV > Foreign` in a client finds what is foreign.
"""

from collections.abc import Collection
from dataclasses import dataclass

from voyager_core.domain.attributes import SEPARATOR
from voyager_core.domain.category_names import parent_category
from voyager_core.domain.tokens import token_hash, token_hashes

HOME_LANGUAGE = "English"
"""What names leave out; a release that states another language, or several, is foreign."""


@dataclass(frozen=True, slots=True)
class Trait:
    """What a release of the same main category must have; one of the attributes is set.

    Attributes:
        is_foreign: it states another language than `HOME_LANGUAGE`.
        sources: its source is one of these.
        words: its name holds one of these words (`tokens.tokenize`).
    """

    is_foreign: bool = False
    sources: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def word_hashes(self) -> list[int]:
        """The words as they are stored."""
        return [token_hash(word) for word in self.words]


_FOREIGN = Trait(is_foreign=True)
_FROM_WEB = Trait(sources=("WEB-DL", "WEB"))
_HEVC = Trait(words=("x265", "h265", "hevc"))

TRAITS: dict[int, Trait] = {
    2010: _FOREIGN,
    2080: _FROM_WEB,
    2090: _HEVC,
    3060: _FOREIGN,
    5010: _FROM_WEB,
    5020: _FOREIGN,
    5090: _HEVC,
    6090: _FROM_WEB,
    7060: _FOREIGN,
}
"""By category number. No rule files a release under one of them."""


def traits_of(
    asked: Collection[int], category: int, *, name: str, source: str | None, language: str | None
) -> tuple[int, ...]:
    """Returns the asked categories that a release is in although it is filed elsewhere, ascending.

    None where its own category was asked for as well: clients that take the largest number of an
    item for its category would see the trait.

    Args:
        asked: category numbers; those that are no traits are passed over.
        category: where the release is filed.
        name: its name.
        source: where picture or sound come from (`attribute_words.SOURCES`).
        language: languages that the name states, joined by `SEPARATOR`.
    """
    parent = parent_category(category)
    if category in asked or parent in asked:
        return ()
    return tuple(
        number
        for number in sorted(set(asked) & TRAITS.keys())
        if parent_category(number) == parent and _has(TRAITS[number], name, source, language)
    )


def is_foreign(language: str | None) -> bool:
    """Tells whether the languages that a name states are not the home language alone."""
    return language is not None and language.split(SEPARATOR) != [HOME_LANGUAGE]


def _has(trait: Trait, name: str, source: str | None, language: str | None) -> bool:
    if trait.is_foreign:
        return is_foreign(language)
    if trait.sources:
        return source in trait.sources
    return not set(trait.word_hashes).isdisjoint(token_hashes(name))
