"""NZB downloads: `/getnzb/<id>.nzb`, `/getnzb?id=` and `t=get` (NZ-16, NZ-17, NZ-39)."""

import logging

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import PROGRAM_METHODS, ParametersDep, Services, ServicesDep, presented_key
from voyager_api.newznab.errors import missing_parameter, no_such_item
from voyager_api.newznab.headers import content_disposition, dnzb_headers
from voyager_api.newznab.parameters import Parameters
from voyager_api.newznab.requests import parse_release_id
from voyager_api.newznab.results import NZB_TYPE
from voyager_api.responses import Answer
from voyager_api.routes.access import admit_grab, identify
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.releases import Release, nzb_source
from voyager_core.domain.category_names import category_label
from voyager_core.nzb.files import CorruptChunkError
from voyager_core.nzb.writer import EmptyNzbError, build_nzb

logger = logging.getLogger(__name__)
router = APIRouter()


@router.api_route("/getnzb", methods=PROGRAM_METHODS)
@router.api_route("/getnzb/", methods=PROGRAM_METHODS)
def getnzb(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends the NZB of the release that `id` names.

    Raises:
        NewznabError: as `send_nzb`.
    """
    return send_nzb(request, services, parameters, parameters.first("id", "guid"))


@router.api_route("/getnzb/{name}", methods=PROGRAM_METHODS)
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
        api_key = identify(conn, services, request, key)
        if not given:
            raise missing_parameter("id")
        release, chunks = stored_nzb(conn, given)
        if request.method != "HEAD":
            admit_grab(conn, services, api_key, release.release_id)
    # The connection is back before the document is made, which takes longer than reading it.
    body = written_nzb(release, chunks)
    headers = [
        (b"Content-Disposition", content_disposition(release.name, fallback=release.public_id)),
        *dnzb_headers(
            name=release.name,
            category=category_label(release.category),
            details_url=services.links(request).details(release.public_id),
        ),
    ]
    answer = Answer(body, NZB_TYPE, headers=tuple(headers))
    return responses.respond(answer, request.headers)


def stored_nzb(conn: Connection, given: str) -> tuple[Release, list[bytes]]:
    """Returns a release and its chunks, by an id as callers give it.

    Raises:
        NewznabError: 300 when there is none, or nothing of it is stored yet.
    """
    public_id = parse_release_id(given)
    source = nzb_source(conn, public_id) if public_id else None
    if source is None or not source[1]:
        raise no_such_item()
    return source


def written_nzb(release: Release, chunks: list[bytes]) -> bytes:
    """Returns the NZB of a release.

    Raises:
        NewznabError: 300 when it would hold no file, or what is stored of it is damaged, so that
            clients take another release and leave the indexer in peace.
    """
    try:
        return build_nzb(release, chunks, category=category_label(release.category))
    except EmptyNzbError:
        raise no_such_item() from None
    except CorruptChunkError as error:
        logger.error("release %s: %s", release.public_id, error)  # noqa: TRY400 - told whole
        raise no_such_item("What is stored of it is damaged") from None
