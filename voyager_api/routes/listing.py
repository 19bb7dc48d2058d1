"""From search requests to the catalog, and from its rows to what readers get."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import Request, Response

from voyager_api import responses
from voyager_api.deps import Services
from voyager_api.newznab.categories import filed_under
from voyager_api.newznab.parameters import Parameters, wants_json
from voyager_api.newznab.requests import SearchRequest
from voyager_api.newznab.results import Feed, Item, feed_json, feed_xml
from voyager_api.responses import Answer
from voyager_api.routes.access import Caller
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.releases import Release
from voyager_core.catalog.search import (
    SearchPage,
    SearchQuery,
    releases_of,
    search,
    with_words,
)
from voyager_core.catalog.search_ways import TOTAL_CAP
from voyager_core.domain.category_traits import traits_of

TITLE = "Voyager"
NOT_ALL = "Not all releases were looked through for this list: older ones may match as well"


def find(conn: Connection, services: Services, caller: Caller, request: SearchRequest) -> Feed:
    """Returns the page that a request asks for, from the list that its first page was cut from.

    Raises:
        CatalogUnavailable: the database does not answer, or not in time.
    """
    if request.matches_nothing:
        return Feed(TITLE, offset=request.offset)
    page = _page(conn, services, caller, to_query(request))
    items = tuple(to_item(release, request.categories) for release in page.items)
    feed = Feed(TITLE, items, total=page.total, offset=request.offset)
    if page.is_least and page.total < TOTAL_CAP:
        feed = replace(feed, description=f"{feed.description}. {NOT_ALL}")
    return feed


def _page(conn: Connection, services: Services, caller: Caller, query: SearchQuery) -> SearchPage:
    name = (caller.api_key.api_key_id, replace(query, limit=0, offset=0))
    now = services.now()
    if query.offset and (kept := services.snapshots.ids(name, now)):
        ids, is_least = kept
        begin, end = query.offset, query.offset + query.limit
        releases = releases_of(conn, ids[begin:end])
        # The first page showed that its own names hold the words, not just their hashes.
        if (true := with_words(conn, query.text, ids, releases)) is not None:
            services.snapshots.correct(name, true)
            ids, releases = true, releases_of(conn, true[begin:end])
        return SearchPage(len(ids), releases, ids, is_least)
    page = search(conn, query)
    if page.total > query.offset + len(page.items):
        services.snapshots.keep(name, page.ids, now, is_least=page.is_least)
    else:
        services.snapshots.forget(name)
    return page


def answer_feed(
    request: Request,
    services: Services,
    parameters: Parameters,
    caller: Caller,
    feed: Feed,
    *,
    cacheable: bool = False,
) -> Response:
    """Returns a feed in the form that the request asks for."""
    links = services.links(request, caller.key)
    if wants_json(parameters):
        body, media_type = responses.json_bytes(feed_json(feed, links)), responses.JSON
    else:
        body, media_type = feed_xml(feed, links), responses.RSS
    return responses.respond(Answer(body, media_type, cacheable=cacheable), request.headers)


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


def to_item(release: Release, asked: Sequence[int] = ()) -> Item:
    """Returns a release as clients see it.

    Args:
        release: the release.
        asked: the categories that were asked for. Prowlarr and the *arr drop an item that lists
            none of them, so what was found by a trait lists it.
    """
    traits = traits_of(
        asked,
        release.category,
        name=release.name,
        source=release.source,
        language=release.language,
    )
    return Item(
        release_id=release.public_id,
        name=release.name,
        category=replace(filed_under(release.category), traits=traits),
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
        year=release.year,
        resolution=release.resolution,
        language=release.language,
        team=release.team,
    )
