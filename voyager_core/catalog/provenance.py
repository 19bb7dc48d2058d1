"""Where a release came from: the ranges that its chunks are of, and what became part of it."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.releases import Release, public_id


@dataclass(frozen=True, slots=True)
class Origin:
    """Chunks of a release that are of one range.

    Attributes:
        group: the newsgroup that was read.
        low: first article number of the range.
        high: its last.
        origin: `span`, `fragments` (of a file that an edge cut) or `recovery`.
        chunks: how many.
        segments: segments in them.
        stored_at: when the last was stored.
        parser_version: that the range was last read with; None while nothing of it is stored.
        rules_version: likewise the rule set's.
        codec_version: likewise the chunk codec's.
    """

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


@dataclass(frozen=True, slots=True)
class Merge:
    """A release that became part of another one; its public id leads there."""

    public_id: str
    merged_at: datetime
    reason: str


def origins_of(conn: Connection, release: Release) -> list[Origin]:
    """Returns the ranges that a release's chunks are of, in the order of their numbers.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the origin of release {release.public_id}"):
        return (
            conn.cursor(row_factory=class_row(Origin))
            .execute(
                'select n.name as "group", r.low, r.high, c.origin, count(*) as chunks,'
                " sum(c.segments)::bigint as segments, max(c.stored_at) as stored_at,"
                " r.parser_version, r.rules_version, r.codec_version"
                " from chunk c join range r using (range_id) join newsgroup n using (newsgroup_id)"
                " where c.release_id = %(id)s and c.posted_month between %(first)s and %(last)s"
                " group by n.name, r.range_id, c.origin"
                " order by n.name, r.low, c.origin limit 1000",
                {
                    "id": release.release_id,
                    "first": posting_month(release.posted_at),
                    "last": posting_month(release.last_posted_at),
                },
            )
            .fetchall()
        )


def merges_of(conn: Connection, release_id: int) -> list[Merge]:
    """Returns what became part of a release, oldest first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the merges of release {release_id}"):
        rows = conn.execute(
            "select release_key, generation, merged_at, reason from release_alias"
            " where release_id = %s order by merged_at, release_key limit 1000",
            [release_id],
        ).fetchall()
    return [Merge(public_id(key, generation), at, reason) for key, generation, at, reason in rows]
