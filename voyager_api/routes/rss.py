"""`/rss`: newest releases of categories, for downloaders and feed readers (NZ-37)."""

from dataclasses import replace

from fastapi import APIRouter, Request, Response

from voyager_api.deps import PROGRAM_METHODS, ParametersDep, ServicesDep, presented_key
from voyager_api.newznab.categories import KNOWN_CATEGORIES
from voyager_api.newznab.requests import parse_feed
from voyager_api.routes.access import admit
from voyager_api.routes.listing import answer_feed, find

router = APIRouter()


@router.api_route("/rss", methods=PROGRAM_METHODS)
@router.api_route("/rss/", methods=PROGRAM_METHODS)
def rss(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends a feed that stays byte for byte the same until something new is listed.

    Raises:
        NewznabError: 200 or 100 for the key, 201 for a bad value, 500 over the limit.
        CatalogUnavailable: the database does not answer.
    """
    wanted = parse_feed(parameters, known_categories=KNOWN_CATEGORIES)
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        caller = admit(conn, services, request, key)
        feed = find(conn, services, caller, wanted)
    # Without the limits, which would change the feed at every request.
    feed = replace(feed, nzb_links=parameters.first("dl") == "1")
    return answer_feed(request, services, parameters, caller, feed, cacheable=True)
