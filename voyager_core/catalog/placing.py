"""Puts parts into releases: the one place that creates, changes and joins release rows.

Workers do this at the same time. What makes it exact and free of deadlocks:

1. New keys are inserted in the order of keys. The unique index lets one worker in and makes
   the other wait for it, so that a key's first row serves as the key's lock.
2. Rows of known keys, and of releases that a key's posts were merged into, are locked in the
   order of keys before they are read; whoever changes any of them holds them all.
3. Sums are read, added to in Python and written back under these locks.

A worker that waits in step 1 holds only smaller keys than the one it waits for, and one that
waits in step 2 holds no key that another worker's step 1 could want, hence no circle.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, repeat
from operator import attrgetter
from struct import pack
from typing import Any

from psycopg.rows import dict_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import Facts, Naming, Part, add_up
from voyager_core.domain.generations import Generation, Posted, resolve

_NAMING = (
    "is_readable",
    "name",
    "category",
    "season",
    "season_last",
    "episode",
    "episode_last",
    "aired_on",
    "year",
    "resolution",
    "source",
    "language",
    "team",
    "tok",
)
_FACTS = (
    "newsgroup_id",
    "group_ids",
    "poster",
    "posted_at",
    "last_posted_at",
    "files",
    "files_expected",
    "segments",
    "segments_expected",
    "size_bytes",
    "has_par2",
    "content_missing",
    "recovery_blocks",
    "recovery_bytes",
    "largest_file",
)
_VALUES = (*_NAMING, *_FACTS)
_naming_of = attrgetter(*_NAMING)
_facts_of = attrgetter(*_FACTS)
GAP_CLOSED = "gap closed"
"""Why a generation became part of another one of its key."""

_INT4_OID, _INT4_BYTES = 23, 4
_EMPTY_ARRAY = pack(">3i", 0, 0, _INT4_OID)
_TYPES = {
    "is_readable": "bool",
    "name": "text",
    "aired_on": "date",
    "year": "int2",
    "resolution": "int2",
    "source": "text",
    "language": "text",
    "team": "text",
    # Arrays are written as they lie on the wire, see `_int4_array`.
    "tok": "bytea",
    "group_ids": "bytea",
    "poster": "text",
    "posted_at": "timestamptz",
    "last_posted_at": "timestamptz",
    "segments_expected": "int8",
    "size_bytes": "int8",
    "has_par2": "bool",
    "recovery_bytes": "int8",
}
_VALUE_TYPES = [_TYPES.get(name, "int4") for name in _VALUES]


@dataclass(slots=True)
class Placed:
    """Where parts went.

    Attributes:
        release_ids: the release of each part, by key and session.
        added: releases that are new.
        updated: releases that grew.
        merged: releases that became part of another one.
    """

    release_ids: dict[tuple[int, int], int] = field(default_factory=dict)
    added: int = 0
    updated: int = 0
    merged: int = 0


@dataclass(slots=True)
class _Row:
    """A locked release."""

    release_id: int
    release_key: int
    generation: int
    facts: Facts
    changed: bool = False


@dataclass(frozen=True, slots=True)
class _New:
    release_key: int
    generation: int
    facts: Facts


def place(conn: Connection, parts: Sequence[Part]) -> Placed:
    """Puts the parts of one span into releases, inside the caller's transaction.

    Chunks, candidates and whatever else belongs to a release that becomes part of another
    one are moved along; its public id goes on leading there.
    """
    placed = Placed()
    if not parts:
        return placed
    by_key = {
        key: list(some)
        for key, some in groupby(
            sorted(parts, key=lambda part: (part.release_key, part.session)),
            key=lambda part: part.release_key,
        )
    }
    conn.execute(
        "create temporary table incoming on commit drop as"
        f" select release_id, release_key, generation, {', '.join(_VALUES)} from release limit 0"
    )
    known = _insert_first(conn, by_key, placed)
    if known:
        _add_to_known(conn, known, placed)
    conn.execute("drop table incoming")
    return placed


def merge_into(conn: Connection, winner: int, losers: Sequence[int], *, reason: str) -> None:
    """Makes releases part of another one, inside the caller's transaction.

    All of them must be locked by the caller, and the winner's sums be written by it.
    """
    for loser in losers:
        row = conn.execute(
            "select posted_at, last_posted_at from release where release_id = %s", [loser]
        ).fetchone()
        if row is None:
            continue
        ids = {"loser": loser, "winner": winner}
        conn.execute(
            "update chunk set release_id = %(winner)s where release_id = %(loser)s"
            " and posted_month between %(first)s and %(last)s",
            {**ids, "first": posting_month(row[0]), "last": posting_month(row[1])},
        )
        conn.execute(
            "update candidate set release_id = %(winner)s where release_id = %(loser)s", ids
        )
        conn.execute(
            "update api_grab as g set release_id = %(winner)s where release_id = %(loser)s"
            " and not exists (select from api_grab o where o.api_key_id = g.api_key_id"
            "  and o.grabbed_on = g.grabbed_on and o.release_id = %(winner)s)",
            ids,
        )
        conn.execute(
            "update release_alias set release_id = %(winner)s where release_id = %(loser)s", ids
        )
        conn.execute(
            "with gone as (delete from release where release_id = %(loser)s"
            "  returning release_key, generation, grabs, listed_at),"
            " alias as (insert into release_alias (release_key, generation, release_id, reason)"
            "  select release_key, generation, %(winner)s, %(reason)s from gone)"
            " update release as r set grabs = r.grabs + gone.grabs,"
            "  listed_at = least(r.listed_at, gone.listed_at)"
            "  from gone where r.release_id = %(winner)s",
            {**ids, "reason": reason},
        )


def _insert_first(
    conn: Connection, by_key: Mapping[int, list[Part]], placed: Placed
) -> dict[int, list[Part]]:
    """Inserts generation 0 of keys that nobody has; returns the parts that are not placed."""
    aliased = _aliases(conn, by_key)
    news: list[_New] = []
    first_parts: dict[int, list[Part]] = {}
    for key, parts in by_key.items():
        if (key, 0) in aliased:
            continue
        first_parts[key] = parts if len(parts) == 1 else _earliest(parts)
        news.append(_New(key, 0, add_up(part.facts for part in first_parts[key])))
    inserted = _insert(conn, news, or_nothing=True)
    # A merge may have given the public id away while this insert waited for it.
    taken = _aliases(conn, [key for key, _ in inserted]).keys() & inserted.keys()
    if taken:
        conn.execute(
            "delete from release where release_id = any (%s)", [[inserted[key] for key in taken]]
        )
        inserted = {key: release_id for key, release_id in inserted.items() if key not in taken}
    left = dict(by_key)
    for (key, _), release_id in inserted.items():
        placed.added += 1
        for part in first_parts[key]:
            placed.release_ids[key, part.session] = release_id
        left[key] = [part for part in by_key[key] if part not in first_parts[key]]
    return {key: parts for key, parts in left.items() if parts}


def _earliest(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts of one key that are its first generation."""
    numbers = resolve((), [_posted(part.facts) for part in parts]).numbers
    return [part for part, number in zip(parts, numbers, strict=True) if number == 0]


def _add_to_known(conn: Connection, by_key: Mapping[int, list[Part]], placed: Placed) -> None:
    """Adds parts to keys that have a release, or whose posts were merged into another's."""
    rows, aliases = _lock(conn, list(by_key))
    work = _Work(rows)
    for row in rows.values():
        work.numbers[row.release_key][row.generation] = row.release_id
    for (key, generation), release_id in aliases.items():
        work.numbers[key][generation] = release_id
    for key, parts in by_key.items():
        work.add(key, parts)
    for loser, winner in work.gone.items():
        merge_into(conn, winner, [loser], reason=GAP_CLOSED)
    inserted = _insert(conn, [new for new, _ in work.news], or_nothing=False)
    for new, places in work.news:
        release_id = inserted[new.release_key, new.generation]
        work.release_ids.update(dict.fromkeys(places, release_id))
    changed = [row for row in rows.values() if row.changed and row.release_id not in work.gone]
    _update(conn, changed)
    for place_, release_id in (placed.release_ids | work.release_ids).items():
        placed.release_ids[place_] = work.current(release_id)
    placed.added += len(work.news)
    placed.updated += len(changed)
    placed.merged += len(work.gone)


@dataclass(slots=True)
class _Work:
    """What is to be written for keys that are known.

    Attributes:
        rows: the locked releases.
        numbers: the release of each generation, by key; public ids of merged ones included.
        gone: releases that become part of another one, in the order of the merges.
        news: generations that begin, with the parts that are in them.
        release_ids: the release of each part, by key and session.
    """

    rows: Mapping[int, _Row]
    numbers: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    gone: dict[int, int] = field(default_factory=dict)
    news: list[tuple[_New, list[tuple[int, int]]]] = field(default_factory=list)
    release_ids: dict[tuple[int, int], int] = field(default_factory=dict)

    def current(self, release_id: int) -> int:
        """Returns the release that this one is part of by now."""
        while release_id in self.gone:
            release_id = self.gone[release_id]
        return release_id

    def add(self, key: int, parts: Sequence[Part]) -> None:
        """Adds the parts of one key to the locked rows, or begins generations for them."""
        existing = {number: self.current(rid) for number, rid in self.numbers[key].items()}
        outcome = resolve(
            [
                Generation(number, _posted(self.rows[release_id].facts))
                for number, release_id in existing.items()
            ],
            [_posted(part.facts) for part in parts],
        )
        for loser, winner in outcome.merged:
            self._merge(existing[loser], existing[winner])
        additions: dict[int, list[Part]] = defaultdict(list)
        for part, number in zip(parts, outcome.numbers, strict=True):
            additions[number].append(part)
        for number, some in additions.items():
            facts = add_up(part.facts for part in some)
            places = [(key, part.session) for part in some]
            if number in existing:
                row = self.rows[self.current(existing[number])]
                row.facts, row.changed = add_up((row.facts, facts)), True
                self.release_ids.update(dict.fromkeys(places, row.release_id))
            else:
                self.news.append((_New(key, number, facts), places))

    def _merge(self, loser: int, winner: int) -> None:
        loser, winner = self.current(loser), self.current(winner)
        if loser == winner:
            return  # two public ids of one release
        row = self.rows[winner]
        row.facts, row.changed = add_up((row.facts, self.rows[loser].facts)), True
        self.gone[loser] = winner


def _lock(conn: Connection, keys: list[int]) -> tuple[dict[int, _Row], dict[tuple[int, int], int]]:
    """Locks every release that a key's posts may be in; returns them and the keys' aliases."""
    locked: set[int] = set()
    while True:
        aliases = _aliases(conn, keys)
        found = conn.execute(
            "select release_id from release"
            " where release_key = any (%(keys)s) or release_id = any (%(ids)s)"
            " order by release_key, generation for update",
            {"keys": keys, "ids": list(set(aliases.values()))},
        ).fetchall()
        now = {release_id for (release_id,) in found}
        # Whoever held a lock before may have added or merged releases of the same keys.
        if now == locked and _aliases(conn, keys) == aliases:
            return _read(conn, now), aliases
        locked = now


def _read(conn: Connection, release_ids: Iterable[int]) -> dict[int, _Row]:
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"select release_id, release_key, generation, {', '.join(_VALUES)} from release"
            " where release_id = any (%s)",
            [list(release_ids)],
        )
        .fetchall()
    )
    return {
        row["release_id"]: _Row(
            row["release_id"], row["release_key"], row["generation"], _facts(row)
        )
        for row in rows
    }


def _aliases(conn: Connection, keys: Iterable[int]) -> dict[tuple[int, int], int]:
    found = conn.execute(
        "select release_key, generation, release_id from release_alias"
        " where release_key = any (%s)",
        [list(keys)],
    ).fetchall()
    return {(key, generation): release_id for key, generation, release_id in found}


def _insert(
    conn: Connection, news: Sequence[_New], *, or_nothing: bool
) -> dict[tuple[int, int], int]:
    """Inserts releases in the order of their keys; returns the numbers of those inserted."""
    if not news:
        return {}
    _fill(conn, [(None, new.release_key, new.generation, new.facts) for new in news])
    conflict = " on conflict (release_key, generation) do nothing" if or_nothing else ""
    columns = ", ".join(_VALUES)
    rows = conn.execute(
        f"insert into release (release_key, generation, listed_at, changed_at, {columns})"
        f" select release_key, generation, now(), now(), {columns} from incoming"
        f" order by release_key, generation{conflict}"
        " returning release_key, generation, release_id"
    ).fetchall()
    conn.execute("truncate incoming")
    return {(key, generation): release_id for key, generation, release_id in rows}


def _update(conn: Connection, rows: Sequence[_Row]) -> None:
    if not rows:
        return
    _fill(conn, [(row.release_id, row.release_key, row.generation, row.facts) for row in rows])
    columns = ", ".join(f"{name} = i.{name}" for name in _VALUES)
    conn.execute(
        f"update release as r set {columns}, changed_at = now(), settled_at = null"
        " from incoming as i where r.release_id = i.release_id"
    )
    conn.execute("truncate incoming")


def _fill(conn: Connection, rows: Iterable[tuple[int | None, int, int, Facts]]) -> None:
    with (
        conn.cursor() as cursor,
        cursor.copy(
            f"copy incoming (release_id, release_key, generation, {', '.join(_VALUES)})"
            " from stdin (format binary)"
        ) as copy,
    ):
        copy.set_types(["int8", "int8", "int2", *_VALUE_TYPES])
        for release_id, key, generation, facts in rows:
            *naming, tok = _naming_of(facts.naming)
            newsgroup_id, group_ids, *rest = _facts_of(facts)
            copy.write_row(
                (
                    *(release_id, key, generation, *naming, _int4_array(tok)),
                    *(newsgroup_id, _int4_array(group_ids), *rest),
                )
            )


def _int4_array(values: Sequence[int]) -> bytes:
    """Returns an array as COPY takes it in binary: psycopg needs ten times as long for it."""
    count = len(values)
    if not count:
        return _EMPTY_ARRAY
    cells = chain.from_iterable(zip(repeat(_INT4_BYTES), values))
    return pack(f">5i{2 * count}i", 1, 0, _INT4_OID, count, 1, *cells)


def _facts(row: Mapping[str, Any]) -> Facts:
    naming = {name: row[name] for name in _NAMING} | {"tok": tuple(row["tok"])}
    rest = {name: row[name] for name in _FACTS} | {"group_ids": tuple(row["group_ids"])}
    return Facts(naming=Naming(**naming), **rest)


def _posted(facts: Facts) -> Posted:
    return Posted(facts.posted_at, facts.last_posted_at)
