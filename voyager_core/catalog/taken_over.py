"""Storing crossposts that a range had left to a newsgroup which was removed since."""

from collections.abc import Mapping

from voyager_core.catalog.built import Built
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError, catalog_errors
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.reowned import PREFIX, RemovedOwner
from voyager_core.catalog.spans import (
    Stored,
    in_transaction,
    range_of,
    read_contents,
    require_idle,
    summary,
)
from voyager_core.catalog.writing import (
    Contents,
    add_counts,
    add_rejects,
    newsgroup_of,
    note_drops,
    write,
)
from voyager_core.domain.ranges import Span


def store_taken_over(
    conn: Connection,
    span: Span,
    built: Built,
    *,
    range_id: int,
    owner: RemovedOwner,
    versions: Versions,
    moved: Mapping[str, int],
) -> Stored:
    """Adds what a range had left to a removed newsgroup, in one transaction, once a removal.

    Args:
        conn: a connection outside any transaction.
        span: all that is indexed of the range, from its first number to its resume point.
        built: what was made of the lines left to the removed group.
        range_id: the range.
        owner: the removed group.
        versions: of the parser, the rule set and the codec.
        moved: changes of the counts of lines in no file, by reason.

    Returns:
        `stored=False` when it was done already.

    Raises:
        SpanError: the span is not what is indexed of the range.
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    with catalog_errors(f"taking over from {owner.name} in {span}"):
        require_idle(conn)
        range_of(conn, span, range_id)
        contents = read_contents(conn, built, newsgroup_of(conn, range_id))

        def work() -> Stored:
            row = conn.execute(
                "select state, resume_at, low from range where range_id = %s for update",
                [range_id],
            ).fetchone()
            if row is None or (row[2], row[1]) != (span.low, span.high + 1):
                msg = f"{span} is not what is indexed of its range (up to {row and row[1] - 1})"
                raise SpanError(msg)
            if not _claim(conn, range_id, owner, contents):
                return Stored(stored=False, state=row[0], resume_at=row[1])
            placed = write(conn, contents, range_id=range_id, span=span, origin="recovery")
            add_counts(conn, range_id, contents.counts)
            note_drops(conn, range_id, span, contents.counts, versions, owner=owner.name)
            _account(conn, range_id, contents, moved)
            return summary(contents, placed, state=row[0], resume_at=row[1])

        return in_transaction(conn, work)


def _claim(conn: Connection, range_id: int, owner: RemovedOwner, contents: Contents) -> bool:
    done = conn.execute(
        "insert into range_recovery (range_id, rule, version, articles, files)"
        " values (%s, %s, %s, %s, %s) on conflict do nothing",
        [
            range_id,
            PREFIX + owner.name,
            owner.removal,
            contents.segments,
            sum(part.facts.files for part in contents.parts),
        ],
    )
    return done.rowcount == 1


def _account(conn: Connection, range_id: int, contents: Contents, moved: Mapping[str, int]) -> None:
    changes = {reason: change for reason, change in moved.items() if change}
    add_rejects(conn, range_id, changes)
    conn.execute(
        "update range set dropped = dropped + %s, recovered_segments = recovered_segments + %s,"
        " fragment_segments = fragment_segments + %s, rejected = rejected + %s"
        " where range_id = %s",
        [
            contents.dropped,
            contents.segments,
            sum(fragment.segments for fragment in contents.fragments),
            sum(changes.values()),
            range_id,
        ],
    )
