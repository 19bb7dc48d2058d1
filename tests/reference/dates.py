"""Date headers to epoch seconds."""

import re
from calendar import monthrange
from datetime import UTC, datetime

_DAY = 86_400
_MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
]
_UTC = ("GMT", "UTC", "UT", "Z", "WET")
_ZONES = dict.fromkeys(_UTC, 0) | {
    "EST": -300,
    "EDT": -240,
    "CST": -360,
    "CDT": -300,
    "MST": -420,
    "MDT": -360,
    "PST": -480,
    "PDT": -420,
    "AST": -240,
    "ADT": -180,
    "NST": -210,
    "NDT": -150,
    "AKST": -540,
    "AKDT": -480,
    "HST": -600,
    "BST": 60,
    "IST": 330,
    "WEST": 60,
    "CET": 60,
    "CEST": 120,
    "MET": 60,
    "MEST": 120,
    "MEZ": 60,
    "MESZ": 120,
    "EET": 120,
    "EEST": 180,
    "MSK": 180,
    "MSD": 240,
    "SAST": 120,
    "HKT": 480,
    "SGT": 480,
    "JST": 540,
    "KST": 540,
    "AEST": 600,
    "AEDT": 660,
    "ACST": 570,
    "AWST": 480,
    "NZST": 720,
    "NZDT": 780,
}
_ISO_DATE = re.compile(r"(\d{4})(?:([-/.])(\d\d)\2(\d\d)|([01]\d)(\d\d))")
_DOTTED = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{4})(?!\d)")
_TIME = re.compile(
    r"(\d{1,2})(?:(:)(\d\d)(?!\d)(?::(\d\d)(?!\d)|(?!:))|(\.)(\d\d)(?!\d)\.(\d\d)(?!\d))(?:[.,]\d+)?"
)


def parse_date(raw: bytes) -> int | None:
    """Returns the moment, or None when the header names none."""
    text = raw.strip(b" \t\n\r\f").decode("latin-1")
    if re.fullmatch(r"[0-9]*", text):
        if 9 <= len(text) <= 11:
            return int(text)
        return int(text) // 1000 if len(text) == 13 else None
    return _iso(text) if _iso(text) is not None else _words(text)


def _iso(text: str) -> int | None:
    date = _iso_date(text, 0)
    if date is None:
        return None
    (year, month, day), at = date
    rest = text[at:]
    if not rest:
        return _moment(year, month, day, 0, 0)
    if rest[0] not in "Tt ":
        return None
    rest = rest[1:]
    found = _time(rest, 0)
    if found is None:
        compact = re.match(r"\d+", rest, re.ASCII)
        if compact is None or len(compact[0]) not in (4, 6):
            return None
        digits = compact[0].ljust(6, "0")
        seconds = _in_day(int(digits[:2]), int(digits[2:4]), int(digits[4:]))
        if seconds is None:
            return None
        found = seconds, compact.end()
    time, at = found
    rest = rest[at:].lstrip(" \t\n\r\f")
    zone = _zone(rest) if rest else 0
    return None if zone is None else _moment(year, month, day, time, zone)


def _words(text: str) -> int | None:
    day = month = year = time = zone = None
    at = 0
    while True:
        while at < len(text) and text[at] in ' \t,./;"':
            at += 1
        if at == len(text):
            break
        char = text[at]
        if char == "(":
            end = text.find(")", at)
            at = len(text) if end < 0 else end + 1
        elif char in "0123456789":
            if (day, month, year) == (None, None, None) and (
                date := _day_first(text, at) or _iso_date(text, at)
            ):
                (year, month, day), at = date
                continue
            if time is None and (clock := _time(text, at)):
                time, at = clock
                continue
            run = re.compile(r"[0-9]+").match(text, at)
            assert run
            digits = run[0]
            if len(digits) > 9:
                return None
            if day is None and len(digits) <= 2:
                day = int(digits)
            elif year is None and 2 <= len(digits) <= 4:
                year = _year(int(digits), len(digits))
            elif time is not None:
                if zone is None and 3 <= len(digits) <= 5:
                    zone = _offset(digits)
            else:
                return None
            at = run.end()
        elif char in "+-":
            if time is None or zone is not None:
                at += 1
                continue
            run = re.compile(r"[+-][0-9:]*").match(text, at)
            assert run
            zone = _zone(run[0])
            if zone is None:
                return None
            at = run.end()
        else:
            run = re.compile(r"[^ \t,\-+/(.0-9]*").match(text, at)
            assert run
            word = run[0] or text[at]
            at += len(word)
            if month is None and (number := _month(word)):
                month = number
            elif time is not None:
                if word.lower() == "pm" and time < _DAY // 2:
                    time += _DAY // 2
                elif word.lower() == "am" and _DAY // 2 <= time < _DAY // 2 + 3600:
                    time -= _DAY // 2
                elif zone is None and word.upper() in _ZONES and word.isascii():
                    named = _ZONES[word.upper()] * 60
                    goes_on = named == 0 and text[at : at + 1] in ("+", "-")
                    zone = None if goes_on else named
    if year is None or month is None or day is None:
        return None
    return _moment(year, month, day, time or 0, zone or 0)


def _iso_date(text: str, at: int) -> tuple[tuple[int, int, int], int] | None:
    match = _ISO_DATE.match(text, at)
    if match is None or not match[0].isascii():
        return None
    month, day = (match[3], match[4]) if match[2] else (match[5], match[6])
    return (int(match[1]), int(month), int(day)), match.end()


def _day_first(text: str, at: int) -> tuple[tuple[int, int, int], int] | None:
    match = _DOTTED.match(text, at)
    if match is None or int(match[1]) > 31 or int(match[2]) > 12:
        return None
    return (int(match[3]), int(match[2]), int(match[1])), match.end()


def _time(text: str, at: int) -> tuple[int, int] | None:
    match = _TIME.match(text, at)
    if match is None:
        return None
    minute = match[3] or match[6]
    second = match[4] or match[7] or "0"
    seconds = _in_day(int(match[1]), int(minute), int(second))
    return None if seconds is None else (seconds, match.end())


def _in_day(hour: int, minute: int, second: int) -> int | None:
    if hour <= 24 and minute < 60 and second <= 60:
        return hour * 3600 + minute * 60 + second
    return None


def _year(value: int, digits: int) -> int:
    if digits == 2 and value < 70:
        return 2000 + value
    return 1900 + value if digits in (2, 3) else value


def _month(word: str) -> int | None:
    if len(word) < 3:
        return None
    return next((n for n, name in enumerate(_MONTHS, 1) if name.startswith(word.lower())), None)


def _zone(text: str) -> int | None:
    if text[0] not in "+-":
        return _ZONES[text.upper()] * 60 if text.upper() in _ZONES and text.isascii() else None
    sign = -1 if text[0] == "-" else 1
    digits = text[1:]
    if not digits:
        return 0
    colon = re.fullmatch(r"(.{1,2}):(..)", digits)
    if colon:
        return sign * _offset(colon[1] + colon[2])
    return sign * _offset(digits) if re.fullmatch(r"[0-9]+", digits) else None


def _offset(digits: str) -> int:
    run = re.match(r"[0-9]*", digits)
    number = run[0] if run else ""
    if not 1 <= len(number) <= 9:
        return 0
    hour, minute = divmod(int(number), 100) if len(digits) > 2 else (int(number), 0)
    return 0 if hour > 15 or minute >= 60 else hour * 3600 + minute * 60


def _moment(year: int, month: int, day: int, time: int, zone: int) -> int | None:
    if not (1970 <= year <= 9999 and 1 <= month <= 12):
        return None
    if not 1 <= day <= monthrange(year, month)[1]:
        return None
    return int(datetime(year, month, day, tzinfo=UTC).timestamp()) + time - zone
