"""Posts of one key that several spans held: read together, and told apart in one transaction.

A chunk is known by its place in its table and the transaction that wrote it, so that what was
read without a lock is rewritten only while it is still there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from voyager_core.catalog.built import Built, fragments_in
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.folds import add_up_chunks
from voyager_core.catalog.fragments import SetAside
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import Part, signed, unsigned
from voyager_core.catalog.placing import Placed, merge_into, place
from voyager_core.catalog.remnants import MergedRange, keep, set_aside
from voyager_core.catalog.settle import read_periods
from voyager_core.catalog.spans import Stored, in_transaction, read_contents, require_idle
from voyager_core.catalog.writing import write_chunks
from voyager_core.domain.ranges import Span

MOST_CHUNKS = 2_000
"""A release in more chunks is left as it is: nobody posts in so many spans."""

_ORIGINS = {"span": "chunked_segments", "recovery": "recovered_segments"}


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


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What becomes of one chunk.

    Attributes:
        chunk: as it was read.
        built: its files by release key, those that stay under the key that they had; None when
            none is left.
        gone: message-ids of the articles that a rule drops.
        moved: the key to which each message-id goes that does not stay.
        aside: the files of what is gone.
    """

    chunk: HeldChunk
    built: Built | None
    gone: Sequence[str] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    aside: SetAside | None = None


def in_several_chunks(
    conn: Connection,
    *,
    settle_after_seconds: float,
    now: datetime | None,
    after: int = 0,
    limit: int = 1_000,
) -> list[tuple[int, int]]:
    """Returns finished releases, not settled yet, that several spans hold parts of.

    Returns:
        Number and (unsigned) key of each, by number, from the one after `after` on.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    found: list[tuple[int, int]] = []
    with catalog_errors("looking for posts in several spans"):
        groups = conn.execute(
            "select newsgroup_id from newsgroup n where exists (select from release r"
            "  where r.newsgroup_id = n.newsgroup_id and r.settled_at is null) limit 100000"
        ).fetchall()
        for (newsgroup_id,) in groups:
            for period in read_periods(conn, newsgroup_id):
                found += conn.execute(
                    _SEVERAL,
                    {
                        "newsgroup_id": newsgroup_id,
                        "first": period.first,
                        "last": period.last,
                        "now": now,
                        "idle": settle_after_seconds,
                        "after": after,
                        "limit": limit,
                    },
                ).fetchall()
    return [(release_id, unsigned(key)) for release_id, key in sorted(found)[:limit]]


_SEVERAL = """
    select r.release_id, r.release_key from release r
     where r.newsgroup_id = %(newsgroup_id)s and r.settled_at is null
       and r.posted_at > %(first)s and r.last_posted_at < %(last)s and r.posted_at < %(last)s
       and r.changed_at <= coalesce(%(now)s, now()) - make_interval(secs => %(idle)s)
       and r.release_id > %(after)s
       and (select count(*) from (select from chunk c where c.release_id = r.release_id
              and c.posted_month between case when r.posted_at < '2000-01-02' then date '1970-01-01'
                else date_trunc('month', r.posted_at at time zone 'utc')::date end
               and (r.last_posted_at at time zone 'utc')::date limit 2) as few) > 1
     order by r.release_id limit %(limit)s
"""


def held_chunks(conn: Connection, release_keys: Sequence[int]) -> list[HeldChunk]:
    """Returns the chunks of all generations of some keys, in the order of their articles.

    Args:
        conn: the catalog.
        release_keys: unsigned.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the posts of a key"):
        releases = conn.execute(
            "select r.release_id, r.release_key, r.generation, r.name, r.newsgroup_id, n.name,"
            " r.posted_at, r.last_posted_at from release r join newsgroup n using (newsgroup_id)"
            " where r.release_key = any (%s) order by r.release_key, r.generation limit 1000",
            [[signed(key) for key in release_keys]],
        ).fetchall()
        found = []
        for release_id, key, generation, name, newsgroup_id, group, first, last in releases:
            rows = conn.execute(
                f"select {_PLACE}, range_id, low, high, origin, segments, payload from chunk"
                " where release_id = %(id)s and posted_month between %(first)s and %(last)s"
                " order by low, high limit %(limit)s",
                {
                    "id": release_id,
                    "first": posting_month(first),
                    "last": posting_month(last),
                    "limit": MOST_CHUNKS + 1,
                },
            ).fetchall()
            found += [
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
                for spot, range_id, low, high, origin, segments, payload in rows
            ]
    return found


_PLACE = "tableoid::bigint || ' ' || ctid::text || ' ' || xmin::text"


def store_apart(
    conn: Connection, held: Sequence[HeldChunk], rewritten: Sequence[Rewritten]
) -> Stored:
    """Writes chunks of a key anew, with what goes to other keys, in one transaction.

    Args:
        conn: a connection outside any transaction.
        held: every chunk that the decision rests on.
        rewritten: those that change.

    Returns:
        `stored=False` when any of the chunks was written meanwhile; nothing was changed then.

    Raises:
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    with catalog_errors("telling posts of one key apart"):
        require_idle(conn)
        parts = {
            each.chunk.place: read_contents(conn, each.built, each.chunk.newsgroup_id).parts
            for each in rewritten
            if each.built is not None
        }

        def work() -> Stored:
            ids = sorted({each.release_id for each in held})
            conn.execute(
                "select from release where release_id = any (%s)"
                " order by release_key, generation for update",
                [ids],
            )
            rows = conn.execute(
                f"select {_PLACE} from chunk where release_id = any (%s)", [ids]
            ).fetchall()
            if {spot for (spot,) in rows} != {each.place for each in held}:
                return Stored(stored=False)
            touched: set[int] = set()
            for each in rewritten:
                touched |= _rewrite(conn, each, parts.get(each.chunk.place, ()))
            _end_empty(conn, touched)
            add_up_chunks(conn, sorted(touched))
            return Stored(stored=True, releases_updated=len(touched))

        return in_transaction(conn, work)


def _rewrite(conn: Connection, each: Rewritten, parts: Sequence[Part]) -> set[int]:
    """Writes one chunk anew; returns the releases that it was and is of."""
    chunk = each.chunk
    table, spot, _ = chunk.place.split(" ")
    own = signed(chunk.release_key)
    stays = next((part for part in parts if part.release_key == own), None)
    goes = [part for part in parts if part.release_key != own]
    at = {"table": int(table), "spot": spot}
    if stays is None:
        conn.execute("delete from chunk where tableoid = %(table)s and ctid = %(spot)s::tid", at)
    else:
        conn.execute(_REPLACE, {**at, **_columns(stays)})
    placed = place(conn, goes) if goes else Placed()
    write_chunks(conn, goes, placed, range_id=chunk.range_id, span=chunk.span, origin=chunk.origin)
    homes = {part.release_key: placed.release_ids[part.release_key, part.session] for part in goes}
    for key, release_id in homes.items():
        ids = [id_ for id_, target in each.moved.items() if signed(target) == key]
        conn.execute(
            "update candidate set release_id = %s where release_id = %s and message_id = any (%s)",
            [release_id, chunk.release_id, ids],
        )
    if each.gone:
        conn.execute(
            "delete from candidate where release_id = %s and message_id = any (%s)",
            [chunk.release_id, list(each.gone)],
        )
    if each.aside is not None:
        _set_aside(conn, each, each.aside)
    return {chunk.release_id, *homes.values()}


_SUMS = (
    *("files", "files_expected", "segments", "segments_expected", "size_bytes", "posted_at"),
    *("last_posted_at", "has_par2", "content_missing", "recovery_blocks", "recovery_bytes"),
    "largest_file",
)
_REPLACE = (
    "update chunk set payload = %(payload)s, posted_month = %(month)s, "
    + ", ".join(f"{name} = %({name})s" for name in _SUMS)
    + " where tableoid = %(table)s and ctid = %(spot)s::tid"
)


def _columns(part: Part) -> dict[str, object]:
    sums = {name: getattr(part.facts, name) for name in _SUMS}
    return {**sums, "month": posting_month(part.facts.posted_at), "payload": part.payload}


def _set_aside(conn: Connection, each: Rewritten, aside: SetAside) -> None:
    """Keeps what a rule dropped, and moves it in the ledger from what is stored."""
    chunk, remnants = each.chunk, fragments_in(aside.files)
    column = _ORIGINS.get(chunk.origin)
    if column is not None:
        segments = keep(
            conn,
            chunk.span.group,
            chunk.range_id,
            remnants,
            rule=aside.rule,
            versions=aside.versions,
        )
        conn.execute(
            f"update range set {column} = {column} - %s where range_id = %s",
            [segments, chunk.range_id],
        )
        return
    rows = conn.execute(
        "select range_id, merged_segments, low, high from range where newsgroup_id = %s"
        " and merged_segments > 0 order by range_id <> %s, abs(low - %s), range_id limit 1000"
        " for update",
        [chunk.newsgroup_id, chunk.range_id, chunk.span.low],
    ).fetchall()
    set_aside(
        conn,
        chunk.span.group,
        remnants,
        rule=aside.rule,
        merged=[MergedRange(*row) for row in rows],
        versions=aside.versions,
    )


def _end_empty(conn: Connection, touched: set[int]) -> None:
    """Ends releases of which nothing is left; their public ids lead to the first post."""
    empty = conn.execute(
        "select r.release_id from release r where r.release_id = any (%s)"
        " and not exists (select from chunk c where c.release_id = r.release_id)"
        " order by r.release_id limit 10000",
        [list(touched)],
    ).fetchall()
    gone = {release_id for (release_id,) in empty}
    left = touched - gone
    if gone and left:
        merge_into(conn, min(left), sorted(gone), reason="posted again")
        touched -= gone
