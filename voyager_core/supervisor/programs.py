"""The programs of an installation, as services: how each is called, and when it is ready."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from voyager_core.settings import Settings
from voyager_core.supervisor.children import Service
from voyager_core.supervisor.dagster_web import DagsterWeb
from voyager_core.supervisor.environment import ASSETS, LOCATION, is_listening
from voyager_core.supervisor.http import ClientError, fetch

# Stages of stopping: what starts runs goes first, what they need goes last.
STAGE_NEWS, STAGE_CODE, STAGE_FRONT, STAGE_DAEMON = 1, 2, 3, 4
CODE_SERVER, WEBSERVER, DAEMON = "dagster-code", "dagster-webserver", "dagster-daemon"
API, FETCHER = "api", "fetcher"
DAGSTER = frozenset({CODE_SERVER, WEBSERVER, DAEMON})
_PROBE_SECONDS = 2


def python_program(module: str, *arguments: str) -> tuple[str, ...]:
    """Returns the command that runs a module with this Python."""
    return (str(Path(sys.executable)), "-m", module, *arguments)


def code_server(port: int) -> Service:
    """Voyager's assets, loaded once for webserver, daemon and runs."""
    return Service(
        name=CODE_SERVER,
        command=python_program(
            f"{ASSETS}.code_server", "--module-name", f"{ASSETS}.definitions",
            "--host", "127.0.0.1", "--port", str(port), "--location-name", LOCATION,
            "--use-python-environment-entry-point", "--log-level", "warning",
        ),
        is_ready=lambda: is_listening(port),
        stage=STAGE_CODE,
        grace_seconds=8,
    )  # fmt: skip


def fetcher(is_ready: Callable[[], bool]) -> Service:
    """What brings overview blocks into the spool, ahead of the runs."""
    return Service(
        name=FETCHER,
        command=python_program("voyager_core.cli", "fetch"),
        is_ready=is_ready,
        stage=STAGE_FRONT,
        grace_seconds=10,
        loses_nothing=True,
    )


def api(address: str) -> Service:
    """The Newznab API and the search page."""
    return Service(
        name=API,
        command=python_program("voyager_api.server"),
        is_ready=lambda: _answers(f"{address}/healthz"),
        address=address,
        stage=STAGE_FRONT,
    )


def webserver(settings: Settings, web: DagsterWeb, workspace: Path) -> Service:
    """Dagster's pages; ready when they show Voyager's assets."""
    return Service(
        name=WEBSERVER,
        command=python_program(
            "dagster_webserver", "--host", settings.dagster.host,
            "--port", str(settings.dagster.port), "--workspace", str(workspace),
        ),
        is_ready=web.is_loaded,
        address=web.base,
        stage=STAGE_FRONT,
        grace_seconds=5,
        loses_nothing=True,
    )  # fmt: skip


def daemon(web: DagsterWeb, workspace: Path) -> Service:
    """What starts runs: sensors, schedules, the queue."""
    began = time.time()
    return Service(
        name=DAEMON,
        command=python_program("dagster._daemon", "run", "--workspace", str(workspace)),
        is_ready=lambda: web.is_daemon_healthy(since=began),
        stage=STAGE_DAEMON,
        # Its threads look for the end only between their rounds, which may take a quarter minute.
        grace_seconds=3,
        loses_nothing=True,
    )


def _answers(url: str) -> bool:
    try:
        fetch(url, timeout_seconds=_PROBE_SECONDS)
    except ClientError:
        return False
    return True
