"""The API's process: `python -m voyager_api.server`.

uvicorn must run with h11: its other parser lower-cases header names on the wire, and NZBGet
compares `X-DNZB-…` exactly (NZ-17).
"""

import logging
import sys
from urllib.parse import quote_from_bytes

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from voyager_api.app import create_app
from voyager_api.newznab.links import is_loopback
from voyager_core.errors import VoyagerError
from voyager_core.logs import configure_logging
from voyager_core.settings import Settings, load_settings

logger = logging.getLogger(__name__)

_ASCII = bytes(range(128))


class TolerantProtocol(H11Protocol):
    """HTTP/1 that takes addresses with bare UTF-8, as people type them into curl.

    h11 refuses a byte above 127 in a request line; it is percent-encoded here instead.
    """

    def data_received(self, data: bytes) -> None:
        """Hands bytes on, in ASCII as far as the request line goes."""
        if not data.isascii() and self.conn.their_state is h11.IDLE:
            line, end, rest = data.partition(b"\r\n")
            data = quote_from_bytes(line, safe=_ASCII).encode() + end + rest
        super().data_received(data)


def server_config(settings: Settings, app: FastAPI) -> uvicorn.Config:
    """Returns how uvicorn runs the application."""
    return uvicorn.Config(
        app,
        host=settings.api.host,
        port=settings.api.port,
        http=TolerantProtocol,
        ws="none",
        lifespan="on",
        # Addresses in links come from the settings, so forwarded headers have no say.
        proxy_headers=False,
        server_header=False,
        log_config=None,
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
