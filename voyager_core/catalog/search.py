"""Searching the catalog: words, filters, pages, and a total that can be believed.

Every release is listed as soon as its first span is stored. A search with words is ordered
by posting date, one without by `feed_at`, newest first; the number of the release breaks ties.

How the matches are found is `search_hits`' business; the names of the page are read again here,
since two words may have one hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from voyager_core.catalog import search_ways
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.releases import COLUMNS, TABLES, Release, to_release
from voyager_core.catalog.search_filters import SearchQuery, category_spans, filters, place_of
from voyager_core.catalog.search_hits import Hits, further, hits_of
from voyager_core.catalog.search_statistics import statistics_of
from voyager_core.catalog.search_ways import Request
from voyager_core.domain.tokens import QueryTerms, matches, query_terms

__all__ = ["SearchPage", "SearchQuery", "find_hits", "releases_of", "search"]

MAX_LIMIT = 1_000
STATEMENT_TIMEOUT_SECONDS = 10.0

MOST_CHECKED = 3_000
"""Names that are read to find a phrase, the newest that hold its words."""

_A_PAGE = 100

MAX_TERMS = 40
"""Words of one search that the database is asked for; names hold no more."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """A page of releases.

    Attributes:
        total: how many match and can be paged through, whatever the page; 5,000 at most.
        items: the page.
        ids: the numbers of all that match, in their order, when they were asked for.
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
    with_ids: bool = False,
    statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS,
) -> SearchPage:
    """Returns a page of the releases that match, newest first, and how many there are.

    No text is an error: what cannot match anything gives an empty page.

    Args:
        conn: the catalog.
        query: what is asked for.
        with_ids: whether the numbers of all that match come along (at most 5,000), so that
            further pages can be cut from the same list by `releases_of`.
        statement_timeout_seconds: the longest that a statement may take.

    Raises:
        StatementTimeout: the search took longer than it may.
        CatalogUnavailable: the database does not answer.
    """
    limit, offset = max(0, min(query.limit, MAX_LIMIT)), max(0, query.offset)
    with catalog_errors("searching"), conn.transaction():
        window = None if with_ids else (limit, offset)
        found = find_hits(
            conn, query, window=window, statement_timeout_seconds=statement_timeout_seconds
        )
        page = found.ids[offset : offset + limit] if with_ids else found.ids
        items = releases_of(conn, page)
        # Two words may have one hash; then every name has to be looked at.
        if not found.is_checked and not all(_is_match(item.name, found.terms) for item in items):
            found = _checked(conn, found)
            items = releases_of(conn, found.ids[offset : offset + limit])
    return SearchPage(found.total, items, found.ids if with_ids else [], found.is_least)


@dataclass(frozen=True, slots=True)
class Found:
    """The numbers of what a search finds.

    Attributes:
        total: how many there are.
        ids: all of them, or those in the window that was asked for, newest first.
        is_least: whether there may be more than `total`.
        terms: the words.
        hits: how they were found; None when nothing could match.
        is_checked: whether every name was read.
    """

    total: int
    ids: list[int]
    is_least: bool = False
    terms: QueryTerms = field(default_factory=QueryTerms)
    hits: Hits | None = None
    is_checked: bool = False


def find_hits(
    conn: Connection,
    query: SearchQuery,
    *,
    window: tuple[int, int] | None = None,
    statement_timeout_seconds: float = STATEMENT_TIMEOUT_SECONDS,
) -> Found:
    """Returns the numbers of the newest matches, at most 5,000, inside a transaction.

    Args:
        conn: the catalog, in a transaction.
        query: what is asked for; its limit and offset are not looked at.
        window: limit and offset of the numbers that are returned; None for all.
        statement_timeout_seconds: the longest that a statement may take.

    Raises:
        psycopg.Error: as the database gives it.
    """
    terms = _bounded(query_terms(query.text))
    row = conn.execute(
        "select now(), set_config('statement_timeout', %s, true), set_config('jit', 'off', true),"
        " set_config('max_parallel_workers_per_gather', '0', true),"
        " set_config('enable_seqscan', 'off', true)",
        [str(max(1, round(statement_timeout_seconds * 1000)))],
    ).fetchone()
    where = filters(conn, query)
    if where is None or row is None:
        return Found(0, [], is_checked=True)
    spans = category_spans(query.categories, where)
    request = Request(terms, where, place_of(query), spans, now=row[0], before=query.before)
    known = statistics_of(conn)
    hits = hits_of(request, known)
    cut = None if terms.phrases else window
    total, ids = _newest(conn, hits, cut)
    if hits.may_lack and total < _A_PAGE and (more := further(hits, request, known)) is not None:
        hits = more
        total, ids = _newest(conn, hits, cut)
    is_least = total >= search_ways.TOTAL_CAP or hits.may_lack
    found = Found(total, ids, is_least, terms, hits)
    if not terms.phrases:
        return found
    found = _checked(conn, found)
    if window is None:
        return found
    limit, offset = window
    return replace(found, ids=found.ids[offset : offset + limit])


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


def _newest(conn: Connection, hits: Hits, window: tuple[int, int] | None) -> tuple[int, list[int]]:
    """Returns how many hits there are, and the numbers of a window of them (limit, offset)."""
    cut, values = "", hits.values
    if window is not None:
        cut = " limit %(limit)s offset %(offset)s"
        offset = min(window[1], search_ways.TOTAL_CAP)
        values = {**values, "limit": window[0], "offset": offset}
    row = (
        conn.cursor(binary=True)
        .execute(
            f"with hit as materialized ({hits.sql}) select (select count(*) from hit),"
            f" array(select release_id from hit order by at desc, release_id desc{cut})",
            values,
            prepare=False,
        )
        .fetchone()
    )
    return (int(row[0]), row[1]) if row is not None else (0, [])


def _checked(conn: Connection, found: Found) -> Found:
    """Returns the hits whose names match when they are read, of the newest `MOST_CHECKED`."""
    if found.hits is None:
        return found
    named = conn.execute(
        f"with hit as materialized ({found.hits.sql})"
        " select r.release_id, r.name from hit join release r using (release_id)"
        " order by hit.at desc, hit.release_id desc limit %(checked)s",
        {**found.hits.values, "checked": MOST_CHECKED},
        prepare=False,
    ).fetchall()
    ids = [release_id for release_id, name in named if matches(name, found.terms)]
    is_least = found.is_least or found.total > MOST_CHECKED
    return Found(len(ids), ids, is_least, found.terms, found.hits, is_checked=True)


def _is_match(name: str, terms: QueryTerms) -> bool:
    """Tells whether a name that was found by its hashes holds the words as well."""
    text = name.lower()
    # Most names show it at once; taking them apart takes forty times as long.
    if all(any(word in text for word in group) for group in terms.required):
        return True
    return matches(name, terms)


def _bounded(terms: QueryTerms) -> QueryTerms:
    return QueryTerms(
        required=terms.required[:MAX_TERMS],
        excluded=terms.excluded[:MAX_TERMS],
        phrases=terms.phrases[:MAX_TERMS],
    )
