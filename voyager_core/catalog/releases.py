"""Releases: reading one by its public id, its chunks, and what the catalog holds in all."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.months import posting_month
from voyager_core.domain.completeness import Completeness, Counted, completeness_of

_PUBLIC_ID = re.compile(r"(?P<key>[0-9a-f]{16})(?P<generation>[0-9a-f]{2,4})")
_KEYS = 1 << 64


class Release(NamedTuple):
    """What a searcher wants: files that were posted together.

    A tuple, since a page has a hundred of them and a dataclass is four times as long in the making.

    Attributes:
        public_id: stable; still leads here when the release became part of another one.
        release_id: its number in this catalog.
        name: its title.
        poster: the From, None when it is not the same for all files.
        groups: newsgroups that it was posted to, the owner group first.
        posted_at: posting time of its first article.
        last_posted_at: posting time of its last article.
        listed_at: when it was first found.
        feed_at: its place in feeds: `listed_at` for new posts, `posted_at` for history.
        settled_at: when it was found to be finished, None while more may come.
        files: files found.
        files_expected: files that the subjects announce, None when they do not.
        segments: segments found.
        segments_expected: segments of the found files, None when unknown.
        size_bytes: sum of the articles' sizes as the overview gives them (encoded).
        has_par2: whether recovery files are among them.
        is_readable: whether the name tells what it is.
        category: the Newznab category.
        season: season number, or year of a daily show; None for no show.
        season_last: last season of a pack of several.
        episode: first episode, None for a whole season.
        episode_last: last episode of several.
        aired_on: date of an episode of a daily show.
        year: the year in the name.
        resolution: height of the picture in lines.
        source: where picture or sound come from, such as `BluRay` or `WEB-DL`.
        language: languages that the name states, joined by a comma and a blank.
        team: the group after the last hyphen of a scene name, or before an anime's title.
        password: -1 unknown, 0 none, 1 needs one, 2 an archive inside may need one.
        grabs: how often its NZB was fetched.
        content_missing: missing segments of found files that are no recovery files.
        recovery_blocks: blocks in the recovery files of which every segment is there.
        recovery_bytes: size of those files.
        largest_file: most segments of a file.
    """

    public_id: str
    release_id: int
    name: str
    poster: str | None
    groups: tuple[str, ...]
    posted_at: datetime
    last_posted_at: datetime
    listed_at: datetime
    feed_at: datetime
    settled_at: datetime | None
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
    content_missing: int = 0
    recovery_blocks: int = 0
    recovery_bytes: int = 0
    largest_file: int = 0

    @property
    def completeness(self) -> Completeness:
        """Whether all is there that the subjects announce, or can be repaired."""
        return completeness_of(
            Counted(
                files=self.files,
                files_expected=self.files_expected,
                segments=self.segments,
                segments_expected=self.segments_expected,
                size_bytes=self.size_bytes,
                content_missing=self.content_missing,
                recovery_blocks=self.recovery_blocks,
                recovery_bytes=self.recovery_bytes,
                largest_file=self.largest_file,
            )
        )

    @property
    def state(self) -> str:
        """`open` while more may come, `settled` when it is finished."""
        return "open" if self.settled_at is None else "settled"

    @property
    def completion(self) -> int | None:
        """Percent found of what the subjects announce, rounded down; None when they do not."""
        return completion(
            files=self.files,
            files_expected=self.files_expected,
            segments=self.segments,
            segments_expected=self.segments_expected,
        )


# What `to_release` takes, from `TABLES`: the key, then the attributes from the second on.
COLUMNS = """
    r.release_key, r.generation, r.release_id, r.name, r.poster,
    case when cardinality(r.group_ids) = 1
         then array(select g.name from group_name g where g.group_name_id = r.group_ids[1] limit 1)
         else array(select g.name from group_name g where g.group_name_id = any (r.group_ids)
                     order by g.name <> n.name, g.name limit 1000) end as groups,
    r.posted_at, r.last_posted_at, r.listed_at, r.feed_at, r.settled_at, r.files,
    r.files_expected, r.segments, r.segments_expected, r.size_bytes, r.has_par2, r.is_readable,
    r.category, r.season, r.season_last, r.episode, r.episode_last, r.aired_on, r.year,
    r.resolution, r.source, r.language, r.team, r.password, r.grabs, r.content_missing,
    r.recovery_blocks, r.recovery_bytes, r.largest_file
"""
TABLES = "release r join newsgroup n using (newsgroup_id)"


@dataclass(frozen=True, slots=True)
class CatalogCounts:
    """What the catalog holds; sums come from the ledger, `releases` from the planner.

    Attributes:
        releases: releases; exact below 100,000, else the server's estimate.
        lines: overview lines read.
        segments: segments stored.
        stored_at: when the last span was stored, None when none was.
    """

    releases: int
    lines: int
    segments: int
    stored_at: datetime | None


def completion(
    *, files: int, files_expected: int | None, segments: int, segments_expected: int | None
) -> int | None:
    """Returns the percentage found of what was announced; None when nothing was announced.

    Missing files count as big as the found ones. What is whole is 100, and only that.
    """
    if not files_expected and not segments_expected:
        return None
    share = 1.0
    if files_expected:
        share *= min(1.0, files / files_expected)
    if segments_expected:
        share *= min(1.0, segments / segments_expected)
    return min(99, int(share * 100)) if share < 1 else 100


def public_id(release_key: int, generation: int) -> str:
    """Returns the public id: 16 digits of the key, two or more of the generation."""
    return f"{release_key % _KEYS:016x}{generation:02x}"


def parse_public_id(text: str) -> tuple[int, int] | None:
    """Returns the (signed) release key and the generation, or None when it is no public id."""
    match = _PUBLIC_ID.fullmatch(text.lower())
    if match is None:
        return None
    key, generation = int(match["key"], 16), int(match["generation"], 16)
    if generation > 0x7FFF:
        return None
    return (key - _KEYS if key >= _KEYS >> 1 else key), generation


def get_release(conn: Connection, public_id: str) -> Release | None:
    """Returns the release with a public id, also when it became part of another; None if none.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    parts = parse_public_id(public_id)
    if parts is None:
        return None
    with catalog_errors(f"reading release {public_id}"):
        row = (
            conn.cursor(binary=True)
            .execute(
                f"select {COLUMNS} from {TABLES} where r.release_id = coalesce("
                " (select a.release_id from release a"
                "   where a.release_key = %(key)s and a.generation = %(generation)s),"
                " (select a.release_id from release_alias a"
                "   where a.release_key = %(key)s and a.generation = %(generation)s)) limit 1",
                {"key": parts[0], "generation": parts[1]},
            )
            .fetchone()
        )
    return None if row is None else to_release(row)


def to_release(row: Sequence[Any]) -> Release:
    """Returns the release of a row of `COLUMNS`.

    By place: by name it takes three times as long, and a page has a hundred.
    """
    key, generation, release_id, name, poster, groups, *rest = row
    return Release._make(
        (public_id(key, generation), release_id, name, poster, tuple(groups), *rest)
    )


def chunks(conn: Connection, release_id: int) -> list[bytes]:
    """Returns a release's chunks in the order of their articles; empty when there are none.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the chunks of release {release_id}"):
        posted = conn.execute(
            "select posted_at, last_posted_at from release where release_id = %s", [release_id]
        ).fetchone()
        if posted is None:
            return []
        rows = conn.execute(
            "select payload from chunk where release_id = %(id)s"
            # The partitions that can hold them; the others are not even opened.
            " and posted_month between %(first)s and %(last)s"
            " order by range_id, low, origin, payload limit 1000000",
            {"id": release_id, "first": posting_month(posted[0]), "last": posting_month(posted[1])},
        ).fetchall()
    return [bytes(payload) for (payload,) in rows]


def nzb_source(conn: Connection, public_id: str) -> tuple[Release, list[bytes]] | None:
    """Returns a release with all its chunks as they are at one moment, or None.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading release {public_id}"), conn.transaction():
        # A merge in between would move the chunks to another release.
        conn.execute("set transaction isolation level repeatable read read only")
        release = get_release(conn, public_id)
        if release is None:
            return None
        return release, chunks(conn, release.release_id)


def oldest_posting(conn: Connection) -> datetime | None:
    """Returns when the oldest release was posted; None when there is none.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for the oldest release"):
        row = conn.execute("select posted_at from release order by posted_at limit 1").fetchone()
    return None if row is None else row[0]


def counts(conn: Connection) -> CatalogCounts:
    """Returns what the catalog holds, cheaply.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("counting"):
        row = (
            conn.cursor(row_factory=class_row(CatalogCounts))
            .execute(
                "with few as (select count(*) as n"
                "  from (select from release limit 100000) as held)"
                " select case when few.n < 100000 then few.n else greatest(100000,"
                "   (select reltuples::bigint from pg_class where oid = 'release'::regclass))"
                "  end as releases,"
                " (select coalesce(sum(lines), 0)::bigint from range) as lines,"
                " (select coalesce(sum(chunked_segments + merged_segments + recovered_segments), 0)"
                "  ::bigint from range) as segments,"
                " (select max(stored_at) from range) as stored_at from few"
            )
            .fetchone()
        )
    return row if row is not None else CatalogCounts(0, 0, 0, None)
