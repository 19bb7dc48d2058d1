"""Names: the one a release gets, and random ones against readable ones."""

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import astuple

import polars as pl

import voyager_native
from tests.quality.data import QualityData
from tests.quality.made_names import random_names, readable_names
from tests.quality.passes import index_whole
from tests.quality.report import Result, share
from tests.reference.facts import parse_episode
from voyager_core.domain.episodes import COLUMNS
from voyager_core.domain.names import readable
from voyager_core.domain.titles import best_name
from voyager_core.header_pass import stems
from voyager_core.header_pass.offers import title_text

_MADE = 100_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}[ -]*", re.IGNORECASE)
_ARGUMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\d+)')


def results(data: QualityData) -> Iterator[Result]:
    """Yields how many names are the expected ones, and how many are judged rightly."""
    rows = data.rows_with("subject", "expected_name", "tier")
    yield _named("scene subjects that get exactly their name", rows, "A", bar=0.95)
    yield _named("worded subjects whose name is in theirs, or theirs in it", rows, "B", bar=0.9)
    yield _posts(data)
    yield from _labelled(data.rows_with("name", "label", "source"))
    yield from _made()
    yield from _episodes(data.rows_with("name", "fixture", "expected_args"))


def _posts(data: QualityData) -> Result:
    failing, counted = [], 0
    for post in data.posts():
        if "expected_name" not in post.truth:
            continue
        counted += 1
        names = index_whole(post.text, post.group).releases["name"].to_list()
        if names != [post.truth["expected_name"]]:
            failing.append(f"{post.name}: {names} instead of {post.truth['expected_name']}")
    return share("names of real posts", failing, counted, bar=1.0)


def half_of(text: str) -> int:
    """Returns 0 or 1: one half is looked at while rules are made, the other is not."""
    return zlib.crc32(text.encode()) % 2


def _named(name: str, rows: Iterable[dict[str, str]], tier: str, *, bar: float) -> Result:
    failing, counted, halves = [], Counter[int](), Counter[int]()
    for row in rows:
        if row["tier"] != tier:
            continue
        half = half_of(row["subject"])
        counted[half] += 1
        found = _name_of(row["subject"])
        expected = row["expected_name"]
        if found == expected if tier == "A" else _holds(found, expected):
            halves[half] += 1
        else:
            failing.append(f"{found!r} instead of {expected!r} of {row['subject']}")
    details = [f"half {half}: {halves[half] / counted[half]:.1%}" for half in sorted(counted)]
    return share(name, failing, counted.total(), bar=bar, details=details)


def _name_of(subject: str) -> str:
    """Returns the name of a release of which nothing is known but one subject."""
    said = voyager_native.parse_subject(subject)
    name, head = said.get("name") or "", said.get("head") or ""
    (kind,) = stems.features(pl.Series([name])).to_dicts()
    of_many = (said.get("file_total") or 0) > 1
    stands_for_all = kind["_is_member"] or kind["_is_sidecar"] or kind["_is_book"]
    titles = stems.display_stem(pl.Series([head]), is_file=False)
    shown = [*stems.display_stem(pl.Series([name])), *titles]
    tail = said.get("tail") or ""
    between = tail if said["flags"] & voyager_native.FILE_FLAGS["tail_between"] else ""
    return best_name(
        said.get("request") or "",
        title_text(shown[1], between),
        shown[0],
        is_shared_stem=not kind["_is_track"] and (stands_for_all or not of_many),
        tail=tail,
    )


def _holds(found: str, expected: str) -> bool:
    one, other = (re.sub(r"[\W_]+", " ", text.lower()).strip() for text in (found, expected))
    return other in one or (bool(one) and one in other and 2 * len(one) >= len(other))


def _labelled(rows: list[dict[str, str]]) -> Iterator[Result]:
    names = [row["name"] for row in rows]
    judged = list(zip(rows, readable(pl.Series(names)).to_list(), strict=True)) if rows else []
    said = [(row, is_readable) for row, is_readable in judged if row["label"] == "readable"]
    # Two of them are ids of 36 characters, whatever the label says.
    said = [(row, is_readable) for row, is_readable in said if not _UUID.fullmatch(row["name"])]
    hidden = [row["name"] for row, is_readable in said if not is_readable]
    yield share("labelled names called random", hidden, len(said), bar=0.001, at_most=True)
    random = [(row["name"], is_readable) for row, is_readable in judged if row["label"] == "random"]
    shown = [name for name, is_readable in random if is_readable]
    yield share("labelled random names called readable", shown, len(random), bar=0.05, at_most=True)


def _made() -> Iterator[Result]:
    for what, names, wanted, bar in (
        ("made-up readable names called random", readable_names(_MADE), True, 0.001),
        ("made-up random names called readable", random_names(_MADE // 5), False, 0.05),
    ):
        kinds, texts = zip(*names, strict=True)
        judged = readable(pl.Series(texts)).to_list()
        wrong = [
            (kind, text)
            for kind, text, is_readable in zip(kinds, texts, judged, strict=True)
            if is_readable is not wanted
        ]
        every, bad = Counter(kinds), Counter(kind for kind, _ in wrong)
        details = [f"{kind}: {bad[kind] / every[kind]:.2%}" for kind in every if bad[kind]]
        failing = [f"{kind}: {text}" for kind, text in wrong]
        yield share(what, failing, len(texts), bar=bar, at_most=True, details=details)


def _episodes(rows: list[dict[str, str]]) -> Iterator[Result]:
    """Compares episodes with what the arguments of the fixtures say."""
    if not rows:
        return
    found = [dict(zip(COLUMNS, astuple(parse_episode(row["name"])), strict=True)) for row in rows]
    wrong: dict[str, list[str]] = {}
    counted: Counter[str] = Counter()
    for row, said in zip(rows, found, strict=True):
        fixture = row["fixture"]
        numbers = [int(number) for number in _ARGUMENT.findall(row["expected_args"]) if number]
        is_right = _is_expected(fixture, numbers, said)
        if is_right is not None:
            counted[fixture] += 1
            if not is_right:
                wrong.setdefault(fixture, []).append(f"{row['name']}: {row['expected_args']}")
    for fixture in sorted(counted):
        name = f"numbers of {fixture}"
        yield share(name, wrong.get(fixture, []), counted[fixture], bar=0.9)


def _is_expected(fixture: str, numbers: list[int], said: dict[str, object]) -> bool | None:
    match fixture, numbers:
        case "SingleEpisodeParser", [*_, season, episode]:
            return (said["season"], said["episode"]) == (season, episode)
        case "AbsoluteEpisodeNumberParser", [0, season, episode]:
            return (said["season"], said["episode"]) == (season, episode)
        case "AbsoluteEpisodeNumberParser", [number, _, _]:
            return said["episode"] == number
        case "DailyEpisodeParser", [year, month, day, *_]:
            return str(said["aired_on"]) == f"{year}-{month:02}-{day:02}"
        case "SeasonParser", [*_, season]:
            return said["season"] == season and said["episode"] is None
        case "MiniSeriesEpisodeParser", [number, *_]:
            return said["episode"] == number
    return None
