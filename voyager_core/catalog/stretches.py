"""The ledger as partitions see it: which stretches have work, and what was counted in them.

A stretch is `ranges_per_partition` consecutive ranges of a newsgroup. Two workers share the
ledger. The *live tail* follows the newest range of a group where little is missing; the *header
pass* does everything else. `_TAIL` says which is whose, so that nothing is left between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.domain.ranges import range_bounds


@dataclass(frozen=True, slots=True)
class OpenStretch:
    """A stretch in which the header pass has work.

    Attributes:
        group: the newsgroup's name.
        index: its number within the group, from 0.
        ranges: ranges with work left.
        numbers: article numbers left to index.
        is_head: whether the server still adds articles to it.
        attempts: the most failures in a row of its ranges.
    """

    group: str
    index: int
    ranges: int
    numbers: int
    is_head: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class OpenRange:
    """A range with work left.

    Attributes:
        range_id: its number in the catalog.
        group: the newsgroup's name.
        low: its first article number.
        high: its last.
        resume_at: the next number to index.
        until: the last number to index now: the range's last, or the server's by now.
        newest: the newest number that the server says it has of the group.
        stored_at: when the last span of it was stored.
        capture: whether its overview blocks are kept in the corpus.
    """

    range_id: int
    group: str
    low: int
    high: int
    resume_at: int
    until: int
    newest: int
    stored_at: datetime | None
    capture: bool


@dataclass(frozen=True, slots=True)
class StretchTotals:
    """What the ledger says about a stretch, over every pass that worked on it.

    Attributes:
        ranges: ranges planned.
        done: of them, done.
        parked: of them, failed too often.
        numbers: article numbers in them.
        indexed: of them, indexed.
        resume_at: the next number to index; None when all is done.
        lines: overview lines read.
        rejected: of them, in no file.
        dropped: of them, in files that a rule dropped.
        chunked_segments: of them, stored in chunks.
        fragment_segments: of them, in files that an edge cut.
        posted_from: posting time of the oldest article.
        posted_to: posting time of the newest article.
        parser_version: the oldest version of the parser used.
        rules_version: the oldest version of the rule set used.
        codec_version: the oldest version of the codec used.
        chunks: chunks stored.
        chunk_bytes: bytes of their payloads.
        files: files in them.
        releases: releases that have at least one of them.
        candidates: articles worth probing, of those releases.
    """

    ranges: int
    done: int
    parked: int
    numbers: int
    indexed: int
    resume_at: int | None
    lines: int
    rejected: int
    dropped: int
    chunked_segments: int
    fragment_segments: int
    posted_from: datetime | None
    posted_to: datetime | None
    parser_version: int | None
    rules_version: int | None
    codec_version: int | None
    chunks: int
    chunk_bytes: int
    files: int
    releases: int
    candidates: int


# The live tail has a range of which no more than `reach` numbers are missing up to the newest
# article, when the pass has been there: in the range itself, or, for the newest range of the
# group, up to the end of the one before.
_TAIL = """
    n.high - r.resume_at < %(reach)s
    and (r.state = 'partial' or r.high >= n.high and exists (
        select from range p where p.newsgroup_id = r.newsgroup_id
           and p.high = r.low - 1 and p.state = 'done'))
"""

_OPEN = """
    n.active and n.state = 'ok' and r.state in ('planned', 'partial')
    and r.resume_at <= least(r.high, n.high)
    and (n.wanted_from is null or r.high >= n.wanted_from)
"""


_STRETCHES = """
    select n.newsgroup_id, n.priority, n.high as newest, n.name as "group", s.index,
           count(*) as ranges, sum(least(r.high, n.high) - r.resume_at + 1)::bigint as numbers,
           bool_or(r.high >= n.high) as is_head, max(r.attempts) as attempts,
           s.index / %(together)s * %(together)s * %(numbers)s + 1 as first
      from range r join newsgroup n using (newsgroup_id)
     cross join lateral (select (r.low - 1) / %(numbers)s as index) s
"""

# Between each known date of a group and the next one; the newest article is as new as the look.
_PIECES = """
    dated as (
        select d.newsgroup_id, d.number, d.posted_at
          from group_date d join newsgroup n using (newsgroup_id) where d.number < n.high),
    known as (
        select newsgroup_id, number, posted_at from dated
        union all select newsgroup_id, high, coalesce(checked_at, now()) from newsgroup
         where high is not null),
    next as (
        select newsgroup_id, number as low, posted_at as since,
               lead(number) over each_group as high, lead(posted_at) over each_group as until,
               row_number() over each_group as place
          from known window each_group as (partition by newsgroup_id order by number)),
    piece as (
        -- What is older than the first known date counts as that.
        select newsgroup_id, 0 as low, since, low as high, since as until from next
         where place = 1 and high is not null
        union all select newsgroup_id, low, since, high, until from next where high > low)
"""

_RANGES = """
    select r.range_id, n.name as "group", r.low, r.high, r.resume_at,
           least(r.high, n.high) as until, n.high as newest, r.stored_at, r.capture
      from range r join newsgroup n using (newsgroup_id)
"""


def all_stretches(conn: Connection) -> list[tuple[str, int]]:
    """Returns every planned stretch as `(group, index)`, group by group by priority, in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    size, per_partition = cut_of_history(conn)
    with catalog_errors("reading the stretches"):
        return conn.execute(
            "select n.name, (r.low - 1) / %(numbers)s as stretch"
            " from range r join newsgroup n using (newsgroup_id)"
            " group by n.priority, n.name, stretch order by n.priority, stretch limit 1000000",
            {"numbers": size * per_partition},
        ).fetchall()


def open_stretches(
    conn: Connection, *, reach: int, limit: int, together: int = 1
) -> list[OpenStretch]:
    """Returns stretches in which the header pass has work: newest ends first, then oldest first.

    The newest end comes first so that the live tail can take over; the rest goes by the date of
    posting, the oldest era of all newsgroups first: a server drops that next, and it has the most
    readable names for its size. Dates between two known ones lie on a line; of a newsgroup without
    any, the numbers are spread over the time since the oldest date known.

    Args:
        conn: the catalog.
        reach: article numbers that the live tail catches up by itself.
        limit: the most stretches to return.
        together: neighbours that one run takes; they are kept side by side.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    size, per_partition = cut_of_history(conn)
    with catalog_errors("looking for stretches with work"):
        return (
            conn.cursor(row_factory=class_row(OpenStretch))
            .execute(
                f"with work as ({_STRETCHES} where {_OPEN} and not ({_TAIL})"
                f" group by n.newsgroup_id, s.index), {_PIECES}"
                ' select w."group", w.index, w.ranges, w.numbers, w.is_head, w.attempts'
                " from work w left join piece p on p.newsgroup_id = w.newsgroup_id"
                "  and w.first >= p.low and w.first < p.high,"
                " (select coalesce(min(posted_at), now() - interval '1 year') as at"
                "   from dated) as oldest"
                " order by w.is_head desc, coalesce("
                "  p.since + (p.until - p.since) * ((w.first - p.low)::float8 / (p.high - p.low)),"
                "  oldest.at + (now() - oldest.at) * (w.first::float8 / w.newest)),"
                " w.priority, w.index limit %(limit)s",
                {
                    "numbers": size * per_partition,
                    "reach": reach,
                    "together": together,
                    "limit": limit,
                },
            )
            .fetchall()
        )


def open_ranges(conn: Connection, group: str, stretch: int) -> list[OpenRange]:
    """Returns the ranges of a stretch with articles left to index, in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    size, per_partition = cut_of_history(conn)
    low = range_bounds(stretch * per_partition, size=size)[0]
    high = range_bounds((stretch + 1) * per_partition - 1, size=size)[1]
    return _open_ranges(
        conn,
        f"{_OPEN} and n.name = %(group)s and r.low between %(low)s and %(high)s",
        {"group": group, "low": low, "high": high},
        f"reading what is to do in {group}",
    )


def tail_ranges(conn: Connection, *, reach: int) -> list[OpenRange]:
    """Returns the ranges that the live tail has to bring up to date, by priority of the group.

    Args:
        conn: the catalog.
        reach: article numbers that the tail catches up; where more are missing, the header
            pass does it.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return _open_ranges(conn, f"{_OPEN} and {_TAIL}", {"reach": reach}, "reading the live tail")


def _open_ranges(
    conn: Connection, condition: str, parameters: dict[str, object], doing: str
) -> list[OpenRange]:
    with catalog_errors(doing):
        return (
            conn.cursor(row_factory=class_row(OpenRange))
            .execute(
                f"{_RANGES} where {condition} order by n.priority, r.low limit 1000000",
                parameters,
            )
            .fetchall()
        )


def park_ranges(conn: Connection, group: str, note: str) -> int:
    """Parks every unfinished range of a newsgroup that the server does not carry any more.

    Returns:
        How many ranges were parked; `unpark` gives them another chance.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"parking the ranges of {group}"):
        return conn.execute(
            "update range set state = 'parked', error = %(note)s"
            " where state in ('planned', 'partial') and newsgroup_id ="
            " (select newsgroup_id from newsgroup where name = %(group)s)",
            {"group": group, "note": note.replace("\0", "")},
        ).rowcount


def planned_bounds(conn: Connection) -> dict[str, tuple[int, int]]:
    """Returns the first and last planned article number of each newsgroup that has ranges.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading the planned ranges"):
        rows = conn.execute(
            "select n.name, min(r.low), max(r.high) from range r join newsgroup n"
            " using (newsgroup_id) group by n.name limit 1000000"
        ).fetchall()
    return {name: (low, high) for name, low, high in rows}


def stretch_totals(conn: Connection, range_ids: Sequence[int]) -> StretchTotals:
    """Adds up what the ledger and the catalog hold of a stretch, given its ranges.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up a stretch"):
        (totals,) = (
            conn.cursor(row_factory=class_row(StretchTotals))
            .execute(
                "select count(*) as ranges,"
                " count(*) filter (where r.state = 'done') as done,"
                " count(*) filter (where r.state = 'parked') as parked,"
                " coalesce(sum(r.high - r.low + 1), 0)::bigint as numbers,"
                " coalesce(sum(r.resume_at - r.low), 0)::bigint as indexed,"
                " min(r.resume_at) filter (where r.state <> 'done') as resume_at,"
                " coalesce(sum(r.lines), 0)::bigint as lines,"
                " coalesce(sum(r.rejected), 0)::bigint as rejected,"
                " coalesce(sum(r.dropped), 0)::bigint as dropped,"
                " coalesce(sum(r.chunked_segments), 0)::bigint as chunked_segments,"
                " coalesce(sum(r.fragment_segments), 0)::bigint as fragment_segments,"
                " min(r.posted_from) as posted_from, max(r.posted_to) as posted_to,"
                " min(r.parser_version) as parser_version,"
                " min(r.rules_version) as rules_version,"
                " min(r.codec_version) as codec_version,"
                " (select count(*) from chunk c where c.range_id = any(%(ids)s)) as chunks,"
                " (select coalesce(sum(octet_length(c.payload)), 0)::bigint from chunk c"
                "   where c.range_id = any(%(ids)s)) as chunk_bytes,"
                " (select coalesce(sum(c.files), 0)::bigint from chunk c"
                "   where c.range_id = any(%(ids)s)) as files,"
                " (select count(distinct c.release_id) from chunk c"
                "   where c.range_id = any(%(ids)s)) as releases,"
                " (select count(*) from candidate d where d.release_id in"
                "   (select c.release_id from chunk c where c.range_id = any(%(ids)s)))"
                " as candidates"
                " from range r where r.range_id = any(%(ids)s)",
                {"ids": list(range_ids)},
            )
            .fetchall()
        )
    return totals


def stretch_rejects(conn: Connection, range_ids: Sequence[int], *, limit: int) -> dict[str, int]:
    """Returns the lines of a stretch that are in no file, by reason, most first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up the rejected lines of a stretch"):
        return dict(
            conn.execute(
                "select reason, sum(articles)::bigint as articles from reject_count"
                " where range_id = any(%(ids)s) group by reason"
                " order by articles desc, reason limit %(limit)s",
                {"ids": list(range_ids), "limit": limit},
            ).fetchall()
        )


def stretch_drops(conn: Connection, range_ids: Sequence[int], *, limit: int) -> dict[str, int]:
    """Returns the articles of a stretch that rules dropped, by rule, most first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up the dropped articles of a stretch"):
        return dict(
            conn.execute(
                "select rule, sum(articles)::bigint as articles from range_rule_count"
                " where range_id = any(%(ids)s) group by rule"
                " order by articles desc, rule limit %(limit)s",
                {"ids": list(range_ids), "limit": limit},
            ).fetchall()
        )
