"""Spans that a changed rule made stale, and the one transaction that brings each up to date.

For every span in which rules dropped something, the ledger knows the rule sets that all agree
on what is missing from the catalog (`versions`). Recovering it appends the rule set in force;
the statement that does so names the versions that it started from, so that whoever comes
second, after a restart or beside another run, is refused without having written anything.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from psycopg.rows import class_row

import voyager_native
from voyager_core.catalog.built import Built, RuleCountIn
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SpanError, catalog_errors
from voyager_core.catalog.ranges import Versions
from voyager_core.catalog.remnants import take_back
from voyager_core.catalog.spans import (
    Stored,
    in_transaction,
    read_contents,
    require_idle,
    summary,
)
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.catalog.writing import (
    Contents,
    add_counts,
    add_span_counts,
    newsgroup_of,
    write,
)
from voyager_core.domain.ranges import Span, range_bounds

StaleVersions = Mapping[str, Sequence[int]]
"""By rule: the rule set versions in which it is not what it is now."""


@dataclass(frozen=True, slots=True)
class StaleSpan:
    """A span in which a changed rule dropped something.

    Attributes:
        span_drop_id: its number in the catalog.
        range_id: the range that holds it.
        group: the newsgroup.
        low: its first article number.
        high: its last.
        parser_version: the parser that read it.
        versions: the rule sets that agree on what is missing, oldest first.
        range_low: the first number of the range.
        range_high: the last number of the range.
        capture: whether the range's overview blocks are kept in the corpus.
        owner: the removed newsgroup that its lines had been left to; empty: all its lines.
        set_aside: whether what was dropped is kept in the catalog (see `remnants`).
    """

    span_drop_id: int
    range_id: int
    group: str
    low: int
    high: int
    parser_version: int
    versions: Sequence[int]
    range_low: int
    range_high: int
    capture: bool
    owner: str = ""
    set_aside: bool = False

    @property
    def span(self) -> Span:
        """The article numbers."""
        return Span(self.group, self.low, self.high)


@dataclass(frozen=True, slots=True)
class StaleStretch:
    """A stretch with stale spans of one rule.

    Attributes:
        rule: the rule.
        group: the newsgroup.
        index: the stretch's number in the group.
        ranges: stale ranges.
        articles: articles that the rule had dropped there.
        files: their files.
        versions: the rule sets that they were decided with.
    """

    rule: str
    group: str
    index: int
    ranges: int
    articles: int
    files: int
    versions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What changed rules brought back: of one rule, to one version of the rule set."""

    rule: str
    version: int
    ranges: int
    articles: int
    files: int


_PAIRS = "unnest(%(rules)s::text[], %(versions)s::integer[]) as w (rule, version)"


def stale_stretches(
    conn: Connection, stale: StaleVersions, *, limit: int = 100_000
) -> list[StaleStretch]:
    """Returns the stretches that changed rules left stale, by rule and in the order of history.

    Args:
        conn: the catalog.
        stale: the versions that are out of date, by rule.
        limit: the most rows to return.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not any(stale.values()):
        return []
    size, per_partition = cut_of_history(conn)
    with (
        catalog_errors("looking for ranges that changed rules left stale"),
        conn.transaction(),
    ):
        # A rule that matched everywhere: a quarter of a million rows, sorted in memory.
        conn.execute("set local work_mem = '64MB'")
        return (
            conn.cursor(row_factory=class_row(StaleStretch))
            .execute(
                'select s.rule, n.name as "group", s.index, s.ranges, s.articles, s.files,'
                " s.versions from (select c.rule, r.newsgroup_id,"
                "  (r.low - 1) / %(numbers)s as index, count(distinct r.range_id) as ranges,"
                "  sum(c.articles)::bigint as articles, sum(c.files)::bigint as files,"
                "  array_agg(distinct c.rules_version order by c.rules_version) as versions"
                f"  from {_PAIRS}"
                "  join span_rule_count c on c.rule = w.rule and c.rules_version = w.version"
                "   and c.articles > 0"
                "  join range r using (range_id)"
                # Numbers first: text is slow to sort.
                "  group by r.newsgroup_id, index, c.rule) as s"
                " join newsgroup n using (newsgroup_id) where n.active and n.state = 'ok'"
                " order by s.rule, n.priority, s.index limit %(limit)s",
                {**_pairs(stale), "numbers": size * per_partition, "limit": limit},
            )
            .fetchall()
        )


def stale_spans(
    conn: Connection, stale: StaleVersions, group: str, stretch: int
) -> list[StaleSpan]:
    """Returns the spans of a stretch that changed rules left stale, in order.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not any(stale.values()):
        return []
    size, per_partition = cut_of_history(conn)
    with catalog_errors(f"reading the stale spans of {group}"):
        return (
            conn.cursor(row_factory=class_row(StaleSpan))
            .execute(
                'select s.span_drop_id, s.range_id, n.name as "group", s.low, s.high,'
                " s.parser_version, s.versions, r.low as range_low, r.high as range_high,"
                " r.capture, s.owner, s.set_aside from span_drop s join range r using (range_id)"
                " join newsgroup n using (newsgroup_id)"
                " where n.name = %(group)s and r.low between %(low)s and %(high)s"
                " and exists (select from span_rule_count c join"
                f" {_PAIRS} on c.rule = w.rule and c.rules_version = w.version"
                "  where c.span_drop_id = s.span_drop_id and c.articles > 0)"
                " order by s.low, s.span_drop_id limit 1000000",
                {
                    **_pairs(stale),
                    "group": group,
                    "low": range_bounds(stretch * per_partition, size=size)[0],
                    "high": range_bounds((stretch + 1) * per_partition - 1, size=size)[1],
                },
            )
            .fetchall()
        )


def recovered_totals(conn: Connection, rule: str | None = None) -> list[Recovered]:
    """Returns what changed rules brought back so far, by rule and version.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up what was recovered"):
        return (
            conn.cursor(row_factory=class_row(Recovered))
            .execute(
                "select rule, version, count(*) as ranges, sum(articles)::bigint as articles,"
                " sum(files)::bigint as files from range_recovery"
                " where %(rule)s::text is null or rule = %(rule)s"
                " group by rule, version order by rule, version limit 10000",
                {"rule": rule},
            )
            .fetchall()
        )


def stored_among(conn: Connection, stale: StaleSpan, message_ids: Collection[str]) -> set[str]:
    """Returns which of the articles are in chunks, fragments or remnants around a span already.

    Decodes the chunks of the range and of its neighbours, which takes some seconds.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    wanted = pl.Series("message_id", sorted(message_ids), dtype=pl.String)
    found: set[str] = set()
    if wanted.is_empty():
        return found
    near = (
        "select r.range_id from range r join range m on m.newsgroup_id = r.newsgroup_id"
        " where m.range_id = %(id)s and r.low <= m.high + 1 and r.high >= m.low - 1"
    )
    with (
        catalog_errors(f"looking for what is stored around {stale.span}"),
        conn.transaction(),
        conn.cursor("stored_chunks") as cursor,
    ):
        cursor.execute(
            f"select payload from chunk where range_id in ({near})", {"id": stale.range_id}
        )
        for (payload,) in cursor:
            segments = pl.DataFrame(voyager_native.decode_chunk(bytes(payload)).segments)
            here = segments["message_id"].filter(segments["message_id"].is_in(wanted.implode()))
            found.update(here.to_list())
    with catalog_errors(f"looking for fragments around {stale.span}"):
        rows = conn.execute(
            f"select file->>'first_message_id' from fragment where range_id in ({near})"
            " and file->>'first_message_id' = any(%(ids)s)"
            " union all select m.file->>'first_message_id' from remnant m"
            f" join span_drop d using (span_drop_id) where d.range_id in ({near})"
            " and m.file->>'first_message_id' = any(%(ids)s)",
            {"id": stale.range_id, "ids": wanted.to_list()},
        ).fetchall()
    return found | {name for (name,) in rows}


def store_recovery(
    conn: Connection,
    stale: StaleSpan,
    built: Built,
    *,
    freed: Mapping[str, tuple[int, int]],
    versions: Versions,
    taken_back: Sequence[int] = (),
) -> Stored:
    """Adds what is no longer dropped in a span, and notes what still is.

    Args:
        conn: a connection outside any transaction.
        stale: the span, as it was when the work on it began.
        built: what is kept now, and in `rule_counts` all that is still dropped in the span.
        freed: articles and files brought back, by the rule that had dropped them.
        versions: `rules` is the rule set in force.
        taken_back: remnants that are among the files of `built`.

    Returns:
        `stored=False` when the span was recovered by somebody else meanwhile.

    Raises:
        SpanError: the frames contradict each other, or the rule set is not newer.
        CatalogUnavailable: nothing was stored, another try may succeed.
    """
    if versions.rules <= max(stale.versions):
        msg = f"{stale.span} is at rule set {max(stale.versions)}, not older than {versions.rules}"
        raise SpanError(msg)
    with catalog_errors(f"recovering {stale.span}"):
        require_idle(conn)
        contents = read_contents(conn, built, newsgroup_of(conn, stale.range_id))

        def work() -> Stored:
            row = conn.execute(
                "select state, resume_at from range where range_id = %s for update",
                [stale.range_id],
            ).fetchone()
            if row is None or not _claim(conn, stale, versions.rules):
                return Stored(stored=False)
            placed = write(
                conn, contents, range_id=stale.range_id, span=stale.span, origin="recovery"
            )
            take_back(conn, taken_back)
            before = _replace_counts(conn, stale, contents.counts, versions.rules)
            _account(conn, stale.range_id, before - contents.dropped, contents)
            _note_freed(conn, stale.range_id, freed, versions.rules)
            return summary(contents, placed, state=row[0], resume_at=row[1])

        return in_transaction(conn, work)


def _claim(conn: Connection, stale: StaleSpan, version: int) -> bool:
    done = conn.execute(
        "update span_drop set versions = versions || %(version)s::integer"
        " where span_drop_id = %(id)s and versions = %(before)s::integer[]",
        {"version": version, "id": stale.span_drop_id, "before": list(stale.versions)},
    )
    return done.rowcount == 1


def _replace_counts(
    conn: Connection, stale: StaleSpan, counts: Sequence[RuleCountIn], version: int
) -> int:
    """Puts the counts of a span in the place of the old ones; returns the articles of those."""
    gone = conn.execute(
        "delete from span_rule_count where span_drop_id = %s"
        " returning rule, signature, owner_group, articles, files",
        [stale.span_drop_id],
    ).fetchall()
    for rule, signature, owner_group, articles, files in gone:
        conn.execute(
            "update range_rule_count set articles = articles - %s, files = files - %s"
            " where range_id = %s and rule = %s and signature = %s and owner_group = %s",
            [articles, files, stale.range_id, rule, signature, owner_group],
        )
    add_span_counts(conn, stale.span_drop_id, stale.range_id, counts, version)
    add_counts(conn, stale.range_id, counts)
    conn.execute(
        "delete from range_rule_count where range_id = %s and articles = 0 and files = 0",
        [stale.range_id],
    )
    return sum(int(articles) for *_, articles, _ in gone)


def _account(conn: Connection, range_id: int, freed: int, contents: Contents) -> None:
    cut = sum(fragment.segments for fragment in contents.fragments)
    # Articles that came late, or are gone by now, make other numbers than the first reading did.
    seen = contents.segments + cut - freed
    conn.execute(
        "update range set dropped = dropped - %(freed)s, lines = lines + %(seen)s,"
        " recovered_segments = recovered_segments + %(recovered)s,"
        " fragment_segments = fragment_segments + %(cut)s where range_id = %(range_id)s",
        {
            "range_id": range_id,
            "freed": freed,
            "seen": seen,
            "recovered": contents.segments,
            "cut": cut,
        },
    )


def _note_freed(
    conn: Connection, range_id: int, freed: Mapping[str, tuple[int, int]], version: int
) -> None:
    conn.cursor().executemany(
        "insert into range_recovery as y (range_id, rule, version, articles, files)"
        " values (%s, %s, %s, %s, %s) on conflict (range_id, rule, version) do update"
        " set articles = y.articles + excluded.articles, files = y.files + excluded.files",
        [(range_id, rule, version, *numbers) for rule, numbers in sorted(freed.items())],
    )


def _pairs(stale: StaleVersions) -> dict[str, Any]:
    pairs = [(rule, version) for rule, versions in stale.items() for version in versions]
    return {"rules": [rule for rule, _ in pairs], "versions": [version for _, version in pairs]}
