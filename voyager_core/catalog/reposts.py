"""Posts of one key that several spans hold, read together.

A chunk is known by its place in its table and the transaction that wrote it, so that what was
read without a lock is rewritten only while it is still there.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import signed, unsigned
from voyager_core.domain.ranges import Span

logger = logging.getLogger(__name__)

MOST_CHUNKS = 2_000
"""Posts in more chunks are left as they are: nobody posts in so many spans."""

MOST_SEGMENTS = 2_000_000
"""So are posts of more segments, 1.4 TB, since all of them are held in memory."""


@dataclass(frozen=True, slots=True)
class HeldChunk:
    """What one span holds of a release.

    Attributes:
        place: which row it is, for as long as nobody writes it.
        release_id: its release.
        release_key: unsigned.
        generation: of that release.
        name: its name.
        newsgroup_id: its newsgroup.
        range_id: the range that it was found in.
        span: the article numbers.
        origin: `span`, `fragments` or `recovery`.
        segments: segments in it.
        payload: the files.
    """

    place: str
    release_id: int
    release_key: int
    generation: int
    name: str
    newsgroup_id: int
    range_id: int
    span: Span
    origin: str
    segments: int
    payload: bytes


def held_chunks(conn: Connection, release_keys: Sequence[int]) -> list[HeldChunk]:
    """Returns the chunks of all generations of some keys, in the order of their articles.

    Args:
        conn: the catalog, outside any transaction.
        release_keys: unsigned.

    Returns:
        None of them when there are more than `MOST_CHUNKS`, or segments than `MOST_SEGMENTS`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the posts of a key"), conn.transaction():
        conn.execute("set transaction isolation level repeatable read, read only")
        releases = conn.execute(
            "select r.release_id, r.release_key, r.generation, r.name, r.newsgroup_id, n.name,"
            " r.posted_at, r.last_posted_at from release r join newsgroup n using (newsgroup_id)"
            " where r.release_key = any (%s) order by r.release_key, r.generation limit %s",
            [[signed(key) for key in release_keys], MOST_CHUNKS + 1],
        ).fetchall()
        months = {
            "ids": [row[0] for row in releases],
            "firsts": [posting_month(row[6]) for row in releases],
            "lasts": [posting_month(row[7]) for row in releases],
            "limit": MOST_CHUNKS + 1,
        }
        known = conn.execute(_CHUNKS.format("c.segments"), months).fetchall()
        segments = sum(row[-1] for row in known)
        if len(known) > MOST_CHUNKS or segments > MOST_SEGMENTS:
            logger.warning(
                "posts of %s in %s are not told apart: they are in %d chunks or more with %d"
                " segments, and %d with %d are the most",
                ", ".join(f"{key:016x}" for key in release_keys),
                releases[0][5],
                len(known),
                segments,
                MOST_CHUNKS,
                MOST_SEGMENTS,
            )
            return []
        rows = conn.execute(_CHUNKS.format("c.segments, c.payload"), months).fetchall()
    by_id = {row[0]: row for row in releases}
    found = []
    for release_id, spot, range_id, low, high, origin, segments, payload in rows:
        _, key, generation, name, newsgroup_id, group, _, _ = by_id[release_id]
        found.append(
            HeldChunk(
                place=spot,
                release_id=release_id,
                release_key=unsigned(key),
                generation=generation,
                name=name,
                newsgroup_id=newsgroup_id,
                range_id=range_id,
                span=Span(group, low, high),
                origin=origin,
                segments=segments,
                payload=bytes(payload),
            )
        )
    return found


PLACE = "c.tableoid::bigint || ' ' || c.ctid::text || ' ' || c.xmin::text"
"""Which row a chunk `c` is."""

_CHUNKS = (
    f"select w.release_id, {PLACE}, c.range_id, c.low, c.high, c.origin, {{}}"
    " from unnest(%(ids)s::bigint[], %(firsts)s::date[], %(lasts)s::date[])"
    "  with ordinality as w (release_id, first, last, place)"
    " cross join lateral (select c.tableoid, c.ctid, c.xmin, c.* from chunk c"
    "  where c.release_id = w.release_id and c.posted_month between w.first and w.last"
    "  order by c.low, c.high limit %(limit)s) as c"
    " order by w.place, c.low, c.high limit %(limit)s"
)
