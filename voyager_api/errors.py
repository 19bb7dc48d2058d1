"""How every failure becomes an answer that the caller can read (NZ-27, NZ-28).

Addresses of the protocol answer with an `<error>` document, pages with a line of text. No answer
ever holds a traceback or the framework's own JSON.
"""

import logging
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from voyager_api import responses
from voyager_api.access_log import redact
from voyager_api.newznab.errors import (
    ErrorCode,
    NewznabError,
    error_json,
    error_xml,
    http_status,
    unavailable,
    unknown_error,
)
from voyager_api.newznab.functions import Function, function_of
from voyager_api.newznab.parameters import Parameters
from voyager_api.responses import Answer
from voyager_core.catalog.errors import CatalogRefused, MigrationError
from voyager_core.errors import TransientError, VoyagerError

logger = logging.getLogger(__name__)

RETRY_SECONDS: Final = 10
RETRY_LATE_SECONDS: Final = 300
_PROTOCOL_PATHS: Final = ("/api", "/rss", "/getnzb")


def answer_error(error: NewznabError, request: Request) -> Response:
    """Returns the document for an error in the form that the request asked for."""
    parameters = Parameters.from_query(request.scope["query_string"])
    status = http_status(error, download=is_download(request, parameters))
    headers: list[tuple[bytes, bytes]] = []
    if error.retry_after_seconds is not None:
        headers.append((b"Retry-After", str(error.retry_after_seconds).encode()))
    if status == 401:
        headers.append((b"WWW-Authenticate", b'Basic realm="Voyager", charset="UTF-8"'))
    if status == 405:
        headers.append((b"Allow", b"GET, HEAD, POST"))
    if parameters.first("o").lower() == "json":
        body, media_type = responses.json_bytes(error_json(error)), responses.JSON
    else:
        body, media_type = error_xml(error), responses.XML
    document = Answer(body, media_type, status=status, headers=tuple(headers))
    return responses.respond(document, request.headers)


def is_download(request: Request, parameters: Parameters) -> bool:
    """Returns whether the caller acts on the HTTP status: NZBs and plain feeds."""
    if request.scope["path"].startswith(("/getnzb", "/rss")):
        return True
    try:
        return function_of(parameters.first("t")) is Function.GET
    except NewznabError:
        return False


def install(app: FastAPI) -> None:
    """Makes the application answer every failure by this module."""
    app.add_exception_handler(NewznabError, _newznab)
    app.add_exception_handler(VoyagerError, _voyager)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def answer(error: NewznabError, request: Request) -> Response:
    """Returns the answer to a failed request: a document for programs, a line for people."""
    if request.scope["path"].startswith(_PROTOCOL_PATHS):
        return answer_error(error, request)
    text = f"{error.description}. The start page is at /\n"
    status = http_status(error, download=True)
    return responses.respond(Answer(text.encode(), responses.TEXT, status=status), request.headers)


def _newznab(request: Request, error: Exception) -> Response:
    assert isinstance(error, NewznabError)
    return answer(error, request)


def _voyager(request: Request, error: Exception) -> Response:
    if isinstance(error, TransientError):
        logger.warning("cannot answer %s: %s", _shown(request), error)
        return answer(unavailable(RETRY_SECONDS), request)
    if isinstance(error, CatalogRefused | MigrationError):
        logger.error("cannot answer %s: %s", _shown(request), error)
        return answer(unavailable(RETRY_LATE_SECONDS), request)
    logger.error("failed to answer %s: %s", _shown(request), error)
    return answer(unknown_error(), request)


def _invalid(request: Request, _: Exception) -> Response:
    # Routes take no typed parameters; this is the net below them.
    return answer(NewznabError(ErrorCode.INCORRECT_PARAMETER, "Incorrect parameter"), request)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = ErrorCode.NO_SUCH_ITEM if error.status_code == 404 else ErrorCode.UNKNOWN
    return answer(NewznabError(code, error.detail, status=error.status_code), request)


def _unforeseen(request: Request, error: Exception) -> Response:
    # The server logs the traceback once this handler has answered.
    logger.error("unhandled %s while answering %s", type(error).__name__, _shown(request))
    return answer(unknown_error(), request)


def _shown(request: Request) -> str:
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.method} {redact(request.scope['path'] + '?' + query)}"
