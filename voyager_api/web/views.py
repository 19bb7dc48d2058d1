"""What pages show, in the words and units that people read."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from voyager_api.newznab.links import is_loopback
from voyager_api.web.pages import LONGEST_NAME, age_text, counted, number_text, size_text
from voyager_core.catalog.groups import Newsgroup
from voyager_core.catalog.releases import CatalogCounts, Release
from voyager_core.domain.category_names import category_label
from voyager_core.domain.completeness import Completeness
from voyager_core.settings import Settings

_COMPLETENESS: Final = {
    Completeness.UNKNOWN: "not known: the subjects announce no total",
    Completeness.COMPLETE: "yes",
    Completeness.REPAIRABLE: "no, but the recovery files hold enough to make it good",
    Completeness.INCOMPLETE: "no, more is missing than can be made good",
}
_INCOMPLETE: Final = {
    Completeness.REPAIRABLE: "repairable",
    Completeness.INCOMPLETE: "incomplete",
}
_PASSWORDS: Final = {
    -1: "not known",
    0: "none needed",
    1: "needed",
    2: "perhaps needed: an archive inside",
}


@dataclass(frozen=True, slots=True)
class Row:
    """A release in a list."""

    public_id: str
    name: str
    category: str
    size_bytes: int
    files: int
    age: str
    posted_text: str
    incomplete: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled value."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Step:
    """What a person has yet to do, and the command, setting or page that does it."""

    title: str
    text: str
    command: str = ""
    link: str = ""
    link_text: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the page shows less than it should."""

    title: str
    text: str


UNREACHABLE: Final = Problem(
    "The catalog cannot be reached",
    "The database does not answer, or its schema is older than this program. "
    "It may be starting; the command voyager doctor says what is wrong.",
)


def sentence(text: str) -> str:
    """Returns a message as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def row_of(release: Release, now: datetime) -> Row:
    """Returns a release as a line of a list."""
    return Row(
        public_id=release.public_id,
        name=release.name,
        category=category_label(release.category),
        size_bytes=release.size_bytes,
        files=release.files,
        age=age_text(release.posted_at, now),
        posted_text=_date(release.posted_at),
        incomplete=_INCOMPLETE.get(release.completeness, ""),
    )


def counts_of(counts: CatalogCounts, groups: int, now: datetime) -> list[Fact]:
    """Returns what the catalog holds, [] while it holds nothing."""
    if not counts.lines and not counts.releases:
        return []
    facts = [
        Fact("Releases", number_text(counts.releases)),
        Fact("Articles in them", number_text(counts.segments)),
        Fact("Headers read", number_text(counts.lines)),
        Fact("Newsgroups", number_text(groups)),
    ]
    if counts.stored_at is not None:
        facts.append(Fact("Last indexed", age_text(counts.stored_at, now)))
    return facts


def steps_of(
    settings: Settings,
    *,
    groups: list[Newsgroup],
    counts: CatalogCounts,
    has_key: bool,
    may_set_up: bool,
) -> list[Step]:
    """Returns what is missing for a working installation, in the order to do it."""
    steps: list[Step] = []
    if settings.news.url is None and not counts.lines:
        steps.append(
            Step(
                "A news account.",
                "Write it into the file .env and start Voyager again:",
                "VOYAGER_NEWS__URL=nntps://user:password@news.example.com:563?connections=20",
            )
        )
    if not groups:
        steps.append(
            Step(
                "Newsgroups to index.",
                "The first one added owns what is posted to several:",
                "voyager groups add alt.binaries.example",
            )
        )
    elif not counts.releases:
        steps.append(
            Step(
                "The first releases.",
                "Newsgroups are chosen and nothing is listed yet. Until then the Test button of "
                "Sonarr and its relatives fails, since they want to see a result:",
                "voyager ranges",
            )
        )
    if may_set_up:
        steps.append(
            Step(
                "An account.",
                "Until there is one, these pages open on this machine only.",
                link="/setup",
                link_text="Make an account",
            )
        )
    if not has_key:
        steps.append(
            Step(
                "A key for each program.",
                "It is shown once; enter it in the program's settings:",
                "voyager keys create sonarr",
                link="/settings",
                link_text="Make one here",
            )
        )
    if settings.api.external_url is None and not is_loopback(settings.api.host):
        steps.append(
            Step(
                "The address of this server.",
                "Links to NZBs begin with it; behind a proxy or in a container it must be set:",
                "VOYAGER_API__EXTERNAL_URL=https://voyager.example.com",
            )
        )
    return steps


def facts_of(release: Release, now: datetime) -> list[Fact]:
    """Returns what is known of a release."""
    facts = [
        Fact("Category", category_label(release.category)),
        Fact("Size", f"{size_text(release.size_bytes)} as posted"),
        Fact("Posted", f"{age_text(release.posted_at, now)} ({_date(release.posted_at)})"),
        Fact("Found", f"{age_text(release.listed_at, now)} ({_date(release.listed_at)})"),
        Fact("Newsgroups", ", ".join(release.groups)),
        Fact("Poster", release.poster or "not the same for all files"),
        Fact("Files", _of(release.files, release.files_expected)),
        Fact("Articles", _of(release.segments, release.segments_expected)),
    ]
    complete = _COMPLETENESS[release.completeness]
    share = f" ({release.completion} %)" if release.completion is not None else ""
    facts.append(Fact("Complete", complete + share))
    facts += [
        Fact("Recovery files", "yes" if release.has_par2 else "none found"),
        Fact("Password", _PASSWORDS.get(release.password, "not known")),
        Fact("State", "finished" if release.settled_at else "more may come"),
        Fact("Fetched", counted(release.grabs, "time")),
    ]
    if len(release.name) > LONGEST_NAME:
        facts.append(Fact("Whole name", release.name))
    return facts


def _of(found: int, expected: int | None) -> str:
    if expected is None:
        return number_text(found)
    return f"{number_text(found)} of {number_text(expected)}"


def _date(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC"
