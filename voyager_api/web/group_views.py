"""How far newsgroups are, in the words and pictures of their pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from voyager_api.web.pages import age_text, number_text
from voyager_api.web.views import Fact
from voyager_core.catalog.progress import GroupStatus
from voyager_core.catalog.ranges import RangeRow

PICTURE_WIDTH: Final = 1000
"""Units that a picture of the article numbers is wide."""

_STATES: Final = {
    "new": "not asked yet",
    "gone": "not on the server",
    "restarted": "numbers began anew",
    "parked": "parked",
}
_LEAST_IN_LIST: Final = 6.0
_LONGEST: Final = 3 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A newsgroup in the list.

    Attributes:
        state: what is unusual about it, "" for nothing.
        is_bad: whether a person should look at it.
        covered: per mille of the wanted article numbers that are indexed.
        lag: how far its newest part is behind, in words.
        rate: article numbers indexed in a second, in words.
        eta: when the backlog is done, in words.
        stored: when something was last stored.
        picture: of what is indexed; None while the server was not asked.
    """

    name: str
    state: str
    is_bad: bool
    note: str
    covered: int
    backlog: int
    lag: str
    rate: str
    eta: str
    stored: str
    picture: "Picture | None"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a picture, in its units."""

    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Picture:
    """What is indexed of the article numbers that the server has.

    Attributes:
        low: the number at the left edge.
        high: the number at the right edge.
        bars: what is indexed.
        text: the same in words.
    """

    low: int
    high: int
    bars: tuple[Bar, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """A range that waits for a person."""

    low: int
    high: int
    attempts: int
    error: str


def row_of(status: GroupStatus, spans: Sequence[tuple[int, int]], now: datetime) -> GroupRow:
    """Returns a newsgroup as a line of the list; `spans` are the numbers that are indexed."""
    state = _STATES.get(status.state, "" if status.state == "ok" else status.state)
    if status.parked:
        state = f"{number_text(status.parked)} parked"
    return GroupRow(
        name=status.group,
        state=state,
        is_bad=bool(status.parked) or status.state not in {"ok", "new"},
        note=status.note or "",
        covered=_covered(status),
        backlog=status.backlog,
        lag=lag_text(status),
        rate=_rate(status.rate),
        eta=eta_text(status),
        stored=age_text(status.stored_at, now) if status.stored_at else "never",
        picture=picture_of(status, spans, least=_LEAST_IN_LIST),
    )


def facts_of(status: GroupStatus, now: datetime) -> list[Fact]:
    """Returns what is known of one newsgroup."""
    asked = f", asked {age_text(status.checked_at, now)}" if status.checked_at else ""
    marks = "not asked yet"
    if status.low is not None and status.high is not None:
        marks = f"{number_text(status.low)} \u2026 {number_text(status.high)}{asked}"
    facts = [
        Fact("Priority", number_text(status.priority)),
        Fact("On the server", marks),
        Fact(
            "Indexed",
            f"{number_text(status.indexed)} of {number_text(status.numbers)} "
            f"({_covered(status) / 10:.1f} %)",
        ),
        Fact("Behind", lag_text(status)),
        Fact("Backlog", number_text(status.backlog)),
        Fact("Indexing", _rate(status.rate)),
        Fact("Posted", _rate(status.posting_rate)),
        Fact("Done", eta_text(status)),
        Fact("Ranges", f"{number_text(status.done)} of {number_text(status.ranges)}"),
        Fact("Headers read", number_text(status.lines)),
        Fact("Asked for again", number_text(status.holes)),
        Fact("Last stored", age_text(status.stored_at, now) if status.stored_at else "never"),
    ]
    if status.note:
        facts.insert(0, Fact("Note", status.note))
    return facts


def picture_of(
    status: GroupStatus, spans: Sequence[tuple[int, int]], *, least: float = 0.5
) -> Picture | None:
    """Returns a picture of what is indexed, or None while the server was not asked.

    Args:
        status: the newsgroup.
        spans: first and last of the article numbers that are indexed, in order.
        least: the width of the thinnest line, in units of the picture; thinner ones of either
            kind that stand close together become one.
    """
    if status.low is None or status.high is None or status.high < status.low:
        return None
    low, length = status.low, status.high - status.low + 1
    bars: list[Bar] = []
    pieces = 0
    for first, last in spans:
        begin, end = max(first, low), min(last, status.high)
        if begin > end:
            continue
        pieces += 1
        x = (begin - low) / length * PICTURE_WIDTH
        edge = max((end - low + 1) / length * PICTURE_WIDTH, x + least)
        if bars and x - bars[-1].x - bars[-1].width < least:
            x = bars.pop().x
        bars.append(Bar(round(x, 2), round(edge - x, 2)))
    text = (
        f"{_covered(status) / 10:.1f} % of the wanted article numbers are indexed, in "
        f"{pieces} piece{'s' if pieces != 1 else ''}"
    )
    return Picture(low, status.high, tuple(bars), text)


def troubles_of(ranges: Sequence[RangeRow]) -> list[Trouble]:
    """Returns the ranges that wait for a person, with the last error of each."""
    return [
        Trouble(row.low, row.high, row.attempts, row.error or "")
        for row in ranges
        if row.state == "parked"
    ]


def lag_text(status: GroupStatus) -> str:
    """Returns how far the newest indexed article is behind the newest one on the server."""
    if status.high is None or (status.indexed_to is None and not status.numbers):
        return "not known"
    if status.lag == 0:
        return "up to date"
    behind = f"{number_text(status.lag)} articles"
    if status.lag_seconds is None:
        return behind
    return f"{behind}, about {span_text(status.lag_seconds)}"


def eta_text(status: GroupStatus) -> str:
    """Returns when the backlog will be done."""
    if not status.numbers and not status.done:
        return "nothing planned yet"
    if status.backlog == 0:
        return "all done"
    if status.eta_seconds is None or status.eta_seconds > _LONGEST:
        return "not in sight" if status.rate is not None else "not known yet"
    return f"in {span_text(status.eta_seconds)}"


def span_text(seconds: float) -> str:
    """Returns a length of time in the largest unit that says enough."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = round(seconds / length)
            return f"{number_text(count)} {unit}{'s' if count != 1 else ''}"
    return "a minute"


def _covered(status: GroupStatus) -> int:
    return status.indexed * 1000 // status.numbers if status.numbers else 0


def _rate(rate: float | None) -> str:
    if rate is None:
        return "not known yet"
    return f"{number_text(round(rate)) if rate >= 10 else f'{rate:.1f}'} a second"
