"""The functions that `t` can name (NZ-21)."""

from enum import StrEnum

from voyager_api.newznab.errors import (
    function_not_available,
    missing_parameter,
    no_such_function,
)


class Function(StrEnum):
    """What Voyager offers at `/api`."""

    CAPS = "caps"
    SEARCH = "search"
    TV = "tvsearch"
    MOVIE = "movie"
    MUSIC = "music"
    BOOK = "book"
    DETAILS = "details"
    COMMENTS = "comments"
    NFO = "getnfo"
    GET = "get"


SEARCHES = frozenset({Function.SEARCH, Function.TV, Function.MOVIE, Function.MUSIC, Function.BOOK})

_NAMES = {
    Function.CAPS: "caps c",
    Function.SEARCH: "search s",
    Function.TV: "tvsearch tv tvshows tv-search",
    Function.MOVIE: "movie m movies movie-search moviesearch",
    Function.MUSIC: "music audio music-search audio-search",
    Function.BOOK: "book b books book-search",
    Function.DETAILS: "details d",
    Function.COMMENTS: "comments co",
    Function.NFO: "getnfo gn n nfo info",
    Function.GET: "get g",
}
_OFFERED = {name: function for function, names in _NAMES.items() for name in names.split()}
_NOT_OFFERED = frozenset(
    {"commentadd", "cartadd", "cartdel", "user", "register", "nzbadd", "indexers"}
)


def function_of(name: str) -> Function:
    """Returns the function of a `t` value.

    Raises:
        NewznabError: 200 without a name, 203 for one that other indexers have, 202 for any other.
    """
    wanted = name.strip().lower()
    if not wanted:
        raise missing_parameter("t")
    if found := _OFFERED.get(wanted):
        return found
    if wanted in _NOT_OFFERED:
        raise function_not_available(name)
    raise no_such_function(name)
