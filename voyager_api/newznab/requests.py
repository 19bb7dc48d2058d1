"""What a search, a feed or an id asks for, independent of who sent it in which spelling."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Final

from voyager_api.newznab.errors import incorrect_parameter
from voyager_api.newznab.functions import Function
from voyager_api.newznab.parameters import Parameters

MAX_LIMIT: Final = 100
_MAX_DAYS: Final = 36_500
_MAX_BYTES: Final = 2**62
# Prowlarr sends its age limit in `maxsize` too; no real limit is below a megabyte (NZ-22).
_LEAST_MAX_SIZE: Final = 1_048_576
_YEARS: Final = range(1900, 2200)

# Free texts that are further words of the name (reference: parameters).
_WORD_PARAMETERS: Final = {
    Function.TV: ("title", "year", "genre"),
    Function.MOVIE: ("title", "year", "genre"),
    Function.MUSIC: ("artist", "album", "track", "label", "year", "genre"),
    Function.BOOK: ("author", "title", "publisher", "year"),
}
# Ids of databases that the catalog holds no keys of (NZ-24).
_IDS: Final = frozenset(
    {"rid", "rageid", "tvrageid", "tvdbid", "tvmazeid", "traktid", "tmdbid", "imdbid", "imdb"}
    | {"anidbid", "anilistid", "doubanid", "igdbid", "isbn", "goodreadsid", "musicbrainzid"}
)
# Where a typed search looks when no category is asked for: `t=movie` alone is the newest films.
_OWN_CATEGORIES: Final = {
    Function.TV: (5000,),
    Function.MOVIE: (2000,),
    Function.MUSIC: (3000,),
    Function.BOOK: (7000, 3030),
}
_SEASON: Final = re.compile(r"s?0*([0-9]{1,4})", re.ASCII | re.IGNORECASE)
_EPISODE: Final = re.compile(r"e?0*([0-9]{1,5})(?:-e?[0-9]{1,5})?", re.ASCII | re.IGNORECASE)
_DAY: Final = re.compile(r"([0-9]{1,2})[/-]([0-9]{1,2})", re.ASCII)
_RELEASE_ID: Final = re.compile(r"[0-9a-f]{18,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search; None and empty mean "any".

    Attributes:
        words: what the name must hold, as typed, exclusions included.
        categories: known category ids; an item matches one of them.
        season: number of a season, or the year of a daily show.
        airdate: the day of a daily show's episode.
        password: False = none that is known to be encrypted, True = all, None = the default.
        matches_nothing: only what this catalog cannot know was asked for, so the answer is empty.
    """

    words: str = ""
    categories: tuple[int, ...] = ()
    season: int | None = None
    episode: int | None = None
    airdate: date | None = None
    groups: tuple[str, ...] = ()
    poster: str = ""
    min_age_days: int | None = None
    max_age_days: int | None = None
    min_size_bytes: int | None = None
    max_size_bytes: int | None = None
    password: bool | None = None
    limit: int = MAX_LIMIT
    offset: int = 0
    matches_nothing: bool = False


def parse_search(
    function: Function, parameters: Parameters, *, known_categories: Collection[int]
) -> SearchRequest:
    """Returns what a search function asks for.

    Raises:
        NewznabError: 201 for a value that has no meaning.
    """
    asked = parameters.items("cat")
    own = () if asked else _OWN_CATEGORIES.get(function, ())
    return _search(
        parameters,
        words=_words(function, parameters),
        asked_categories=asked,
        categories=own or _known(asked, known_categories),
        limit=_limit(parameters.integer("limit")),
        with_episode=function in {Function.TV, Function.SEARCH},
    )


def parse_feed(parameters: Parameters, *, known_categories: Collection[int]) -> SearchRequest:
    """Returns what `/rss` asks for: `t` holds categories, `num` the number of items (NZ-37).

    Raises:
        NewznabError: 201 for a value that has no meaning.
    """
    asked = [item for item in parameters.items("t") if re.fullmatch(r"-?[0-9]+", item, re.ASCII)]
    # 0 means everything; -2, -3 and -4 are the cart and the lists of a user, which Voyager lacks.
    wanted = [] if "0" in asked else asked
    asked_categories = wanted + parameters.items("cat")
    return _search(
        parameters,
        words=_words(Function.SEARCH, parameters),
        asked_categories=asked_categories,
        categories=_known(asked_categories, known_categories),
        limit=_limit(parameters.integer("num") or parameters.integer("limit")),
        with_episode=True,
    )


def _search(
    parameters: Parameters,
    *,
    words: str,
    asked_categories: list[str],
    categories: tuple[int, ...],
    limit: int,
    with_episode: bool,
) -> SearchRequest:
    season, episode, airdate = _episode(parameters) if with_episode else (None, None, None)
    min_age, max_age = _ages(parameters)
    max_size = parameters.integer("maxsize")
    unresolvable = parameters.has_any(_IDS) and not words
    return SearchRequest(
        words=words,
        categories=categories,
        season=season,
        episode=episode,
        airdate=airdate,
        groups=tuple(parameters.items("group")),
        poster=parameters.text("poster"),
        min_age_days=min_age,
        max_age_days=max_age,
        min_size_bytes=_capped(parameters.integer("minsize")),
        max_size_bytes=_capped(max_size) if max_size and max_size >= _LEAST_MAX_SIZE else None,
        password={"0": False, "1": True}.get(parameters.first("password", "pw")),
        limit=limit,
        offset=min(parameters.integer("offset") or 0, _MAX_BYTES),
        matches_nothing=unresolvable or (bool(asked_categories) and not categories),
    )


def _words(function: Function, parameters: Parameters) -> str:
    texts = [parameters.text(name) for name in ("q", *_WORD_PARAMETERS.get(function, ()))]
    # Prowlarr encodes a plus twice, so that a literal %20 arrives (reference: q).
    joined = " ".join(text for text in texts if text)
    return re.sub("%(?:25)*20", " ", joined).strip()


def _known(asked: list[str], known: Collection[int]) -> tuple[int, ...]:
    ids = (int(item) for item in asked if re.fullmatch("[0-9]{1,9}", item, re.ASCII))
    return tuple(dict.fromkeys(number for number in ids if number in known))


def _limit(asked: int | None) -> int:
    # Hydra's users set 0 for "the most"; a larger one is clamped, never refused (NZ-10).
    return min(asked, MAX_LIMIT) if asked else MAX_LIMIT


def _ages(parameters: Parameters) -> tuple[int | None, int | None]:
    youngest, oldest = parameters.integer("minage"), parameters.integer("maxage")
    # No day at all is never meant: other servers read it as no limit.
    oldest = oldest or None
    if youngest == oldest:
        # Prowlarr sends its age limit in both (NZ-22).
        youngest = None
    return (
        None if youngest is None else min(youngest, _MAX_DAYS),
        None if oldest is None else min(oldest, _MAX_DAYS),
    )


def _capped(size: int | None) -> int | None:
    return None if size is None else min(size, _MAX_BYTES)


def _episode(parameters: Parameters) -> tuple[int | None, int | None, date | None]:
    season_text, episode_text = parameters.first("season"), parameters.first("ep", "episode")
    season: int | None = None
    if season_text:
        found = _SEASON.fullmatch(season_text)
        if found is None:
            raise incorrect_parameter("season")
        season = int(found[1])
    if season is not None and season in _YEARS and (day := _DAY.fullmatch(episode_text)):
        try:
            return None, None, date(season, int(day[1]), int(day[2]))
        except ValueError:
            raise incorrect_parameter("ep") from None
    if not episode_text:
        return season, None, None
    found = _EPISODE.fullmatch(episode_text)
    if found is None:
        raise incorrect_parameter("ep")
    return season, int(found[1]), None


def parse_release_id(text: str) -> str | None:
    """Returns the public id in a bare id, a file name or a link to a release, else None."""
    tail = text.strip().partition("#")[0].rstrip("/")
    tail = re.split(r"id=|/", tail)[-1].partition("&")[0].lower().removesuffix(".nzb")
    return tail if _RELEASE_ID.fullmatch(tail) else None
