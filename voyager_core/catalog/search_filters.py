"""What a search asks for, and the conditions that follow from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from voyager_core.catalog.connect import Connection
from voyager_core.domain.category_names import parent_category
from voyager_core.domain.category_traits import HOME_LANGUAGE, TRAITS

_INT4 = (1 << 31) - 1
_INT8 = (1 << 63) - 1
_MAX_DAYS = 36_500
_YEARS = range(1900, 9999)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a searcher asks for; every part narrows the result, nothing asks for all.

    Attributes:
        text: words that must be in the name; `-word` excludes, `"two words"` stand together.
        categories: Newznab categories; a parent (5000) means all its children.
        season: season number, or the year of a daily show.
        episode: episode number; packs of whole seasons are left out then.
        airdate: date of an episode of a daily show.
        group: a newsgroup's exact name.
        groups: several of them, of which a release is in at least one.
        poster: part of the From, in any case.
        min_age: days since posting at least.
        max_age: days since posting at most.
        min_size: bytes at least.
        max_size: bytes at most.
        password: 0 leaves out what needs a password; 1 or None does not.
        min_completion: percent found of what was announced, at least; what announces
            nothing counts as complete.
        state: `open` while more may come, or `settled`.
        before: only what comes after this place of the list: its time there (`posted_at` with
            words, `feed_at` without) and release number; for pages without an end.
        limit: releases on a page, clamped to 0 … 1,000.
        offset: releases before the page.
    """

    text: str = ""
    categories: Sequence[int] = ()
    season: int | None = None
    episode: int | None = None
    airdate: date | None = None
    group: str | None = None
    groups: Sequence[str] = ()
    poster: str | None = None
    min_age: int | None = None
    max_age: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    password: int | None = None
    min_completion: int | None = None
    state: str | None = None
    before: tuple[datetime, int] | None = None
    limit: int = 100
    offset: int = 0


@dataclass(slots=True)
class Where:
    """Conditions on `release r` that are collected, with their parameters.

    Attributes:
        conditions: those that no index answers, or none that is worth it.
        words: what the index of words answers.
        groups: what the index of newsgroups answers.
        ages: those that say where a walk back in time begins and ends.
        values: the parameters of all by name.
    """

    conditions: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    ages: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, condition: str, **values: Any) -> None:
        """Adds a condition with its parameters."""
        self.conditions.append(condition)
        self.values.update(values)

    @property
    def bounds(self) -> str:
        """The conditions on ages."""
        return conjunction(self.ages)

    @property
    def rest(self) -> list[str]:
        """Every condition but those on ages."""
        return [*self.words, *self.groups, *self.conditions]


def conjunction(conditions: Sequence[str]) -> str:
    """Returns conditions joined by "and"; none is true."""
    return " and ".join(conditions) or "true"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a series: conditions on the columns that names gave when they were stored.

    Attributes:
        season: a season number, or the year of a daily show.
        episode: an episode number.
        airdate: the date of an episode.
    """

    season: int | None
    episode: int | None
    airdate: date | None

    @property
    def is_year(self) -> bool:
        """Whether the season may be the year of a daily show."""
        return self.season is not None and self.season in _YEARS

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.season, self.episode, self.airdate))


def place_of(query: SearchQuery) -> Place:
    """Returns the query's place in a series, with numbers that Postgres can hold."""
    season, episode = (
        None if number is None else max(-_INT4, min(number, _INT4))
        for number in (query.season, query.episode)
    )
    return Place(season, episode, query.airdate)


def filters(conn: Connection, query: SearchQuery) -> Where | None:
    """Returns the conditions beside words, categories and the place in a series.

    None when nothing can match.
    """
    where = Where()
    names = [*query.groups, *([] if query.group is None else [query.group])]
    if names:
        rows = conn.execute(
            "select group_name_id from group_name where name = any (%s) limit 1000",
            [[as_text(name) for name in names]],
        ).fetchall()
        if not rows:
            return None
        where.groups.append("r.group_ids operator(pg_catalog.&&) %(groups)s::integer[]")
        where.values["groups"] = [number for (number,) in rows]
    _add_ages(where, query)
    _add_unindexed(where, query)
    return where


def _add_ages(where: Where, query: SearchQuery) -> None:
    # `feed_at` is the posting date or up to seven days after it; told so, a walk through the
    # feed begins and ends where it must. Two days are for clocks that go wrong.
    if query.min_age is not None and query.min_age > 0:
        where.values["min_age"] = min(query.min_age, _MAX_DAYS)
        where.ages += [
            "r.posted_at <= now() - make_interval(days => %(min_age)s)",
            "r.feed_at <= now() - make_interval(days => %(min_age)s - 9)",
        ]
    if query.max_age is not None and query.max_age >= 0:
        where.values["max_age"] = min(query.max_age, _MAX_DAYS)
        where.ages += [
            "r.posted_at >= now() - make_interval(days => %(max_age)s)",
            "r.feed_at >= now() - make_interval(days => %(max_age)s + 2)",
        ]


def _add_unindexed(where: Where, query: SearchQuery) -> None:
    """Adds what no index answers; a walk passes by the releases that do not fit."""
    if query.poster:
        where.add("strpos(lower(r.poster), lower(%(poster)s)) > 0", poster=as_text(query.poster))
    if query.min_size is not None:
        size = max(-_INT8, min(query.min_size, _INT8))
        where.add("r.size_bytes >= %(min_size)s::bigint", min_size=size)
    if query.max_size is not None:
        size = max(-_INT8, min(query.max_size, _INT8))
        where.add("r.size_bytes <= %(max_size)s::bigint", max_size=size)
    if query.state is not None:
        where.add("r.settled_at is null" if query.state == "open" else "r.settled_at is not null")
    if query.password == 0:
        where.add("r.password <= 0")
    if query.min_completion is not None and query.min_completion > 0:
        where.add(
            "least(1.0, coalesce(r.files::float8 / nullif(r.files_expected, 0), 1))"
            " * least(1.0, coalesce(r.segments::float8 / nullif(r.segments_expected, 0), 1))"
            " >= %(min_completion)s::float8 / 100",
            min_completion=min(query.min_completion, 100),
        )


def category_spans(categories: Sequence[int], where: Where) -> list[tuple[int, int]]:
    """Returns the spans of category numbers in which the asked categories lie.

    A parent reaches over its children. A category that is a trait reaches over its whole main
    category; what has the trait, or lies in another one that is asked for, becomes a condition.
    """
    spans = {
        (category, category + 999 if category % 1000 == 0 else category)
        for category in categories
        if category not in TRAITS and 0 <= category < _INT4 - 1000
    }
    asked = {number for number in categories if number in TRAITS}
    traits = sorted(number for number in asked if _whole(number) not in spans)
    if not traits:
        return sorted(spans | {_whole(number) for number in asked}) or [(-1, -1)] * bool(categories)
    parts = [f"r.category between {low:d} and {high:d}" for low, high in sorted(spans)]
    for number in traits:
        low, high = _whole(number)
        parts.append(f"(r.category between {low:d} and {high:d} and {_trait(where, number)})")
    where.add(f"({' or '.join(parts)})")
    return sorted(spans | {_whole(number) for number in traits})


def _whole(category: int) -> tuple[int, int]:
    parent = parent_category(category)
    return parent, parent + 999


def _trait(where: Where, number: int) -> str:
    """Returns the condition of a trait, whose parameters are added."""
    trait = TRAITS[number]
    if trait.is_foreign:
        where.values["home_language"] = HOME_LANGUAGE
        return "r.language <> %(home_language)s"
    name = f"trait_{number}"
    if trait.sources:
        where.values[name] = list(trait.sources)
        return f"r.source = any (%({name})s::text[])"
    where.values[name] = trait.word_hashes
    return f"r.tok operator(pg_catalog.&&) %({name})s::integer[]"


def as_text(value: str) -> str:
    """Returns a text as Postgres takes it."""
    return value.replace("\0", "").encode("utf-8", "replace").decode()
