"""What the header pass hands over for one span, checked and as Postgres takes it.

The frames are those of `voyager_core.header_pass.build`; columns that a frame does not have
are unknown. Numbers too large for their column are cut to the largest that fits, since a
subject may announce any number and must not stop a span.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import polars as pl

from voyager_core.catalog.errors import SpanError
from voyager_core.catalog.parts import INT4_MAX, INT8_MAX, Facts, Naming, Part, signed, unsigned

UNDATED = datetime(1970, 1, 1, tzinfo=UTC)
"""The posting time of a release when nothing in its span has a date."""

MAX_NAME_CHARACTERS = 4_000
_QUANTILE = 0.05
# Columns of a release in the order of `Facts`: the most that fits (0: a truth value), and whether
# they may be unknown.
_NUMBERS = (
    ("files", INT4_MAX, False),
    ("files_expected", INT4_MAX, True),
    ("segments", INT4_MAX, False),
    ("segments_expected", INT8_MAX, True),
    ("size_bytes", INT8_MAX, False),
    ("has_par2", 0, False),
    ("content_missing", INT4_MAX, False),
    ("recovery_blocks", INT4_MAX, False),
    ("recovery_bytes", INT8_MAX, False),
    ("largest_file", INT4_MAX, False),
)


class Built(Protocol):
    """The frames of `BuiltSpan`."""

    @property
    def files(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def releases(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def chunks(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def fragments(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def candidates(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def rule_counts(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas
    @property
    def rule_samples(self) -> pl.DataFrame: ...  # noqa: D102 - see header_pass.schemas


@dataclass(frozen=True, slots=True)
class FragmentIn:
    """A file cut by an edge; keys signed, `file` holds the columns that SQL does not need."""

    file_key: int
    base_key: int
    release_key: int | None
    reach_low: int
    reach_high: int
    first_number: int
    last_number: int
    posted_at: datetime | None
    segments: int
    file: dict[str, Any]
    payload: bytes


@dataclass(frozen=True, slots=True)
class CandidateIn:
    """An article to read later, of the release with this key and session."""

    release_key: int
    session: int
    file_key: int
    part: int
    kind: str
    message_id: str


@dataclass(frozen=True, slots=True)
class RuleCountIn:
    """What a rule dropped."""

    rule: str
    signature: str
    owner_group: str
    articles: int
    files: int


def group_names(built: Built) -> list[str]:
    """Returns every newsgroup name that the releases mention."""
    listed = built.releases["groups"].explode() if len(built.releases) else pl.Series([""])
    names = {*built.releases["group"].unique(), *listed.unique()}
    return sorted({text for name in names if name and (text := _no_nul(name))})


def parts_of(built: Built, *, newsgroup_id: int, group_ids: Mapping[str, int]) -> list[Part]:
    """Returns the parts of releases with their chunks, by key and session.

    Args:
        built: the frames.
        newsgroup_id: the span's newsgroup.
        group_ids: the number of each name of `group_names`.

    Raises:
        SpanError: a release or chunk comes twice, or a chunk has no release.
    """
    payloads: dict[tuple[int, int], bytes] = {}
    for row in built.chunks.iter_rows(named=True):
        place = (signed(row["release_key"]), row.get("session") or 0)
        if place in payloads:
            msg = f"release {row['release_key']:016x} has two chunks in one span"
            raise SpanError(msg)
        payloads[place] = row["payload"]
    neighbours = _Neighbours(built.files)
    parts: dict[tuple[int, int], Part] = {}
    ids_of: dict[tuple[str, ...], tuple[int, ...]] = {}
    for values in _plain_releases(built.releases).iter_rows():
        key, session, posted, last_posted, group, groups, poster, *rest = values
        place = (signed(key), session)
        if place in parts:
            msg = f"release {key:016x} comes twice in one span"
            raise SpanError(msg)
        first = _utc(posted) or neighbours.date_of(key)
        last = _utc(last_posted) or first
        names = (group or "", *(groups or ()))
        ids = ids_of.get(names)
        if ids is None:
            ids = tuple(
                sorted({group_ids[text] for name in names if (text := _no_nul(name or ""))})
            )
            ids_of[names] = ids
        numbers, (*said, tok) = rest[: len(_NUMBERS)], rest[len(_NUMBERS) :]
        naming = Naming(*(*said, tuple(tok or ())))
        facts = Facts(naming, newsgroup_id, ids, poster, first, max(first, last), *numbers)
        parts[place] = Part(*place, facts, payloads.pop(place, b""))
    if payloads:
        key = unsigned(next(iter(payloads))[0])
        msg = f"chunk of release {key:016x} comes without the release"
        raise SpanError(msg)
    return [parts[place] for place in sorted(parts)]


def fragments_of(built: Built) -> list[FragmentIn]:
    """Returns the cut files, by their keys."""
    return fragments_in(built.fragments)


def fragments_in(files: pl.DataFrame) -> list[FragmentIn]:
    """Returns the files of a frame as rows of their own, by their keys."""
    known = {"file_key", "base_key", "release_key", "reach_low", "reach_high", "payload"}
    found: list[FragmentIn] = []
    for row in files.iter_rows(named=True):
        rest = {name: _jsonable(value) for name, value in row.items() if name not in known}
        release_key = row.get("release_key")
        found.append(
            FragmentIn(
                file_key=signed(row["file_key"]),
                base_key=signed(row.get("base_key", row["file_key"])),
                release_key=None if release_key is None else signed(release_key),
                reach_low=_int8(row["reach_low"]) or 0,
                reach_high=_int8(row["reach_high"]) or 0,
                first_number=_int8(row["first_number"]) or 0,
                last_number=_int8(row["last_number"]) or 0,
                posted_at=_utc(row["first_posted_at"]),
                segments=_int4(row["parts_found"]) or 0,
                file=rest,
                payload=row["payload"],
            )
        )
    found.sort(key=lambda fragment: (fragment.file_key, fragment.first_number))
    return found


def candidates_of(built: Built) -> list[CandidateIn]:
    """Returns the articles to read later, by release."""
    found = [
        CandidateIn(
            release_key=signed(row["release_key"]),
            session=row.get("session") or 0,
            file_key=signed(row["file_key"]),
            part=_int4(row["part"]) or 0,
            kind=row["kind"],
            message_id=_text(row["message_id"]) or "",
        )
        for row in built.candidates.iter_rows(named=True)
    ]
    found.sort(key=lambda one: (one.release_key, one.session, one.kind, one.message_id))
    return found


def rule_counts_of(built: Built) -> list[RuleCountIn]:
    """Returns what the rules dropped, added up and in order."""
    sums: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in built.rule_counts.iter_rows(named=True):
        names = (row["rule"], row.get("signature") or "", row.get("owner_group") or "")
        place = (_no_nul(names[0]), _no_nul(names[1]), _no_nul(names[2]))
        articles, files = sums.get(place, (0, 0))
        sums[place] = (articles + int(row["articles"]), files + int(row["files"] or 0))
    return [RuleCountIn(*place, *sums[place]) for place in sorted(sums)]


def rule_samples_of(built: Built) -> list[tuple[str, int | None, str]]:
    """Returns samples of what the rules dropped: rule, signed release key, JSON text.

    Raises:
        SpanError: a sample's detail is no JSON.
    """
    found: list[tuple[str, int | None, str]] = []
    for row in built.rule_samples.iter_rows(named=True):
        detail = row["detail"]
        try:
            text = json.dumps(_clean(json.loads(detail) if isinstance(detail, str) else detail))
        except (TypeError, ValueError) as error:
            msg = f"a sample of rule {row['rule']} is no JSON: {error}"
            raise SpanError(msg) from error
        key = row.get("release_key")
        found.append((_no_nul(row["rule"]), None if key is None else signed(key), text))
    return found


def posting_period(built: Built) -> tuple[datetime, datetime] | None:
    """Returns between which times nearly all files of a span were posted, None when undated.

    Without the outer twentieths, because single articles carry dates that are years off.
    """
    files = built.files
    if "first_posted_at" not in files.columns:
        return None
    times = files["first_posted_at"].drop_nulls().sort()
    if times.is_empty():
        return None
    cut = int((len(times) - 1) * _QUANTILE)
    first, last = _utc(times[cut]), _utc(times[len(times) - 1 - cut])
    return None if first is None or last is None else (first, last)


class _Neighbours:
    """Dates for undated releases: that of the file with the nearest article number."""

    def __init__(self, files: pl.DataFrame) -> None:
        self._files = files
        self._is_loaded = False
        self._numbers: list[int] = []
        self._dates: list[datetime] = []
        self._of_release: dict[int, int] = {}

    def date_of(self, release_key: int) -> datetime:
        """Returns the neighbour's date, `UNDATED` when nothing in the span has one."""
        if not self._is_loaded:
            self._load()
        own = self._of_release.get(release_key)
        if own is None or not self._numbers:
            return UNDATED
        at = bisect_left(self._numbers, own)
        beside = [place for place in (at - 1, at) if 0 <= place < len(self._numbers)]
        return self._dates[min(beside, key=lambda place: abs(self._numbers[place] - own))]

    def _load(self) -> None:
        self._is_loaded = True
        needed = {"release_key", "first_number", "first_posted_at"}
        if not needed <= set(self._files.columns):
            return
        dated = self._files.filter(pl.col("first_posted_at").is_not_null()).sort("first_number")
        self._numbers = dated["first_number"].to_list()
        self._dates = [_utc(moment) or UNDATED for moment in dated["first_posted_at"]]
        keyed = self._files.filter(pl.col("release_key").is_not_null())
        lowest = keyed.group_by("release_key").agg(pl.col("first_number").min())
        self._of_release = dict(lowest.iter_rows())


def _plain_releases(releases: pl.DataFrame) -> pl.DataFrame:
    """Returns the columns that `parts_of` takes apart, with values that fit their columns.

    Whole columns are cleaned at once: a span may hold thousands of releases.
    """
    schema = releases.schema

    def column(name: str) -> pl.Expr:
        return pl.col(name) if name in schema else pl.lit(None)

    def number(name: str, most: int) -> pl.Expr:
        if not most:
            return column(name).cast(pl.Boolean)
        return column(name).cast(pl.Int128).clip(-most, most).cast(pl.Int64)

    def text(name: str) -> pl.Expr:
        return column(name).cast(pl.String).str.replace_all("\0", "", literal=True)

    year = number("year", INT8_MAX)
    return releases.select(
        column("release_key"),
        column("session").fill_null(0).alias("session"),
        column("posted_at").alias("posted_at"),
        column("last_posted_at").alias("last_posted_at"),
        column("group").alias("group"),
        column("groups").alias("groups"),
        text("poster").alias("poster"),
        *(
            (
                number(name, most) if is_optional else number(name, most).fill_null(most > 0 and 0)
            ).alias(name)
            for name, most, is_optional in _NUMBERS
        ),
        column("is_readable").cast(pl.Boolean).fill_null(value=False).alias("is_readable"),
        text("name").fill_null("").str.slice(0, MAX_NAME_CHARACTERS).alias("name"),
        number("category", INT4_MAX).fill_null(0).alias("category"),
        *(
            number(name, INT4_MAX).alias(name)
            for name in ("season", "season_last", "episode", "episode_last")
        ),
        column("aired_on").cast(pl.Date).alias("aired_on"),
        pl.when(year.is_between(-32_768, 32_767)).then(year).alias("year"),
        column("resolution").alias("resolution"),
        *(text(name).alias(name) for name in ("source", "language", "team")),
        column("tok").alias("tok"),
    )


def _utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _int4(value: int | None) -> int | None:
    return None if value is None else max(-INT4_MAX, min(int(value), INT4_MAX))


def _int8(value: int | None) -> int | None:
    return None if value is None else max(-INT8_MAX, min(int(value), INT8_MAX))


def _text(value: str | None) -> str | None:
    return None if value is None else _no_nul(value)


def _no_nul(value: str) -> str:
    return value.replace("\0", "")


def _jsonable(value: Any) -> Any:
    if isinstance(value, datetime):
        return int((_utc(value) or value).timestamp())
    if isinstance(value, pl.Series):
        return value.to_list()
    return _no_nul(value) if isinstance(value, str) else value


def _clean(value: Any) -> Any:
    """Returns a JSON value without what Postgres refuses: NUL and halves of surrogate pairs."""
    if isinstance(value, str):
        return _no_nul(value).encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    return value
