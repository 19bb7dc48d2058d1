"""Everything that runs for one data directory: Postgres, Dagster, the API.

The order matters: each service needs those started before it, and stopping goes the other
way. Core does not import Dagster or the web framework; it starts their programs.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from voyager_core.catalog.connect import connect, dagster_dsn, database_dsn, ensure_database
from voyager_core.catalog.embedded import EmbeddedPostgres, embedded_postgres
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.stored_settings import pin_settings
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings
from voyager_core.supervisor import programs
from voyager_core.supervisor.children import Children, Service, StopRequestedError
from voyager_core.supervisor.dagster_web import DagsterWeb
from voyager_core.supervisor.environment import (
    child_environment,
    choose_code_port,
    is_port_free,
    prepare_dagster_home,
    write_workspace,
)
from voyager_core.supervisor.lock import InstanceLock

# A pass that is cancelled ends within a second; its ranges go on at the next start.
_CANCEL_SECONDS = 5
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
    _web: DagsterWeb | None = None
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
            self._children.stop(from_stage=programs.STAGE_DAEMON)
            if self._web is not None:
                self._web.cancel_runs(timeout_seconds=_CANCEL_SECONDS)
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
        home = prepare_dagster_home(self.settings)
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
        code_port = choose_code_port(home)
        workspace = write_workspace(home, code_port)
        web = self._web = DagsterWeb(addresses.dagster)
        children.start(programs.code_server(code_port))
        # Seconds have passed: another program that took a port meanwhile would answer for ours.
        self.check_ports()
        children.start(programs.api(addresses.api))
        children.start(programs.webserver(self.settings, web, workspace))
        if closed := web.close_orphaned_runs():
            self.report(f"dagster: closed {closed} runs that the last stop cut short")
        children.start(programs.daemon(web, workspace))
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


def _reachable(host: str) -> str:
    """Returns the address that a browser on this machine uses for a listening address."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
