"""The pages for people: start, search, a release, and the files that pages load."""

import logging
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import ParametersDep, Services, ServicesDep
from voyager_api.newznab.errors import NewznabError, no_such_item
from voyager_api.newznab.parameters import Parameters
from voyager_api.newznab.requests import parse_release_id
from voyager_api.web import views
from voyager_api.web.pages import render, static_file
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import list_keys
from voyager_core.catalog.releases import counts, get_release
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.errors import VoyagerError

logger = logging.getLogger(__name__)
router = APIRouter()
METHODS: Final = ["GET", "HEAD"]
NEWEST: Final = 20
PAGE_SIZE: Final = 50
_MAX_QUERY: Final = 400


@router.api_route("/", methods=METHODS)
def start(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends the start page, or the results of a search by name."""
    query = parameters.first("q")[:_MAX_QUERY]
    values: dict[str, Any] = {
        "base": services.links(request).base,
        "prefix": _prefix(services),
        "query": query,
        "problem": None,
        "steps": [],
        "counts": [],
        "releases": [],
        "total": 0,
        "previous_page": "",
        "next_page": "",
    }
    status = 200
    try:
        with services.catalog.connection() as conn:
            values |= _found(conn, services, parameters, query) if query else _news(conn, services)
    except VoyagerError as error:
        logger.warning("the start page lacks the catalog: %s", error)
        values["problem"], status = views.UNREACHABLE, 503
    return responses.respond(render("start.html", status=status, **values), request.headers)


@router.api_route("/details/{name}", methods=METHODS)
def details(request: Request, services: ServicesDep, name: str) -> Response:
    """Sends the page of a release, which the guid of its feed item names."""
    prefix = _prefix(services)
    public_id = parse_release_id(name)
    try:
        with services.catalog.connection() as conn:
            release = get_release(conn, public_id) if public_id else None
    except VoyagerError as error:
        logger.warning("a release page lacks the catalog: %s", error)
        problem = views.UNREACHABLE
        page = render(
            "message.html", status=503, prefix=prefix, title=problem.title, text=problem.text
        )
        return responses.respond(page, request.headers)
    if release is None:
        page = render(
            "message.html",
            status=404,
            prefix=prefix,
            title="No such release",
            text="There is none with this number here. It may belong to another catalog.",
        )
        return responses.respond(page, request.headers)
    facts = views.facts_of(release, services.now())
    page = render("details.html", prefix=prefix, release=release, facts=facts)
    return responses.respond(page, request.headers)


@router.api_route("/static/{name}", methods=METHODS)
def static(request: Request, name: str) -> Response:
    """Sends a style sheet or an image.

    Raises:
        NewznabError: 300 when there is none of that name.
    """
    answer = static_file(name)
    if answer is None:
        raise no_such_item()
    return responses.respond(answer, request.headers)


@router.api_route("/robots.txt", methods=METHODS)
def robots(request: Request) -> Response:
    """Keeps search engines out."""
    answer = responses.Answer(b"User-agent: *\nDisallow: /\n", responses.TEXT, cacheable=True)
    return responses.respond(answer, request.headers)


def _news(conn: Connection, services: Services) -> dict[str, Any]:
    held = counts(conn)
    groups = list_groups(conn)
    has_key = any(key.revoked_at is None for key in list_keys(conn))
    now = services.now()
    newest = search(conn, SearchQuery(limit=NEWEST)).items if held.releases else []
    return {
        "steps": views.steps_of(services.settings, groups=groups, counts=held, has_key=has_key),
        "counts": views.counts_of(held, len(groups), now),
        "releases": [views.row_of(release, now) for release in newest],
    }


def _found(
    conn: Connection, services: Services, parameters: Parameters, query: str
) -> dict[str, Any]:
    offset = _offset(parameters)
    page = search(conn, SearchQuery(text=query, limit=PAGE_SIZE, offset=offset))
    now = services.now()
    following, preceding = offset + PAGE_SIZE, max(0, offset - PAGE_SIZE)
    return {
        "total": page.total,
        "releases": [views.row_of(release, now) for release in page.items],
        "next_page": _page(query, following) if following < page.total else "",
        "previous_page": _page(query, preceding) if offset else "",
    }


def _offset(parameters: Parameters) -> int:
    try:
        return parameters.integer("offset") or 0
    except NewznabError:
        # A hand-made address on a page for people shows the beginning.
        return 0


def _page(query: str, offset: int) -> str:
    return urlencode({"q": query} | ({"offset": str(offset)} if offset else {}))


def _prefix(services: Services) -> str:
    return urlsplit(services.base).path if services.base else ""
