"""`/metrics` for Prometheus, where `VOYAGER_API__METRICS` allows it."""

import logging

from fastapi import APIRouter, Request, Response

from voyager_api import responses
from voyager_api.deps import PAGE_METHODS, Services, ServicesDep
from voyager_api.metrics import TEXT, family
from voyager_api.newznab.errors import no_such_item
from voyager_api.responses import Answer
from voyager_core.catalog.candidates import count_candidates
from voyager_core.catalog.releases import counts
from voyager_core.errors import VoyagerError

logger = logging.getLogger(__name__)
router = APIRouter()


@router.api_route("/metrics", methods=PAGE_METHODS)
def metrics(request: Request, services: ServicesDep) -> Response:
    """Sends counts of the process, of its pool and of the catalog.

    Raises:
        NewznabError: 300 when the setting does not allow it.
    """
    if not services.settings.api.metrics:
        raise no_such_item()
    lines = services.metrics.lines() + _pool(services)
    try:
        lines += _catalog(services)
        reachable = 1
    except VoyagerError as error:
        logger.warning("metrics lack the catalog: %s", error)
        reachable = 0
    lines += family("voyager_catalog_up", "gauge", "Whether it answers.", [({}, reachable)])
    body = "\n".join([*lines, ""]).encode()
    return responses.respond(Answer(body, TEXT), request.headers)


def _pool(services: Services) -> list[str]:
    numbers = services.catalog.pool_numbers()
    return family(
        "voyager_api_pool",
        "gauge",
        "Database connections: most, open, idle, and requests that wait for one.",
        (({"kind": kind}, number) for kind, number in numbers.items()),
    )


def _catalog(services: Services) -> list[str]:
    with services.catalog.connection() as conn:
        held, candidates = counts(conn), count_candidates(conn)
        groups = services.group_status(conn)
    lines = [
        *family("voyager_releases", "gauge", "Releases, estimated.", [({}, held.releases)]),
        *family("voyager_lines_total", "counter", "Overview lines read.", [({}, held.lines)]),
        *family("voyager_segments_total", "counter", "Segments stored.", [({}, held.segments)]),
        *family(
            "voyager_candidates",
            "gauge",
            "Articles in the probe queue.",
            (({"kind": kind}, number) for kind, number in candidates.items()),
        ),
    ]
    if held.stored_at is not None:
        lines += family(
            "voyager_stored_timestamp_seconds",
            "gauge",
            "When a span was last stored.",
            [({}, held.stored_at.timestamp())],
        )
    for name, text in (
        ("lag", "Article numbers between what is indexed and the newest article."),
        ("backlog", "Article numbers that are still to be indexed."),
        ("parked", "Ranges that wait for a person."),
    ):
        lines += family(
            f"voyager_group_{name}",
            "gauge",
            text,
            (({"group": one.group}, getattr(one, name)) for one in groups),
        )
    return lines
