"""What routes are given: the catalog, the settings, the request's parameters and its key."""

import base64
import binascii
import ipaddress
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Final, Generic, TypeVar

import psycopg
from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from voyager_api.metrics import Metrics
from voyager_api.newznab.errors import incorrect_parameter
from voyager_api.newznab.links import Links, base_of_request
from voyager_api.newznab.parameters import Form, Parameters
from voyager_api.paging import Snapshots
from voyager_api.scopes import note_parameters
from voyager_api.throttle import Recent, Throttle
from voyager_core.catalog.connect import Connection, Pool, database_dsn, open_pool
from voyager_core.catalog.errors import CatalogUnavailable, catalog_errors
from voyager_core.catalog.progress import GroupStatus, coverages, group_status
from voyager_core.settings import Settings

logger = logging.getLogger(__name__)

# A client that waits for a connection holds one of the server's threads, so it waits briefly.
POOL_TIMEOUT_SECONDS: Final = 5.0
STATEMENT_TIMEOUT_SECONDS: Final = 10.0
# After this long without a database the pool forgets its growing pauses and tries at once again.
_RECONNECT_SECONDS: Final = 5.0
# What addresses for people and for programs take; POST with a form is what some programs send.
PAGE_METHODS: Final = ["GET", "HEAD"]
PROGRAM_METHODS: Final = ["GET", "HEAD", "POST"]
WRONG_KEYS_PER_MINUTE: Final = 60
PASSWORD_SECONDS: Final = 900
PASSWORDS_OF_NAME: Final = 10
PASSWORDS_OF_CLIENT: Final = 50
STATUS_KEPT: Final = timedelta(seconds=15)
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

    def pool_numbers(self) -> dict[str, int]:
        """Returns how many connections there may be, are, are idle, and are waited for."""
        with self._lock:
            stats = {} if self._pool is None else self._pool.get_stats()
        return {
            "max": self.settings.api.workers_pool_size,
            "open": stats.get("pool_size", 0),
            "idle": stats.get("pool_available", 0),
            "waiting": stats.get("requests_waiting", 0),
        }

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


Value = TypeVar("Value")


@dataclass(slots=True)
class Kept(Generic[Value]):
    """What takes too long to add up for every request."""

    _read: Callable[[Connection, datetime], Value]
    _known: Value | None = None
    _made_at: datetime | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, conn: Connection, now: datetime) -> Value:
        """Returns it, `STATUS_KEPT` old at most.

        Raises:
            CatalogUnavailable: the database does not answer.
        """
        with self._lock:
            made_at, known = self._made_at, self._known
            # A clock that was set back must not keep it for hours.
            if known is None or made_at is None or not made_at <= now < made_at + STATUS_KEPT:
                known = self._known = self._read(conn, now)
                self._made_at = now
            return known


def _group_status(conn: Connection, now: datetime) -> list[GroupStatus]:
    return group_status(conn, at=now)


def _coverages(conn: Connection, _: datetime) -> dict[str, list[tuple[int, int]]]:
    return coverages(conn)


@dataclass(frozen=True, slots=True)
class Services:
    """What one application is made of.

    Attributes:
        base: the configured external address, None = by `base_of_request`.
        now: the clock, in UTC.
        bursts: what each key asked for lately.
        wrong_keys: the wrong keys that each client presented lately.
        passwords_of_name: the wrong passwords that each client tried for each name lately.
        passwords_of_client: the same for all names together.
        good_keys: digests of keys that were good lately.
        snapshots: the lists that are being paged through.
        metrics: what was answered.
    """

    settings: Settings
    catalog: Catalog
    base: str | None
    now: Callable[[], datetime]
    bursts: Throttle
    wrong_keys: Throttle = field(default_factory=lambda: Throttle(WRONG_KEYS_PER_MINUTE, 60))
    passwords_of_name: Throttle = field(
        default_factory=lambda: Throttle(PASSWORDS_OF_NAME, PASSWORD_SECONDS)
    )
    passwords_of_client: Throttle = field(
        default_factory=lambda: Throttle(PASSWORDS_OF_CLIENT, PASSWORD_SECONDS)
    )
    good_keys: Recent = field(default_factory=Recent)
    snapshots: Snapshots = field(default_factory=Snapshots)
    metrics: Metrics = field(default_factory=Metrics)
    _statuses: Kept[list[GroupStatus]] = field(default_factory=lambda: Kept(_group_status))
    _coverages: Kept[dict[str, list[tuple[int, int]]]] = field(
        default_factory=lambda: Kept(_coverages)
    )

    def group_status(self, conn: Connection) -> list[GroupStatus]:
        """Returns how far the newsgroups are, some seconds old at most.

        Raises:
            CatalogUnavailable: the database does not answer.
        """
        return self._statuses.get(conn, self.now())

    def coverages(self, conn: Connection) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Returns the article numbers that are indexed by newsgroup, some seconds old at most.

        Raises:
            CatalogUnavailable: the database does not answer.
        """
        return self._coverages.get(conn, self.now())

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


def client_of(request: Request) -> str:
    """Returns whom a limit counts: an IPv4 address, or the 64 bits of IPv6 that one client has."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address.packed, 64), strict=False))


async def read_parameters(request: Request) -> Parameters:
    """Returns the parameters of the address and of a form body, whatever the method.

    Raises:
        NewznabError: as `_read_body`.
    """
    parameters = Parameters.from_query(request.scope["query_string"], await _read_body(request))
    note_parameters(request.scope, parameters)
    return parameters


async def read_form(request: Request) -> Form:
    """Returns the fields of a form's body; those of the address do not count.

    Raises:
        NewznabError: as `_read_body`.
    """
    return Form.from_query(await _read_body(request))


async def _read_body(request: Request) -> bytes:
    """Returns the body of a form.

    Raises:
        NewznabError: 201 for one that is larger than any request, or whose client left.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = bytearray()
    if request.method == "POST" and content_type == "application/x-www-form-urlencoded":
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > _MAX_BODY:
                    raise incorrect_parameter("body")
        except ClientDisconnect:
            raise incorrect_parameter("body") from None
    return bytes(body)


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
FormDep = Annotated[Form, Depends(read_form)]
