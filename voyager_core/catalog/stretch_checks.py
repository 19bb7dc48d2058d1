"""Comparing some ranges with what they were made from, right after they were indexed.

`voyager_core.catalog.checks` compares the whole catalog; here are the same questions for the
ranges of one stretch, cheap enough to ask after every pass.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from voyager_core.catalog.checks import ChunkSums, Finding, decoded_sums
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.ranges import RangeRow

MOST_RELEASES = 10_000


def number_findings(rows: Sequence[RangeRow]) -> list[Finding]:
    """Returns holes and overlaps between ranges of one newsgroup, and impossible resume points.

    Args:
        rows: the ranges, by their first number.
    """
    findings = [
        Finding("numbers", _name(one), f"the next range begins at {other.low}")
        for one, other in pairwise(rows)
        if other.low != one.high + 1
    ]
    for row in rows:
        is_done, is_read = row.state == "done", row.resume_at > row.high
        if is_done != is_read or not row.low <= row.resume_at <= row.high + 1:
            detail = f"{row.state} with the resume point {row.resume_at}"
            findings.append(Finding("numbers", _name(row), detail))
    return findings


def line_findings(conn: Connection, range_ids: Sequence[int]) -> list[Finding]:
    """Returns ranges of which not every overview line is accounted for.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("checking the lines of a stretch"):
        rows = conn.execute(_LINES, {"ids": list(range_ids)}).fetchall()
    findings: list[Finding] = []
    for group, low, high, lines, accounted, *pairs in rows:
        subject = f"{group} {low}-{high}"
        if lines != accounted:
            detail = f"{lines} lines read, {accounted} accounted for"
            findings.append(Finding("lines", subject, detail))
        names = ("rejected lines", "dropped articles", "segments in chunks")
        for name, ledger, counted in zip(names, pairs[0::2], pairs[1::2], strict=True):
            if ledger != counted:
                detail = f"{name}: the ledger says {ledger}, {counted} are there"
                findings.append(Finding("lines", subject, detail))
    return findings


def sum_findings(conn: Connection, range_ids: Sequence[int]) -> list[Finding]:
    """Returns releases with a chunk in these ranges that are not the sum of their chunks.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("checking the sums of a stretch"):
        rows = conn.execute(_SUMS, {"ids": list(range_ids), "limit": MOST_RELEASES}).fetchall()
    return [
        Finding("sums", f"release {release_id}", f"release {here} <> its chunks {there}")
        for release_id, here, there in rows
    ]


def payload_findings(
    conn: Connection,
    range_ids: Sequence[int],
    *,
    sample: int,
    decode: Callable[[bytes], ChunkSums] = decoded_sums,
) -> list[Finding]:
    """Returns chunks among a sample that do not decode, or not to what their row says.

    Args:
        conn: the catalog.
        range_ids: the ranges whose chunks are meant.
        sample: chunks to decode; which ones is chance, but the same each time.
        decode: reads a payload.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("checking chunks of a stretch"):
        rows = conn.execute(
            "select release_id, range_id, payload, files, segments, size_bytes from chunk"
            " where range_id = any(%(ids)s) and octet_length(payload) > 0"
            " order by hashint8(release_id), low limit %(sample)s",
            {"ids": list(range_ids), "sample": sample},
        ).fetchall()
    findings: list[Finding] = []
    for release_id, range_id, payload, *sums in rows:
        subject = f"chunk of release {release_id} in range {range_id}"
        try:
            found = decode(bytes(payload))
        except ValueError as error:
            findings.append(Finding("payloads", subject, str(error)))
            continue
        if found != ChunkSums(*sums):
            findings.append(Finding("payloads", subject, f"{found} <> {ChunkSums(*sums)}"))
    return findings


_LINES = """
    select n.name, r.low, r.high, r.lines,
           r.rejected + r.dropped + r.chunked_segments + r.fragment_segments
             + r.recovered_segments,
           r.rejected, coalesce((select sum(c.articles) from reject_count c
                                  where c.range_id = r.range_id), 0)::bigint,
           r.dropped, coalesce((select sum(c.articles) from range_rule_count c
                                 where c.range_id = r.range_id), 0)::bigint,
           r.chunked_segments, coalesce((select sum(c.segments) from chunk c
                                          where c.range_id = r.range_id
                                            and c.origin = 'span'), 0)::bigint
      from range r join newsgroup n using (newsgroup_id)
     where r.range_id = any(%(ids)s)
     order by n.name, r.low limit 100000
"""

_SUMS = """
    with touched as (
        select distinct release_id from chunk where range_id = any(%(ids)s)
         order by release_id limit %(limit)s),
    sums as (
        select c.release_id, sum(c.files)::bigint as files, sum(c.segments)::bigint as segments,
               sum(c.size_bytes)::bigint as size_bytes, min(c.posted_at) as posted_at
          from chunk c join touched using (release_id) group by c.release_id)
    select s.release_id,
           concat_ws(' ', r.files, r.segments, r.size_bytes, r.posted_at),
           concat_ws(' ', s.files, s.segments, s.size_bytes, s.posted_at)
      from sums s left join release r using (release_id)
     where (r.files, r.segments, r.size_bytes, r.posted_at)
           is distinct from (s.files, s.segments, s.size_bytes, s.posted_at)
     order by s.release_id limit 1000
"""


def _name(row: RangeRow) -> str:
    return f"{row.group} {row.low}-{row.high}"
