"""The router of `/api/v1` and its description."""

from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.openapi.utils import get_openapi

from voyager_api import responses
from voyager_api.deps import ServicesDep
from voyager_api.responses import Answer
from voyager_api.routes.v1 import catalog, releases
from voyager_api.routes.v1.common import PREFIX, PROBLEMS, SECURITY, read

router = APIRouter(prefix=PREFIX, responses=PROBLEMS, dependencies=SECURITY)
router.include_router(releases.router)
router.include_router(catalog.router)
description = APIRouter(prefix=PREFIX)


@read(description, "/openapi.json", include_in_schema=False)
def openapi(request: Request, services: ServicesDep) -> Response:
    """Sends the description of `/api/v1`; it needs no key."""
    document = openapi_document(services.links(request).base)
    answer = Answer(responses.json_bytes(document), responses.JSON, cacheable=True)
    return responses.respond(answer, request.headers)


@lru_cache(maxsize=8)
def openapi_document(base: str) -> dict[str, Any]:
    """Returns the description of the addresses below `/api/v1`.

    Args:
        base: the address that clients reach the API at.
    """
    document = get_openapi(
        title="Voyager",
        version="1",
        description="A Usenet index made from article headers. A key is sent as `X-Api-Key`,"
        " as `Authorization: Bearer`, or as the parameter `apikey`.",
        routes=router.routes,
        servers=[{"url": base}],
    )
    for path in document["paths"].values():
        for operation in path.values():
            # Never sent: a parameter that cannot be understood is 400.
            operation["responses"].pop("422", None)
    return document
