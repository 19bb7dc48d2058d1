"""Searching the catalog: words, filters, pages, and a total that can be believed.

Every release is listed as soon as its first span is stored. A search with words is ordered
by posting date, one without by `feed_at`, newest first; the number of the release breaks ties.

How the matches are found is `search_hits`' business; the names of the page are read again here,
since two words may have one hash.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from voyager_core.catalog import search_ways
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.releases import COLUMNS, TABLES, Release, to_release
from voyager_core.catalog.search_filters import SearchQuery, category_spans, filters, place_of
from voyager_core.catalog.search_hits import Hits, further, hits_of
from voyager_core.catalog.search_statistics import statistics_of
from voyager_core.catalog.search_ways import Request
from voyager_core.domain.phrases import checker_of
from voyager_core.domain.tokens import QueryTerms, query_terms

__all__ = ["SearchPage", "SearchQuery", "find_hits", "releases_of", "search", "with_words"]

MAX_LIMIT = 1_000
STATEMENT_TIMEOUT_SECONDS = 10.0

MOST_EPISODES = 100
"""Episodes of a season that are gone through one by one."""

MAX_TERMS = 40
"""Words of one search that the database is asked for; names hold no more."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of releases.

    Attributes:
        total: how many match and can be paged through, whatever the page; 5,000 at most.
        items: the page.
        ids: the numbers of all that match, in their order, so that further pages can be cut
            from the same list by `releases_of`.
        is_least: whether there may be more than `total`.
    """

    total: int
    items: list[Release]
    ids: list[int] = field(default_factory=list)
    is_least: bool = False


def search(
    conn: Connection,
    query: SearchQuery,
    *,
    statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS,
) -> SearchPage:
    """Returns a page of the releases that match, newest first, and how many there are.

    No text is an error: what cannot match anything gives an empty page.

    Args:
        conn: the catalog.
        query: what is asked for.
        statement_timeout_seconds: the longest that a statement may take.

    Raises:
        StatementTimeout: the search took longer than it may.
        CatalogUnavailable: the database does not answer.
    """
    limit, offset = max(0, min(query.limit, MAX_LIMIT)), max(0, query.offset)
    with catalog_errors("searching"), conn.transaction():
        found = find_hits(conn, query, statement_timeout_seconds=statement_timeout_seconds)
        items = releases_of(conn, found.ids[offset : offset + limit])
        # Two words may have one hash; then every name has to be looked at.
        if not found.is_checked and not _all_match(items, found.terms):
            found = _checked(conn, found)
            items = releases_of(conn, found.ids[offset : offset + limit])
    return SearchPage(len(found.ids), items, found.ids, found.is_least)


@dataclass(frozen=True, slots=True)
class Found:
    """The numbers of what a search finds.

    Attributes:
        ids: all of them, newest first.
        is_least: whether there may be more.
        terms: the words.
        is_checked: whether every name was read.
    """

    ids: list[int]
    is_least: bool = False
    terms: QueryTerms = field(default_factory=QueryTerms)
    is_checked: bool = False


def find_hits(
    conn: Connection,
    query: SearchQuery,
    *,
    statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS,
) -> Found:
    """Returns the numbers of the newest matches, at most 5,000, inside a transaction.

    Args:
        conn: the catalog, in a transaction.
        query: what is asked for; its limit and offset are not looked at.
        statement_timeout_seconds: the longest that a statement may take.

    Raises:
        psycopg.Error: as the database gives it.
    """
    terms = _bounded(query_terms(query.text))
    row = conn.execute(
        "select now(), set_config('statement_timeout', %s, true), set_config('jit', 'off', true),"
        " set_config('max_parallel_workers_per_gather', '0', true),"
        " set_config('enable_seqscan', 'off', true),"
        # The ways leave the planner nothing to choose by values, and planning is a tenth of it.
        " set_config('plan_cache_mode', 'force_generic_plan', true)",
        [str(max(1, round(statement_timeout_seconds * 1000)))],
    ).fetchone()
    where = filters(conn, query)
    if where is None or row is None:
        return Found([], is_checked=True)
    spans = category_spans(query.categories, where)
    request = Request(terms, where, place_of(query), spans, now=row[0], before=query.before)
    known = statistics_of(conn)
    if search_ways.asks_for_episodes(request, known):
        request = replace(request, episodes=_episodes(conn, request.place.season))
    hits = hits_of(request, known)
    ids, names = _newest(conn, hits)
    while (more := further(hits, request, known, len(ids))) is not None:
        hits = more
        more_ids, more_names = _newest(conn, hits)
        ids, names = ids + more_ids, names + more_names
    is_least = len(ids) >= request.most or hits.may_lack
    if terms.phrases:
        fits = checker_of(terms)
        named = zip(ids, names, strict=True)
        ids = [number for number, name in islice(named, search_ways.MOST_CHECKED) if fits(name)]
    return Found(ids, is_least, terms, is_checked=bool(terms.phrases))


def releases_of(conn: Connection, release_ids: Sequence[int]) -> list[Release]:
    """Returns releases by their numbers in this catalog, in the order given.

    One that is gone, because it became part of another, is left out.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not release_ids:
        return []
    with catalog_errors("reading a page of releases"):
        rows = (
            conn.cursor(binary=True)
            .execute(
                f"select {COLUMNS} from {TABLES} where r.release_id = any (%s) limit %s",
                [list(release_ids), len(release_ids)],
            )
            .fetchall()
        )
    found = {each.release_id: each for each in map(to_release, rows)}
    return [found[key] for key in release_ids if key in found]


def with_words(
    conn: Connection, text: str, release_ids: Sequence[int], items: Sequence[Release]
) -> list[int] | None:
    """Returns what of a list holds the words of a search; None when a page of it shows no doubt.

    Args:
        conn: the catalog.
        text: the words.
        release_ids: the list.
        items: the page.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    terms = _bounded(query_terms(text))
    if _all_match(items, terms):
        return None
    with catalog_errors("reading names"):
        return _checked(conn, Found(list(release_ids), terms=terms)).ids


def _episodes(conn: Connection, season: int | None) -> tuple[int, ...]:
    """Returns the episodes of a season; none when they are too many to be gone through."""
    rows = conn.execute(
        "with recursive present (episode) as ("
        " select min(r.episode) from release r where r.season = %(season)s"
        " union all select (select min(r.episode) from release r"
        "  where r.season = %(season)s and r.episode > present.episode)"
        " from present where present.episode is not null)"
        " select episode from present where episode is not null limit %(most)s",
        {"season": season, "most": MOST_EPISODES + 1},
    ).fetchall()
    return () if len(rows) > MOST_EPISODES else tuple(episode for (episode,) in rows)


def _newest(conn: Connection, hits: Hits) -> tuple[list[int], list[str]]:
    """Returns the numbers of the hits, newest first, and their names when these are read."""
    statement = f"select array(select release_id from ({hits.sql}) as hit), '{{}}'::text[]"
    if hits.has_names:
        statement = (
            "select coalesce(array_agg(release_id), '{}'), coalesce(array_agg(name), '{}')"
            f" from ({hits.sql}) as hit"
        )
    row = conn.cursor(binary=True).execute(statement, hits.values).fetchone()
    return ([], []) if row is None else (row[0], row[1])


def _checked(conn: Connection, found: Found) -> Found:
    """Returns the hits whose names match when they are read, of the newest 3,000."""
    read = found.ids[: search_ways.MOST_CHECKED]
    names = dict(
        conn.cursor(binary=True)
        .execute(
            "select release_id, name from release where release_id = any (%s) limit %s",
            [read, len(read)],
        )
        .fetchall()
    )
    fits = checker_of(found.terms)
    ids = [release_id for release_id in read if release_id in names and fits(names[release_id])]
    return replace(
        found,
        ids=ids,
        is_least=found.is_least or len(found.ids) > search_ways.MOST_CHECKED,
        is_checked=True,
    )


def _all_match(items: Sequence[Release], terms: QueryTerms) -> bool:
    """Tells whether all names that were found by their hashes hold the words as well."""
    if not terms.required and not terms.excluded and not terms.phrases:
        return True
    fits: Callable[[str], bool] = checker_of(terms)
    return all(fits(item.name) for item in items)


def _bounded(terms: QueryTerms) -> QueryTerms:
    return QueryTerms(
        required=terms.required[:MAX_TERMS],
        excluded=terms.excluded[:MAX_TERMS],
        phrases=terms.phrases[:MAX_TERMS],
    )
