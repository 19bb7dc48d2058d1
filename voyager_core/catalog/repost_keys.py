"""Which key stands for what was posted again under which.

The key of a repost is a hash of the first post's, so that the way back has to be kept. Whoever
stores a repost notes it in the same transaction. The way forward needs no note: the hashes of a
first post are few, and what follows none of them does not exist.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

import polars as pl

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.parts import signed, unsigned
from voyager_core.domain.generations import REPOST_WINDOW, repost_key

_POSTS_AT_A_TIME = 32
_NEEDED = ("base_key", "generation", "session", "release_key", "name")
# The remnants of retries stand behind the posts and may have been sent before the second one.
_MOST_AHEAD = 8
_MOST_EDITIONS = 4
# A release goes on for days at most; what it is a repost of began no earlier.
_REACH = timedelta(days=14)


def reposts_of(*frames: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """Returns the reposts among files of one span or merge.

    Args:
        frames: files with the columns of `schemas.IDENTIFIED`; those without a release key, and
            frames without these columns, say nothing.

    Returns:
        The first post's key and the number, by the key of each repost; unsigned.
    """
    known = [frame.select(_NEEDED) for frame in frames if set(_NEEDED) <= set(frame.columns)]
    if not known:
        return {}
    files = pl.concat(known, how="vertical_relaxed")
    return _editions_of(files) | _generations_of(files)


def _editions_of(files: pl.DataFrame) -> dict[int, tuple[int, int]]:
    """Returns the reposts whose files have the names of the first post's, and other counters."""
    named = files.filter((pl.col("name") != "") & pl.col("release_key").is_not_null())
    keys = pl.col("release_key")
    shared = named.group_by(pl.col("name").str.to_lowercase()).agg(keys.unique())
    shared = shared.filter(pl.col("release_key").list.len() > 1)
    several = set(shared["release_key"].explode().unique().to_list())
    return {
        again: (first, number)
        for first in several
        for number in range(1, _MOST_EDITIONS + 1)
        if (again := repost_key(first, number)) in several
    }


def _generations_of(files: pl.DataFrame) -> dict[int, tuple[int, int]]:
    several = files.filter(pl.col("generation") > 0).select("base_key").unique()
    if several.is_empty():
        return {}
    posts = (
        files.join(several, on="base_key", how="semi")
        .group_by("base_key", "session")
        .agg(pl.col("release_key").sort_by("generation"))
    )
    found: dict[int, tuple[int, int]] = {}
    for keys in {tuple(keys) for keys in posts["release_key"].to_list()}:
        # What a rule dropped has no key, but a number.
        for first in [key for key in keys if key is not None][:_MOST_AHEAD]:
            numbers = {repost_key(first, number): number for number in range(1, len(keys))}
            again = {key: (first, numbers[key]) for key in keys if key in numbers}
            if again:
                found |= again
                break
    return found


def note_reposts(conn: Connection, reposts: Mapping[int, tuple[int, int]]) -> None:
    """Notes reposts inside the caller's transaction, as its last locks.

    Args:
        conn: the catalog.
        reposts: as `reposts_of` returns them.
    """
    if not reposts:
        return
    rows = [(signed(key), signed(first), number) for key, (first, number) in reposts.items()]
    keys, firsts, numbers = zip(*sorted(rows), strict=True)
    conn.execute(
        "insert into repost (release_key, first_key, number)"
        " select * from unnest(%s::bigint[], %s::bigint[], %s::integer[])"
        " on conflict (release_key) do nothing",
        [list(keys), list(firsts), list(numbers)],
    )


def first_keys(conn: Connection, keys: Collection[int]) -> dict[int, int]:
    """Returns for each key the key of the first post: itself where it is no repost.

    Args:
        conn: the catalog.
        keys: unsigned.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not keys:
        return {}
    with catalog_errors("looking for first posts"):
        rows = conn.execute(
            "select release_key, first_key from repost where release_key = any (%s)",
            [[signed(key) for key in keys]],
        ).fetchall()
        firsts = {unsigned(key): unsigned(first) for key, first in rows}
        firsts |= _unnoted(conn, [key for key in keys if key not in firsts])
    return {key: firsts.get(key, key) for key in keys}


def posts_of(conn: Connection, first_key: int) -> dict[int, int]:
    """Returns the number of every post of a key, by the key that stands for it; unsigned.

    Args:
        conn: the catalog.
        first_key: the key of the first post, which has number 0.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    posts = {first_key: 0}
    number = 1
    while True:
        following = range(number, number + _POSTS_AT_A_TIME)
        asked = {repost_key(first_key, each): each for each in following}
        found = _existing(conn, asked)
        posts |= {key: each for key, each in asked.items() if key in found}
        number += _POSTS_AT_A_TIME
        # Posts are numbered without a gap, but one may be part of another release by now.
        if not found:
            return posts


def _existing(conn: Connection, keys: Iterable[int]) -> set[int]:
    wanted = [signed(key) for key in keys]
    with catalog_errors("looking for reposts"):
        rows = conn.execute(
            "select release_key from release where release_key = any (%(keys)s)"
            " union select release_key from release_alias where release_key = any (%(keys)s)",
            {"keys": wanted},
        ).fetchall()
    return {unsigned(key) for (key,) in rows}


def _unnoted(conn: Connection, keys: Collection[int]) -> dict[int, int]:
    """Returns the first posts of reposts that were stored before these were noted."""
    rows = conn.execute(
        "select r.release_key, o.release_key from release r join release o"
        "  on o.newsgroup_id = r.newsgroup_id and o.release_key <> r.release_key"
        "  and o.posted_at between r.posted_at - %(reach)s and r.last_posted_at"
        "  and o.last_posted_at >= r.posted_at - %(window)s"
        " where r.release_key = any (%(keys)s) and r.listed_at <"
        "  (select applied_at from schema_migration where name = 'reposts')"
        " limit 1000000",
        {
            "keys": [signed(key) for key in keys],
            "reach": _REACH,
            "window": REPOST_WINDOW,
        },
    ).fetchall()
    found: dict[int, tuple[int, int]] = {}
    for key, other in rows:
        first = unsigned(other)
        for number in range(1, _POSTS_AT_A_TIME):
            if unsigned(key) not in found and repost_key(first, number) == unsigned(key):
                found[unsigned(key)] = (first, number)
    if found:
        with conn.transaction():
            note_reposts(conn, found)
    return {key: first for key, (first, _) in found.items()}
