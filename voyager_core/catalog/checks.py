"""Comparing the catalog with what it was made from; a sound one has no finding.

Sums are kept three times: in the payload of each chunk, beside it in its row, and in the
release. The ledger of ranges accounts for every overview line: it was rejected, dropped by a
rule, or its article is in a chunk or a fragment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.releases import public_id
from voyager_core.domain.generations import REPOST_WINDOW

MAX_FINDINGS = 1_000
"""Findings of one kind that are reported; there may be more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference.

    Attributes:
        check: which comparison found it.
        subject: the range, release or chunk.
        detail: what differs.
    """

    check: str
    subject: str
    detail: str

    def __str__(self) -> str:
        """Returns one line."""
        return f"{self.check}: {self.subject}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ChunkSums:
    """What a payload adds up to.

    Attributes:
        files: files in it.
        segments: segments in it.
        size_bytes: sum of their sizes.
    """

    files: int
    segments: int
    size_bytes: int


def check_catalog(
    conn: Connection,
    *,
    sample: int | None = None,
    decode: Callable[[bytes], ChunkSums] | None = None,
) -> list[Finding]:
    """Returns every difference; none in a sound catalog.

    Args:
        conn: the catalog. It may be written to meanwhile: each check sees one moment.
        sample: chunks to decode, newest first; None for all.
        decode: another way to read a payload, for tests.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("checking the catalog"):
        return [
            *check_ranges(conn),
            *check_lines(conn),
            *check_sums(conn),
            *check_generations(conn),
            *check_payloads(conn, sample=sample, decode=decode),
        ]


def check_ranges(conn: Connection) -> list[Finding]:
    """Returns holes and overlaps between a newsgroup's ranges, and states that cannot be."""
    findings: list[Finding] = []
    rows = conn.execute(
        "select name, low, high, following from ("
        "  select n.name, r.low, r.high, lead(r.low) over (partition by n.newsgroup_id"
        "   order by r.low) as following from range r join newsgroup n using (newsgroup_id)) as r"
        " where following <> high + 1 order by name, low limit %s",
        [MAX_FINDINGS],
    )
    for name, low, high, following in rows:
        kind = "hole" if following > high else "overlap"
        findings.append(
            Finding("ranges", f"{name} {low}-{high}", f"{kind}: the next begins at {following}")
        )
    rows = conn.execute(
        "select n.name, r.low, r.high, r.state, r.resume_at"
        " from range r join newsgroup n using (newsgroup_id)"
        " where (r.state = 'done') <> (r.resume_at > r.high)"
        "  or (r.state = 'planned' and r.resume_at <> r.low)"
        "  or (r.state = 'partial' and r.resume_at = r.low)"
        " order by n.name, r.low limit %s",
        [MAX_FINDINGS],
    )
    findings.extend(
        Finding("ranges", f"{name} {low}-{high}", f"{state} with resume point {resume_at}")
        for name, low, high, state, resume_at in rows
    )
    return findings


def check_lines(conn: Connection) -> list[Finding]:
    """Returns ranges whose overview lines are not all accounted for."""
    rows = conn.execute(
        "with rejects as (select range_id, sum(articles)::bigint as n"
        "   from reject_count group by range_id),"
        " drops as (select range_id, sum(articles)::bigint as n"
        "   from range_rule_count group by range_id),"
        " cut as (select range_id, sum(segments)::bigint as n from fragment group by range_id),"
        " kept as (select range_id,"
        "   coalesce(sum(segments) filter (where origin = 'span'), 0)::bigint as n,"
        "   coalesce(sum(segments) filter (where origin = 'recovery'), 0)::bigint as again"
        "   from chunk group by range_id)"
        " select n.name, r.low, r.high, r.lines, r.rejected, r.dropped, r.chunked_segments,"
        " r.fragment_segments, r.merged_segments, r.recovered_segments,"
        " coalesce(rejects.n, 0), coalesce(drops.n, 0), coalesce(cut.n, 0),"
        " coalesce(kept.n, 0), coalesce(kept.again, 0)"
        " from range r join newsgroup n using (newsgroup_id)"
        " left join rejects using (range_id) left join drops using (range_id)"
        " left join cut using (range_id) left join kept using (range_id)"
        " where r.lines <> r.rejected + r.dropped + r.chunked_segments + r.fragment_segments"
        "   + r.recovered_segments"
        "  or r.rejected <> coalesce(rejects.n, 0) or r.dropped <> coalesce(drops.n, 0)"
        "  or r.chunked_segments <> coalesce(kept.n, 0)"
        "  or r.recovered_segments <> coalesce(kept.again, 0)"
        "  or r.fragment_segments <> r.merged_segments + coalesce(cut.n, 0)"
        " order by n.name, r.low limit %s",
        [MAX_FINDINGS],
    )
    return [finding for row in rows for finding in _line_findings(row)]


def check_sums(conn: Connection) -> list[Finding]:
    """Returns releases that are not the sum of their chunks, and what has lost its release."""
    rows = conn.execute(
        # Sums stop where the columns do, as in `parts`.
        "with sums as (select release_id, least(sum(files), 2147483647) as files,"
        "   max(files_expected) as files_expected, least(sum(segments), 2147483647) as segments,"
        "   nullif(least(coalesce(sum(segments_expected), -1), 9223372036854775807), -1)"
        "    as segments_expected,"
        "   least(sum(size_bytes), 9223372036854775807) as size_bytes,"
        "   min(posted_at) as posted_at,"
        "   max(last_posted_at) as last_posted_at, bool_or(has_par2) as has_par2,"
        "   least(sum(content_missing), 2147483647) as content_missing,"
        "   least(sum(recovery_blocks), 2147483647) as recovery_blocks,"
        "   least(sum(recovery_bytes), 9223372036854775807) as recovery_bytes,"
        "   max(largest_file) as largest_file"
        "  from chunk group by release_id)"
        " select coalesce(r.release_id, s.release_id), r.release_key, r.generation,"
        " array[r.files::text, r.files_expected::text, r.segments::text,"
        "  r.segments_expected::text, r.size_bytes::text, r.posted_at::text,"
        "  r.last_posted_at::text, r.has_par2::text, r.content_missing::text,"
        "  r.recovery_blocks::text, r.recovery_bytes::text, r.largest_file::text],"
        " array[s.files::text, s.files_expected::text, s.segments::text,"
        "  s.segments_expected::text, s.size_bytes::text, s.posted_at::text,"
        "  s.last_posted_at::text, s.has_par2::text, s.content_missing::text,"
        "  s.recovery_blocks::text, s.recovery_bytes::text, s.largest_file::text],"
        " s.release_id is null"
        " from release r full join sums s using (release_id)"
        " where (r.files, r.files_expected, r.segments, r.segments_expected, r.size_bytes,"
        "   r.posted_at, r.last_posted_at, r.has_par2, r.content_missing, r.recovery_blocks,"
        "   r.recovery_bytes, r.largest_file) is distinct from"
        "  (s.files, s.files_expected, s.segments, s.segments_expected, s.size_bytes,"
        "   s.posted_at, s.last_posted_at, s.has_par2, s.content_missing, s.recovery_blocks,"
        "   s.recovery_bytes, s.largest_file)"
        " order by 1 limit %s",
        [MAX_FINDINGS],
    )
    names = (
        "files",
        "files_expected",
        "segments",
        "segments_expected",
        "size_bytes",
        "posted_at",
        "last_posted_at",
        "has_par2",
        "content_missing",
        "recovery_blocks",
        "recovery_bytes",
        "largest_file",
    )
    findings: list[Finding] = []
    for release_id, key, generation, release, chunk, is_bare in rows:
        if key is None:
            findings.append(Finding("sums", f"release {release_id}", "has chunks and no row"))
            continue
        subject = f"release {public_id(key, generation)}"
        if is_bare:
            findings.append(Finding("sums", subject, "has no chunk"))
            continue
        differing = [
            f"{name} {here} <> {there}"
            for name, here, there in zip(names, release, chunk, strict=True)
            if here != there
        ]
        findings.append(Finding("sums", subject, f"release <> chunks: {', '.join(differing)}"))
    lost = conn.execute(
        "select c.candidate_id, c.release_id from candidate c"
        " where not exists (select from release r where r.release_id = c.release_id)"
        " order by c.candidate_id limit %s",
        [MAX_FINDINGS],
    )
    findings.extend(
        Finding("sums", f"candidate {candidate_id}", f"release {release_id} does not exist")
        for candidate_id, release_id in lost
    )
    return findings


def check_generations(conn: Connection) -> list[Finding]:
    """Returns generations of one key that are so near in time that they are one release."""
    rows = conn.execute(
        "select release_key, generation, near from ("
        "  select release_key, generation,"
        "   lead(generation) over keyed as near,"
        "   lead(posted_at) over keyed - max(last_posted_at) over keyed as pause"
        "  from release window keyed as (partition by release_key"
        "   order by posted_at, generation)) as g"
        " where pause <= %s order by release_key, generation limit %s",
        [REPOST_WINDOW, MAX_FINDINGS],
    )
    return [
        Finding(
            "generations",
            f"release {public_id(key, generation)}",
            f"is not apart from {public_id(key, near)}",
        )
        for key, generation, near in rows
    ]


def check_payloads(
    conn: Connection,
    *,
    sample: int | None = None,
    decode: Callable[[bytes], ChunkSums] | None = None,
) -> list[Finding]:
    """Returns chunks that cannot be decoded or are not what their row says.

    Args:
        conn: the catalog.
        sample: chunks to decode, the last stored first; None for all.
        decode: another way to read a payload, for tests.
    """
    read = decode or decoded_sums
    findings: list[Finding] = []
    for release_id, range_id, payload, *sums in _payloads(conn, sample):
        subject = f"chunk of release {release_id} in range {range_id}"
        try:
            found = read(payload)
        except ValueError as error:
            findings.append(Finding("payloads", subject, str(error)))
            continue
        if found != ChunkSums(*sums):
            findings.append(Finding("payloads", subject, f"{found} <> {ChunkSums(*sums)}"))
        if len(findings) >= MAX_FINDINGS:
            break
    return findings


def decoded_sums(payload: bytes) -> ChunkSums:
    """Returns what a payload adds up to.

    Raises:
        ValueError: it is corrupt.
    """
    import polars as pl  # noqa: PLC0415 - the API checks no payloads and loads no polars

    import voyager_native  # noqa: PLC0415

    segments = pl.DataFrame(voyager_native.decode_chunk(payload).segments)
    return ChunkSums(
        files=segments["file"].n_unique(),
        segments=len(segments),
        size_bytes=int(segments["size_bytes"].sum() or 0),
    )


def _payloads(conn: Connection, sample: int | None) -> Iterator[tuple[Any, ...]]:
    """Yields chunk rows through a cursor on the server, since they may be terabytes."""
    with conn.transaction(), conn.cursor(name="payloads") as cursor:
        cursor.itersize = 200
        cursor.execute(
            "select release_id, range_id, payload, files, segments, size_bytes from chunk"
            " where length(payload) > 0 order by stored_at desc limit %s"
            if sample is not None
            else "select release_id, range_id, payload, files, segments, size_bytes from chunk"
            " where length(payload) > 0 limit %s",
            [sample],
        )
        for row in cursor:
            yield (row[0], row[1], bytes(row[2]), *row[3:])


def _line_findings(row: tuple[Any, ...]) -> Iterator[Finding]:
    name, low, high, lines, rejected, dropped, chunked, cut, merged, recovered, *sums = row
    subject = f"{name} {low}-{high}"
    accounted = rejected + dropped + chunked + cut + recovered
    if lines != accounted:
        detail = (
            f"{lines} lines read, {accounted} accounted for (rejected {rejected}, dropped"
            f" {dropped}, chunks {chunked}, fragments {cut}, recovered {recovered})"
        )
        yield Finding("lines", subject, detail)
    for what, ledger, counted in (
        ("rejected", rejected, sums[0]),
        ("dropped", dropped, sums[1]),
        ("fragment segments", cut, merged + sums[2]),
        ("chunk segments", chunked, sums[3]),
        ("recovered segments", recovered, sums[4]),
    ):
        if ledger != counted:
            yield Finding("lines", subject, f"{what}: ledger {ledger}, counted {counted}")
