"""How a search is answered: what the ways cost, by what is known of how common things are.

Costs are measured against a release that a walk passes by, whose neighbours are at hand.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from voyager_core.catalog.search_filters import Place, Where
from voyager_core.catalog.search_statistics import Statistics
from voyager_core.catalog.search_weeks import Weeks, newest_weeks
from voyager_core.domain.tokens import QueryTerms

TOTAL_CAP = 5_000
"""The largest total that is counted, and the last release that paging reaches: no client that
was measured goes on beyond 3,000, and the rest of a common word costs as much again. Hydra takes
10,000 and more for an id search as "the id was not understood" (NZ-9)."""

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
# An entry of the list of a word, one that is compared with other lists, a release that such lists
# lead to, and one that the index of episodes leads to.
_ENTRY_COST = 0.06
_JOINED_COST = 0.3
_INDEX_COST = 8.0
_PLACE_COST = 2.0
# An entry that is compared with weeks, a release of the newest weeks, and a key of weeks.
_WEEKLY_COST = 1.0
_NEAR_COST = 1.5
_WEEK_COST = 15.0
_DAILY_SHARE = 0.002
# Weeks hold more than what is counted, since words are not spread evenly over them.
_MORE_WEEKS = 1.3
# What one look into weeks may cost: entries of the rarest list, and releases.
_MOST_ENTRIES = 100_000
_MOST_NEAR = 25_000
# What reading lists of words to their ends may cost, where only few releases have all of them.
_MOST_JOINED = 400_000


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
    """

    terms: QueryTerms
    where: Where
    place: Place
    spans: list[tuple[int, int]]
    now: datetime
    before: tuple[datetime, int] | None = None

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


def weeks_of(request: Request, known: Statistics, effort: float = 1) -> Weeks | None:
    """Returns the newest weeks that likely hold all matches that are counted.

    None when most weeks would have to be asked for, or nothing is known of them.
    """
    words = request.terms.required_hashes
    if not words or not known.times:
        return None
    shares = _word_shares(words, known)
    together = max(_product(shares), 1e-12)
    met = together * _share_of_place(request.place, known)
    met *= known.within(request.spans) if request.spans else 1.0
    met *= _group_share(request, known) if request.where.groups else 1.0
    wanted = min(
        effort * _MORE_WEEKS * TOTAL_CAP / max(met, 1e-12),
        effort * _MOST_ENTRIES / min(shares),
        # What a filter leaves out was read as well, so that looking further costs as much again.
        _MOST_NEAR / together,
    )
    if effort > 1:
        wanted = min(wanted, known.releases / 2)
    since, until = request.posted
    return newest_weeks(
        known.times, known.releases, wanted, now=request.now, since=since, until=until
    )


def may_read_lists(request: Request, known: Statistics) -> bool:
    """Tells whether the lists of words may be read to their ends, after weeks held too little.

    Without a filter few releases can have all words; with one they may be many.
    """
    where, shares = request.where, _word_shares(request.terms.required_hashes, known)
    cost = min(shares) * _JOINED_COST
    if where.conditions or where.groups or where.ages or request.spans:
        cost += _product(shares) * _INDEX_COST
    return known.releases * cost <= _MOST_JOINED


def choose_way(request: Request, known: Statistics) -> str:
    """Returns `index` (words or groups), `place` (episode or date), `both`, `weeks` or `walk`."""
    place, words = request.place, request.terms.required_hashes
    by_place = place.season is not None or place.airdate is not None
    by_both = bool(words) and place_key(place) is not None
    if known.releases < FEW_RELEASES:
        return "both" if by_both else "index" if words else "place" if by_place else "walk"
    if by_place and not words and (place.episode is not None or place.airdate is not None):
        return "place"
    of_words = _word_shares(words, known)
    shares = [*of_words, *([_group_share(request, known)] if request.where.groups else [])]
    together = _product(shares)
    series = _share_of_place(place, known)
    filed = known.within(request.spans) if request.spans else 1.0
    costs: dict[str, float] = {}
    if shares:
        entry = _ENTRY_COST if len(shares) == 1 else _JOINED_COST
        costs["index"] = known.releases * (min(shares) * entry + together * _INDEX_COST)
    if by_place:
        # The words of a title go together, so that their product says too little.
        if words:
            costs["index"] = known.releases * min(shares) * _INDEX_COST / 2
        costs["place"] = known.releases * series * _PLACE_COST
    if by_both:
        rarest = min(shares)
        entries, found = min(rarest, series) * (len(words) + 1) * _ENTRY_COST, rarest * series
        costs["both"] = known.releases * (entries + found * _INDEX_COST)
    if (weeks := weeks_of(request, known)) is not None:
        near = min(of_words) * _WEEKLY_COST + _product(of_words) * _NEAR_COST
        costs["weeks"] = weeks.releases * near + len(weeks.keys) * _WEEK_COST
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


def group_is_rarer(request: Request, known: Statistics) -> bool:
    """Tells whether the lists of newsgroups are shorter than those of words."""
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


def place_key(place: Place) -> int | None:
    """Returns what the index of words holds of a season or an episode."""
    season, episode = place.season, place.episode
    if place.airdate is not None or season is None or season < 0:
        return None
    if episode is None:
        return -1 - season
    return None if episode < 0 else (season << 31) + episode
