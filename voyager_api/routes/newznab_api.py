"""`/api`: the Newznab functions, chosen by `t`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import ParametersDep, Services, ServicesDep, presented_key
from voyager_api.newznab.caps import Caps, CapsGroup, caps_json, caps_xml
from voyager_api.newznab.categories import KNOWN_CATEGORIES, category_tree
from voyager_api.newznab.errors import missing_parameter, no_such_item
from voyager_api.newznab.functions import SEARCHES, Function, function_of
from voyager_api.newznab.links import Links
from voyager_api.newznab.parameters import Parameters
from voyager_api.newznab.requests import parse_release_id, parse_search
from voyager_api.newznab.results import Feed, feed_json, feed_xml
from voyager_api.responses import Answer
from voyager_api.routes.access import Caller, admit, identify
from voyager_api.routes.listing import TITLE, find, to_item
from voyager_api.routes.nzb import send_nzb
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.releases import get_release

router = APIRouter()
METHODS: Final = ["GET", "HEAD", "POST"]


@router.api_route("/api", methods=METHODS)
@router.api_route("/api/", methods=METHODS)
# People paste the address with its path into programs that add the path again.
@router.api_route("/api/api", methods=METHODS)
def newznab(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Answers one Newznab request.

    Raises:
        NewznabError: what the caller did wrong, in the protocol's terms.
        CatalogUnavailable: the database does not answer.
    """
    function = function_of(parameters.first("t"))
    if function is Function.GET:
        return send_nzb(request, services, parameters, parameters.first("id", "guid"))
    if function is Function.CAPS:
        return _caps(request, services, parameters)
    make = _search if function in SEARCHES else _OTHERS[function]
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        caller = admit(conn, services, key)
        feed = replace(make(conn, function, parameters), limits=caller.limits)
    return answer_feed(request, services, parameters, caller, feed)


def answer_feed(
    request: Request, services: Services, parameters: Parameters, caller: Caller, feed: Feed
) -> Response:
    """Returns a feed in the form that the request asks for."""
    links = services.links(request, caller.key)
    if wants_json(parameters):
        body = responses.json_bytes(feed_json(feed, links))
        return responses.respond(Answer(body, responses.JSON), request.headers)
    return responses.respond(Answer(feed_xml(feed, links), responses.RSS), request.headers)


def wants_json(parameters: Parameters) -> bool:
    """Returns whether `o=json` is asked for."""
    return parameters.first("o").lower() == "json"


def _caps(request: Request, services: Services, parameters: Parameters) -> Response:
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        # Clients ask without a key first, and then with it to see whether it is good (NZ-2).
        if key:
            identify(conn, key)
        groups = tuple(
            CapsGroup(group.newsgroup_id, group.name, group.checked_at)
            for group in list_groups(conn)
        )
    caps = Caps(category_tree(), groups)
    links = Links(services.links(request).base)
    if wants_json(parameters):
        body, media_type = responses.json_bytes(caps_json(caps, links)), responses.JSON
    else:
        body, media_type = caps_xml(caps, links), responses.XML
    return responses.respond(Answer(body, media_type, cacheable=True), request.headers)


def _search(conn: Connection, function: Function, parameters: Parameters) -> Feed:
    return find(conn, parse_search(function, parameters, known_categories=KNOWN_CATEGORIES))


def _details(conn: Connection, _: Function, parameters: Parameters) -> Feed:
    given = parameters.first("id", "guid")
    if not given:
        raise missing_parameter("id")
    public_id = parse_release_id(given)
    release = get_release(conn, public_id) if public_id else None
    if release is None:
        raise no_such_item()
    return Feed(release.name, (to_item(release),), total=1)


def _comments(conn: Connection, _: Function, parameters: Parameters) -> Feed:
    # There are none, and the comments link of an item must lead somewhere (NZ-21).
    _details(conn, _, parameters)
    return Feed(f"{TITLE}: comments")


_OTHERS: Final[dict[Function, Callable[[Connection, Function, Parameters], Feed]]] = {
    Function.DETAILS: _details,
    Function.COMMENTS: _comments,
}
