"""Writing the rows of a span, inside the transaction that stores it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg.types.json import Jsonb

from voyager_core.catalog.built import CandidateIn, FragmentIn, RuleCountIn
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError
from voyager_core.catalog.months import posting_month
from voyager_core.catalog.parts import Part
from voyager_core.catalog.placing import Placed, place
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.repost_keys import note_reposts
from voyager_core.domain.ranges import Span


@dataclass(frozen=True, slots=True)
class Contents:
    """The frames of a span as rows, ready to be written."""

    parts: Sequence[Part]
    fragments: Sequence[FragmentIn]
    candidates: Sequence[CandidateIn]
    counts: Sequence[RuleCountIn]
    samples: Sequence[tuple[str, int | None, str]]
    reposts: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def segments(self) -> int:
        """Segments in chunks."""
        return sum(part.facts.segments for part in self.parts)

    @property
    def dropped(self) -> int:
        """Articles of files that a rule dropped."""
        return sum(count.articles for count in self.counts)


def write(
    conn: Connection, contents: Contents, *, range_id: int, span: Span, origin: str
) -> Placed:
    """Writes releases, chunks, fragments, candidates and samples, inside a transaction."""
    placed = place(conn, contents.parts)
    write_chunks(conn, contents.parts, placed, range_id=range_id, span=span, origin=origin)
    _write_fragments(conn, contents.fragments, range_id)
    _write_candidates(conn, contents.candidates, placed)
    _write_samples(conn, contents.samples, range_id)
    note_reposts(conn, contents.reposts)
    return placed


def newsgroup_of(conn: Connection, range_id: int) -> int:
    """Returns the newsgroup of a range."""
    row = conn.execute("select newsgroup_id from range where range_id = %s", [range_id]).fetchone()
    return int(row[0]) if row is not None else 0


def write_chunks(
    conn: Connection,
    parts: Iterable[Part],
    placed: Placed,
    *,
    range_id: int,
    span: Span,
    origin: str,
) -> None:
    """Writes the chunks of placed parts, inside a transaction."""
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "copy chunk (posted_month, release_id, range_id, low, high, origin, posted_at,"
            " last_posted_at, files, files_expected, segments, segments_expected, size_bytes,"
            " has_par2, content_missing, recovery_blocks, recovery_bytes, largest_file, payload)"
            " from stdin (format binary)"
        ) as copy,
    ):
        copy.set_types(
            [
                "date",
                "int8",
                "int4",
                "int8",
                "int8",
                "text",
                "timestamptz",
                "timestamptz",
                "int4",
                "int4",
                "int4",
                "int8",
                "int8",
                "bool",
                *("int4", "int4", "int8", "int4"),
                "bytea",
            ]
        )
        for part in parts:
            facts = part.facts
            copy.write_row(
                (
                    posting_month(facts.posted_at),
                    placed.release_ids[part.release_key, part.session],
                    range_id,
                    span.low,
                    span.high,
                    origin,
                    facts.posted_at,
                    facts.last_posted_at,
                    facts.files,
                    facts.files_expected,
                    facts.segments,
                    facts.segments_expected,
                    facts.size_bytes,
                    facts.has_par2,
                    facts.content_missing,
                    facts.recovery_blocks,
                    facts.recovery_bytes,
                    facts.largest_file,
                    part.payload,
                )
            )


def _write_fragments(conn: Connection, fragments: Sequence[FragmentIn], range_id: int) -> None:
    if not fragments:
        return
    newsgroup_id = newsgroup_of(conn, range_id)
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "copy fragment (newsgroup_id, range_id, file_key, base_key, release_key, reach_low,"
            " reach_high, first_number, last_number, posted_at, segments, file, payload)"
            " from stdin (format binary)"
        ) as copy,
    ):
        copy.set_types(
            ["int4", "int4", *["int8"] * 7, "timestamptz", "int4", "jsonb", "bytea"],
        )
        for one in fragments:
            copy.write_row(
                (
                    newsgroup_id,
                    range_id,
                    one.file_key,
                    one.base_key,
                    one.release_key,
                    one.reach_low,
                    one.reach_high,
                    one.first_number,
                    one.last_number,
                    one.posted_at,
                    one.segments,
                    Jsonb(one.file),
                    one.payload,
                )
            )


def _write_candidates(conn: Connection, candidates: Sequence[CandidateIn], placed: Placed) -> None:
    if not candidates:
        return
    with (
        conn.cursor() as cursor,
        cursor.copy(
            "copy candidate (release_id, file_key, part, kind, message_id)"
            " from stdin (format binary)"
        ) as copy,
    ):
        copy.set_types(["int8", "int8", "int4", "text", "text"])
        for one in candidates:
            release_id = placed.release_ids.get((one.release_key, one.session))
            if release_id is None:
                msg = f"candidate {one.message_id} belongs to a release that is not in the span"
                raise SpanError(msg)
            copy.write_row((release_id, one.file_key, one.part, one.kind, one.message_id))


def _write_samples(
    conn: Connection, samples: Sequence[tuple[str, int | None, str]], range_id: int
) -> None:
    if not samples:
        return
    conn.cursor().executemany(
        "insert into rule_sample (range_id, rule, release_key, detail)"
        " values (%s, %s, %s, %s::jsonb)",
        [(range_id, *sample) for sample in samples],
    )


def add_counts(conn: Connection, range_id: int, counts: Sequence[RuleCountIn]) -> None:
    """Adds what the rules dropped in a span to the counts of its range."""
    if not counts:
        return
    conn.cursor().executemany(
        "insert into range_rule_count as c"
        " (range_id, rule, signature, owner_group, articles, files)"
        " values (%s, %s, %s, %s, %s, %s)"
        " on conflict (range_id, rule, signature, owner_group) do update"
        " set articles = c.articles + excluded.articles, files = c.files + excluded.files",
        [(range_id, c.rule, c.signature, c.owner_group, c.articles, c.files) for c in counts],
    )


def add_rejects(conn: Connection, range_id: int, rejected: Mapping[str, int]) -> None:
    """Adds a span's lines that are in no file to the counts of its range."""
    if not rejected:
        return
    conn.cursor().executemany(
        "insert into reject_count as c (range_id, reason, articles) values (%s, %s, %s)"
        " on conflict (range_id, reason) do update set articles = c.articles + excluded.articles",
        [(range_id, reason, count) for reason, count in sorted(rejected.items())],
    )


def note_versions(conn: Connection, range_id: int, low: int, versions: Versions) -> None:
    """Notes from which number on a range is read with these versions, where they are new."""
    conn.execute(
        "insert into range_version (range_id, low, parser_version, rules_version, codec_version)"
        " select %(range_id)s, %(low)s, %(parser)s, %(rules)s, %(codec)s"
        " where (%(parser)s::integer, %(rules)s::integer, %(codec)s::integer) is distinct from"
        "  (select (parser_version, rules_version, codec_version) from range_version"
        "    where range_id = %(range_id)s order by low desc limit 1)",
        {
            "range_id": range_id,
            "low": low,
            "parser": versions.parser,
            "rules": versions.rules,
            "codec": versions.codec,
        },
    )


def note_drops(
    conn: Connection,
    range_id: int,
    span: Span,
    counts: Sequence[RuleCountIn],
    versions: Versions,
    *,
    owner: str = "",
    set_aside: bool = False,
) -> int:
    """Notes what rules dropped in a span, inside the transaction that stores it.

    Args:
        conn: the catalog.
        range_id: the range.
        span: the article numbers read.
        counts: what was dropped.
        versions: what the span was read with.
        owner: the removed newsgroup that the lines had been left to, when it is these alone.
        set_aside: whether what was dropped is kept (see `remnants`).

    Returns:
        The number of the note, 0 when there is nothing to note.
    """
    if not counts:
        return 0
    row = conn.execute(
        "insert into span_drop (range_id, low, high, parser_version, versions, owner, set_aside)"
        " values (%s, %s, %s, %s, array[%s::integer], %s, %s) returning span_drop_id",
        [range_id, span.low, span.high, versions.parser, versions.rules, owner, set_aside],
    ).fetchone()
    number = int(row[0]) if row is not None else 0
    add_span_counts(conn, number, range_id, counts, versions.rules)
    return number


def add_span_counts(
    conn: Connection, span_drop_id: int, range_id: int, counts: Sequence[RuleCountIn], version: int
) -> None:
    """Writes what rules dropped in a span, as decided with a version of the rule set."""
    conn.cursor().executemany(
        "insert into span_rule_count (span_drop_id, range_id, rules_version, rule, signature,"
        " owner_group, articles, files) values (%s, %s, %s, %s, %s, %s, %s, %s)",
        [
            (
                span_drop_id,
                range_id,
                version,
                c.rule,
                c.signature,
                c.owner_group,
                c.articles,
                c.files,
            )
            for c in counts
        ],
    )
