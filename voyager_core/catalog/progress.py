"""How far each newsgroup is, how fast it goes, and when it will be through.

Rates come from samples that the live tail takes every ten minutes and that are kept for a day.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

SAMPLE_EVERY = timedelta(minutes=10)
KEPT = timedelta(days=1)
# A rate is of this time at least, where samples reach so far back.
_RATE_OVER = timedelta(hours=1)
_MOST_PIECES = 100_000


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """How far an active newsgroup is.

    Attributes:
        group: its name.
        priority: its priority number.
        state: `new`, `ok`, `gone` or `restarted`.
        note: what a person should know, None when nothing.
        low: the server's low water mark, None when unknown.
        high: the server's high water mark, None when unknown.
        checked_at: when the water marks were asked for.
        indexed_to: the number up to which the newest part is indexed, None without any.
        lag: article numbers between `indexed_to` and the newest article.
        lag_seconds: about how old the newest indexed article is compared with the newest one on
            the server, by the rate of posting; None when that is not known.
        ranges: ranges planned.
        done: of them, done.
        parked: of them, waiting for a person.
        numbers: article numbers that are wanted and on the server.
        indexed: of them, indexed.
        backlog: of them, still to be indexed; parked ones included.
        lines: overview lines read.
        rate: article numbers indexed in a second, None when not known.
        posting_rate: article numbers posted in a second, None when not known.
        eta_seconds: when the backlog will be done at these rates; None when it grows or is not
            known, 0 when there is none.
        holes: article numbers that are asked for again, since they may still arrive.
        stored_at: when something was last stored.
    """

    group: str
    priority: int
    state: str
    note: str | None
    low: int | None
    high: int | None
    checked_at: datetime | None
    indexed_to: int | None
    lag: int
    lag_seconds: float | None
    ranges: int
    done: int
    parked: int
    numbers: int
    indexed: int
    backlog: int
    lines: int
    rate: float | None
    posting_rate: float | None
    eta_seconds: float | None
    holes: int
    stored_at: datetime | None


_STATUS = """
    with sums as (
        select r.newsgroup_id, count(*) as ranges,
               count(*) filter (where r.state = 'done') as done,
               count(*) filter (where r.state = 'parked') as parked,
               sum(r.lines)::bigint as lines, max(r.stored_at) as stored_at,
               max(r.resume_at - 1) filter (where r.resume_at > r.low) as indexed_to,
               sum(greatest(0, least(r.high, n.high) - r.low + 1))
                   filter (where r.high >= coalesce(n.wanted_from, 0))::bigint as numbers,
               sum(r.resume_at - r.low)
                   filter (where r.high >= coalesce(n.wanted_from, 0))::bigint as indexed,
               sum(greatest(0, least(r.high, n.high) - r.resume_at + 1))
                   filter (where r.state <> 'done'
                           and r.high >= coalesce(n.wanted_from, 0))::bigint as backlog,
               sum(r.resume_at - r.low)::bigint as all_indexed
          from range r join newsgroup n using (newsgroup_id)
         where n.active group by r.newsgroup_id),
    holes as (
        select r.newsgroup_id, sum(h.missing_count)::bigint as holes
          from hole h join range r using (range_id)
         where h.next_at is not null group by r.newsgroup_id),
    before as (
        select distinct on (newsgroup_id) newsgroup_id, taken_at, high, indexed
          from group_sample where taken_at <= %(at)s - %(over)s and taken_at >= %(at)s - %(kept)s
         order by newsgroup_id, taken_at desc),
    first as (
        select distinct on (newsgroup_id) newsgroup_id, taken_at, high, indexed
          from group_sample where taken_at >= %(at)s - %(kept)s
         order by newsgroup_id, taken_at)
    select n.name as "group", n.priority, n.state, n.note, n.low, n.high, n.checked_at,
           s.indexed_to, coalesce(s.ranges, 0) as ranges, coalesce(s.done, 0) as done,
           coalesce(s.parked, 0) as parked, coalesce(s.numbers, 0) as numbers,
           coalesce(s.indexed, 0) as indexed, coalesce(s.backlog, 0) as backlog,
           coalesce(s.lines, 0) as lines, s.stored_at, coalesce(h.holes, 0) as holes,
           coalesce(b.taken_at, f.taken_at) as taken_at,
           s.all_indexed - coalesce(b.indexed, f.indexed) as moved,
           n.high - coalesce(b.high, f.high) as posted
      from newsgroup n
      left join sums s using (newsgroup_id)
      left join holes h using (newsgroup_id)
      left join before b using (newsgroup_id)
      left join first f using (newsgroup_id)
     where n.active and (%(group)s::text is null or n.name = %(group)s)
     order by n.priority limit 100000
"""


@dataclass(frozen=True, slots=True)
class _Row:
    group: str
    priority: int
    state: str
    note: str | None
    low: int | None
    high: int | None
    checked_at: datetime | None
    indexed_to: int | None
    ranges: int
    done: int
    parked: int
    numbers: int
    indexed: int
    backlog: int
    lines: int
    stored_at: datetime | None
    holes: int
    taken_at: datetime | None
    moved: int | None
    posted: int | None


def group_status(
    conn: Connection, *, at: datetime | None = None, group: str | None = None
) -> list[GroupStatus]:
    """Returns how far each active newsgroup is, by priority; or one of them.

    It adds up the ledger, which takes some tenths of a second at the full target: keep the
    answer for a while where it is asked for often.

    Args:
        conn: the catalog.
        at: the time, the database's when absent.
        group: one of them; None for all.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("reading how far the newsgroups are"):
        moment = at or _now(conn)
        rows = (
            conn.cursor(row_factory=class_row(_Row))
            .execute(
                _STATUS,
                {"at": moment, "over": _RATE_OVER, "kept": KEPT, "group": _without_nul(group)},
            )
            .fetchall()
        )
    return [_status(row, moment) for row in rows]


def last_stored_at(conn: Connection) -> datetime | None:
    """Returns when something was last stored in a range of an active newsgroup; None at first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("asking when something was last stored"):
        row = conn.execute(
            "select max(r.stored_at) from range r join newsgroup n using (newsgroup_id)"
            " where n.active"
        ).fetchone()
    return None if row is None else row[0]


def coverage(conn: Connection, group: str, *, limit: int = 1000) -> list[tuple[int, int]]:
    """Returns the article numbers that are indexed, as spans in order; neighbours are joined.

    Args:
        conn: the catalog.
        group: the newsgroup's name.
        limit: spans to return at most, the newest ones.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading what is indexed of {group}"):
        rows = conn.execute(
            "select min(low), max(next) - 1 from ("
            "  select low, resume_at as next, sum(gap) over (order by low) as island from ("
            "    select r.low, r.resume_at, case when r.low = lag(r.resume_at)"
            "      over (order by r.low) then 0 else 1 end as gap"
            "      from range r join newsgroup n using (newsgroup_id)"
            "     where n.name = %s and r.resume_at > r.low) as cut) as joined"
            " group by island order by min(low) desc limit %s",
            [_without_nul(group), limit],
        ).fetchall()
    return [(low, high) for low, high in reversed(rows)]


def coverages(conn: Connection) -> dict[str, list[tuple[int, int]]]:
    """Returns the article numbers that are indexed of each active newsgroup, as `coverage` does.

    It reads the ledger whole, as `group_status` does: keep the answer for a while.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    with catalog_errors("reading what is indexed"):
        rows = conn.execute(
            "select n.name, min(joined.low), max(joined.next) - 1 from ("
            "  select newsgroup_id, low, resume_at as next,"
            "         sum(gap) over (partition by newsgroup_id order by low) as island from ("
            "    select newsgroup_id, low, resume_at, case when low = lag(resume_at)"
            "      over (partition by newsgroup_id order by low) then 0 else 1 end as gap"
            "      from range where resume_at > low) as cut) as joined"
            "  join newsgroup n using (newsgroup_id) where n.active"
            " group by n.name, island order by n.name, min(joined.low) limit %s",
            [_MOST_PIECES],
        ).fetchall()
    for name, low, high in rows:
        found.setdefault(name, []).append((low, high))
    return found


def take_samples(conn: Connection, *, at: datetime) -> bool:
    """Notes where each newsgroup stands, for rates; False when that was done a short while ago.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("noting where the newsgroups stand"), conn.transaction():
        conn.execute("select pg_advisory_xact_lock(hashtext('group_sample'))")
        row = conn.execute("select max(taken_at) from group_sample").fetchone()
        if row is not None and row[0] is not None and at < row[0] + SAMPLE_EVERY:
            return False
        conn.execute("delete from group_sample where taken_at < %s", [at - KEPT - _RATE_OVER])
        conn.execute(
            "insert into group_sample (newsgroup_id, taken_at, high, indexed)"
            " select n.newsgroup_id, %s, n.high, coalesce(sum(r.resume_at - r.low), 0)"
            " from newsgroup n left join range r using (newsgroup_id)"
            " where n.active and n.high is not null group by n.newsgroup_id",
            [at],
        )
    return True


def totals(statuses: list[GroupStatus]) -> Mapping[str, float]:
    """Returns sums over newsgroups: numbers, indexed, backlog, lag, rate; and the worst lag."""
    rate = sum(each.rate or 0.0 for each in statuses)
    posting = sum(each.posting_rate or 0.0 for each in statuses)
    backlog = sum(each.backlog for each in statuses)
    return {
        "groups": len(statuses),
        "groups_waiting": sum(each.state not in {"ok", "new"} for each in statuses),
        "ranges_parked": sum(each.parked for each in statuses),
        "numbers": sum(each.numbers for each in statuses),
        "indexed": sum(each.indexed for each in statuses),
        "backlog": backlog,
        "lag": sum(each.lag for each in statuses),
        "most_lag": max((each.lag for each in statuses), default=0),
        "rate": round(rate, 3),
        "eta_seconds": round(eta(backlog, rate, posting) or 0.0, 1),
    }


def eta(backlog: int, rate: float | None, posting_rate: float | None) -> float | None:
    """Returns in how many seconds a backlog is done; None when it grows or nothing is known."""
    if backlog <= 0:
        return 0.0
    gain = (rate or 0.0) - (posting_rate or 0.0)
    return backlog / gain if gain > 0 else None


def _now(conn: Connection) -> datetime:
    row = conn.execute("select now()").fetchone()
    moment: datetime = row[0] if row is not None else datetime.fromtimestamp(0, UTC)
    return moment


def _status(row: _Row, at: datetime) -> GroupStatus:
    seconds = 0.0 if row.taken_at is None else (at - row.taken_at).total_seconds()
    rate = posting = None
    if seconds > 0:
        rate = max(0, row.moved or 0) / seconds
        posting = max(0, row.posted or 0) / seconds
    lag = 0
    if row.high is not None and row.indexed_to is not None:
        lag = max(0, row.high - row.indexed_to)
    elif row.high is not None:
        lag = row.numbers
    lag_seconds = 0.0 if lag == 0 else (lag / posting if posting else None)
    return GroupStatus(
        group=row.group,
        priority=row.priority,
        state=row.state,
        note=row.note,
        low=row.low,
        high=row.high,
        checked_at=row.checked_at,
        indexed_to=row.indexed_to,
        lag=lag,
        lag_seconds=lag_seconds,
        ranges=row.ranges,
        done=row.done,
        parked=row.parked,
        numbers=row.numbers,
        indexed=min(row.indexed, row.numbers),
        backlog=row.backlog,
        lines=row.lines,
        rate=rate,
        posting_rate=posting,
        eta_seconds=eta(row.backlog, rate, posting),
        holes=row.holes,
        stored_at=row.stored_at,
    )


def _without_nul(text: str | None) -> str | None:
    return None if text is None else text.replace("\0", "")
