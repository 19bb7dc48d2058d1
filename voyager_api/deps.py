"""What routes are given: the catalog, the settings, the request's parameters and its key."""

import base64
import binascii
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

import psycopg
from fastapi import Depends, Request

from voyager_api.newznab.errors import incorrect_parameter
from voyager_api.newznab.links import Links, base_of_request
from voyager_api.newznab.parameters import Parameters
from voyager_core.catalog.connect import Connection, Pool, database_dsn, open_pool
from voyager_core.catalog.errors import CatalogUnavailable, catalog_errors
from voyager_core.settings import Settings

logger = logging.getLogger(__name__)

# A client that waits for a connection holds one of the server's threads, so it waits briefly.
POOL_TIMEOUT_SECONDS: Final = 5.0
STATEMENT_TIMEOUT_SECONDS: Final = 10.0
# After this long without a database the pool forgets its growing pauses and tries at once again.
_RECONNECT_SECONDS: Final = 5.0
_MAX_BODY: Final = 65_536


@dataclass(slots=True)
class Catalog:
    """The catalog as the API reaches it: a pool that is opened when it is first needed.

    The API starts and stays up without a database, and finds it when it appears, also at another
    address (the embedded server takes a free port at each start).
    """

    settings: Settings
    pool_timeout_seconds: float = POOL_TIMEOUT_SECONDS
    _pool: Pool | None = None
    _dsn: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lends a connection in autocommit mode.

        Raises:
            CatalogUnavailable: the database or a free connection did not answer in time, or the
                schema is not there yet.
            CatalogRefused: the database refuses the login.
        """
        with catalog_errors("answering a request"):
            try:
                with self._open().connection() as conn:
                    yield conn
            except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
                msg = "the catalog's schema is older than this program; `voyager up` migrates it"
                raise CatalogUnavailable(msg) from error

    def close(self) -> None:
        """Closes the pool; a later request would open it again."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def _open(self) -> Pool:
        dsn = database_dsn(self.settings)
        with self._lock:
            if self._pool is None or dsn != self._dsn:
                if self._pool is not None:
                    self._pool.close(timeout=0)
                self._pool = open_pool(
                    self.settings,
                    application_name="voyager-api",
                    statement_timeout_seconds=STATEMENT_TIMEOUT_SECONDS,
                    timeout_seconds=self.pool_timeout_seconds,
                )
                self._pool.reconnect_timeout = _RECONNECT_SECONDS
                self._dsn = dsn
            return self._pool


@dataclass(frozen=True, slots=True)
class Services:
    """What one application is made of.

    Attributes:
        base: the configured external address, None = by `base_of_request`.
        now: the clock, in UTC.
    """

    settings: Settings
    catalog: Catalog
    base: str | None
    now: Callable[[], datetime]

    def links(self, request: Request, key: str = "") -> Links:
        """Returns the link maker for a request (NZ-18)."""
        base = self.base or base_of_request(
            listen_host=self.settings.api.host,
            host_header=request.headers.get("host", ""),
            server=request.scope.get("server"),
        )
        return Links(base, key)


def get_services(request: Request) -> Services:
    """Returns the services of the application that the request came to."""
    services: Services = request.app.state.services
    return services


async def read_parameters(request: Request) -> Parameters:
    """Returns the parameters of the address and of a form body, whatever the method.

    Raises:
        NewznabError: 201 for a body that is larger than any request.
    """
    queries = [request.scope["query_string"]]
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and content_type == "application/x-www-form-urlencoded":
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > _MAX_BODY:
                raise incorrect_parameter("body")
        queries.append(bytes(body))
    return Parameters.from_query(*queries)


def presented_key(parameters: Parameters, headers: Mapping[str, str]) -> str:
    """Returns the key of a request in any of the places that clients put it, else "".

    Args:
        parameters: `apikey`, else `r` or `api_token`.
        headers: `X-Api-Key`, else the password (or alone the user name) of Basic.
    """
    if key := parameters.first("apikey", "r", "api_token"):
        return key
    if key := headers.get("x-api-key", "").strip():
        return key
    scheme, _, credentials = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        decoded = base64.b64decode(credentials.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    user, _, password = decoded.partition(":")
    return password.strip() or user.strip()


ServicesDep = Annotated[Services, Depends(get_services)]
ParametersDep = Annotated[Parameters, Depends(read_parameters)]
