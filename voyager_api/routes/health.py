"""Whether the process lives (`/healthz`) and whether it can answer (`/readyz`)."""

import logging
from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import PAGE_METHODS, ServicesDep
from voyager_api.responses import Answer
from voyager_api.schemas import Health, Readiness
from voyager_core.catalog.migrate import check_schema
from voyager_core.catalog.releases import counts
from voyager_core.errors import VoyagerError

logger = logging.getLogger(__name__)
router = APIRouter()

_NO_RELEASE: Final = (
    "no release yet: Test in Sonarr and its relatives fails until the first is listed"
)


# Not in a thread: it must answer while every thread waits for the database.
@router.api_route("/healthz", methods=PAGE_METHODS)
async def healthz(request: Request) -> Response:
    """Says that the process is alive."""
    answer = Answer(Health().model_dump_json().encode(), responses.JSON)
    return responses.respond(answer, request.headers)


@router.api_route("/readyz", methods=PAGE_METHODS)
def readyz(request: Request, services: ServicesDep) -> Response:
    """Says whether the catalog answers with the schema of this program, 503 when not."""
    readiness = _readiness(services)
    body = readiness.model_dump_json().encode()
    status = 200 if readiness.catalog else 503
    return responses.respond(Answer(body, responses.JSON, status=status), request.headers)


def _readiness(services: ServicesDep) -> Readiness:
    try:
        with services.catalog.connection() as conn:
            check_schema(conn)
            found = counts(conn).releases > 0
    except VoyagerError as error:
        # The reason may name hosts and users, which strangers need not know.
        logger.warning("not ready: %s", error)
        return Readiness(
            status="not ready",
            catalog=False,
            releases=False,
            message="the catalog does not answer, or has another schema; the log says which",
        )
    return Readiness(
        status="ready", catalog=True, releases=found, message="ready" if found else _NO_RELEASE
    )
