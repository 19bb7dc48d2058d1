"""The ledger of folds: what became part of another release, and how it is taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.placing import merge_into
from voyager_core.domain.folds import FOLD_VERSIONS
from voyager_core.errors import PermanentError

MAX_CANDIDATES = 200_000


class FoldError(PermanentError):
    """A fold cannot be taken back: it is not in force, or its release is gone."""


@dataclass(frozen=True, slots=True)
class FoldCandidate:
    """A release that may be part of an upload: finished, and fewer files than announced."""

    release_id: int
    release_key: int
    group: str
    files_expected: int
    is_readable: bool
    posted_at: datetime
    last_posted_at: datetime
    poster: str | None


@dataclass(frozen=True, slots=True)
class FoldRow:
    """An entry of the ledger.

    Attributes:
        fold_id: its number.
        rule: the rule that folded.
        version: its version then.
        winner_id: the release that took the other one in.
        winner_name: its name.
        loser_name: the name of the release that was taken in.
        files: how many files it had.
        folded_at: when.
        undone_at: when it was taken back; None while it is in force.
    """

    fold_id: int
    rule: str
    version: int
    winner_id: int
    winner_name: str
    loser_name: str
    files: int
    folded_at: datetime
    undone_at: datetime | None


def fold_candidates(conn: Connection, first: datetime, last: datetime) -> list[FoldCandidate]:
    """Returns releases posted between two times that may be parts of an upload.

    Only those are returned beside which there is another one with as many announced files.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for releases to fold"):
        return (
            conn.cursor(row_factory=class_row(FoldCandidate))
            .execute(
                "select release_id, release_key, name as group, files_expected, is_readable,"
                " posted_at, last_posted_at, poster from ("
                "  select r.release_id, r.release_key, n.name, r.files_expected, r.is_readable,"
                "   r.posted_at, r.last_posted_at, r.poster,"
                "   count(*) over (partition by r.files_expected) as beside"
                "  from release r join newsgroup n using (newsgroup_id)"
                "  where r.posted_at between %(first)s and %(last)s and r.settled_at is not null"
                "   and r.files_expected > r.files) as c"
                " where beside > 1 order by posted_at, release_id limit %(limit)s",
                {"first": first, "last": last, "limit": MAX_CANDIDATES},
            )
            .fetchall()
        )


def apply_fold(conn: Connection, rule: str, winner: int, losers: Sequence[int]) -> bool:
    """Makes releases part of another one and enters that into the ledger, in one transaction.

    Returns:
        False when one of them is gone, or was taken out of this winner before by a person;
        nothing was changed then.

    Raises:
        CatalogUnavailable: nothing was changed, another try may succeed.
    """
    version = FOLD_VERSIONS[rule]
    ids = [winner, *losers]
    with catalog_errors(f"folding {len(losers)} releases into {winner}"), conn.transaction():
        conn.execute("set transaction isolation level read committed")
        locked = conn.execute(
            "select release_id, release_key, generation from release"
            " where release_id = any (%s) order by release_key, generation for update",
            [ids],
        ).fetchall()
        if len(locked) != len(set(ids)) or _was_undone(conn, rule, version, ids):
            return False
        conn.execute(
            "insert into release_fold (rule, version, winner_id, winner_key, winner_generation,"
            " loser_id, loser_key, loser_generation, loser, winner, candidate_ids)"
            " select %(rule)s, %(version)s, w.release_id, w.release_key, w.generation,"
            "  l.release_id, l.release_key, l.generation, to_jsonb(l), to_jsonb(w),"
            "  array(select c.candidate_id from candidate c where c.release_id = l.release_id"
            "   order by c.candidate_id limit 1000)"
            " from release w, release l where w.release_id = %(winner)s"
            "  and l.release_id = any (%(losers)s) order by l.release_key, l.generation",
            {"rule": rule, "version": version, "winner": winner, "losers": list(losers)},
        )
        conn.execute(
            "update chunk set folded_from = coalesce(folded_from, release_id)"
            " where release_id = any (%s)",
            [list(losers)],
        )
        conn.execute(
            "update release w set poster = case when (select count(*) from release l"
            "   where l.release_id = any (%(losers)s) and l.poster is distinct from w.poster) = 0"
            "   then w.poster end,"
            " group_ids = (select array_agg(distinct g order by g) from release a,"
            "   unnest(a.group_ids) as g where a.release_id = any (%(ids)s))"
            " where w.release_id = %(winner)s",
            {"winner": winner, "losers": list(losers), "ids": ids},
        )
        merge_into(conn, winner, losers, reason=f"{rule} fold")
        add_up_chunks(conn, [winner])
    return True


def undo_fold(conn: Connection, fold_id: int) -> None:
    """Takes a fold back: the release that it ended is there again, with all that was its own.

    Raises:
        FoldError: it is not in force, or the other release is part of a third one by now.
        CatalogUnavailable: nothing was changed, another try may succeed.
    """
    with catalog_errors(f"taking fold {fold_id} back"), conn.transaction():
        conn.execute("set transaction isolation level read committed")
        row = conn.execute(
            "select winner_id, loser_id, loser_key, loser_generation, candidate_ids"
            " from release_fold where fold_id = %s and undone_at is null for update",
            [fold_id],
        ).fetchone()
        if row is None:
            msg = f"fold {fold_id} is not in force"
            raise FoldError(msg)
        winner, loser, key, generation, candidate_ids = row
        if not conn.execute(
            "select release_id from release where release_id = %s for update", [winner]
        ).fetchone():
            msg = f"release {winner} became part of another one; take that back first"
            raise FoldError(msg)
        ids = {"fold": fold_id, "winner": winner, "loser": loser}
        _restore(conn, fold_id)
        inside = _folded_into(conn, loser)
        conn.execute(
            "delete from release_alias where release_key = %s and generation = %s",
            [key, generation],
        )
        conn.execute(
            "update release_alias a set release_id = %(loser)s from release_fold f"
            " where f.loser_id = any (%(inside)s) and f.undone_at is null"
            " and a.release_key = f.loser_key and a.generation = f.loser_generation",
            {**ids, "inside": inside},
        )
        conn.execute(
            "update chunk set release_id = %(loser)s, folded_from = nullif(folded_from, %(loser)s)"
            " where release_id = %(winner)s and folded_from = any (%(own)s)",
            {**ids, "own": [loser, *inside]},
        )
        conn.execute(
            "update candidate set release_id = %(loser)s"
            " where candidate_id = any (%(candidates)s) and release_id = %(winner)s",
            {**ids, "candidates": candidate_ids},
        )
        # What other folds gave to the winner stays with it.
        conn.execute(
            "update release w set poster = b.poster, group_ids = b.group_ids,"
            " listed_at = b.listed_at"
            " from release_fold f, jsonb_populate_record(null::release, f.winner) as b"
            " where f.fold_id = %(fold)s and w.release_id = %(winner)s and not exists ("
            "  select from release_fold o where o.winner_id = %(winner)s"
            "   and o.fold_id <> %(fold)s and o.undone_at is null)",
            ids,
        )
        add_up_chunks(conn, [winner, loser])
        conn.execute("update release_fold set undone_at = now() where fold_id = %(fold)s", ids)


def list_folds(conn: Connection, *, rule: str | None = None, limit: int = 100) -> list[FoldRow]:
    """Returns entries of the ledger, newest first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the folds"):
        return (
            conn.cursor(row_factory=class_row(FoldRow))
            .execute(
                "select fold_id, rule, version, winner_id, winner->>'name' as winner_name,"
                " loser->>'name' as loser_name, (loser->>'files')::integer as files, folded_at,"
                " undone_at from release_fold where %(rule)s::text is null or rule = %(rule)s"
                " order by fold_id desc limit %(limit)s",
                {"rule": rule, "limit": max(0, min(limit, 10_000))},
            )
            .fetchall()
        )


def _was_undone(conn: Connection, rule: str, version: int, ids: Sequence[int]) -> bool:
    """Tells whether a person took one of these out of another one before."""
    row = conn.execute(
        "select exists (select from release_fold where rule = %s and version = %s"
        " and undone_at is not null and winner_id = any (%s) and loser_id = any (%s))",
        [rule, version, list(ids), list(ids)],
    ).fetchone()
    return bool(row and row[0])


def _folded_into(conn: Connection, release_id: int) -> list[int]:
    """Returns the releases that are part of this one by folds in force, directly or not."""
    rows = conn.execute(
        "with recursive inside as ("
        "  select loser_id from release_fold where winner_id = %s and undone_at is null"
        "  union select f.loser_id from release_fold f join inside i on f.winner_id = i.loser_id"
        "   where f.undone_at is null)"
        " select loser_id from inside order by loser_id limit 100000",
        [release_id],
    ).fetchall()
    return [row[0] for row in rows]


def _restore(conn: Connection, fold_id: int) -> None:
    """Inserts the row of the release that a fold ended, as it was."""
    names = [
        row[0]
        for row in conn.execute(
            "select attname from pg_attribute where attrelid = 'release'::regclass"
            " and attnum > 0 and not attisdropped and attgenerated = '' order by attnum"
        ).fetchall()
    ]
    columns = ", ".join(names)
    conn.execute(
        f"insert into release ({columns}) overriding system value"
        f" select {', '.join(f'b.{name}' for name in names)} from release_fold f,"
        " jsonb_populate_record(null::release, f.loser) as b where f.fold_id = %s",
        [fold_id],
    )


def add_up_chunks(conn: Connection, release_ids: Sequence[int]) -> None:
    """Writes the sums of releases from their chunks; they are locked."""
    conn.execute(
        "update release r set files = s.files, files_expected = s.files_expected,"
        " segments = s.segments, segments_expected = s.segments_expected,"
        " size_bytes = s.size_bytes, posted_at = s.posted_at,"
        " last_posted_at = s.last_posted_at, has_par2 = s.has_par2,"
        " content_missing = s.content_missing, recovery_blocks = s.recovery_blocks,"
        " recovery_bytes = s.recovery_bytes, largest_file = s.largest_file, changed_at = now()"
        " from (select release_id, least(sum(files), 2147483647) as files,"
        "  max(files_expected) as files_expected, least(sum(segments), 2147483647) as segments,"
        "  least(sum(segments_expected), 9223372036854775807) as segments_expected,"
        "  least(sum(size_bytes), 9223372036854775807) as size_bytes,"
        "  min(posted_at) as posted_at, max(last_posted_at) as last_posted_at,"
        "  bool_or(has_par2) as has_par2,"
        "  least(sum(content_missing), 2147483647) as content_missing,"
        "  least(sum(recovery_blocks), 2147483647) as recovery_blocks,"
        "  least(sum(recovery_bytes), 9223372036854775807) as recovery_bytes,"
        "  max(largest_file) as largest_file from chunk"
        "  where release_id = any (%(ids)s) group by release_id) as s"
        " where r.release_id = s.release_id",
        {"ids": list(release_ids)},
    )
