"""The query that finds the newest matches of a search, by the cheapest of a few ways.

Words are asked for as token hashes (`tok`). Which way is taken depends on how common what is
asked for is: rare words and groups go through their index; words with a season through the same
one, which holds both; a season and an episode alone through theirs; if everything is common,
releases are walked from the newest until enough were met. A walk passes by so many releases at
most, so that no search reads the whole catalog.

The planner is not left to guess between the ways, since it errs by a factor of 100 here.
`operator(pg_catalog.@>)` is spelt out because the extension intarray shadows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from voyager_core.catalog.search_filters import Place, Where, conjunction
from voyager_core.catalog.search_statistics import Statistics
from voyager_core.domain.tokens import QueryTerms, token_hash

TOTAL_CAP = 5_000
"""The largest total that is counted, and the last release that paging reaches: no client that
was measured goes on beyond 3,000, and the rest of a common word costs as much again."""

REACH_OF_WORDS = 150_000
"""Releases that a search of common words passes by at most."""

REACH_OF_FILTERS = 100_000
"""Releases that a search without words passes by at most."""

# A list of categories is walked category by category, and an asked parent has several children.
_CATEGORIES = 4

# Below this many releases every way is fast, and there may be no statistics yet.
FEW_RELEASES = 200_000
# What the statistics do not list is rarer than this share.
_UNLISTED_WORD = 1e-5
_UNLISTED = 1e-3
# As in the index of words; a season has a number of its own (`_place_key`).
_PLACES = "(array[-1 - r.season::bigint, r.season::bigint * 2147483648 + r.episode])"
# Measured against a release that a walk passes by, whose neighbours are at hand: an entry of the
# list of a word, a release that such a list leads to, and one that the index of episodes leads to.
_ENTRY_COST = 0.06
_INDEX_COST = 14.0
_PLACE_COST = 2.0
_DAILY_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Request:
    """A search as conditions.

    Attributes:
        terms: words.
        where: the other filters.
        place: where in a series.
        spans: category numbers, from and to; none means all.
        before: time and number of the release after which the list goes on.
    """

    terms: QueryTerms
    where: Where
    place: Place
    spans: list[tuple[int, int]]
    before: tuple[datetime, int] | None = None

    @property
    def order(self) -> str:
        """The column that the list goes by (NZ-35, NZ-38)."""
        return "posted_at" if self.terms.required else "feed_at"

    @property
    def reach(self) -> int:
        """How many releases a walk passes by at most, in each category where it goes so."""
        if self.terms.required:
            return REACH_OF_WORDS
        return REACH_OF_FILTERS // (_CATEGORIES if self.spans else 1)


@dataclass(frozen=True, slots=True)
class Hits:
    """How the newest matches are found.

    Attributes:
        sql: a query of `release_id` and `at`, at most `TOTAL_CAP` of them.
        values: its parameters.
        way: `index`, `place`, `both` or `walk`.
        may_lack: whether the walk may end before the catalog does.
    """

    sql: str
    values: dict[str, Any]
    way: str
    may_lack: bool


def hits_of(request: Request, known: Statistics) -> Hits:
    """Returns the query of a search's newest matches, by the cheapest way."""
    where = request.where
    _add_words(request)
    if request.before is not None:
        where.values["before_at"], where.values["before_id"] = request.before
        where.ages.append(
            f"(r.{request.order}, r.release_id)"
            " < (%(before_at)s::timestamptz, %(before_id)s::bigint)"
        )
    way = choose_way(request, known)
    if way in {"index", "walk"}:
        _add_place(where, request.place)
    may_lack = way == "walk" and bool(where.rest) and known.releases > request.reach
    if way == "index":
        sql = _through_index(request, by_group=_group_is_rarer(request, known))
    elif way == "walk":
        sql = _walk(request)
    else:
        sql = _through_place(request, with_words=way == "both")
    return Hits(sql, {**where.values, "most": TOTAL_CAP, "reach": request.reach}, way, may_lack)


def choose_way(request: Request, known: Statistics) -> str:
    """Returns `index` (words or groups), `place` (episode or date), `both` or `walk`."""
    place, words = request.place, request.terms.required_hashes
    by_place = place.season is not None or place.airdate is not None
    by_both = bool(words) and _place_key(place) is not None
    if known.releases < FEW_RELEASES:
        return "both" if by_both else "index" if words else "place" if by_place else "walk"
    if by_place and not words and (place.episode is not None or place.airdate is not None):
        return "place"
    shares = _word_shares(words, known)
    if request.where.groups:
        shares.append(_group_share(request, known))
    together = _product(shares)
    series = _share_of_place(place, known)
    filed = known.within(request.spans) if request.spans else 1.0
    costs: dict[str, float] = {}
    if shares:
        costs["index"] = known.releases * (min(shares) * _ENTRY_COST + together * _INDEX_COST)
    if by_place:
        # The words of a title go together, so that their product says too little.
        if words:
            costs["index"] = known.releases * min(shares) * _INDEX_COST / 2
        costs["place"] = known.releases * series * _PLACE_COST
    if by_both:
        rarest = min(shares)
        entries, found = min(rarest, series) * (len(words) + 1) * _ENTRY_COST, rarest * series
        costs["both"] = known.releases * (entries + found * _INDEX_COST)
    # Categories of a search without words have an order of their own to walk by.
    met = together * series * (filed if words else 1.0)
    costs["walk"] = min(TOTAL_CAP / max(met, 1e-12), known.releases, request.reach)
    return min(costs, key=lambda way: costs[way])


def _word_shares(words: list[list[int]], known: Statistics) -> list[float]:
    return [
        min(1.0, sum(known.words.get(word, _UNLISTED_WORD) for word in group)) for group in words
    ]


def _group_share(request: Request, known: Statistics) -> float:
    numbers = request.where.values["groups"]
    return min(1.0, sum(known.groups.get(number, _UNLISTED) for number in numbers))


def _group_is_rarer(request: Request, known: Statistics) -> bool:
    where = request.where
    if not where.groups or not where.words:
        return bool(where.groups)
    words = _word_shares(request.terms.required_hashes, known)
    return _group_share(request, known) < _product(words)


def _share_of_place(place: Place, known: Statistics) -> float:
    if place.airdate is not None:
        return _DAILY_SHARE / 100
    share = 1.0
    if place.season is not None:
        share *= known.seasons.get(place.season, _UNLISTED)
        share += _DAILY_SHARE if place.is_year else 0
    if place.episode is not None:
        share *= known.episodes.get(place.episode, _UNLISTED)
    return min(1.0, share)


def _product(shares: list[float]) -> float:
    together = 1.0
    for share in shares:
        together *= share
    return together


def _add_words(request: Request) -> None:
    where, terms = request.where, request.terms
    for at, words in enumerate(terms.excluded_hashes):
        name = f"excluded_{at}"
        where.add(f"not r.tok operator(pg_catalog.@>) %({name})s::integer[]", **{name: words})
    groups = terms.required_hashes
    every = [group[0] for group in groups if len(group) == 1]
    if every:
        where.words.append("r.tok operator(pg_catalog.@>) %(words)s::integer[]")
        where.values["words"] = every
    for at, group in enumerate(group for group in groups if len(group) > 1):
        name = f"either_{at}"
        where.words.append(f"r.tok operator(pg_catalog.&&) %({name})s::integer[]")
        where.values[name] = group


def _through_index(request: Request, *, by_group: bool) -> str:
    """By the lists of words, or by those of newsgroups when these are shorter."""
    _add_categories(request)
    where = request.where
    lists, others = (where.groups, where.words) if by_group else (where.words, where.groups)
    return f"{_listed(request, lists, others)} order by at desc, release_id desc limit %(most)s"


def _listed(request: Request, lists: Sequence[str], others: Sequence[str]) -> str:
    """All that lists of one index lead to and that fits."""
    where = request.where
    fits = conjunction([*others, *where.conditions, *where.ages])
    return (
        f"select release_id, at from (select r.release_id, r.{request.order} as at,"
        # The rest as a column: the planner would add up whole indexes of what is common.
        f" ({fits}) as fits from release r where {conjunction(lists)} offset 0) as found"
        " where fits"
    )


def _walk(request: Request) -> str:
    """Back in time, category by category when some are asked for without words."""
    if request.spans and not request.terms.required:
        return _walk_of_categories(request)
    _add_categories(request)
    return _seen(request)


def _seen(request: Request, condition: str = "true", *, end: str = " limit %(reach)s") -> str:
    """The newest that fit of what one index gives, newest first."""
    where, order = request.where, request.order
    return (
        "select release_id, at from ("
        # As a column, so that no other index can tempt the planner.
        f"select r.release_id, r.{order} as at, ({conjunction(where.rest)}) as fits from release r"
        f" where {condition} and {where.bounds}"
        f" order by r.{order} desc, r.release_id desc{end}"
        ") as seen where fits order by at desc, release_id desc limit %(most)s"
    )


def _walk_of_categories(request: Request) -> str:
    where = request.where
    where.values["lows"] = [low for low, _ in request.spans]
    where.values["highs"] = [high for _, high in request.spans]
    # The categories that exist are found by skipping through the index; each one's newest
    # are at hand in the index, so that a rare category costs no more than a common one.
    return (
        "select newest.release_id, newest.at from ("
        " with recursive present (category, high) as ("
        "  select (select min(r.category) from release r"
        "   where r.category between span.low and span.high), span.high"
        "   from unnest(%(lows)s::integer[], %(highs)s::integer[]) as span (low, high)"
        "  union all select (select min(r.category) from release r"
        "   where r.category > present.category and r.category <= present.high), present.high"
        "   from present where present.category is not null)"
        " select distinct category from present where category is not null) as asked,"
        f" lateral ({_seen(request, 'r.category = asked.category')}) as newest"
        " order by newest.at desc, newest.release_id desc limit %(most)s"
    )


def _through_place(request: Request, *, with_words: bool) -> str:
    """By the columns of series: one branch for single episodes, others for ranges and dates.

    With words, single episodes come from the index that holds both.
    """
    _add_categories(request)
    where, place = request.where, request.place
    branches = _branches(where, place)
    parts = [f"({_seen(request, one, end=' offset 0')})" for one in branches]
    if with_words:
        where.values["place"] = [_place_key(place)]
        here = f"{_PLACES} operator(pg_catalog.@>) %(place)s::bigint[]"
        parts[0] = f"({_listed(request, [*where.words, here], where.groups)})"
    # A release may be in two branches of a year.
    joined = (" union " if place.is_year else " union all ").join(parts)
    return (
        f"select release_id, at from ({joined}) as found"
        " order by at desc, release_id desc limit %(most)s"
    )


_EPISODE_IN_RANGE = "%(episode)s between r.episode and coalesce(r.episode_last, r.episode)"
_SEVERAL_EPISODES = (
    "r.episode_last > r.episode and r.episode < %(episode)s and r.episode_last >= %(episode)s"
)
_DATED = "r.aired_on is null and r.tok operator(pg_catalog.@>) %(airdate_words)s::integer[]"
_IN_YEAR = "r.aired_on >= %(year_start)s and r.aired_on < %(year_end)s"


def _branches(where: Where, place: Place) -> list[str]:
    """Returns conditions that no release meets twice (but see `_through_place`)."""
    _set_place(where, place)
    if place.airdate is not None:
        if place.season is not None or place.episode is not None:
            _add_place(where, Place(place.season, place.episode, None))
        return ["r.aired_on = %(airdate)s", _DATED]
    several = "r.season_last > r.season and r.season < %(season)s and r.season_last >= %(season)s"
    if place.episode is None:
        found = ["r.season = %(season)s", several]
        return [*found, _IN_YEAR] if place.is_year else found
    found = [
        "r.season = %(season)s and r.episode = %(episode)s",
        f"r.season = %(season)s and {_SEVERAL_EPISODES}",
        f"{several} and {_EPISODE_IN_RANGE}",
    ]
    return [*found, f"{_IN_YEAR} and {_EPISODE_IN_RANGE}"] if place.is_year else found


def _place_key(place: Place) -> int | None:
    """Returns what the index of words holds of a season or an episode."""
    season, episode = place.season, place.episode
    if place.airdate is not None or season is None or season < 0:
        return None
    if episode is None:
        return -1 - season
    return None if episode < 0 else (season << 31) + episode


def _add_place(where: Where, place: Place) -> None:
    """Adds season, episode and date as conditions on whatever is found by other means."""
    _set_place(where, place)
    if place.airdate is not None:
        where.add(f"(r.aired_on = %(airdate)s or ({_DATED}))")
    if place.season is not None:
        one = "%(season)s between r.season and coalesce(r.season_last, r.season)"
        where.add(f"({one} or ({_IN_YEAR}))" if place.is_year else f"({one})")
    if place.episode is not None:
        where.add(_EPISODE_IN_RANGE)


def _set_place(where: Where, place: Place) -> None:
    if place.airdate is not None:
        day = place.airdate
        where.values["airdate"] = day
        where.values["airdate_words"] = [
            token_hash(text) for text in (f"{day:%Y}", f"{day:%m}", f"{day:%d}")
        ]
    where.values |= {"season": place.season, "episode": place.episode}
    if place.season is not None and place.is_year:
        where.values["year_start"] = date(place.season, 1, 1)
        where.values["year_end"] = date(place.season + 1, 1, 1)


def _add_categories(request: Request) -> None:
    where = request.where
    parts: list[str] = []
    for at, (low, high) in enumerate(request.spans):
        where.values[f"category_{at}"], where.values[f"category_end_{at}"] = low, high
        parts.append(f"r.category between %(category_{at})s and %(category_end_{at})s")
    if parts:
        where.add(f"({' or '.join(parts)})")
