"""The query that finds the newest matches of a search, by the cheapest of a few ways.

Words are asked for as token hashes (`tok`). Which way is taken depends on how common what is
asked for is: rare words and groups go through their index; words with a season through the same
one, which holds both; a season and an episode alone through theirs; common words are looked for
in the newest weeks, which their index holds as well; what is met everywhere is met by walking from
the newest release on. A walk passes by so many releases at most, so that no search reads the
whole catalog.

The planner is not left to guess between the ways, since it errs by a factor of 100 here.
`operator(pg_catalog.@>)` is spelt out because the extension intarray shadows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from voyager_core.catalog import search_ways
from voyager_core.catalog.search_filters import Place, Where, conjunction
from voyager_core.catalog.search_lists import lists_of
from voyager_core.catalog.search_statistics import Statistics
from voyager_core.catalog.search_ways import (
    Request,
    category_keys,
    first_weeks,
    group_is_rarer,
    next_weeks,
    place_key,
    reads_categories,
    share_of_place,
    word_shares,
)
from voyager_core.catalog.search_weeks import Weeks, ahead_of
from voyager_core.domain.tokens import token_hash

# As in the index of words; see `place_key`, `category_keys` and `search_weeks.keys_of_weeks`.
_DAY = "greatest(0, (r.posted_at at time zone 'utc')::date - date '1970-01-01')"
_PLACES = (
    "(array[-1 - r.season::bigint, r.season::bigint * 2147483648 + r.episode,"
    f" -1099511627776 - {_DAY} / 7, -2199023255552 - {_DAY} / 56, -3298534883328 - {_DAY} / 448,"
    " -4398046511104 - r.category::bigint, -4398046511104 - r.category / 1000 * 1000::bigint])"
)


@dataclass(frozen=True, slots=True)
class Hits:
    """How the newest matches are found.

    Attributes:
        sql: a query of the `Request.columns` of hits, newest first and at most `Request.most`.
        values: its parameters.
        way: `index`, `place`, `both`, `weeks`, `walk` or `episodes`.
        may_lack: whether it may end before the catalog does.
        weeks: the weeks that it looks into, with the releases of all before them.
        has_names: whether hits come with their names.
    """

    sql: str
    values: dict[str, Any]
    way: str
    may_lack: bool
    weeks: Weeks | None = None
    has_names: bool = False


def hits_of(request: Request, known: Statistics) -> Hits:
    """Returns the query of a search's newest matches, by the cheapest way."""
    where = request.where
    where.words += _words(where, request.terms.required_hashes, "words")
    for at, words in enumerate(request.terms.excluded_hashes):
        name = f"excluded_{at}"
        where.add(f"not r.tok operator(pg_catalog.@>) %({name})s::integer[]", **{name: words})
    if request.before is not None:
        where.values["before_at"], where.values["before_id"] = request.before
        where.ages.append(
            f"(r.{request.order}, r.release_id)"
            " < (%(before_at)s::timestamptz, %(before_id)s::bigint)"
        )
    if request.episodes:
        sql = _through_episodes(request)
        values = {**where.values, "most": request.most, "reach": request.reach}
        may_lack = known.releases * share_of_place(request.place, known) > request.reach
        return Hits(sql, values, "episodes", may_lack)
    weeks = first_weeks(request, known)
    way = search_ways.choose_way(request, known, weeks)
    if way in {"index", "walk", "weeks"}:
        _add_place(where, request.place)
    may_lack = way == "walk" and bool(where.rest) and known.releases > request.reach
    if way == "weeks" and weeks is not None:
        sql, may_lack = _through_weeks(request, known), not weeks.is_whole
        where.values["weeks"] = weeks.keys
    elif way in {"index", "weeks"}:
        weeks = None
        sql = _through_index(request, known)
    elif way == "walk":
        sql = _walk(request)
    else:
        sql = _through_place(request, known, with_words=way == "both")
    values = {**where.values, "most": request.most, "reach": request.reach}
    has_names = bool(request.terms.phrases)
    return Hits(sql, values, way, may_lack, weeks if way == "weeks" else None, has_names)


def further(hits: Hits, request: Request, known: Statistics, found: int) -> Hits | None:
    """Returns the same search in the weeks before; None when it looked as far as it may.

    Args:
        hits: the search.
        request: what is asked for.
        known: how common words are.
        found: how many hits there are so far.
    """
    if hits.weeks is None:
        return None
    weeks = next_weeks(request, known, hits.weeks, found)
    if weeks is None:
        return None
    sql = _before_weeks(request, known, is_all=not weeks.keys)
    more = {"weeks": weeks.keys, "below": hits.weeks.start, "most": request.most - found}
    return replace(
        hits,
        sql=sql,
        values={**hits.values, **more},
        may_lack=not weeks.is_whole,
        weeks=replace(weeks, releases=hits.weeks.releases + weeks.releases),
    )


def _words(where: Where, groups: Sequence[list[int]], name: str) -> list[str]:
    """Returns conditions on words, whose parameters begin with a name."""
    conditions = []
    if every := [group[0] for group in groups if len(group) == 1]:
        conditions.append(f"r.tok operator(pg_catalog.@>) %({name})s::integer[]")
        where.values[name] = every
    for at, group in enumerate(group for group in groups if len(group) > 1):
        conditions.append(f"r.tok operator(pg_catalog.&&) %({name}_{at})s::integer[]")
        where.values[f"{name}_{at}"] = group
    return conditions


def _lists(
    request: Request, known: Statistics, place: str | None = None, *, filed: bool = False
) -> tuple[list[str], list[str]]:
    """Returns the conditions that lists of the index of words answer, and what is left of them.

    Args:
        request: the search.
        known: how common words are.
        place: the condition on a place in a series whose list may be read.
        filed: whether the lists of categories are read too.
    """
    where, groups = request.where, request.terms.required_hashes
    lists = lists_of(
        word_shares(groups, known),
        known.releases,
        share_of_place(request.place, known) if place else None,
    )
    found = _words(where, [groups[at] for at in lists.words], "listed")
    others = [group for at, group in enumerate(groups) if at not in lists.words]
    left = _words(where, others, "left")
    if lists.by_place:
        where.values["place"] = [place_key(request.place)]
        found.append(f"{_PLACES} operator(pg_catalog.@>) %(place)s::bigint[]")
    elif place:
        left.append(f"({place})")
    if filed:
        where.values["filed"] = category_keys(request.spans)
        found.append(f"{_PLACES} operator(pg_catalog.&&) %(filed)s::bigint[]")
    return found, left


def _through_index(request: Request, known: Statistics) -> str:
    """By the lists of words, or by those of newsgroups when these are shorter."""
    _add_categories(request)
    where = request.where
    if group_is_rarer(request, known):
        lists, others = where.groups, where.words
    else:
        lists, left = _lists(request, known)
        others = [*left, *where.groups]
    return f"{_listed(request, lists, others)} order by at desc, release_id desc limit %(most)s"


_IN_WEEKS = f"{_PLACES} operator(pg_catalog.&&) %(weeks)s::bigint[]"


def _through_weeks(request: Request, known: Statistics) -> str:
    """By the lists of words and of the newest weeks; what clocks far ahead posted is walked."""
    _add_categories(request)
    where = request.where
    where.values["ahead"] = ahead_of(request.now)
    lists, left = _lists(request, known, filed=reads_categories(request, known))
    # The last stretch of weeks may reach beyond that moment.
    near = "r.posted_at <= %(ahead)s::timestamptz"
    found = _listed(request, [*lists, _IN_WEEKS], [*left, *where.groups, near])
    ahead = _seen(request, "r.posted_at > %(ahead)s::timestamptz")
    return (
        f"select {request.columns} from (({found}) union all ({ahead})) as found"
        " order by at desc, release_id desc limit %(most)s"
    )


def _before_weeks(request: Request, known: Statistics, *, is_all: bool) -> str:
    """By the lists of words and of weeks before those that were looked into, or all before."""
    lists, left = _lists(request, known, filed=reads_categories(request, known))
    lists, others = (
        (lists, ["r.posted_at < %(below)s::timestamptz"]) if is_all else ([*lists, _IN_WEEKS], [])
    )
    found = _listed(request, lists, [*others, *left, *request.where.groups])
    return f"{found} order by at desc, release_id desc limit %(most)s"


def _listed(request: Request, lists: Sequence[str], others: Sequence[str]) -> str:
    """All that lists of one index lead to and that fits."""
    where = request.where
    fits = conjunction([*others, *where.conditions, *where.ages])
    return (
        f"select {request.columns} from (select {request.fetched},"
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
        f"select {request.columns} from ("
        # As a column, so that no other index can tempt the planner.
        f"select {request.fetched}, ({conjunction(where.rest)}) as fits from release r"
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


def _through_place(request: Request, known: Statistics, *, with_words: bool) -> str:
    """By the columns of series: one branch for single episodes, others for ranges and dates.

    With words, single episodes come from the index that holds both, ranges from one of their own.
    """
    _add_categories(request)
    where, place = request.where, request.place
    branches = _branches(where, place)
    parts = [f"({_seen(request, one, end=' offset 0')})" for one in branches]
    if with_words:
        lists, left = _lists(request, known, branches[0])
        parts[0] = f"({_listed(request, lists, [*left, *where.groups])})"
        of_ranges = slice(1, 2) if place.episode is None else slice(1, 3)
        several = " or ".join(f"({one})" for one in branches[of_ranges])
        others = [f"({several})", *where.groups]
        parts[of_ranges] = [f"({_listed(request, [*where.words, _RANGES], others)})"]
    # A release may be in two branches of a year.
    joined = (" union " if place.is_year else " union all ").join(parts)
    return (
        f"select {request.columns} from ({joined}) as found"
        " order by at desc, release_id desc limit %(most)s"
    )


def _through_episodes(request: Request) -> str:
    """By the index of episodes, the newest of each episode of a season merged."""
    _add_categories(request)
    where = request.where
    where.values["each"] = request.reach // (len(request.episodes) + 1)
    branches = _branches(where, request.place)
    parts: list[str] = []
    for at, episode in enumerate(request.episodes):
        where.values[f"episode_{at}"] = episode
        one = f"r.season = %(season)s and r.episode = %(episode_{at})s::integer"
        parts.append(f"({_seen(request, one, end=' limit %(each)s')})")
    # The order of the index, of which the planner does not know that it is that of the list.
    parts.append(
        f"(select {request.columns} from (select {request.fetched},"
        f" ({conjunction(where.rest)}) as fits from release r"
        f" where r.season = %(season)s and r.episode is null and {where.bounds}"
        f" order by r.season desc, r.episode desc, r.{request.order} desc, r.release_id desc"
        " limit %(each)s) as seen where fits limit %(most)s)"
    )
    parts += [f"({_seen(request, one, end=' offset 0')})" for one in branches[1:]]
    joined = " union all ".join(parts)
    return (
        f"select {request.columns} from ({joined}) as found"
        " order by at desc, release_id desc limit %(most)s"
    )


# As in the index of the words of ranges.
_RANGES = "(r.season_last > r.season or r.episode_last > r.episode)"
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
