"""Settling: finding the releases to which nothing is added any more.

A release is settled when no range that could hold more of it is left to be indexed and no
part arrived for a while. A later part opens it again.

Which posting times an unread range holds is known from its neighbours, since article numbers
follow the time of posting, nearly: it lies between the newest posts of the range below and
the oldest of the range above, give or take `SLACK`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import unsigned

SLACK = timedelta(hours=6)
"""How far posting times run ahead of, or behind, the order of article numbers."""

_BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
_END = datetime(9999, 12, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Settled:
    """What one round of settling did.

    Attributes:
        settled: releases settled.
        complete: of them, releases with everything that their subjects announce.
        incomplete: of them, releases that lack something.
        more: whether the limit stopped it.
        posted_from: when the oldest of them was posted; None when none was settled.
        posted_to: when the newest was.
    """

    settled: int
    complete: int
    incomplete: int
    more: bool
    posted_from: datetime | None = field(default=None, compare=False)
    posted_to: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of posting time in which articles of a newsgroup are still to be read."""

    first: datetime
    last: datetime


Periods = Mapping[int, Sequence[Stretch]]
"""By newsgroup: the posting times of which every article is read, in order."""


def unread_periods(conn: Connection, newsgroup_id: int) -> list[Stretch]:
    """Returns the posting times that a newsgroup's unread ranges may hold, in order.

    Numbers that were never posted yet count as being posted from the newest known post on.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for unread ranges"):
        rows = conn.execute(
            "select resume_at > high, state = 'parked', posted_from, posted_to from range"
            " where newsgroup_id = %s order by low limit 1000000",
            [newsgroup_id],
        ).fetchall()
    periods: list[Stretch] = []
    below = _BEGINNING
    above = _oldest_above([row[2] for row in rows])
    for (done, parked, _, posted_to), following in zip(rows, above, strict=True):
        if posted_to is not None:
            # The rest of a range that is being read was posted after what was read of it.
            below = max(below, posted_to)
        if done or parked:
            continue
        first = below - SLACK if below != _BEGINNING else _BEGINNING
        last = following + SLACK if following != _END else _END
        periods.append(Stretch(first, max(first, last)))
    # What the server will number next was posted after what it numbered last.
    periods.append(Stretch(below - SLACK if below != _BEGINNING else _BEGINNING, _END))
    return _union(periods)


def read_periods(conn: Connection) -> Periods:
    """Returns what is read of the newsgroups that have releases to settle.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for newsgroups with releases to settle"):
        groups = conn.execute(
            "select newsgroup_id from newsgroup n where exists (select from release r"
            "  where r.newsgroup_id = n.newsgroup_id and r.settled_at is null)"
            " order by newsgroup_id limit 100000"
        ).fetchall()
    return {number: _complement(unread_periods(conn, number)) for (number,) in groups}


def in_several_chunks(
    conn: Connection,
    periods: Periods,
    *,
    settle_after_seconds: float,
    now: datetime | None,
    page: int = 5_000,
) -> Iterator[list[int]]:
    """Yields the keys of releases that `settle` would settle and that several spans hold parts of.

    Args:
        conn: the catalog; releases may change while this goes on.
        periods: what is read.
        settle_after_seconds: how long nothing may have arrived.
        now: the time, the database's when absent.
        page: how many releases are looked at with one query.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    for newsgroup_id, stretches in periods.items():
        for stretch in stretches:
            at, last_id = stretch.first, 0
            while True:
                with catalog_errors("looking for posts in several spans"):
                    rows = conn.execute(
                        FINISHED,
                        {
                            "newsgroup_id": newsgroup_id,
                            "first": stretch.first,
                            "last": stretch.last,
                            "now": now,
                            "idle": settle_after_seconds,
                            "at": at,
                            "after": last_id,
                            "limit": page,
                        },
                    ).fetchall()
                    keys = _in_several(conn, rows) if rows else []
                if keys:
                    yield keys
                if len(rows) < page:
                    break
                last_id, _, at, _ = rows[-1]


FINISHED = """
    select release_id, release_key, posted_at, last_posted_at from release
     where newsgroup_id = %(newsgroup_id)s and settled_at is null
       and posted_at > %(first)s and last_posted_at < %(last)s and posted_at < %(last)s
       and changed_at <= coalesce(%(now)s, now()) - make_interval(secs => %(idle)s)
       and posted_at >= %(at)s and (posted_at, release_id) > (%(at)s, %(after)s)
     order by posted_at, release_id limit %(limit)s
"""
"""A page of finished releases; the index goes by `posted_at`, and few have the same."""


def _in_several(conn: Connection, rows: Sequence[tuple[int, int, datetime, datetime]]) -> list[int]:
    found = conn.execute(
        "select w.release_key from unnest(%(ids)s::bigint[], %(keys)s::bigint[],"
        " %(firsts)s::date[], %(lasts)s::date[]) as w (release_id, release_key, first, last)"
        " where (select count(*) from (select from chunk c where c.release_id = w.release_id"
        "  and c.posted_month between w.first and w.last limit 2) as few) > 1",
        {
            "ids": [row[0] for row in rows],
            "keys": [row[1] for row in rows],
            "firsts": [posting_month(row[2]) for row in rows],
            "lasts": [posting_month(row[3]) for row in rows],
        },
    ).fetchall()
    return [unsigned(key) for (key,) in found]


def settle(
    conn: Connection,
    *,
    settle_after_seconds: float = 86_400,
    now: datetime | None = None,
    limit: int = 100_000,
    periods: Periods | None = None,
) -> Settled:
    """Settles the releases that are finished, in transactions of one newsgroup each.

    Args:
        conn: the catalog.
        settle_after_seconds: how long nothing may have arrived.
        now: the time, the database's when absent.
        limit: releases to settle at most.
        periods: what was read when something else was decided about these releases; absent:
            what is read now.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    settled = complete = 0
    times: list[datetime] = []
    periods = read_periods(conn) if periods is None else periods
    with catalog_errors("settling"):
        for newsgroup_id, stretches in periods.items():
            for period in stretches:
                if settled >= limit:
                    break
                row = conn.execute(
                    _SETTLE,
                    {
                        "newsgroup_id": newsgroup_id,
                        "first": period.first,
                        "last": period.last,
                        "now": now,
                        "idle": settle_after_seconds,
                        "limit": limit - settled,
                    },
                ).fetchone()
                if row is not None:
                    settled += int(row[0])
                    complete += int(row[1])
                    times += [moment for moment in row[2:] if moment is not None]
    first, final = min(times, default=None), max(times, default=None)
    return Settled(settled, complete, settled - complete, settled >= limit, first, final)


_SETTLE = """
    with finished as (
        select release_id from release
         where newsgroup_id = %(newsgroup_id)s and settled_at is null
           and posted_at > %(first)s and last_posted_at < %(last)s and posted_at < %(last)s
           and changed_at <= coalesce(%(now)s, now()) - make_interval(secs => %(idle)s)
         limit %(limit)s for update skip locked),
    done as (
        update release r set settled_at = coalesce(%(now)s, now())
          from finished f where r.release_id = f.release_id and r.settled_at is null
        returning r.files >= coalesce(r.files_expected, 0)
              and r.segments >= coalesce(r.segments_expected, 0) as complete, r.posted_at)
    select count(*), count(*) filter (where complete), min(posted_at), max(posted_at) from done
"""


def _oldest_above(posted_from: list[datetime | None]) -> list[datetime]:
    """Returns for each range when the ranges above it begin, `_END` where none was read."""
    found: list[datetime] = []
    oldest = _END
    for moment in reversed(posted_from):
        found.append(oldest)
        if moment is not None:
            oldest = min(oldest, moment) if oldest != _END else moment
    return found[::-1]


def _union(periods: list[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for period in sorted(periods, key=lambda one: (one.first, one.last)):
        if joined and period.first <= joined[-1].last:
            joined[-1] = Stretch(joined[-1].first, max(joined[-1].last, period.last))
        else:
            joined.append(period)
    return joined


def _complement(periods: list[Stretch]) -> list[Stretch]:
    """Returns the times between the periods: what is read completely."""
    free: list[Stretch] = []
    begin = _BEGINNING
    for period in periods:
        if period.first > begin:
            free.append(Stretch(begin, period.first))
        begin = max(begin, period.last)
    if begin < _END:
        free.append(Stretch(begin, _END))
    return free
