"""The JSON that machines other than Newznab clients read."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Health(BaseModel):
    """The process is alive; says nothing of the database."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether requests can be answered.

    Attributes:
        catalog: the database answers with the schema of this program.
        releases: whether there is something to find; without, the Test button of Sonarr and its
            relatives fails (NZ-20).
    """

    status: Literal["ready", "not ready"]
    catalog: bool
    releases: bool
    message: str


class Problem(BaseModel):
    """What went wrong, with the codes of Newznab."""

    code: str
    description: str


class ReleaseOut(BaseModel):
    """A release as lists show it; null is not known.

    Attributes:
        id: stable, and still leads here when the release became part of another.
        listed_at: when it was first found; `feed_at` is its place in lists without words.
        completion: percent found of what the subjects announce.
        password: -1 unknown, 0 none, 1 needs one, 2 an archive inside may need one.
    """

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(validation_alias="public_id")
    name: str
    poster: str | None
    groups: list[str]
    posted_at: datetime
    last_posted_at: datetime
    listed_at: datetime
    feed_at: datetime
    settled_at: datetime | None
    state: Literal["open", "settled"]
    files: int
    files_expected: int | None
    segments: int
    segments_expected: int | None
    size_bytes: int
    has_par2: bool
    is_readable: bool
    category: int
    season: int | None
    season_last: int | None
    episode: int | None
    episode_last: int | None
    aired_on: date | None
    year: int | None
    resolution: int | None
    source: str | None
    language: str | None
    team: str | None
    password: int
    grabs: int
    completeness: Literal["unknown", "complete", "repairable", "incomplete"]
    completion: int | None


class ReleasePage(BaseModel):
    """Releases, newest first.

    Attributes:
        total: how many match, 5,000 at most; null on further pages.
        total_is_least: whether there may be more than `total`.
        next: the `cursor` of the page after this one, null on the last.
    """

    total: int | None
    total_is_least: bool | None
    items: list[ReleaseOut]
    next: str | None


class FacetsOut(BaseModel):
    """What the newest matches (at most 5,000) are made of: counts by value, largest first."""

    model_config = ConfigDict(from_attributes=True)

    total: int
    is_least: bool
    categories: dict[int, int]
    groups: dict[str, int]
    states: dict[str, int]
    ages: dict[str, int]
    completeness: dict[str, int]


class FileOut(BaseModel):
    """A file of a release; `segments_expected` is null where the subject does not say."""

    name: str
    subject: str
    poster: str
    groups: list[str]
    posted_at: datetime | None
    index: int | None
    total: int | None
    size_bytes: int
    segments_found: int
    segments_expected: int | None


class CandidateOut(BaseModel):
    """An article that would tell more about the release."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    message_id: str
    part: int


class OriginOut(BaseModel):
    """Chunks of the release that are of one range, and what the range was read with."""

    model_config = ConfigDict(from_attributes=True)

    group: str
    low: int
    high: int
    origin: str
    chunks: int
    segments: int
    stored_at: datetime
    parser_version: int | None
    rules_version: int | None
    codec_version: int | None


class MergeOut(BaseModel):
    """A release that became part of this one; its id leads here."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(validation_alias="public_id")
    merged_at: datetime
    reason: str


class ReleaseDetail(BaseModel):
    """Everything that is known of a release.

    Attributes:
        files: null when `files=false` or it has too many articles to list them.
        problem: why there are no files, null otherwise.
    """

    release: ReleaseOut
    files: list[FileOut] | None
    problem: str | None
    candidates: list[CandidateOut]
    origins: list[OriginOut]
    merges: list[MergeOut]


class GroupOut(BaseModel):
    """How far a newsgroup is indexed; null is not known.

    Attributes:
        low: the server's low water mark; `high` likewise.
        lag: article numbers between `indexed_to` and the newest article.
        numbers: article numbers that are wanted; of them `indexed` and `backlog`.
        rate: article numbers indexed in a second; `posting_rate`: posted.
        eta_seconds: when the backlog will be done at these rates.
        holes: article numbers that are asked for again.
    """

    model_config = ConfigDict(from_attributes=True)

    group: str
    priority: int
    state: str
    note: str | None
    low: int | None
    high: int | None
    checked_at: datetime | None
    indexed_to: int | None
    lag: int
    lag_seconds: float | None
    ranges: int
    done: int
    parked: int
    numbers: int
    indexed: int
    backlog: int
    lines: int
    rate: float | None
    posting_rate: float | None
    eta_seconds: float | None
    holes: int
    stored_at: datetime | None


class GroupsOut(BaseModel):
    """The indexed newsgroups by priority."""

    items: list[GroupOut]


class StretchOut(BaseModel):
    """Article numbers in a row, both ends inclusive: `indexed`, `planned` or `parked`."""

    model_config = ConfigDict(from_attributes=True)

    low: int
    high: int
    state: str


class CoverageOut(BaseModel):
    """What of a newsgroup is indexed; between the stretches nothing is planned."""

    group: str
    low: int | None
    high: int | None
    stretches: list[StretchOut]


class RangeOut(BaseModel):
    """A range of article numbers; `resume_at` is the next number to index."""

    model_config = ConfigDict(from_attributes=True)

    low: int
    high: int
    resume_at: int
    state: str
    attempts: int
    error: str | None
    lines: int
    rejected: int
    dropped: int
    chunked_segments: int
    fragment_segments: int
    merged_segments: int
    recovered_segments: int
    posted_from: datetime | None
    posted_to: datetime | None
    parser_version: int | None
    rules_version: int | None
    codec_version: int | None
    stored_at: datetime | None
    done_at: datetime | None


class RangePage(BaseModel):
    """Ranges, the newest first; `next` is the `before` of the page after this one."""

    items: list[RangeOut]
    next: int | None


class RuleOut(BaseModel):
    """What one rule dropped: articles and files, in how many ranges."""

    model_config = ConfigDict(from_attributes=True)

    rule: str
    signature: str
    owner_group: str
    articles: int
    files: int
    ranges: int


class RejectOut(BaseModel):
    """Overview lines that are in no file, for one reason, in how many ranges."""

    model_config = ConfigDict(from_attributes=True)

    reason: str
    articles: int
    ranges: int


class RulesOut(BaseModel):
    """What rules and parser left out, most articles first."""

    rules: list[RuleOut]
    rejects: list[RejectOut]


class SampleOut(BaseModel):
    """Something that a rule dropped, kept to judge the rule by."""

    model_config = ConfigDict(from_attributes=True)

    group: str
    low: int
    release_key: str | None
    detail: Any


class SamplesOut(BaseModel):
    """Samples of one rule, the newest first."""

    rule: str
    items: list[SampleOut]


class CatalogHealth(BaseModel):
    """What the catalog holds, and what waits in it.

    Attributes:
        releases: an estimate above 100,000.
        candidates: articles in the probe queue by kind.
        stored_at: when a span was last stored.
    """

    releases: int
    lines: int
    segments: int
    candidates: dict[str, int]
    stored_at: datetime | None
    groups: int
    ranges_parked: int
