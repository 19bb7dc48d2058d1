"""NZB downloads: `/getnzb/<id>.nzb`, `/getnzb?id=` and `t=get` (NZ-16, NZ-17, NZ-39)."""

from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import ParametersDep, Services, ServicesDep, presented_key
from voyager_api.newznab.errors import missing_parameter, no_such_item
from voyager_api.newznab.headers import content_disposition, dnzb_headers
from voyager_api.newznab.parameters import Parameters
from voyager_api.newznab.requests import parse_release_id
from voyager_api.newznab.results import NZB_TYPE
from voyager_api.responses import Answer
from voyager_api.routes.access import admit_grab, identify
from voyager_core.catalog.releases import nzb_source
from voyager_core.domain.categories import category_label
from voyager_core.nzb.writer import EmptyNzbError, build_nzb

router = APIRouter()
METHODS: Final = ["GET", "HEAD", "POST"]


@router.api_route("/getnzb", methods=METHODS)
@router.api_route("/getnzb/", methods=METHODS)
def getnzb(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends the NZB of the release that `id` names.

    Raises:
        NewznabError: as `send_nzb`.
    """
    return send_nzb(request, services, parameters, parameters.first("id", "guid"))


@router.api_route("/getnzb/{name}", methods=METHODS)
def getnzb_by_name(
    request: Request, services: ServicesDep, parameters: ParametersDep, name: str
) -> Response:
    """Sends the NZB of the release that the path names.

    Raises:
        NewznabError: as `send_nzb`.
    """
    return send_nzb(request, services, parameters, name)


def send_nzb(request: Request, services: Services, parameters: Parameters, given: str) -> Response:
    """Returns the NZB of a release, and counts the download unless only its headers are asked for.

    Raises:
        NewznabError: 200 without key or id, 100 for a wrong key, 300 without such a release, 500
            when the key's downloads are used up.
        CatalogUnavailable: the database does not answer.
    """
    key = presented_key(parameters, request.headers)
    with services.catalog.connection() as conn:
        api_key = identify(conn, key)
        if not given:
            raise missing_parameter("id")
        public_id = parse_release_id(given)
        source = nzb_source(conn, public_id) if public_id else None
        if source is None or not source[1]:
            raise no_such_item()
        release, chunks = source
        if request.method != "HEAD":
            admit_grab(conn, services, api_key, release.release_id)
    # The connection is back before the document is made, which takes longer than reading it.
    category = category_label(release.category)
    try:
        body = build_nzb(release, chunks, category=category)
    except EmptyNzbError:
        raise no_such_item() from None
    headers = [
        (b"Content-Disposition", content_disposition(release.name, fallback=release.public_id)),
        *dnzb_headers(
            name=release.name,
            category=category,
            details_url=services.links(request).details(release.public_id),
        ),
    ]
    answer = Answer(body, NZB_TYPE, headers=tuple(headers))
    return responses.respond(answer, request.headers)
