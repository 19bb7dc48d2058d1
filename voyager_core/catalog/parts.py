"""A release's part in one span, and how parts add up to a release whatever their order."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import reduce

INT4_MAX = (1 << 31) - 1
INT8_MAX = (1 << 63) - 1
_KEYS = 1 << 64


def signed(key: int) -> int:
    """Returns an unsigned 64-bit key as Postgres stores it."""
    return key - _KEYS if key >= _KEYS >> 1 else key


def unsigned(key: int) -> int:
    """Returns a stored key as the engine writes it."""
    return key % _KEYS


@dataclass(frozen=True, slots=True)
class Naming:
    """What a name says; it goes from one part to the release as a whole.

    Parts of one release rarely differ in it. Where they do, a readable name wins, then the
    first in the order of characters.
    """

    is_readable: bool
    name: str
    category: int
    season: int | None = None
    season_last: int | None = None
    episode: int | None = None
    episode_last: int | None = None
    aired_on: date | None = None
    year: int | None = None
    resolution: int | None = None
    source: str | None = None
    language: str | None = None
    team: str | None = None
    tok: tuple[int, ...] = ()

    @property
    def rank(self) -> tuple[object, ...]:
        """Orders namings; the smallest wins."""
        optional = (self.season, self.season_last, self.episode, self.episode_last, self.year)
        return (
            not self.is_readable,
            self.name,
            self.category,
            tuple((value is not None, value or 0) for value in optional),
            self.aired_on is not None and self.aired_on.toordinal(),
            self.tok,
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a release, or of its part in one span.

    Attributes:
        naming: name and what follows from it.
        newsgroup_id: the newsgroup that it was indexed in; the lowest number of several.
        group_ids: numbers of every newsgroup name in the Xrefs, ascending.
        poster: the From, None when it is not the same for all.
        posted_at: posting time of the first article.
        last_posted_at: posting time of the last article.
        files: files found.
        files_expected: the largest announced number of files.
        segments: segments found.
        segments_expected: sum of the announced segments of the files that announce them.
        size_bytes: sum of the articles' sizes.
        has_par2: whether a recovery file is among them.
        content_missing: missing segments of files that are no recovery files.
        recovery_blocks: blocks in the recovery files of which every segment is there.
        recovery_bytes: size of those files.
        largest_file: most segments of a file.
    """

    naming: Naming
    newsgroup_id: int
    group_ids: tuple[int, ...]
    poster: str | None
    posted_at: datetime
    last_posted_at: datetime
    files: int
    files_expected: int | None
    segments: int
    segments_expected: int | None
    size_bytes: int
    has_par2: bool
    content_missing: int = 0
    recovery_blocks: int = 0
    recovery_bytes: int = 0
    largest_file: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What one span holds of a release.

    Attributes:
        release_key: signed, as Postgres stores it.
        session: tells parts of one key in one span apart that were posted at other times.
        facts: its sums and names.
        payload: its chunk; empty when the release keeps none.
    """

    release_key: int
    session: int
    facts: Facts
    payload: bytes


def add_up(facts: Iterable[Facts]) -> Facts:
    """Returns the facts of a release from those of its parts, in any order and grouping.

    Raises:
        TypeError: there are no parts.
    """
    return reduce(_add, facts)


def _add(one: Facts, other: Facts) -> Facts:
    return replace(
        one,
        naming=min(one.naming, other.naming, key=_rank),
        newsgroup_id=min(one.newsgroup_id, other.newsgroup_id),
        group_ids=tuple(sorted({*one.group_ids, *other.group_ids})),
        poster=one.poster if one.poster == other.poster else None,
        posted_at=min(one.posted_at, other.posted_at),
        last_posted_at=max(one.last_posted_at, other.last_posted_at),
        files=min(one.files + other.files, INT4_MAX),
        files_expected=_largest(one.files_expected, other.files_expected),
        segments=min(one.segments + other.segments, INT4_MAX),
        segments_expected=_sum(one.segments_expected, other.segments_expected),
        size_bytes=min(one.size_bytes + other.size_bytes, INT8_MAX),
        has_par2=one.has_par2 or other.has_par2,
        content_missing=min(one.content_missing + other.content_missing, INT4_MAX),
        recovery_blocks=min(one.recovery_blocks + other.recovery_blocks, INT4_MAX),
        recovery_bytes=min(one.recovery_bytes + other.recovery_bytes, INT8_MAX),
        largest_file=max(one.largest_file, other.largest_file),
    )


def _rank(naming: Naming) -> tuple[object, ...]:
    return naming.rank


def _largest(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return max(known, default=None)


def _sum(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return min(sum(known), INT8_MAX) if known else None
