"""The API's process: `python -m voyager_api.server`.

uvicorn must run with h11 (see `transport`): its other parser lower-cases header names on the
wire, and NZBGet compares `X-DNZB-…` exactly (NZ-17).
"""

import logging
import sys

import uvicorn
from starlette.types import ASGIApp

from voyager_api.app import create_app
from voyager_api.newznab.links import is_loopback
from voyager_api.transport import IDLE_SECONDS, MAX_CONNECTIONS, ReadBodies, TolerantProtocol
from voyager_core.errors import VoyagerError
from voyager_core.logs import configure_logging
from voyager_core.settings import Settings, load_settings

logger = logging.getLogger(__name__)


def server_config(settings: Settings, app: ASGIApp) -> uvicorn.Config:
    """Returns how uvicorn runs the application."""
    return uvicorn.Config(
        ReadBodies(app),
        host=settings.api.host,
        port=settings.api.port,
        http=TolerantProtocol,
        ws="none",
        lifespan="on",
        # Addresses in links come from the settings, so forwarded headers have no say.
        proxy_headers=False,
        server_header=False,
        log_config=None,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=15,
    )


def serve(settings: Settings) -> None:
    """Serves until the process is told to stop.

    Raises:
        SettingsError: the settings cannot be used.
    """
    if settings.api.external_url is None and not is_loopback(settings.api.host):
        logger.warning(
            "VOYAGER_API__EXTERNAL_URL is not set: links name the address of the socket that a "
            "request arrives at, which is wrong behind a proxy or a published port"
        )
    uvicorn.Server(server_config(settings, create_app(settings))).run()


def main() -> int:
    """Reads the settings and serves; returns the exit code."""
    configure_logging(verbose=True)
    logging.getLogger("psycopg.pool").setLevel(logging.WARNING)
    try:
        serve(load_settings())
    except VoyagerError as error:
        logger.error("%s", error)  # noqa: TRY400 - a message for a person, not a traceback
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
