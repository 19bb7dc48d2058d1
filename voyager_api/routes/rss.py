"""`/rss`: newest releases of categories, for downloaders and feed readers (NZ-37)."""

from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import ParametersDep, ServicesDep, presented_key
from voyager_api.newznab.categories import KNOWN_CATEGORIES
from voyager_api.newznab.requests import parse_feed
from voyager_api.newznab.results import feed_xml
from voyager_api.responses import Answer
from voyager_api.routes.access import admit
from voyager_api.routes.listing import find

router = APIRouter()
METHODS: Final = ["GET", "HEAD", "POST"]


@router.api_route("/rss", methods=METHODS)
@router.api_route("/rss/", methods=METHODS)
def rss(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends a feed that stays byte for byte the same until something new is listed.

    Raises:
        NewznabError: 200 or 100 for the key, 201 for a bad value, 500 over the limit.
        CatalogUnavailable: the database does not answer.
    """
    wanted = parse_feed(parameters, known_categories=KNOWN_CATEGORIES)
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        caller = admit(conn, services, key)
        feed = find(conn, wanted)
    feed = replace(feed, nzb_links=parameters.first("dl") == "1")
    body = feed_xml(feed, services.links(request, caller.key))
    return responses.respond(Answer(body, responses.RSS, cacheable=True), request.headers)
