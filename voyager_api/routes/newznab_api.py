"""`/api`: the Newznab functions, chosen by `t`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import PROGRAM_METHODS, ParametersDep, Services, ServicesDep, presented_key
from voyager_api.newznab.caps import Caps, CapsGroup, caps_json, caps_xml
from voyager_api.newznab.categories import KNOWN_CATEGORIES, category_tree
from voyager_api.newznab.errors import missing_parameter, no_such_item
from voyager_api.newznab.functions import SEARCHES, Function, function_of
from voyager_api.newznab.links import Links
from voyager_api.newznab.parameters import Parameters, wants_json
from voyager_api.newznab.requests import parse_release_id, parse_search
from voyager_api.newznab.results import Feed
from voyager_api.responses import Answer
from voyager_api.routes.access import admit, identify
from voyager_api.routes.listing import TITLE, answer_feed, find, to_item
from voyager_api.routes.nzb import send_nzb
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.releases import Release, get_release, oldest_posting

router = APIRouter()


@router.api_route("/api", methods=PROGRAM_METHODS)
@router.api_route("/api/", methods=PROGRAM_METHODS)
# People paste the address with its path into programs that add the path again.
@router.api_route("/api/api", methods=PROGRAM_METHODS)
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
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        caller = admit(conn, services, request, key)
        if function in SEARCHES:
            wanted = parse_search(function, parameters, known_categories=KNOWN_CATEGORIES)
            feed = find(conn, services, caller, wanted)
        else:
            feed = _OTHERS[function](conn, parameters)
    feed = replace(feed, limits=caller.limits)
    return answer_feed(request, services, parameters, caller, feed)


def _caps(request: Request, services: Services, parameters: Parameters) -> Response:
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        # Clients ask without a key first, and then with it to see whether it is good (NZ-2).
        if key:
            identify(conn, services, request, key)
        groups = tuple(
            CapsGroup(group.newsgroup_id, group.name, group.checked_at)
            for group in list_groups(conn)
        )
        oldest = oldest_posting(conn)
    days = None if oldest is None else max(1, (services.now() - oldest).days)
    caps = Caps(category_tree(), groups, retention_days=days)
    links = Links(services.links(request).base)
    if wants_json(parameters):
        body, media_type = responses.json_bytes(caps_json(caps, links)), responses.JSON
    else:
        body, media_type = caps_xml(caps, links), responses.XML
    return responses.respond(Answer(body, media_type, cacheable=True), request.headers)


def _details(conn: Connection, parameters: Parameters) -> Feed:
    release = _release(conn, parameters)
    return Feed(release.name, (to_item(release),), total=1)


def _comments(conn: Connection, parameters: Parameters) -> Feed:
    # There are none, and the comments link of an item must lead somewhere (NZ-21).
    _release(conn, parameters)
    return Feed(f"{TITLE}: comments")


def _nfo(conn: Connection, parameters: Parameters) -> Feed:
    # Articles are not read yet, so that no release has one; items do not claim it either.
    _release(conn, parameters)
    raise no_such_item("No NFO is known for this item")


def _release(conn: Connection, parameters: Parameters) -> Release:
    given = parameters.first("id", "guid")
    if not given:
        raise missing_parameter("id")
    public_id = parse_release_id(given)
    release = get_release(conn, public_id) if public_id else None
    if release is None:
        raise no_such_item()
    return release


_OTHERS: Final[dict[Function, Callable[[Connection, Parameters], Feed]]] = {
    Function.DETAILS: _details,
    Function.COMMENTS: _comments,
    Function.NFO: _nfo,
}
