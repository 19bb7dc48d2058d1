"""Article numbers at the newest end without an article, which may still arrive.

A server can show an article after higher numbers. What it did not show is asked for again a few
times, with growing pauses; files that could have a part there wait as fragments meanwhile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row

from voyager_core.catalog.built import Built, RuleCountIn
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.spans import (
    Stored,
    in_transaction,
    read_contents,
    require_idle,
    summary,
)
from voyager_core.catalog.writing import (
    add_counts,
    add_rejects,
    newsgroup_of,
    note_drops,
    write,
)
from voyager_core.domain.ranges import Span

_KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Hole:
    """Numbers of one span that had no article.

    Attributes:
        hole_id: its number in the catalog.
        range_id: the range.
        group: the newsgroup.
        low: the first number of the span.
        high: its last.
        missing: the numbers, as `[first, last]` in order.
        tries: how often they were asked for again.
    """

    hole_id: int
    range_id: int
    group: str
    low: int
    high: int
    missing: Sequence[Sequence[int]]
    tries: int


def due_holes(conn: Connection, *, at: datetime, limit: int) -> list[Hole]:
    """Returns numbers to ask for again now, those of the first groups first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the numbers to ask for again"):
        conn.execute("delete from hole where next_at is null and found_at < %s", [at - _KEPT])
        return (
            conn.cursor(row_factory=class_row(Hole))
            .execute(
                'select h.hole_id, h.range_id, n.name as "group", h.low, h.high,'
                " array(select array[lower(one), upper(one) - 1] from unnest(h.missing) as one)"
                " as missing, h.tries"
                " from hole h join range r using (range_id) join newsgroup n using (newsgroup_id)"
                " where h.next_at <= %s and n.active and n.state = 'ok'"
                " order by n.priority, h.next_at limit %s",
                [at, limit],
            )
            .fetchall()
        )


def still_missing(conn: Connection, range_id: int, low: int, high: int) -> list[tuple[int, int]]:
    """Returns the numbers of a span that will be asked for again, as `(first, last)` in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the numbers that are missing"):
        return conn.execute(
            "select greatest(lower(one), %(low)s), least(upper(one) - 1, %(high)s)"
            " from hole h, unnest(h.missing) as one"
            " where h.range_id = %(range_id)s and h.next_at is not null"
            " and lower(one) <= %(high)s and upper(one) > %(low)s order by 1 limit 1000000",
            {"range_id": range_id, "low": low, "high": high},
        ).fetchall()


def store_late(
    conn: Connection,
    hole: Hole,
    built: Built,
    *,
    found: Sequence[tuple[int, int]],
    read_lines: int,
    rejects: Mapping[str, int],
    versions: Versions,
    next_at: datetime | None,
) -> Stored:
    """Adds articles that arrived late, and notes when to ask for the rest.

    Args:
        conn: a connection outside any transaction.
        hole: as it was read; when somebody else has asked meanwhile, nothing is stored.
        built: what the late lines make; files that are not whole are fragments.
        found: the numbers that have an article now.
        read_lines: how many lines that are.
        rejects: lines that are in no file, by reason.
        versions: of the parser, the rule set and the codec.
        next_at: when to ask again; None gives the rest up.

    Returns:
        `stored=False` when somebody else was faster.

    Raises:
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    span = Span(hole.group, hole.low, hole.high)
    rejected = {reason.replace("\0", ""): count for reason, count in rejects.items() if count}
    with catalog_errors(f"storing late articles of {span}"):
        require_idle(conn)
        contents = read_contents(conn, built, newsgroup_of(conn, hole.range_id))

        def work() -> Stored:
            done = conn.execute(
                "update hole set missing = missing - %(found)s::int8multirange,"
                " missing_count = missing_count - %(count)s, tries = tries + 1,"
                " next_at = case when missing - %(found)s::int8multirange = '{}' then null"
                "  else %(next_at)s::timestamptz end"
                " where hole_id = %(hole_id)s and tries = %(tries)s",
                {
                    "found": multirange(found),
                    "count": sum(high - low + 1 for low, high in found),
                    "next_at": next_at,
                    "hole_id": hole.hole_id,
                    "tries": hole.tries,
                },
            )
            if done.rowcount != 1:
                return Stored(stored=False)
            if not read_lines:
                return Stored(stored=True)
            conn.execute(
                "update range set lines = lines + %(lines)s, rejected = rejected + %(rejected)s,"
                " dropped = dropped + %(dropped)s,"
                " chunked_segments = chunked_segments + %(chunked)s,"
                " fragment_segments = fragment_segments + %(cut)s,"
                " parser_version = least(parser_version, %(parser)s),"
                " rules_version = least(rules_version, %(rules)s),"
                " codec_version = least(codec_version, %(codec)s), stored_at = now()"
                " where range_id = %(range_id)s",
                {
                    "lines": read_lines,
                    "rejected": sum(rejected.values()),
                    "dropped": contents.dropped,
                    "chunked": contents.segments,
                    "cut": sum(fragment.segments for fragment in contents.fragments),
                    "parser": versions.parser,
                    "rules": versions.rules,
                    "codec": versions.codec,
                    "range_id": hole.range_id,
                },
            )
            placed = write(conn, contents, range_id=hole.range_id, span=span, origin="span")
            add_counts(conn, hole.range_id, contents.counts)
            add_rejects(conn, hole.range_id, rejected)
            _note_drops(conn, hole, contents.counts, versions)
            return summary(contents, placed, state="", resume_at=0)

        return in_transaction(conn, work)


def _note_drops(
    conn: Connection, hole: Hole, counts: Sequence[RuleCountIn], versions: Versions
) -> None:
    """Notes what rules dropped of late lines where it is found again when a rule changes.

    A span that is noted already is read again whole, the late lines with it.
    """
    if not counts:
        return
    row = conn.execute(
        "select span_drop_id from span_drop where range_id = %s and low <= %s and high >= %s"
        " and owner = '' and not set_aside order by span_drop_id limit 1",
        [hole.range_id, hole.low, hole.high],
    ).fetchone()
    if row is None:
        span = Span(hole.group, hole.low, hole.high)
        note_drops(conn, hole.range_id, span, counts, versions)
        return
    conn.cursor().executemany(
        "insert into span_rule_count as c (span_drop_id, range_id, rules_version, rule, signature,"
        " owner_group, articles, files)"
        " select span_drop_id, range_id, versions[cardinality(versions)], %s, %s, %s, %s, %s"
        " from span_drop where span_drop_id = %s"
        " on conflict (span_drop_id, rule, signature, owner_group) do update"
        " set articles = c.articles + excluded.articles, files = c.files + excluded.files",
        [
            (one.rule, one.signature, one.owner_group, one.articles, one.files, row[0])
            for one in counts
        ],
    )


def multirange(runs: Sequence[Sequence[int]]) -> str:
    """Returns runs of numbers as Postgres writes them."""
    return "{" + ",".join(f"[{run[0]},{run[1]}]" for run in runs) + "}"
