"""Season, episode, air date and year as a release name states them.

What is found here is stored with the release, so that a search for `season=3&ep=5`
is a comparison of numbers and never a pattern over names.
"""

import re
from dataclasses import dataclass
from datetime import date

import polars as pl

_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

_SEASON_EPISODE = re.compile(
    _START
    + r"S(?P<season>\d{1,4})[ ._\-]{0,3}EP?[ .]?(?P<first>\d{1,5})"
    + r"(?P<more>(?:[ ._]?(?:-[ ._]?|&|\+)?EP?\d{1,5}|-\d{1,4}(?!\d|p|i|[ ._\-]?bit))*)"
    + r"(?![0-9])",
    re.IGNORECASE,
)
_CROSS = re.compile(
    _START
    + r"(?:(?P<season>\d{1,2})x(?P<first>\d{1,3})|(?P<year>19[5-9]\d|20[0-3]\d)x(?P<of_year>\d\d))"
    + r"(?P<more>(?:[ ._]?[\-x&+][ ._]?(?:\d{1,2}x)?\d{1,3})*)"
    + _END,
    re.IGNORECASE,
)
_WORDS = re.compile(
    _START
    + r"(?:seasons?|staffel|saison|stagione|seizoen|temporada|s[äa]song|s[æa]son|sezon|se)"
    + r"[ ._\-]{0,3}(?P<season>\d{1,4})(?!\d)"
    + r"(?:(?:[ ._]?-[ ._]?|[ ._]to[ ._])(?:season[ ._]?|s)?(?P<last>\d{1,2})(?![0-9x]))?"
    + r"(?:[ ._\-,]{0,4}(?:episodes?|ep|e|folge|aflevering|afl|episodio)[ ._\-]{0,2}"
    + r"(?P<first>\d{1,4})(?!\d)(?:[ ._]?-[ ._]?(?P<until>\d{1,4})(?!\d))?)?",
    re.IGNORECASE,
)
_PACK = re.compile(
    _START
    + r"S(?P<season>\d{1,4})"
    + r"(?:[ ._]-[ ._](?P<first>\d{1,4})(?:v\d)?(?=[ ._]*(?:[\[(]|$))"
    + r"|[ ._]?-[ ._]?S(?P<last>\d{1,2})|-(?P<until>\d\d)|[ ._]S(?P<next>\d{1,2}))?(?![0-9x])"
    + _END,
    re.IGNORECASE,
)
_EPISODE = re.compile(
    _START
    + r"(?:EP?|(?:episodes?|ep|folge|afl|aflevering)[ ._\-]{1,3})(?P<first>\d{1,4})"
    + r"(?:[ ._]?-[ ._]?(?:EP?)?(?P<until>\d{1,4})(?!\d|p))?"
    + _END,
    re.IGNORECASE,
)
# Turkish shows count before the word, and short series that are on air in parts.
_COUNTED = re.compile(
    _START + r"(?P<first>\d{1,4})[ .]{0,2}(?:blm|b[oö]l[uü]m)" + _END, re.IGNORECASE
)
_PARTS = ("one", "two", "three", "four", "five", "six")
_PART = re.compile(
    _START
    + rf"part[ ._]?(?P<first>\d{{1,2}}|{'|'.join(_PARTS)})(?![A-Za-z0-9]).*"
    + r"(?:hdtv|pdtv|dsr)"
    + _END,
    re.IGNORECASE,
)
_CHAPTER = re.compile(r"\[Cap\.[ ]?(?P<season>\d{1,2})(?P<first>\d\d)\]", re.IGNORECASE)
_PICTURE = r"(?:\d{3,4}x\d{3,4}|\d{3,4}p|dvd|bd|vostfr)(?![A-Za-z0-9])"
# A number after " - ", the way fansubbers and long-running series count.
_ABSOLUTE = re.compile(
    r"[ ._]-[ ._](?!(?:19|20)\d\d(?!\d))(?P<first>\d{2,4})(?:v\d)?"
    r"(?:[ ._]?[\-~][ ._]?(?P<until>\d{2,4})(?!\d))?"
    rf"(?=[ ._]*(?:[\[(]|-[ ._]|\.\w{{3}}$|$|{_PICTURE}))",
    re.IGNORECASE,
)
_AFTER_SEASON = re.compile(
    r"\)?(?:[ ._]-[ ._]|[ ._]?\[)(?P<first>\d{2,4})(?:v\d)?(?=[\]]|[ ._]*(?:[\[(]|\.\w{3}$|$))"
    r"|[ ._](?P<last>\d{3,4})$"
)
_GROUPED = re.compile(
    r"^\[[^\]]+\].*?[ ._\-#](?!(?:19|20)\d\d(?!\d))(?P<first>\d{2,4})(?:v\d)?"
    r"(?:[\-~](?P<until>\d{2,4}))?(?=[ ._]*(?:[\[(]|\.\w{3}$|$))"
    r"|^\[[^\]]+\](?:\[[^\]]+\]|[^\[\]]+)\[(?P<framed>\d{2,4})(?:v\d|集|话|話)?\]"
)
_SUBTITLED = re.compile(
    r"[ ._](?P<first>\d{2,4})[ ._]vostfr(?![A-Za-z0-9])(?P<until>)", re.IGNORECASE
)
_JOINED = re.compile(
    r"(?<=[A-Za-z0-9)][ ._])(?P<season>[1-9])(?P<first>\d\d)"
    r"(?=[ ._](?:(?:real|proper|repack|ws|dsr)[ ._])*"
    r"(?:dvdrip|hdtv|pdtv|dsr|xvid|ws|bdrip|webrip|web|720p|1080p|internal)(?![a-z0-9]))",
    re.IGNORECASE,
)
_YMD = re.compile(
    r"(?<!\d)(?P<year>19\d\d|20\d\d)(?P<sep>[ ._\-]?)(?P<a>\d\d)(?P=sep)(?P<b>\d\d)(?!\d)"
)
_DMY = re.compile(
    r"(?<!\d)(?P<a>\d\d)(?P<sep>[ ._\-])(?P<b>\d\d)(?P=sep)(?P<year>19\d\d|20\d\d)(?!\d)"
)
_NAMED_DATE = re.compile(
    _START + r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ ._\-]"
    r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}[ ._\-,]{1,2}"
    r"(?P<year>19\d\d|20\d\d)(?!\d)",
    re.IGNORECASE,
)
_SHORT_DATE = re.compile(
    r"(?<=[ ._\-])(?P<year>\d\d)(?P<a>\d\d)(?P<b>\d\d)"
    r"(?=[ ._\-](?:\d{3,4}p|hdtv|pdtv|web|ws|xvid))",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![0-9])(?:19\d\d|20[0-3]\d)(?![0-9pi])", re.IGNORECASE)
# In lower case: the usual mark, what makes it a range, and whatever any other
# pattern of this module needs to see in a name.
_USUAL = r"(?:^|[^a-z0-9])s([0-9]{1,4})e([0-9]{1,5})(?:[^a-z0-9]|$)"
_RANGE = (
    r"s[0-9]{1,4}e[0-9]{1,5}[ ._]?(?:[&+-]|ep?[0-9])|\x{17f}"
    r"|s[0-9]{1,4}[ ._-]{0,3}ep?[ .]?[0-9].*[^a-z0-9]s[0-9]{1,4}[ ._-]{0,3}e"
)
_DATED = (
    r"(?:19|20)[0-9]{2}(?:[0-9]{4}|[ ._-][0-9]{2}[ ._-][0-9]{2})(?:[^0-9]|$)"
    r"|[0-9]{2}[ ._-][0-9]{2}[ ._-](?:19|20)[0-9]{2}|[ ._-][0-9]{6}[ ._-]"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}[ ._,-]{1,2}(?:19|20)[0-9]{2}"
)
_OTHER = (
    r"(?:^|[^a-z0-9])(?:s[0-9]|ep?[0-9]|[0-9]{1,4}x[0-9])|\x{17f}|^\[|\[cap|vostfr|special|part"
    r"|season|staffel|saison|stagione|seizoen|temporada|s.{1,2}song|s.{1,2}son|sezon"
    r"|(?:^|[^a-z0-9])se[ ._-]{0,3}[0-9]|episod|folge|aflevering|afl|(?:^|[^a-z0-9])ep[ ._-]"
    r"|[0-9][ .]{0,2}(?:blm|b.{1,2}l.{1,2}m)|[ ._]-[ ._][0-9][0-9]"
    r"|[ ._][1-9][0-9][0-9][ ._][a-z0-9]"
)
SERIES_PATTERNS = {
    "dated": _DATED,
    "usual": _USUAL,
    "range": _RANGE,
    "other": _OTHER,
    "last_year": r".*(?:^|[^0-9])(19[0-9][0-9]|20[0-3][0-9])(?:[^0-9pi]|$)",
}
"""What tells names whose place in a series needs no thorough reading, over names in lower case."""
_SPECIAL = re.compile(_START + r"specials?" + _END, re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

MOST_EPISODES = 400
"""A range that would span more episodes than this is no range."""


@dataclass(frozen=True, slots=True)
class Episode:
    """What a name says about its place in a series; everything may be unknown.

    A whole season has a season and no episode. Both ends of a range are included, and
    equal the first value where there is no range.
    """

    season: int | None = None
    season_last: int | None = None
    episode: int | None = None
    episode_last: int | None = None
    air_date: date | None = None
    year: int | None = None


COLUMNS: dict[str, pl.DataType] = {
    "season": pl.Int32(),
    "season_last": pl.Int32(),
    "episode": pl.Int32(),
    "episode_last": pl.Int32(),
    "aired_on": pl.Date(),
    "year": pl.Int32(),
}
"""The columns in which an `Episode` is stored."""


def parse_thoroughly(text: str, *, is_dated: bool) -> Episode:
    """Returns season, episode, air date and year of a release name, by every pattern there is.

    Args:
        text: the name; of a long one only the beginning should be asked.
        is_dated: whether it may hold a date.
    """
    aired, span = _air_date(text) if is_dated else (None, (0, 0))
    year = _year(text)
    match = _SEASON_EPISODE.search(text) or _CROSS.search(text) or _CHAPTER.search(text)
    if match and not (match.re is _CROSS and _is_codec(match)):
        season, first = match["season"], match["first"]
        if season is None:
            season, first = match["year"], match["of_year"]
        return _of_range(int(season), int(first), _last_number(match), aired, year)
    if words := _WORDS.search(text):
        return _of_words(words, aired, year)
    if aired is not None:
        rest = text[: span[0]] + " " + text[span[1] :]
        episode = _EPISODE.search(rest) or _COUNTED.search(rest)
        number = int(episode["first"]) if episode else None
        return Episode(episode=number, episode_last=number, air_date=aired, year=year or aired.year)
    if pack := _PACK.search(text):
        return _of_pack(pack, year)
    return _without_season(text, year)


def _without_season(text: str, year: int | None) -> Episode:
    joined = _JOINED.search(text)
    if joined is not None:
        if int(joined["first"]):
            return _of_range(int(joined["season"]), int(joined["first"]), None, None, year)
        return Episode(year=year)
    return _in_one_season(text, year) or _absolute(text, year) or _special(text, year)


def _in_one_season(text: str, year: int | None) -> Episode | None:
    """Returns the episode of a series that counts without seasons: Korean and short ones."""
    if match := _EPISODE.search(text):
        until = int(match["until"]) if match["until"] else None
        return _of_range(1, int(match["first"]), until, None, year)
    if match := _PART.search(text):
        part = match["first"].lower()
        number = _PARTS.index(part) + 1 if part in _PARTS else int(part)
        return _of_range(1, number, None, None, year)
    return None


def _absolute(text: str, year: int | None) -> Episode | None:
    for pattern in (_ABSOLUTE, _GROUPED, _COUNTED, _SUBTITLED):
        if match := pattern.search(text):
            found = match.groupdict()
            until = int(found["until"]) if found.get("until") else None
            return _of_range(None, int(found["first"] or found["framed"]), until, None, year)
    return None


def _special(text: str, year: int | None) -> Episode:
    if _SPECIAL.search(text):
        return Episode(season=0, season_last=0, year=year)
    return Episode(year=year)


def _of_range(
    season: int | None, first: int, last: int | None, aired: date | None, year: int | None
) -> Episode:
    if last is None or not first < last <= first + MOST_EPISODES:
        last = first
    return Episode(
        season=season,
        season_last=season,
        episode=first,
        episode_last=last,
        air_date=aired,
        year=year,
    )


def _of_words(match: re.Match[str], aired: date | None, year: int | None) -> Episode:
    season = int(match["season"])
    if match["first"]:
        until = int(match["until"]) if match["until"] else None
        return _of_range(season, int(match["first"]), until, aired, year)
    last = int(match["last"]) if match["last"] else season
    if last == season and (number := _AFTER_SEASON.match(match.string, match.end())):
        return _of_range(season, int(number["first"] or number["last"]), None, aired, year)
    return Episode(season=season, season_last=max(season, last), air_date=aired, year=year)


def _of_pack(match: re.Match[str], year: int | None) -> Episode:
    season = int(match["season"])
    episode = match if match["first"] else _EPISODE.search(match.string, match.end())
    episode = episode or _AFTER_SEASON.match(match.string, match.end())
    if episode:
        first = episode["first"] or episode["last"]
        return _of_range(season, int(first), None, None, year)
    last = match["last"] or match["until"] or match["next"]
    return Episode(season=season, season_last=max(season, int(last or season)), year=year)


def _last_number(match: re.Match[str]) -> int | None:
    numbers = _NUMBER.findall(match.groupdict().get("more") or "")
    return int(numbers[-1]) if numbers else None


def _is_codec(match: re.Match[str]) -> bool:
    return match["first"] in ("264", "265", "266")


def _air_date(text: str) -> tuple[date | None, tuple[int, int]]:
    for pattern in (_YMD, _DMY, _SHORT_DATE):
        for match in pattern.finditer(text):
            year = int(match["year"])
            first, second = int(match["a"]), int(match["b"])
            if pattern is _DMY:
                first, second = second, first
            # Americans and Europeans disagree about the middle; take what can be a month.
            day = _date(year + 2000 if year < 100 else year, first, second)
            if day is not None:
                return day, match.span()
    if named := _NAMED_DATE.search(text):
        month = _MONTHS.index(named["month"].lower()) + 1
        return _date(int(named["year"]), month, int(named["day"])), named.span()
    return None, (0, 0)


def _date(year: int, month: int, day: int) -> date | None:
    if month > 12 >= day:
        month, day = day, month
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _year(text: str) -> int | None:
    """Returns the last year that a name states: titles such as `1917` hold one themselves."""
    years = _YEAR.findall(text)
    return int(years[-1]) if years else None
