"""How every failure becomes an answer that the caller can read (NZ-27, NZ-28).

Addresses of the protocol answer with an `<error>` document, others with a page to browsers and a
line of text to programs. No answer ever holds a traceback or the framework's own JSON.
"""

import logging
from collections.abc import Callable
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from voyager_api import responses
from voyager_api.access_log import request_line
from voyager_api.newznab.errors import (
    ErrorCode,
    NewznabError,
    error_json,
    error_xml,
    http_status,
    incorrect_parameter,
    unavailable,
    unknown_error,
)
from voyager_api.newznab.functions import Function, function_of
from voyager_api.newznab.parameters import Parameters, wants_json
from voyager_api.responses import Answer
from voyager_api.scopes import parameters_of
from voyager_core.catalog.errors import CatalogRefused, MigrationError
from voyager_core.errors import TransientError, VoyagerError

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 10
RETRY_LATE_SECONDS: Final = 300
_PROTOCOL_PATHS: Final = ("/api", "/rss", "/getnzb")
_JSON_PATH: Final = "/api/v1/"


Headers = tuple[tuple[bytes, bytes], ...]
ProblemPage = Callable[[Request, NewznabError, int, Headers], Response]
"""Makes the page for an error, its HTTP status and further headers."""


def answer_error(error: NewznabError, request: Request, headers: Headers = ()) -> Response:
    """Returns the document for an error in the form that the request asked for."""
    parameters = parameters_of(request.scope)
    is_v1 = request.scope["path"].startswith(_JSON_PATH)
    status = http_status(error, download=is_v1 or is_download(request, parameters))
    if status == 401:
        headers = (*headers, (b"WWW-Authenticate", b'Basic realm="Voyager", charset="UTF-8"'))
    if is_v1 or wants_json(parameters):
        body, media_type = responses.json_bytes(error_json(error)), responses.JSON
    else:
        body, media_type = error_xml(error), responses.XML
    document = Answer(body, media_type, status=status, headers=headers)
    return responses.respond(document, request.headers)


def is_download(request: Request, parameters: Parameters) -> bool:
    """Returns whether the caller acts on the HTTP status: NZBs and plain feeds."""
    if request.scope["path"].startswith(("/getnzb", "/rss")):
        return True
    try:
        return function_of(parameters.first("t")) is Function.GET
    except NewznabError:
        return False


def install(app: FastAPI, page: ProblemPage) -> None:
    """Makes the application answer every failure by this module.

    Args:
        app: the application.
        page: makes the answer to browsers.
    """
    app.state.problem_page = page
    app.add_exception_handler(NewznabError, _newznab)
    app.add_exception_handler(VoyagerError, _voyager)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def answer(error: NewznabError, request: Request, headers: Headers = ()) -> Response:
    """Returns the answer to a failed request: a document for programs, a page for people."""
    if error.retry_after_seconds is not None:
        headers = (*headers, (b"Retry-After", str(error.retry_after_seconds).encode()))
    if request.scope["path"].startswith(_PROTOCOL_PATHS):
        return answer_error(error, request, headers)
    status = http_status(error, download=True)
    if "text/html" in request.headers.get("accept", ""):
        page: ProblemPage = request.app.state.problem_page
        return page(request, error, status, headers)
    text = Answer(f"{error.description}\n".encode(), responses.TEXT, status, headers)
    return responses.respond(text, request.headers)


def _newznab(request: Request, error: Exception) -> Response:
    assert isinstance(error, NewznabError)
    return answer(error, request)


def _voyager(request: Request, error: Exception) -> Response:
    if isinstance(error, TransientError):
        logger.warning("cannot answer %s: %s", request_line(request.scope), error)
        return answer(unavailable(RETRY_SECONDS), request)
    if isinstance(error, CatalogRefused | MigrationError):
        logger.error("cannot answer %s: %s", request_line(request.scope), error)
        return answer(unavailable(RETRY_LATE_SECONDS), request)
    logger.error("failed to answer %s: %s", request_line(request.scope), error)
    return answer(unknown_error(), request)


def _invalid(request: Request, error: Exception) -> Response:
    # Only the JSON addresses have typed parameters; elsewhere this is the net below them.
    assert isinstance(error, RequestValidationError)
    places = [problem["loc"] for problem in error.errors()]
    # A place is ("query", name) or ("query", name, position).
    names = sorted({str(place[1]) for place in places if len(place) > 1})
    return answer(incorrect_parameter(", ".join(names) or "request"), request)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = ErrorCode.NO_SUCH_ITEM if error.status_code == 404 else ErrorCode.UNKNOWN
    headers: Headers = ()
    if error.status_code == 405:
        headers = ((b"Allow", ", ".join(_allowed(request)).encode()),)
    return answer(NewznabError(code, error.detail, status=error.status_code), request, headers)


def _allowed(request: Request) -> list[str]:
    """Returns the methods that the address of a request takes; each may be a route of its own."""
    return [
        method
        for method in ("GET", "HEAD", "POST")
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.router.routes
        )
    ]


def _unforeseen(request: Request, error: Exception) -> Response:
    # The server logs the traceback once this handler has answered, and ends the connection.
    name = type(error).__name__
    logger.error("unhandled %s while answering %s", name, request_line(request.scope))
    return answer(unknown_error(), request, ((b"Connection", b"close"),))
