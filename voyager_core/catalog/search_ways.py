"""How a search is answered: what the ways cost, by what is known of how common things are.

Costs are measured against a release that a walk passes by, whose neighbours are at hand.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from voyager_core.catalog.search_filters import Place, Where
from voyager_core.catalog.search_lists import INDEX_COST, OTHER_COST, lists_of
from voyager_core.catalog.search_statistics import Statistics
from voyager_core.catalog.search_weeks import Weeks, newest_weeks
from voyager_core.domain.tokens import QueryTerms

TOTAL_CAP = 5_000
"""The largest total that is counted, and the last release that paging reaches: no client that
was measured goes on beyond 3,000, and the rest of a common word costs as much again. Hydra takes
10,000 and more for an id search as "the id was not understood" (NZ-9)."""

MOST_CHECKED = 3_000
"""Names that are read to find a phrase, the newest that hold its words."""

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
# A release of the newest weeks, one that the index of episodes leads to, and one of its entries.
_NEAR_COST = 1.7
_PLACE_COST = 2.0
_PLACE_ENTRY_COST = 0.35
# A statement.
_STEP_COST = 600.0
_DAILY_SHARE = 0.002
# More are looked through than are likely to hold what is counted.
_MORE_WEEKS = 1.05
# What is known of words together says little; the first weeks tell.
_FIRST_WEEKS = 0.45
# Above so many entries of the shortest list a search goes week by week, with so many at first; but
# not when that costs so large a part of reading whatever they lead to, which is rarely all.
_MOST_AT_ONCE = 20_000
_FIRST_ENTRIES = 1_500
_LARGE_PART = 0.1
# What looking into weeks may cost: entries of the shortest list, and releases.
_MOST_ENTRIES = 100_000
_MOST_NEAR = 25_000
# So many times that when hardly anything was found.
_FURTHER = 5
# What reading lists of words to their ends may cost, where only few releases have all of them.
_MOST_JOINED = 400_000
_A_PAGE = 100
# A walk over fewer releases is as cheap as merging the episodes of a season.
_FEW_WALKED = 30_000


@dataclass(frozen=True, slots=True)
class Request:
    """A search as conditions.

    Attributes:
        terms: words.
        where: the other filters.
        place: where in a series.
        spans: category numbers, from and to; none means all.
        now: the time.
        before: time and number of the release after which the list goes on.
        episodes: the episodes that the season has, where they are gone through one by one.
    """

    terms: QueryTerms
    where: Where
    place: Place
    spans: list[tuple[int, int]]
    now: datetime
    before: tuple[datetime, int] | None = None
    episodes: tuple[int, ...] = ()

    @property
    def most(self) -> int:
        """How many hits are looked for: one more than names are read to find a phrase."""
        return MOST_CHECKED + 1 if self.terms.phrases else TOTAL_CAP

    @property
    def columns(self) -> str:
        """What a hit consists of; with its name when that is read anyway."""
        return "release_id, at, name" if self.terms.phrases else "release_id, at"

    @property
    def fetched(self) -> str:
        """The columns of `release r` that a hit consists of."""
        name = ", r.name" if self.terms.phrases else ""
        return f"r.release_id, r.{self.order} as at{name}"

    @property
    def order(self) -> str:
        """The column that the list goes by (NZ-35, NZ-38)."""
        return "posted_at" if self.terms.required else "feed_at"

    @property
    def posted(self) -> tuple[datetime | None, datetime | None]:
        """The first and the last time of posting that is asked for."""
        values = self.where.values
        since, until = (
            self.now - timedelta(days=values[name]) if name in values else None
            for name in ("max_age", "min_age")
        )
        if self.before is not None:
            until = self.before[0] if until is None else min(until, self.before[0])
        return since, until

    @property
    def reach(self) -> int:
        """How many releases a walk passes by at most, in each category where it goes so."""
        if self.terms.required:
            return REACH_OF_WORDS
        return REACH_OF_FILTERS // (_CATEGORIES if self.spans else 1)


def first_weeks(request: Request, known: Statistics) -> Weeks | None:
    """Returns the weeks that a search for common words looks into first.

    None when it has no words or nothing is known of the weeks.
    """
    words = request.terms.required_hashes
    if not words or not known.times:
        return None
    shares = word_shares(words, known)
    likely = request.most / max(_met(request, known), 1e-12)
    # One word alone is as common as is known, wherever its releases lie.
    is_sure = len(words) == 1 and not _is_filtered(request) and not request.place
    wanted = likely * (_MORE_WEEKS if is_sure else _FIRST_WEEKS)
    if not is_sure:
        wanted = min(wanted, _FIRST_ENTRIES / min(shares))
    weeks = _weeks(request, known, min(wanted, _most_weeks(request, known)))
    is_all = weeks is not None and weeks.is_whole and request.posted == (None, None)
    return None if is_all else weeks


def next_weeks(request: Request, known: Statistics, weeks: Weeks, found: int) -> Weeks | None:
    """Returns the weeks before those that a search looked into; None when it ends there.

    Args:
        request: the search.
        known: how common words are.
        weeks: the weeks before, with all releases that were looked through.
        found: hits in them.
    """
    if weeks.is_whole or found >= request.most:
        return None
    is_far = found < _A_PAGE
    most = (
        known.releases
        if may_read_lists(request, known)
        else _most_weeks(request, known, is_far=is_far)
    )
    left = most - weeks.releases
    if left <= 0:
        return None
    # By what was found, with room for chance.
    missing = (request.most - found) * _MORE_WEEKS + 2 * found**0.5 + 1
    likely = missing * weeks.releases / (found + 1)
    wanted = min(likely, left)
    rest = known.releases - weeks.releases
    if (
        wanted >= rest
        or wanted >= left > 0.9 * rest
        or _is_all_cheaper(request, known, weeks, found, wanted)
    ):
        wanted = known.releases
    before = _weeks(request, known, wanted, below=weeks.start)
    if before is not None and before.is_whole and request.posted == (None, None):
        # To read again what was found costs less than to compare with the weeks of all years.
        return replace(before, keys=[])
    return before


def _is_all_cheaper(
    request: Request, known: Statistics, weeks: Weeks, found: int, wanted: float
) -> bool:
    """Tells whether all before some weeks costs less than what is wanted of it."""
    shares = word_shares(request.terms.required_hashes, known)
    lists = lists_of(shares, known.releases)
    met = max((found + 1) / weeks.releases, _read(request, known))
    of_all = lists.cost + known.releases * met * _NEAR_COST
    of_some = (lists.cost / known.releases + OTHER_COST + met * _NEAR_COST) * wanted + _STEP_COST
    return of_all <= of_some and may_read_lists(request, known)


def _weeks(
    request: Request, known: Statistics, wanted: float, below: datetime | None = None
) -> Weeks | None:
    since, until = request.posted
    return newest_weeks(
        known.times,
        known.releases,
        wanted,
        now=request.now,
        since=since,
        until=until,
        below=below,
    )


def _most_weeks(request: Request, known: Statistics, *, is_far: bool = False) -> float:
    """Returns how many releases a search that goes week by week may look through."""
    shares = word_shares(request.terms.required_hashes, known)
    entries = _MOST_ENTRIES * (_FURTHER if is_far else 1)
    # What another filter leaves out is read as well.
    return min(entries / min(shares), _MOST_NEAR / max(_read(request, known), 1e-12))


def _read(request: Request, known: Statistics) -> float:
    """Returns the share of releases that lists of the index of words likely lead to."""
    read = _product(word_shares(request.terms.required_hashes, known))
    return read * (known.within(request.spans) if reads_categories(request, known) else 1.0)


def reads_categories(request: Request, known: Statistics) -> bool:
    """Tells whether the lists of categories spare more releases than they cost to read."""
    if not request.spans:
        return False
    share = known.within(request.spans)
    words = _product(word_shares(request.terms.required_hashes, known))
    return words * (1 - share) * _NEAR_COST > share * OTHER_COST


def _met(request: Request, known: Statistics) -> float:
    """Returns the share of releases that likely match."""
    terms = request.terms
    met = _product(word_shares(terms.required_hashes, known))
    met *= share_of_place(request.place, known)
    met *= known.within(request.spans) if request.spans else 1.0
    met *= _group_share(request, known) if request.where.groups else 1.0
    for words in terms.excluded_hashes:
        met *= 1 - _product([min(0.9, known.words.get(word, 0.0)) for word in words])
    return met


def asks_for_episodes(request: Request, known: Statistics) -> bool:
    """Tells whether the newest of each episode of a season are merged.

    The index of episodes has an order in each; a season without words may be most of a catalog.
    """
    place, where = request.place, request.where
    if request.terms.required or place.season is None or place.is_year:
        return False
    if place.episode is not None or place.airdate is not None or known.releases < FEW_RELEASES:
        return False
    # Another filter than categories may fit none of thousands.
    if where.conditions or where.groups or where.ages or not request.spans:
        return False
    walked = min(request.most / max(share_of_place(place, known), 1e-12), REACH_OF_FILTERS)
    return walked > _FEW_WALKED < known.releases * share_of_place(place, known)


def _is_filtered(request: Request) -> bool:
    where = request.where
    return bool(where.conditions or where.groups or where.ages or request.spans)


def may_read_lists(request: Request, known: Statistics) -> bool:
    """Tells whether the lists of words may be read to their ends, after weeks held too little.

    Without a filter few releases can have all words; with one they may be many.
    """
    shares = word_shares(request.terms.required_hashes, known)
    cost = min(shares) * 0.3
    if _is_filtered(request):
        cost += _product(shares) * INDEX_COST
    return known.releases * cost <= _MOST_JOINED


def choose_way(request: Request, known: Statistics, weeks: Weeks | None = None) -> str:
    """Returns `index` (words or groups), `place` (episode or date), `both`, `weeks` or `walk`.

    Args:
        request: the search.
        known: how common words are.
        weeks: the weeks that it would look into first.
    """
    place, words = request.place, request.terms.required_hashes
    by_place = place.season is not None or place.airdate is not None
    by_both = bool(words) and place_key(place) is not None
    if known.releases < FEW_RELEASES:
        return "both" if by_both else "index" if words else "place" if by_place else "walk"
    if by_place and not words and (place.episode is not None or place.airdate is not None):
        return "place"
    of_words = word_shares(words, known)
    shares = [*of_words, *([_group_share(request, known)] if request.where.groups else [])]
    series = share_of_place(place, known)
    costs: dict[str, float] = {}
    # What is known of words together says little, so that many entries are read week by week.
    lists = lists_of(shares, known.releases)
    is_few = not shares or known.releases * min(shares) <= _MOST_AT_ONCE
    if weeks is not None and len(words) > 1:
        first = weeks.releases * OTHER_COST + _STEP_COST
        is_few |= known.releases * min(of_words) * _NEAR_COST * _LARGE_PART <= first
    if shares and (is_few or weeks is None):
        costs["index"] = lists.cost + known.releases * _product(shares) * INDEX_COST
    if by_place:
        # The words of a title go together, so that their product says too little.
        if words:
            costs["index"] = known.releases * min(shares) * INDEX_COST / 2
        is_bare = not words and not _is_filtered(request)
        costs["place"] = known.releases * series * (_PLACE_ENTRY_COST if is_bare else _PLACE_COST)
    if by_both:
        lists = lists_of(of_words, known.releases, series)
        costs["both"] = lists.cost + lists.found * INDEX_COST + _STEP_COST
    met = max(_met(request, known), 1e-12)
    if weeks is not None and not is_few:
        most = known.releases if may_read_lists(request, known) else _most_weeks(request, known)
        looked = min(request.most / met, most, known.releases)
        # The words of a title go together, and its place is only looked for in what has them.
        read = min(of_words) if by_place else _product(of_words)
        each = OTHER_COST + read * _NEAR_COST * _MORE_WEEKS
        costs["weeks"] = lists_of(of_words, looked).cost + each * looked + 2 * _STEP_COST
    # Categories of a search without words have an order of their own to walk by.
    if request.spans and not words:
        met /= max(known.within(request.spans), 1e-12)
    costs["walk"] = min(request.most / met, known.releases, request.reach)
    return min(costs, key=lambda way: costs[way])


def word_shares(words: list[list[int]], known: Statistics) -> list[float]:
    """Returns the share of releases that hold a word of each group."""
    return [
        min(1.0, sum(known.words.get(word, _UNLISTED_WORD) for word in group)) for group in words
    ]


def _group_share(request: Request, known: Statistics) -> float:
    numbers = request.where.values["groups"]
    return min(1.0, sum(known.groups.get(number, _UNLISTED) for number in numbers))


def group_is_rarer(request: Request, known: Statistics) -> bool:
    """Tells whether the lists of newsgroups are shorter than those of words."""
    where = request.where
    if not where.groups or not where.words:
        return bool(where.groups)
    words = word_shares(request.terms.required_hashes, known)
    return _group_share(request, known) < _product(words)


def share_of_place(place: Place, known: Statistics) -> float:
    """Returns the share of releases at a place in a series."""
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


def place_key(place: Place) -> int | None:
    """Returns what the index of words holds of a season or an episode."""
    season, episode = place.season, place.episode
    if place.airdate is not None or season is None or season < 0:
        return None
    if episode is None:
        return -1 - season
    return None if episode < 0 else (season << 31) + episode


def category_keys(spans: Sequence[tuple[int, int]]) -> list[int]:
    """Returns what the index of words holds of categories: of each number, or of a main one."""
    return [(-4 << 40) - low for low, _ in spans]
