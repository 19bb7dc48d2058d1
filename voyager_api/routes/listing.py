"""From search requests to the catalog, and from its rows to what readers get."""

from voyager_api.newznab.categories import filed_under
from voyager_api.newznab.requests import SearchRequest
from voyager_api.newznab.results import Feed, Item
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.releases import Release
from voyager_core.catalog.search import SearchQuery, search

TITLE = "Voyager"


def find(conn: Connection, request: SearchRequest) -> Feed:
    """Returns the page that a request asks for.

    Raises:
        CatalogUnavailable: the database does not answer, or not in time.
    """
    if request.matches_nothing:
        return Feed(TITLE, offset=request.offset)
    page = search(conn, to_query(request))
    items = tuple(to_item(release) for release in page.items)
    return Feed(TITLE, items, total=page.total, offset=request.offset)


def to_query(request: SearchRequest) -> SearchQuery:
    """Returns the request in the catalog's terms."""
    return SearchQuery(
        text=request.words,
        categories=request.categories,
        season=request.season,
        episode=request.episode,
        airdate=request.airdate,
        groups=request.groups,
        poster=request.poster or None,
        min_age=request.min_age_days,
        max_age=request.max_age_days,
        min_size=request.min_size_bytes,
        max_size=request.max_size_bytes,
        password=None if request.password is None else int(request.password),
        limit=request.limit,
        offset=request.offset,
    )


def to_item(release: Release) -> Item:
    """Returns a release as clients see it."""
    return Item(
        release_id=release.public_id,
        name=release.name,
        category=filed_under(release.category),
        # New posts are listed when they were found, history when it was posted (NZ-38).
        listed_at=release.feed_at,
        posted_at=release.posted_at,
        size_bytes=release.size_bytes,
        files=release.files,
        group=release.groups[0] if release.groups else "",
        poster=release.poster,
        grabs=release.grabs,
        season=release.season,
        episode=release.episode,
        password=release.password if release.password >= 0 else None,
        completion=release.completion,
    )
