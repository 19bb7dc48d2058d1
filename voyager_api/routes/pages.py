"""The pages of a searcher: start and search, a release, its NZB, and the files that pages load."""

import logging
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import PAGE_METHODS, ParametersDep, Services, ServicesDep
from voyager_api.newznab.errors import NewznabError, no_such_item
from voyager_api.newznab.headers import content_disposition
from voyager_api.newznab.requests import parse_release_id
from voyager_api.newznab.results import NZB_TYPE
from voyager_api.responses import Answer
from voyager_api.routes.nzb import stored_nzb, written_nzb
from voyager_api.routes.visitors import (
    Visitor,
    show,
    turned_away,
    unreachable,
    visitor_of,
)
from voyager_api.web import facet_views, filters, release_views, views
from voyager_api.web.pages import static_file
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.facets import facets_of
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import list_keys
from voyager_core.catalog.releases import chunks, counts, get_release
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.errors import VoyagerError
from voyager_core.nzb.files import MOST_LISTED_SEGMENTS

logger = logging.getLogger(__name__)
router = APIRouter()
NEWEST: Final = 20


@router.api_route("/", methods=PAGE_METHODS)
def start(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends the start page, or the releases that a search finds."""
    asked = filters.read_filters(parameters)
    values: dict[str, Any] = {
        "base": services.links(request).base,
        "asked": asked,
        "choices": filters.CHOICES,
        "group_names": (),
        "problem": None,
        "steps": [],
        "counts": [],
        "releases": [],
        "total": 0,
        "is_least": False,
        "facets": [],
        "previous_page": "",
        "next_page": "",
    }
    visitor, status = None, 200
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
            if away := turned_away(request, services, visitor):
                return away
            groups = list_groups(conn)
            values["group_names"] = [group.name for group in groups[: filters.MAX_GROUPS]]
            if asked.is_search:
                values |= _found(conn, services, asked)
            else:
                values |= _news(conn, services, visitor)
    except VoyagerError as error:
        logger.warning("the start page lacks the catalog: %s", error)
        values["problem"], status = views.UNREACHABLE, 503
    return show(request, services, visitor, "start.html", status=status, **values)


@router.api_route("/details/{name}", methods=PAGE_METHODS)
def details(
    request: Request, services: ServicesDep, parameters: ParametersDep, name: str
) -> Response:
    """Sends the page of a release, which the guid of its feed item names."""
    public_id = parse_release_id(name)
    visitor = None
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
            if away := turned_away(request, services, visitor):
                return away
            release = get_release(conn, public_id) if public_id else None
            # Reading a huge release takes long, and its files are not listed.
            is_listed = release is not None and release.segments <= MOST_LISTED_SEGMENTS
            payloads = chunks(conn, release.release_id) if release and is_listed else []
    except VoyagerError as error:
        return unreachable(request, services, visitor, error)
    if release is None:
        return _no_such_release(request, services, visitor)
    return show(
        request,
        services,
        visitor,
        "details.html",
        release=release,
        facts=views.facts_of(release, services.now()),
        listing=release_views.files_of_release(
            release, payloads, is_whole=parameters.first("files") == "all"
        ),
        link=services.links(request).details(release.public_id),
    )


@router.api_route("/download/{name}", methods=PAGE_METHODS)
def download(request: Request, services: ServicesDep, name: str) -> Response:
    """Sends the NZB of a release to somebody who may see its page.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with services.catalog.connection() as conn:
        visitor = visitor_of(request, services, conn)
        if away := turned_away(request, services, visitor):
            return away
        try:
            release, payloads = stored_nzb(conn, name)
        except NewznabError:
            return _no_such_release(request, services, visitor)
    try:
        body = written_nzb(release, payloads)
    except NewznabError as error:
        return show(
            request,
            services,
            visitor,
            "message.html",
            status=404,
            title="No NZB",
            text=views.sentence(error.description),
            command="",
        )
    disposition = content_disposition(release.name, fallback=release.public_id)
    answer = Answer(body, NZB_TYPE, headers=((b"Content-Disposition", disposition),))
    return responses.respond(answer, request.headers)


@router.api_route("/static/{name}", methods=PAGE_METHODS)
def static(request: Request, name: str) -> Response:
    """Sends a style sheet, a script or an image.

    Raises:
        NewznabError: 300 when there is none of that name.
    """
    answer = static_file(name)
    if answer is None:
        raise no_such_item()
    return responses.respond(answer, request.headers)


@router.api_route("/robots.txt", methods=PAGE_METHODS)
def robots(request: Request) -> Response:
    """Keeps search engines out."""
    answer = Answer(b"User-agent: *\nDisallow: /\n", responses.TEXT, cacheable=True)
    return responses.respond(answer, request.headers)


def _news(conn: Connection, services: Services, visitor: Visitor) -> dict[str, Any]:
    held = counts(conn)
    groups = list_groups(conn)
    has_key = any(key.revoked_at is None for key in list_keys(conn))
    now = services.now()
    newest = search(conn, SearchQuery(limit=NEWEST)).items if held.releases else []
    return {
        "steps": views.steps_of(
            services.settings,
            groups=groups,
            counts=held,
            has_key=has_key,
            may_set_up=visitor.may_set_up,
        ),
        "counts": views.counts_of(held, len(groups), now),
        "releases": [views.row_of(release, now) for release in newest],
    }


def _found(conn: Connection, services: Services, asked: filters.Filters) -> dict[str, Any]:
    page = search(conn, asked.to_query())
    now = services.now()
    return {
        "total": page.total,
        "is_least": page.is_least,
        "facets": facet_views.facets_of(asked, facets_of(conn, asked.to_query()))
        if page.total > 1
        else [],
        "releases": [views.row_of(release, now) for release in page.items],
        "next_page": asked.page_after(page.total),
        "previous_page": asked.page_before(page.total),
    }


def _no_such_release(request: Request, services: Services, visitor: Visitor | None) -> Response:
    return show(
        request,
        services,
        visitor,
        "message.html",
        status=404,
        title="No such release",
        text="There is none with this number here. It may belong to another catalog.",
        command="",
    )
