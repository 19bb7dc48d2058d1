"""What the addresses of `/api/v1` share: keys, documents, cursors."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import APIKeyHeader, HTTPBearer
from pydantic import BaseModel

from voyager_api import responses
from voyager_api.deps import ParametersDep, ServicesDep, presented_key
from voyager_api.newznab.errors import incorrect_parameter
from voyager_api.responses import Answer
from voyager_api.routes.access import admit
from voyager_api.schemas import Problem
from voyager_core.catalog.connect import Connection

PREFIX: Final = "/api/v1"
_LONGEST_CURSOR: Final = 200
_NUMBERS: Final = range(1 << 63)

# What every address can answer; the key may stand wherever the Newznab addresses take it.
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": Problem, "description": "A parameter cannot be understood, or no key is sent"},
    401: {"model": Problem, "description": "The key is unknown or revoked"},
    429: {"model": Problem, "description": "A limit is reached; Retry-After says for how long"},
    503: {"model": Problem, "description": "The catalog does not answer; try again later"},
}
MISSING: Final[dict[int | str, dict[str, Any]]] = {
    404: {"model": Problem, "description": "There is no such thing"}
}
SECURITY: Final = [
    Depends(APIKeyHeader(name="X-Api-Key", auto_error=False)),
    Depends(HTTPBearer(auto_error=False)),
]


class Asked:
    """One request: who asks, and how it is answered."""

    def __init__(self, request: Request, services: ServicesDep, parameters: ParametersDep) -> None:
        self.request = request
        self.services = services
        self.parameters = parameters

    @contextmanager
    def admitted(self) -> Iterator[Connection]:
        """Lends a connection when the key is good, and counts the request.

        Raises:
            NewznabError: 200 or 100 for the key, 500 when its requests are used up.
            CatalogUnavailable: the database does not answer.
        """
        key = presented_key(self.parameters, self.request.headers)
        with self.services.catalog.connection() as conn:
            admit(conn, self.services, self.request, key)
            yield conn

    def answer(self, document: BaseModel) -> Response:
        """Returns a document as the response."""
        body = document.model_dump_json().encode()
        return responses.respond(Answer(body, responses.JSON), self.request.headers)


AskedDep = Annotated[Asked, Depends()]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Response])


def read(router: APIRouter, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
    """Answers GET at an address by the decorated function, and HEAD, which is not described."""

    def register(endpoint: Endpoint) -> Endpoint:
        router.head(path, include_in_schema=False)(endpoint)
        return router.get(path, **options)(endpoint)

    return register


def cursor_of(order: str, at: datetime, release_id: int) -> str:
    """Returns the text that stands for a place in a list."""
    text = json.dumps([order, at.timestamp(), release_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def place_of(cursor: str, order: str) -> tuple[datetime, int]:
    """Returns the place in a list that a cursor stands for.

    Raises:
        NewznabError: 201 when it was not made by `cursor_of` for a list in this order.
    """
    try:
        if len(cursor) > _LONGEST_CURSOR:
            raise incorrect_parameter("cursor")
        padded = cursor + "=" * (-len(cursor) % 4)
        made, seconds, release_id = json.loads(base64.b64decode(padded, b"-_", validate=True))
        if made != order or type(release_id) is not int or release_id not in _NUMBERS:
            raise incorrect_parameter("cursor")
        return datetime.fromtimestamp(float(seconds), UTC), release_id
    except (ValueError, TypeError, OverflowError, OSError, RecursionError, binascii.Error):
        raise incorrect_parameter("cursor") from None
