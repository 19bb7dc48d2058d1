"""Puts the application together."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from voyager_api import access_log, errors
from voyager_api.deps import POOL_TIMEOUT_SECONDS, Catalog, Services
from voyager_api.metrics import Measured
from voyager_api.newznab.links import parse_base
from voyager_api.routes import (
    desk_pages,
    health,
    login_pages,
    metrics,
    newznab_api,
    nzb,
    pages,
    rss,
)
from voyager_api.routes.v1 import api as v1
from voyager_api.routes.visitors import ABSOLUTE_ADDRESS, problem_page
from voyager_api.throttle import Throttle
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings, load_settings


def create_app(
    settings: Settings | None = None,
    *,
    now: Callable[[], datetime] | None = None,
    pool_timeout_seconds: float = POOL_TIMEOUT_SECONDS,
) -> FastAPI:
    """Returns the application; it connects to the catalog when the first request needs it.

    Args:
        settings: None = read from the environment.
        now: the clock, in UTC.
        pool_timeout_seconds: how long a request waits for a connection before it is told to
            come back later.

    Raises:
        SettingsError: the external address cannot be used.
    """
    settings = settings or load_settings()
    base = external_base(settings)
    catalog = Catalog(settings, pool_timeout_seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(catalog.close)

    app = FastAPI(
        title="Voyager",
        # The interactive pages would load scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        # A redirect would repeat the client's Host header.
        redirect_slashes=False,
        lifespan=lifespan,
        # Its spans would carry the query string, and with it keys, to wherever OTEL_… points.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
    )
    bursts = Throttle(settings.api.requests_per_minute, 60)
    services = Services(settings, catalog, base, now or _utc_now, bursts)
    app.state.services = services
    app.add_middleware(Measured, metrics=services.metrics)
    app.add_middleware(_PathMiddleware, prefix=unquote(urlsplit(base or "").path))
    errors.install(app, problem_page)
    for module in (newznab_api, nzb, rss, health, metrics, pages, desk_pages, login_pages):
        app.include_router(module.router)
    app.include_router(v1.description)
    app.include_router(v1.router)
    access_log.install()
    return app


# An address with scheme and host, as proxies and old clients send it.
_ABSOLUTE: Final = re.compile(r"[a-z][a-z0-9+.-]*://([^/]*)", re.IGNORECASE)


class _PathMiddleware:
    """Takes host and the configured path prefix off an address.

    A proxy may have taken the prefix off already. Programs put two slashes where people end the
    address of a server with one.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if absolute := _ABSOLUTE.match(path):
            path = path[absolute.end() :] or "/"
            _set_host(scope, absolute[1])
        if path.startswith("//"):
            path = f"/{path.lstrip('/')}"
        if self._prefix and f"{path}/".startswith(f"{self._prefix}/"):
            path = f"/{path.removeprefix(self._prefix).lstrip('/')}"
        # In place, because the answer to a failure is chosen by the outer scope's path.
        scope["path"] = path
        await self._app(scope, receive, send)


def _set_host(scope: Scope, authority: str) -> None:
    """Lets the host of an address take the place of the header (RFC 9112, 3.2.2)."""
    host = authority.rpartition("@")[2].encode("latin-1", "replace")
    scope["headers"] = [
        *((name, value) for name, value in scope["headers"] if name != b"host"),
        (b"host", host),
    ]
    scope[ABSOLUTE_ADDRESS] = True


def external_base(settings: Settings) -> str | None:
    """Returns the configured external address, or None when there is none.

    Raises:
        SettingsError: it is no address that links can be built from.
    """
    url = settings.api.external_url
    if not url or not url.strip():
        return None
    try:
        return parse_base(url)
    except ValueError as error:
        msg = f"VOYAGER_API__EXTERNAL_URL cannot be used: {error}"
        raise SettingsError(msg) from error


def _utc_now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the one clock of the API
