"""Season, episode, air date and year as a release name states them.

What is found here is stored with the release, so that a search for `season=3&ep=5`
is a comparison of numbers and never a pattern over names.
"""

import re
from dataclasses import dataclass
from datetime import date

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
    + r"(?P<season>\d{1,2})x(?P<first>\d{1,3})"
    + r"(?P<more>(?:[ ._]?[\-x&+][ ._]?(?:\d{1,2}x)?\d{1,3})*)"
    + _END,
    re.IGNORECASE,
)
_WORDS = re.compile(
    _START
    + r"(?:seasons?|staffel|saison|stagione|seizoen|temporada|s[äa]song|s[æa]son|sezon)"
    + r"[ ._\-]{0,3}(?P<season>\d{1,4})(?!\d)"
    + r"(?:(?:[ ._]?-[ ._]?|[ ._]to[ ._])(?:season[ ._]?|s)?(?P<last>\d{1,2})(?![0-9x]))?"
    + r"(?:[ ._\-,]{0,4}(?:episodes?|ep|e|folge|aflevering|episodio)[ ._\-]{0,2}"
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
    + r"(?:EP?|episodes?[ ._\-]{1,3}|ep[ ._\-]{1,3}|folge[ ._\-]{1,3})(?P<first>\d{1,4})"
    + r"(?:[ ._]?-[ ._]?(?:EP?)?(?P<until>\d{1,4})(?!\d|p))?"
    + _END,
    re.IGNORECASE,
)
_CHAPTER = re.compile(r"\[Cap\.[ ]?(?P<season>\d{1,2})(?P<first>\d\d)\]", re.IGNORECASE)
# A number after " - ", the way fansubbers and long-running series count.
_ABSOLUTE = re.compile(
    r"[ ._]-[ ._](?!(?:19|20)\d\d(?!\d))(?P<first>\d{2,4})(?:v\d)?"
    r"(?:[ ._]?[\-~][ ._]?(?P<until>\d{2,4})(?!\d))?(?=[ ._]*(?:[\[(]|-[ ._]|\.\w{3}$|$))"
)
_GROUPED = re.compile(
    r"^\[[^\]]+\].*?[ ._\-](?!(?:19|20)\d\d(?!\d))(?P<first>\d{2,4})(?:v\d)?"
    r"(?:[\-~](?P<until>\d{2,4}))?(?=[ ._]*(?:[\[(]|\.\w{3}$|$))"
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
_YEAR = re.compile(r"(?<![0-9])(?:19\d\d|20[0-3]\d)(?![0-9pi])")
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

    @property
    def is_marked(self) -> bool:
        """Tells whether the name places itself in a series at all."""
        return self.season is not None or self.episode is not None or self.air_date is not None


def parse_episode(name: str) -> Episode:
    """Returns season, episode, air date and year of a release name."""
    text = name[:512]
    aired, span = _air_date(text)
    year = _year(text)
    match = _SEASON_EPISODE.search(text) or _CROSS.search(text) or _CHAPTER.search(text)
    if match and not (match.re is _CROSS and _is_codec(match)):
        return _of_range(
            int(match["season"]), int(match["first"]), _last_number(match), aired, year
        )
    if words := _WORDS.search(text):
        return _of_words(words, aired, year)
    if aired is not None:
        rest = text[: span[0]] + " " + text[span[1] :]
        episode = _EPISODE.search(rest)
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
    match = _EPISODE.search(text) or _ABSOLUTE.search(text) or _GROUPED.search(text)
    if match is not None:
        until = int(match["until"]) if match["until"] else None
        return _of_range(None, int(match["first"]), until, None, year)
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
    return Episode(season=season, season_last=max(season, last), air_date=aired, year=year)


def _of_pack(match: re.Match[str], year: int | None) -> Episode:
    season = int(match["season"])
    episode = match if match["first"] else _EPISODE.search(match.string, match.end())
    if episode:
        return _of_range(season, int(episode["first"]), None, None, year)
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
