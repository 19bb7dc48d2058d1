"""Searching the catalog: words, filters, pages, and a total that can be believed.

Every release is listed as soon as its first span is stored. A search with words is ordered
by posting date, one without by `feed_at`, newest first; the number of the release breaks ties.

Words are asked for as token hashes (`tok`), and checked again on the names of the page. Which
way is taken depends on how common the words are: rare ones go through the index of words; if
all are common, the releases are walked from the newest until the page and the total are full.
The planner is not left to guess between the two, since it errs by a factor of 100 here.
`operator(pg_catalog.@>)` is spelt out because the extension intarray shadows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from psycopg.rows import dict_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.releases import COLUMNS, TABLES, Release, to_release
from voyager_core.domain.tokens import QueryTerms, matches, query_terms, token_hash

TOTAL_CAP = 9_999
"""The largest total that is counted, and the last release that paging reaches."""

MAX_LIMIT = 1_000
STATEMENT_TIMEOUT_SECONDS = 10.0

MAX_TERMS = 40
"""Words of one search that the database is asked for; names hold no more."""

# Below this many releases every plan is fast, and there may be no statistics yet.
_FEW_RELEASES = 200_000
# A word that the statistics do not list is rarer than this share.
_UNLISTED_SHARE = 1e-5
# An entry read from the index of words, against a release visited.
_INDEX_ENTRY_COST = 0.02
_INT4 = (1 << 31) - 1
_INT8 = (1 << 63) - 1
_MAX_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a searcher asks for; every part narrows the result, nothing asks for all.

    Attributes:
        text: words that must be in the name; `-word` excludes, `"two words"` stand together.
        categories: Newznab categories; a parent (5000) means all its children.
        season: season number, or the year of a daily show.
        episode: episode number; packs of whole seasons are left out then.
        airdate: date of an episode of a daily show.
        group: a newsgroup's exact name.
        groups: several of them, of which a release is in at least one.
        poster: part of the From, in any case.
        min_age: days since posting at least.
        max_age: days since posting at most.
        min_size: bytes at least.
        max_size: bytes at most.
        password: 0 leaves out what needs a password; 1 or None does not.
        min_completion: percent found of what was announced, at least; what announces
            nothing counts as complete.
        limit: releases on a page, clamped to 0 … 1,000.
        offset: releases before the page.
    """

    text: str = ""
    categories: Sequence[int] = ()
    season: int | None = None
    episode: int | None = None
    airdate: date | None = None
    group: str | None = None
    groups: Sequence[str] = ()
    poster: str | None = None
    min_age: int | None = None
    max_age: int | None = None
    min_size: int | None = None
    max_size: int | None = None
    password: int | None = None
    min_completion: int | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of releases.

    Attributes:
        total: how many match, whatever the page; 9,999 stands for that many or more.
        items: the page.
    """

    total: int
    items: list[Release]


@dataclass(slots=True)
class _Where:
    """Conditions that are collected, with their parameters."""

    conditions: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, condition: str, **values: Any) -> None:
        self.conditions.append(condition)
        self.values.update(values)

    def __str__(self) -> str:
        return " and ".join(self.conditions) or "true"


def search(
    conn: Connection,
    query: SearchQuery,
    *,
    statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS,
) -> SearchPage:
    """Returns a page of the releases that match, newest first, and how many there are.

    No text is an error: what cannot match anything gives an empty page.

    Raises:
        StatementTimeout: the search took longer than it may.
        CatalogUnavailable: the database does not answer.
    """
    terms = _bounded(query_terms(query.text))
    limit, offset = max(0, min(query.limit, MAX_LIMIT)), max(0, query.offset)
    with catalog_errors("searching"), conn.transaction():
        conn.execute(
            "select set_config('statement_timeout', %s, true), set_config('jit', 'off', true),"
            " set_config('max_parallel_workers_per_gather', '0', true)",
            [str(max(1, round(statement_timeout_seconds * 1000)))],
        )
        where = _filters(conn, query)
        if where is None:
            return SearchPage(0, [])
        hits = _hits(conn, terms, where, _category_spans(query.categories))
        values = {**where.values, "most": TOTAL_CAP, "limit": limit, "offset": offset}
        if not terms.phrases:
            page = _page(conn, hits, values)
            # Two words may have one hash; then every name has to be looked at.
            if all(matches(item.name, terms) for item in page.items):
                return page
        return _checked_page(conn, hits, values, terms)


def _page(conn: Connection, hits: str, values: dict[str, Any]) -> SearchPage:
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"with hit as materialized ({hits}),"
            " page as (select release_id, at from hit order by at desc, release_id desc"
            "  limit %(limit)s offset %(offset)s)"
            f" select (select count(*) from hit) as total, {COLUMNS} from (values (1)) as one"
            " left join page on true"
            f" left join ({TABLES}) on r.release_id = page.release_id"
            " order by page.at desc, page.release_id desc",
            {**values, "offset": min(values["offset"], TOTAL_CAP)},
            prepare=False,
        )
        .fetchall()
    )
    total = int(rows[0]["total"]) if rows else 0
    found = [row for row in rows if row["release_id"] is not None]
    return SearchPage(total, [_without_total(row) for row in found])


def _checked_page(
    conn: Connection, hits: str, values: dict[str, Any], terms: QueryTerms
) -> SearchPage:
    """Returns the page when every name has to be read to know whether it matches."""
    named = conn.execute(
        f"with hit as materialized ({hits})"
        " select r.release_id, r.name from hit join release r using (release_id)"
        " order by hit.at desc, hit.release_id desc limit %(most)s",
        values,
        prepare=False,
    ).fetchall()
    wanted = [release_id for release_id, name in named if matches(name, terms)]
    ids = wanted[values["offset"] : values["offset"] + values["limit"]]
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"select 0 as total, {COLUMNS} from {TABLES} where r.release_id = any (%(ids)s)"
            " limit %(limit)s",
            {"ids": ids, "limit": values["limit"]},
        )
        .fetchall()
    )
    found = {row["release_id"]: _without_total(row) for row in rows}
    return SearchPage(len(wanted), [found[key] for key in ids if key in found])


def _without_total(row: dict[str, Any]) -> Release:
    return to_release({name: value for name, value in row.items() if name != "total"})


def _hits(conn: Connection, terms: QueryTerms, where: _Where, spans: list[tuple[int, int]]) -> str:
    """Returns the query of the newest matches (`release_id`, `at`), at most `most` of them."""
    for at, words in enumerate(terms.excluded_hashes):
        name = f"excluded_{at}"
        where.add(f"not r.tok operator(pg_catalog.@>) %({name})s::integer[]", **{name: words})
    if not terms.required:
        return _feed(where, spans)
    _add_categories(where, spans)
    groups = terms.required_hashes
    walk = _walk_is_cheaper(conn, groups)
    every = [group[0] for group in groups if len(group) == 1]
    if every:
        where.add("r.tok operator(pg_catalog.@>) %(words)s::integer[]", words=every)
    for at, group in enumerate(group for group in groups if len(group) > 1):
        name = f"either_{at}"
        where.add(f"r.tok operator(pg_catalog.&&) %({name})s::integer[]", **{name: group})
    if walk:
        # The index of words can only be read as a bitmap, so that this keeps the walk off it.
        conn.execute("set local enable_bitmapscan = off")
        return (
            "select r.release_id, r.posted_at as at from release r"
            f" where {where} order by r.posted_at desc, r.release_id desc limit %(most)s"
        )
    return (
        "select release_id, at from (select r.release_id, r.posted_at as at from release r"
        # The fence keeps the order and the limit from tempting the planner into a walk.
        f" where {where} offset 0) as word order by at desc, release_id desc limit %(most)s"
    )


def _feed(where: _Where, spans: list[tuple[int, int]]) -> str:
    """Returns the query of the newest releases, category by category when some are asked for."""
    if not spans:
        return (
            "select r.release_id, r.feed_at as at from release r"
            f" where {where} order by r.feed_at desc, r.release_id desc limit %(most)s"
        )
    where.values["lows"] = [low for low, _ in spans]
    where.values["highs"] = [high for _, high in spans]
    # The categories that exist are found by skipping through the index; each one's newest
    # are at hand in the index, so that a rare category costs no more than a common one.
    return (
        "select newest.release_id, newest.at from ("
        " with recursive present (category, high) as ("
        "  select (select min(r.category) from release r"
        "   where r.category between span.low and span.high), span.high"
        "   from unnest(%(lows)s::integer[], %(highs)s::integer[]) as span (low, high)"
        "  union all select (select min(r.category) from release r"
        "   where r.category > present.category and r.category <= present.high), present.high"
        "   from present where present.category is not null)"
        " select distinct category from present where category is not null) as asked,"
        " lateral (select r.release_id, r.feed_at as at from release r"
        f" where r.category = asked.category and {where}"
        " order by r.feed_at desc, r.release_id desc limit %(most)s) as newest"
        " order by newest.at desc, newest.release_id desc limit %(most)s"
    )


def _walk_is_cheaper(conn: Connection, groups: list[list[int]]) -> bool:
    """Tells whether all words are so common that walking back in time meets enough matches."""
    row = conn.execute("select reltuples from pg_class where oid = 'release'::regclass").fetchone()
    releases = float(row[0]) if row is not None else 0.0
    if releases < _FEW_RELEASES:
        return False
    shares = dict(
        conn.execute(
            "select s.element, s.share from ("
            "  select unnest(most_common_elems::text::integer[]) as element,"
            "         unnest(most_common_elem_freqs) as share"
            "    from pg_stats where schemaname = current_schema() and tablename = 'release'"
            "     and attname = 'tok') as s"
            " where s.element = any (%s) limit 1000",
            [[word for group in groups for word in group]],
        ).fetchall()
    )
    each = [
        min(1.0, sum(float(shares.get(word, _UNLISTED_SHARE)) for word in group))
        for group in groups
    ]
    together = 1.0
    for share in each:
        together *= share
    through_index = releases * (min(each) * _INDEX_ENTRY_COST + together)
    return min(TOTAL_CAP / together, releases) < through_index


def _filters(conn: Connection, query: SearchQuery) -> _Where | None:
    """Returns the conditions beside words and categories; None when nothing can match."""
    where = _Where()
    names = [*query.groups, *([] if query.group is None else [query.group])]
    if names:
        rows = conn.execute(
            "select group_name_id from group_name where name = any (%s) limit 1000",
            [[_text(name) for name in names]],
        ).fetchall()
        if not rows:
            return None
        where.add(
            "r.group_ids operator(pg_catalog.&&) %(groups)s::integer[]",
            groups=[number for (number,) in rows],
        )
    if query.poster:
        where.add("strpos(lower(r.poster), lower(%(poster)s)) > 0", poster=_text(query.poster))
    _add_episode(where, query)
    if query.min_age is not None and query.min_age > 0:
        days = min(query.min_age, _MAX_DAYS)
        where.add("r.posted_at <= now() - make_interval(days => %(min_age)s)", min_age=days)
    if query.max_age is not None and query.max_age >= 0:
        days = min(query.max_age, _MAX_DAYS)
        where.add("r.posted_at >= now() - make_interval(days => %(max_age)s)", max_age=days)
    if query.min_size is not None:
        size = max(-_INT8, min(query.min_size, _INT8))
        where.add("r.size_bytes >= %(min_size)s::bigint", min_size=size)
    if query.max_size is not None:
        size = max(-_INT8, min(query.max_size, _INT8))
        where.add("r.size_bytes <= %(max_size)s::bigint", max_size=size)
    if query.password == 0:
        where.add("r.password <= 0")
    if query.min_completion is not None and query.min_completion > 0:
        where.add(
            "least(1.0, coalesce(r.files::float8 / nullif(r.files_expected, 0), 1))"
            " * least(1.0, coalesce(r.segments::float8 / nullif(r.segments_expected, 0), 1))"
            " >= %(min_completion)s::float8 / 100",
            min_completion=min(query.min_completion, 100),
        )
    return where


def _add_episode(where: _Where, query: SearchQuery) -> None:
    """Adds season, episode and date as the name gave them when it was stored."""
    if query.airdate is not None:
        day = query.airdate
        words = [token_hash(text) for text in (f"{day:%Y}", f"{day:%m}", f"{day:%d}")]
        where.add(
            "(r.aired_on = %(airdate)s or (r.aired_on is null"
            " and r.tok operator(pg_catalog.@>) %(airdate_words)s::integer[]))",
            airdate=day,
            airdate_words=words,
        )
    if query.season is not None:
        season = max(-_INT4, min(query.season, _INT4))
        one = "%(season)s between r.season and coalesce(r.season_last, r.season)"
        if 1900 <= season <= 9998:
            where.add(
                f"({one} or (r.aired_on >= %(year_start)s and r.aired_on < %(year_end)s))",
                season=season,
                year_start=date(season, 1, 1),
                year_end=date(season + 1, 1, 1),
            )
        else:
            where.add(f"({one})", season=season)
    if query.episode is not None:
        where.add(
            "%(episode)s between r.episode and coalesce(r.episode_last, r.episode)",
            episode=max(-_INT4, min(query.episode, _INT4)),
        )


def _category_spans(categories: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the asked categories as spans of numbers: a parent reaches over its children."""
    return sorted(
        {
            (category, category + 999 if category % 1000 == 0 else category)
            for category in categories
            if 0 <= category < _INT4 - 1000
        }
    ) or [(-1, -1)] * bool(categories)


def _add_categories(where: _Where, spans: list[tuple[int, int]]) -> None:
    if not spans:
        return
    parts: list[str] = []
    for at, (low, high) in enumerate(spans):
        where.values[f"category_{at}"], where.values[f"category_end_{at}"] = low, high
        parts.append(f"r.category between %(category_{at})s and %(category_end_{at})s")
    where.add(f"({' or '.join(parts)})")


def _bounded(terms: QueryTerms) -> QueryTerms:
    return QueryTerms(
        required=terms.required[:MAX_TERMS],
        excluded=terms.excluded[:MAX_TERMS],
        phrases=terms.phrases[:MAX_TERMS],
    )


def _text(value: str) -> str:
    """Returns a text as Postgres takes it."""
    return value.replace("\0", "").encode("utf-8", "replace").decode()
