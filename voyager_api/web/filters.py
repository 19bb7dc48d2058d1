"""What the search page can ask for, and its addresses."""

from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from voyager_api.newznab.errors import NewznabError
from voyager_api.newznab.parameters import Parameters
from voyager_core.catalog.search import SearchQuery
from voyager_core.domain.category_names import CATEGORY_NAMES, parent_category

PAGE_SIZE: Final = 50
MAX_GROUPS: Final = 1000
_MAX_QUERY: Final = 400
_MAX_NAME: Final = 255


@dataclass(frozen=True, slots=True)
class Choice:
    """An entry of a list to choose from; one without entries below it stands alone."""

    value: str
    label: str
    below: tuple["Choice", ...] = ()


@dataclass(frozen=True, slots=True)
class Choices:
    """The lists of the search page."""

    categories: tuple[Choice, ...]
    ages: tuple[Choice, ...]
    completions: tuple[Choice, ...]
    states: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """A search as the page's form has it; empty texts ask for all.

    Attributes:
        q: words.
        cat: a category number.
        group: a newsgroup.
        age: days since posting at most.
        complete: percent found at least.
        state: `open` while more may come, or `settled`.
        offset: releases before the page.
    """

    q: str = ""
    cat: str = ""
    group: str = ""
    age: str = ""
    complete: str = ""
    state: str = ""
    offset: int = 0

    @property
    def is_search(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.q or self.is_narrowed or self.offset)

    @property
    def is_narrowed(self) -> bool:
        """Whether something beside words is asked for."""
        return bool(self.cat or self.group or self.age or self.complete or self.state)

    def to_query(self) -> SearchQuery:
        """Returns what the catalog is asked."""
        return SearchQuery(
            text=self.q,
            categories=(int(self.cat),) if self.cat else (),
            group=self.group or None,
            max_age=int(self.age) if self.age else None,
            min_completion=int(self.complete) if self.complete else None,
            state=self.state or None,
            limit=PAGE_SIZE,
            offset=self.offset,
        )

    def page_after(self, total: int) -> str:
        """Returns the query string of the next page, "" after the last."""
        following = self.offset + PAGE_SIZE
        return replace(self, offset=following).address if following < total else ""

    def page_before(self, total: int) -> str:
        """Returns the query string of the page before, "" on the first.

        Before a page beyond the end comes the last one that holds something.
        """
        if not self.offset:
            return ""
        last = max(0, total - 1) // PAGE_SIZE * PAGE_SIZE
        return replace(self, offset=max(0, min(self.offset - PAGE_SIZE, last))).address

    @property
    def address(self) -> str:
        """The query string that asks for this."""
        values = {
            "q": self.q,
            "cat": self.cat,
            "group": self.group,
            "age": self.age,
            "complete": self.complete,
            "state": self.state,
            "offset": str(self.offset) if self.offset else "",
        }
        return urlencode({name: value for name, value in values.items() if value}) or "q="


def read_filters(parameters: Parameters) -> Filters:
    """Returns what an address asks for; what no list of the page offers is left out."""
    try:
        offset = parameters.integer("offset") or 0
    except NewznabError:
        # A hand-made address on a page for people shows the beginning.
        offset = 0
    return Filters(
        q=parameters.first("q")[:_MAX_QUERY],
        cat=_known(parameters.first("cat"), _CATEGORIES),
        group=parameters.first("group")[:_MAX_NAME],
        age=_known(parameters.first("age"), {choice.value for choice in CHOICES.ages}),
        complete=_known(
            parameters.first("complete"), {choice.value for choice in CHOICES.completions}
        ),
        state=_known(parameters.first("state"), {choice.value for choice in CHOICES.states}),
        offset=offset,
    )


def _known(text: str, values: set[str]) -> str:
    return text if text in values else ""


def _categories() -> tuple[Choice, ...]:
    parents = [number for number in CATEGORY_NAMES if parent_category(number) == number]
    return tuple(
        Choice(
            str(parent),
            CATEGORY_NAMES[parent],
            tuple(
                Choice(str(number), name)
                for number, name in CATEGORY_NAMES.items()
                if number != parent and parent_category(number) == parent
            ),
        )
        for parent in parents
    )


CHOICES: Final = Choices(
    categories=_categories(),
    ages=(
        Choice("1", "today"),
        Choice("7", "a week"),
        Choice("30", "a month"),
        Choice("365", "a year"),
        Choice("1825", "five years"),
    ),
    completions=(Choice("100", "complete"), Choice("90", "90 % and more")),
    states=(Choice("settled", "finished"), Choice("open", "more may come")),
)
_CATEGORIES: Final = {str(number) for number in CATEGORY_NAMES}
