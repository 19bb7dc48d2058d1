"""Everything that runs for one data directory: Postgres, Dagster, the API.

The order matters: each service needs those started before it, and stopping goes the other
way. Core does not import Dagster or the web framework; it starts their programs.
"""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from voyager_core.catalog.connect import connect, dagster_dsn, database_dsn, ensure_database
from voyager_core.catalog.embedded import EmbeddedPostgres, embedded_postgres
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.stored_settings import pin_settings
from voyager_core.demo.children import Children, Service, StopRequestedError
from voyager_core.demo.client import ClientError, fetch
from voyager_core.demo.dagster_web import DagsterWeb
from voyager_core.demo.environment import (
    ASSETS,
    child_environment,
    free_port,
    is_listening,
    is_port_free,
    prepare_dagster_home,
)
from voyager_core.demo.lock import InstanceLock
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings

_PROBE_SECONDS = 2
# Stages of stopping: what starts runs goes first, what they need goes last.
STAGE_NEWS, STAGE_CODE, STAGE_FRONT = 1, 2, 3

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where people and programs reach the running installation."""

    dagster: str
    api: str

    def as_dict(self) -> dict[str, str]:
        """Returns the addresses by what answers there."""
        return {"Dagster": self.dagster, "API": self.api}


@dataclass(slots=True)
class Installation:
    """`with Installation(…) as it: it.start_database(); it.start_services()`.

    Attributes:
        settings: in force for every process.
        report: takes a line for a person.
        stopping: set by a signal handler; whatever waits gives up then.
    """

    settings: Settings
    report: Report
    stopping: threading.Event
    catalog_dsn: str = ""
    _postgres: EmbeddedPostgres | None = None
    _children: Children | None = None
    _lock: InstanceLock | None = field(default=None, repr=False)

    def __enter__(self) -> Self:
        """Takes the data directory.

        Raises:
            AlreadyRunningError: another process runs on it.
        """
        self._lock = InstanceLock(self.settings.data_dir).__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stops everything that was started."""
        if self._children is not None or self._postgres is not None:
            self.report("stopping")
        if self._children is not None:
            self._children.stop()
        if self._postgres is not None:
            self._postgres.stop()
        if self._lock is not None:
            self._lock.__exit__(None, None, None)

    def check_ports(self) -> None:
        """Looks whether API and Dagster can listen where they should, before anything starts.

        Raises:
            SettingsError: naming the setting to change.
        """
        api, dagster = self.settings.api, self.settings.dagster
        check_port("API", api.host, api.port, variable="VOYAGER_API__PORT")
        check_port("Dagster", dagster.host, dagster.port, variable="VOYAGER_DAGSTER__PORT")

    def start_database(self) -> str:
        """Starts or joins Postgres, brings the schema up to date and returns the catalog's DSN.

        Raises:
            CatalogUnavailable: the configured server does not answer.
            PermanentError: Postgres cannot be started, or catalog and settings do not fit.
        """
        if self.settings.database_url is None:
            self.report("postgres: starting")
            postgres = embedded_postgres(self.settings)
            self._postgres = postgres
            self.catalog_dsn = postgres.start().dsn()
            self.report(f"postgres: ready (process {postgres.pid})")
        else:
            self.catalog_dsn = database_dsn(self.settings)
            ensure_database(self.catalog_dsn)
        self._give_up_if_stopping()
        applied = migrate(self.catalog_dsn)
        if applied:
            self.report(f"catalog: {len(applied)} migrations applied")
        with connect(self.catalog_dsn) as conn:
            pin_settings(conn, self.settings.catalog)
        ensure_database(self._dagster_dsn())
        self._give_up_if_stopping()
        return self.catalog_dsn

    def start_services(self, first: tuple[Service, ...] = ()) -> Addresses:
        """Starts `first`, then Dagster's code server, the API, Dagster's webserver and daemon.

        Raises:
            ServiceError: one does not start; the message holds the end of its log.
            SettingsError: a port is taken, or the installation is incomplete.
            StopRequestedError: `stopping` was set meanwhile.
        """
        self.check_ports()
        prepare_dagster_home(self.settings)
        api, dagster = self.settings.api, self.settings.dagster
        children = Children(
            environment=child_environment(
                self.settings, catalog_dsn=self.catalog_dsn, dagster_dsn=self._dagster_dsn()
            ),
            log_dir=self.settings.data_dir.absolute() / "logs",
            report=self.report,
            stopping=self.stopping,
        )
        self._children = children
        for service in first:
            children.start(service)
        addresses = Addresses(
            dagster=f"http://{_reachable(dagster.host)}:{dagster.port}",
            api=f"http://{_reachable(api.host)}:{api.port}",
        )
        code_port = free_port()
        children.start(_code_server(code_port))
        children.start(_api(addresses.api))
        web = DagsterWeb(addresses.dagster)
        children.start(_webserver(self.settings, web, code_port))
        if closed := web.close_orphaned_runs():
            self.report(f"dagster: closed {closed} runs that the last stop cut short")
        children.start(_daemon(web, code_port))
        if self._lock is not None:
            self._lock.describe(addresses.as_dict())
        return addresses

    def check(self) -> None:
        """Looks whether everything still runs.

        Raises:
            ServiceError: something has ended.
            StopRequestedError: `stopping` is set.
        """
        if self._children is not None:
            self._children.check()
        self._give_up_if_stopping()

    def _give_up_if_stopping(self) -> None:
        if self.stopping.is_set():
            msg = "stopped"
            raise StopRequestedError(msg)

    def _dagster_dsn(self) -> str:
        return dagster_dsn(self.settings)


def check_port(what: str, host: str, port: int, *, variable: str) -> None:
    """Refuses a port that cannot be listened on.

    Raises:
        SettingsError: naming the setting to change.
    """
    if not is_port_free(host, port):
        msg = (
            f"{what} cannot listen on {host} port {port}: another program uses it, or it is not "
            f"allowed; set {variable} to a free port"
        )
        raise SettingsError(msg)


def python_program(module: str, *arguments: str) -> tuple[str, ...]:
    """Returns the command that runs a module with this Python."""
    return (str(Path(sys.executable)), "-m", module, *arguments)


def _code_server(port: int) -> Service:
    """Voyager's assets, loaded once for webserver, daemon and runs."""
    return Service(
        name="dagster-code",
        command=python_program(
            "dagster", "api", "grpc", "--module-name", f"{ASSETS}.definitions",
            "--host", "127.0.0.1", "--port", str(port), "--location-name", "voyager",
            "--use-python-environment-entry-point", "--log-level", "warning",
        ),
        is_ready=lambda: is_listening(port),
        stage=STAGE_CODE,
        grace_seconds=15,
    )  # fmt: skip


def _api(address: str) -> Service:
    return Service(
        name="api",
        command=python_program("voyager_api.server"),
        is_ready=lambda: _answers(f"{address}/healthz"),
        address=address,
        stage=STAGE_FRONT,
        grace_seconds=20,
    )


def _webserver(settings: Settings, web: DagsterWeb, code_port: int) -> Service:
    return Service(
        name="dagster-webserver",
        command=python_program(
            "dagster_webserver", "--host", settings.dagster.host,
            "--port", str(settings.dagster.port), *_workspace(code_port),
        ),
        is_ready=web.is_loaded,
        address=web.base,
        stage=STAGE_FRONT,
    )  # fmt: skip


def _daemon(web: DagsterWeb, code_port: int) -> Service:
    began = time.time()
    return Service(
        name="dagster-daemon",
        command=python_program("dagster._daemon", "run", *_workspace(code_port)),
        is_ready=lambda: web.is_daemon_healthy(since=began),
        stage=STAGE_FRONT,
        grace_seconds=15,
    )


def _workspace(code_port: int) -> tuple[str, ...]:
    return ("--grpc-host", "127.0.0.1", "--grpc-port", str(code_port))


def _answers(url: str) -> bool:
    try:
        fetch(url, timeout_seconds=_PROBE_SECONDS)
    except ClientError:
        return False
    return True


def _reachable(host: str) -> str:
    """Returns the address that a browser on this machine uses for a listening address."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
