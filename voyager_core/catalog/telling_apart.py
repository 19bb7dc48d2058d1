"""Posts of one key that several spans held: told apart in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from voyager_core.catalog.built import Built, fragments_in
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.folds import add_up_chunks
from voyager_core.catalog.fragments import SetAside
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import Part, signed
from voyager_core.catalog.placing import GAP_CLOSED, merge_into, place
from voyager_core.catalog.remnants import MergedRange, keep, set_aside
from voyager_core.catalog.repost_keys import note_reposts
from voyager_core.catalog.reposts import PLACE, HeldChunk
from voyager_core.catalog.spans import Stored, in_transaction, read_contents, require_idle
from voyager_core.catalog.writing import add_rejects, write_chunks

_REASON = "posted again"
_ORIGINS = {"span": "chunked_segments", "recovery": "recovered_segments"}


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What becomes of one chunk.

    Attributes:
        chunk: as it was read.
        built: its files by release key, those that stay under the key that they had; None when
            none is left.
        gone: message-ids of the articles that a rule drops.
        moved: the key to which each message-id goes that does not stay.
        doubled: how many of its articles other chunks have as well, and keep.
        aside: the files of what is gone.
    """

    chunk: HeldChunk
    built: Built | None
    gone: Sequence[str] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    doubled: int = 0
    aside: SetAside | None = None


def store_apart(
    conn: Connection,
    posts: Mapping[int, int],
    held: Sequence[HeldChunk],
    rewritten: Sequence[Rewritten],
) -> Stored:
    """Writes chunks of a key anew, with what goes to other keys, in one transaction.

    Ranges are locked before releases, as by whoever stores a span.

    Args:
        conn: a connection outside any transaction.
        posts: the number of every post, by its key: those that were looked at, and those that
            begin now.
        held: every chunk of these keys.
        rewritten: those that change.

    Returns:
        `stored=False` when any of the posts was written meanwhile; nothing was changed then.

    Raises:
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    with catalog_errors("telling posts of one key apart"):
        require_idle(conn)
        parts = [
            ()
            if each.built is None
            else read_contents(conn, each.built, each.chunk.newsgroup_id).parts
            for each in rewritten
        ]
        range_ids = _ranges_of(conn, rewritten)

        def work() -> Stored:
            ranges = _lock_ranges(conn, range_ids) if range_ids else []
            ids = _lock_releases(conn, posts)
            rows = conn.execute(
                f"select {PLACE} from chunk c where release_id = any (%s)", [ids]
            ).fetchall()
            if {spot for (spot,) in rows} != {each.place for each in held}:
                return Stored(stored=False)
            # A place is known only until another statement moves the row: these come first.
            for each, mine in zip(rewritten, parts, strict=True):
                if not _write_anew(conn, each, mine):
                    return Stored(stored=False)
                if each.doubled:
                    _reject_doubled(conn, each.chunk, each.doubled)
                if each.aside is not None and not _set_aside(conn, each, each.aside, ranges):
                    return Stored(stored=False)
            touched = {each.chunk.release_id for each in rewritten}
            touched |= _move(conn, ids, rewritten, parts)
            if not _end_empty(conn, posts, touched):
                return Stored(stored=False)
            conn.execute(
                "update release set settled_at = null"
                " where release_id = any (%s) and settled_at is not null",
                [sorted(touched)],
            )
            add_up_chunks(conn, sorted(touched))
            (first,) = (key for key, number in posts.items() if number == 0)
            note_reposts(conn, {key: (first, number) for key, number in posts.items() if number})
            return Stored(stored=True, releases_updated=len(touched))

        return in_transaction(conn, work)


def _lock_releases(conn: Connection, posts: Mapping[int, int]) -> list[int]:
    """Locks every release of the posts; returns their numbers."""
    locked: list[int] = []
    while True:
        rows = conn.execute(
            "select release_id from release where release_key = any (%s)"
            " order by release_key, generation for update",
            [[signed(key) for key in posts]],
        ).fetchall()
        found = [release_id for (release_id,) in rows]
        # Whoever held a lock before may have added or merged releases.
        if found == locked:
            return found
        locked = found


def _write_anew(conn: Connection, each: Rewritten, parts: Sequence[Part]) -> bool:
    """Writes what stays of a chunk; tells whether the chunk was still there."""
    chunk = each.chunk
    table, spot, _ = chunk.place.split(" ")
    at = {"table": int(table), "spot": spot}
    own = signed(chunk.release_key)
    stays = next((part for part in parts if part.release_key == own), None)
    if stays is None:
        done = conn.execute(
            "delete from chunk where tableoid = %(table)s and ctid = %(spot)s::tid", at
        )
    else:
        done = conn.execute(_REPLACE, {**at, **_columns(stays)})
    if each.gone:
        conn.execute(
            "delete from candidate where release_id = %s and message_id = any (%s)",
            [chunk.release_id, list(each.gone)],
        )
    return done.rowcount == 1


def _move(
    conn: Connection,
    release_ids: Sequence[int],
    rewritten: Sequence[Rewritten],
    parts: Sequence[Sequence[Part]],
) -> set[int]:
    """Writes what goes to other keys; returns the releases that it is of."""
    going = [
        # Parts of several chunks may be of one key.
        [
            replace(part, session=place)
            for part in mine
            if part.release_key != signed(each.chunk.release_key)
        ]
        for place, (each, mine) in enumerate(zip(rewritten, parts, strict=True))
    ]
    every = [part for some in going for part in some]
    if not every:
        return set()
    _free_aliases(conn, sorted({part.release_key for part in every}), release_ids)
    placed = place(conn, every)
    for each, some in zip(rewritten, going, strict=True):
        chunk = each.chunk
        write_chunks(
            conn, some, placed, range_id=chunk.range_id, span=chunk.span, origin=chunk.origin
        )
        for part in some:
            home = placed.release_ids[part.release_key, part.session]
            ids = [id_ for id_, key in each.moved.items() if signed(key) == part.release_key]
            conn.execute(
                "update candidate set release_id = %s"
                " where release_id = any (%s) and message_id = any (%s)",
                [home, list(release_ids), ids],
            )
    return set(placed.release_ids.values())


def _free_aliases(conn: Connection, keys: Sequence[int], release_ids: Sequence[int]) -> None:
    """Takes public ids of keys back that had ended in releases of other posts.

    They lead to what is left under their key; where nothing is, they begin anew.
    """
    ended = {"keys": list(keys), "ids": list(release_ids), "reasons": [_REASON, GAP_CLOSED]}
    conn.execute(
        "update release_alias a set release_id = own.release_id"
        " from (select distinct on (release_key) release_key, release_id from release"
        "   where release_key = any (%(keys)s) order by release_key, generation) as own"
        " where a.release_key = own.release_key and a.release_id = any (%(ids)s)"
        "  and a.reason = any (%(reasons)s) and not exists (select from release r"
        "   where r.release_id = a.release_id and r.release_key = a.release_key)",
        ended,
    )
    conn.execute(
        "delete from release_alias a where release_key = any (%(keys)s)"
        " and release_id = any (%(ids)s) and reason = any (%(reasons)s)"
        " and not exists (select from release r where r.release_key = a.release_key)",
        ended,
    )


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


def _ranges_of(conn: Connection, rewritten: Sequence[Rewritten]) -> list[int]:
    """Returns the ranges whose counts change, in the order of locks."""
    found: set[int] = set()
    for each in rewritten:
        chunk = each.chunk
        if each.aside is not None or each.doubled:
            found.add(chunk.range_id)
        if each.aside is None or chunk.origin in _ORIGINS:
            continue
        # As many as can have held these segments, the nearest ones.
        rows = conn.execute(
            "select range_id from (select range_id, merged_segments, sum(merged_segments) over"
            "  (order by range_id <> %(range_id)s, abs(low - %(low)s), range_id) as total"
            "  from range where newsgroup_id = %(newsgroup_id)s and merged_segments > 0) as near"
            " where total - merged_segments < %(segments)s limit 1000",
            {
                "range_id": chunk.range_id,
                "low": chunk.span.low,
                "newsgroup_id": chunk.newsgroup_id,
                "segments": sum(_segments(one) for one in rewritten),
            },
        ).fetchall()
        found.update(range_id for (range_id,) in rows)
    return sorted(found)


def _segments(each: Rewritten) -> int:
    return 0 if each.aside is None else int(each.aside.files["parts_found"].sum())


def _lock_ranges(conn: Connection, range_ids: Sequence[int]) -> list[MergedRange]:
    rows = conn.execute(
        "select range_id, merged_segments, low, high from range where range_id = any (%s)"
        " order by range_id for update",
        [list(range_ids)],
    ).fetchall()
    return [MergedRange(*row) for row in rows]


def _reject_doubled(conn: Connection, chunk: HeldChunk, segments: int) -> None:
    """Moves articles that another chunk keeps in the ledger to what is in no file.

    Those of merged fragments are told by nothing but the fragments.
    """
    column = _ORIGINS.get(chunk.origin)
    if column is None:
        return
    add_rejects(conn, chunk.range_id, {"duplicate": segments})
    conn.execute(
        f"update range set {column} = {column} - %(segments)s, rejected = rejected + %(segments)s"
        " where range_id = %(range_id)s",
        {"segments": segments, "range_id": chunk.range_id},
    )


def _set_aside(
    conn: Connection, each: Rewritten, aside: SetAside, ranges: Sequence[MergedRange]
) -> bool:
    """Keeps what a rule dropped, and moves it in the ledger from what is stored.

    Returns:
        False when the locked ranges have not merged as much.
    """
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
        return True
    left = conn.execute(
        "select coalesce(sum(merged_segments), 0) from range"
        " where range_id = any (%s) and newsgroup_id = %s",
        [[one.range_id for one in ranges], chunk.newsgroup_id],
    ).fetchone()
    if left is None or left[0] < _segments(each):
        return False
    set_aside(
        conn,
        chunk.span.group,
        remnants,
        rule=aside.rule,
        merged=sorted(
            ranges,
            key=lambda one: (
                one.range_id != chunk.range_id,
                abs(one.low - chunk.span.low),
                one.range_id,
            ),
        ),
        versions=aside.versions,
    )
    return True


def _end_empty(conn: Connection, posts: Mapping[int, int], touched: set[int]) -> bool:
    """Ends releases of which nothing is left; their public ids lead to the first post.

    Returns:
        False when nothing is left of any.
    """
    numbers = {signed(key): number for key, number in posts.items()}
    rows = conn.execute(
        "select r.release_id, r.release_key, r.posted_at, r.generation,"
        " exists (select from chunk c where c.release_id = r.release_id) from release r"
        " where r.release_key = any (%s) order by r.release_key, r.generation",
        [list(numbers)],
    ).fetchall()
    left = [
        (numbers[key], posted_at, generation, id_)
        for id_, key, posted_at, generation, has in rows
        if has
    ]
    for release_id, _, moment, _, has_chunks in rows:
        if has_chunks or not left:
            continue
        winner = min(left, key=lambda each: (each[0], abs(each[1] - moment), each[2]))[-1]
        merge_into(conn, winner, [release_id], reason=_REASON)
        touched.discard(release_id)
    return bool(left)
