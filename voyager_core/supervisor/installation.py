"""Everything that runs for one data directory: Postgres, Dagster, the API.

The order matters: each service needs those started before it, and stopping goes the other
way. Core does not import Dagster or the web framework; it starts their programs.
"""

import errno
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from voyager_core.catalog.connect import connect, dagster_dsn, database_dsn, ensure_database
from voyager_core.catalog.connection_shares import count_holders
from voyager_core.catalog.embedded import EmbeddedPostgres, embedded_postgres
from voyager_core.catalog.errors import CatalogUnavailable, EmbeddedError
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.stored_settings import pin_settings
from voyager_core.errors import SettingsError, reason_of
from voyager_core.settings import Settings
from voyager_core.supervisor import programs
from voyager_core.supervisor.children import (
    Children,
    Service,
    ServiceError,
    StopRequestedError,
)
from voyager_core.supervisor.dagster_web import DagsterWeb
from voyager_core.supervisor.deaths import Deaths
from voyager_core.supervisor.environment import (
    child_environment,
    choose_code_port,
    prepare_dagster_home,
    try_to_listen,
    write_workspace,
)
from voyager_core.supervisor.http import ClientError
from voyager_core.supervisor.lock import InstanceLock

# A pass that is cancelled ends within a second; its ranges go on at the next start.
_CANCEL_SECONDS = 5
_POSTGRES = "postgres"
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where people and programs reach the running installation."""

    dagster: str
    api: str

    def as_dict(self) -> dict[str, str]:
        """Returns the addresses by what answers there."""
        return {"Dagster": self.dagster, "API": self.api}


@dataclass(frozen=True, slots=True)
class _Program:
    """What was started, so that it can be started again."""

    first: tuple[Service, ...]
    fetcher: bool
    addresses: Addresses
    code_port: int
    workspace: Path


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
    _program: _Program | None = None
    _deaths: Deaths = field(default_factory=Deaths)
    _half_started: str = ""

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
        if api.port == dagster.port and _overlap(api.host, dagster.host):
            msg = f"API and Dagster cannot both listen on port {api.port}; set VOYAGER_API__PORT"
            raise SettingsError(msg)

    def start_database(self) -> str:
        """Starts or joins Postgres, brings the schema up to date and returns the catalog's DSN.

        Raises:
            CatalogUnavailable: the configured server does not answer.
            PermanentError: Postgres cannot be started, or catalog and settings do not fit.
        """
        if self.settings.database_url is None:
            self.report("postgres: starting")
            postgres = self._postgres or embedded_postgres(self.settings)
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

    def start_services(
        self, first: tuple[Service, ...] = (), *, fetcher: bool = False
    ) -> Addresses:
        """Starts `first`, then Dagster's code server, the API, Dagster's webserver and daemon.

        Args:
            first: services that the others need.
            fetcher: also start what fetches ahead, before the daemon starts runs.

        Raises:
            ServiceError: one does not start; the message holds the end of its log.
            SettingsError: a port is taken, or the installation is incomplete.
            StopRequestedError: `stopping` was set meanwhile.
        """
        home = prepare_dagster_home(self.settings)
        api, dagster = self.settings.api, self.settings.dagster
        self._children = Children(
            environment=self._environment(),
            log_dir=self.settings.data_dir.absolute() / "logs",
            report=self.report,
            stopping=self.stopping,
        )
        addresses = Addresses(
            dagster=f"http://{_reachable(dagster.host)}:{dagster.port}",
            api=f"http://{_reachable(api.host)}:{api.port}",
        )
        code_port = choose_code_port(home)
        workspace = write_workspace(home, code_port)
        self._web = DagsterWeb(addresses.dagster)
        self._program = _Program(first, fetcher, addresses, code_port, workspace)
        self._start_missing(self._children, self._web, self._program)
        if self._lock is not None:
            self._lock.describe(addresses.as_dict())
        return addresses

    def keep_running(self) -> None:
        """Looks whether everything still runs, and starts again what has ended.

        Raises:
            ServiceError: something ends again and again.
            StopRequestedError: `stopping` is set.
        """
        self._give_up_if_stopping()
        while ended := self._ended():
            self._deaths.note(ended)
            self.report(f"{', '.join(sorted(ended))}: ended, starting again")
            self.stopping.wait(self._deaths.pause_seconds)
            self._give_up_if_stopping()
            try:
                self._start_again(set(ended))
            except (CatalogUnavailable, ClientError, EmbeddedError, ServiceError) as error:
                self.report(str(error))
                self._half_started = str(error)
            else:
                self._half_started = ""

    def _ended(self) -> dict[str, str]:
        """Returns what has ended and how, by name."""
        children, postgres = self._children, self._postgres
        ended = {} if children is None else children.ended()
        if postgres is not None and not postgres.is_running:
            ended[_POSTGRES] = f"postgres ended; see {postgres.data_dir / 'postgres.log'}"
        if self._half_started:
            ended.setdefault(programs.CODE_SERVER, self._half_started)
        return ended

    def _start_again(self, ended: set[str]) -> None:
        children, web, program = self._children, self._web, self._program
        if children is None or web is None or program is None:
            return
        if ended & {_POSTGRES, programs.CODE_SERVER}:
            # Runs live and die with the code server. Those that are still open in the database
            # are closed before a daemon starts others, and no daemon may run until then.
            ended |= programs.DAGSTER
        children.stop(names=ended)
        if _POSTGRES in ended:
            before = self.catalog_dsn
            self.start_database()
            if self.catalog_dsn != before:
                # Its port was taken meanwhile: nobody else knows the new one.
                children.stop(from_stage=programs.STAGE_CODE)
                children.change_environment(self._environment())
        self._start_missing(children, web, program)

    def _start_missing(self, children: Children, web: DagsterWeb, program: "_Program") -> None:
        """Starts what does not run, in the order in which one needs the other."""
        there = children.names()
        # At first all have to be there; later each death is looked after in its turn.
        alone = self._deaths.any

        def start(name: str, service: Callable[[], Service]) -> None:
            if name not in there:
                children.start(service(), alone=alone)

        for service in program.first:
            if service.name not in there:
                children.start(service, alone=alone)
        start(programs.CODE_SERVER, lambda: programs.code_server(program.code_port))
        # Seconds have passed: another program that took a port meanwhile would answer for ours.
        if not there & {programs.API, programs.WEBSERVER}:
            self.check_ports()
        start(programs.API, lambda: programs.api(program.addresses.api))
        start(programs.WEBSERVER, lambda: programs.webserver(self.settings, web, program.workspace))
        if programs.CODE_SERVER not in there and (closed := web.close_orphaned_runs()):
            self.report(f"dagster: closed {closed} runs that the last stop cut short")
        if program.fetcher:
            start(programs.FETCHER, lambda: programs.fetcher(self._fetcher_is_there))
        start(programs.DAEMON, lambda: programs.daemon(web, program.workspace))

    def _environment(self) -> Mapping[str, str]:
        return child_environment(
            self.settings, catalog_dsn=self.catalog_dsn, dagster_dsn=self._dagster_dsn()
        )

    def _fetcher_is_there(self) -> bool:
        with connect(self.catalog_dsn, application_name="voyager up") as conn:
            return count_holders(conn, "fetcher") > 0

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
    try:
        try_to_listen(host, port)
    except OSError as error:
        why, wanted = reason_of(error), f"{variable} to another port"
        if error.errno == errno.EADDRINUSE:
            why, wanted = "another program uses it", f"{variable} to a free port"
        elif error.errno != errno.EACCES:
            wanted = f"{variable.replace('PORT', 'HOST')} to an address of this machine"
        msg = f"{what} cannot listen on {host} port {port}: {why}; set {wanted}"
        raise SettingsError(msg) from error


def _overlap(one: str, other: str) -> bool:
    """Tells whether two addresses to listen on may be the same one."""
    every = {"0.0.0.0", "::", ""}  # noqa: S104 - compared, not bound
    names = {"localhost", "127.0.0.1", "::1"}
    return one == other or bool({one, other} & every) or {one, other} <= names


def _reachable(host: str) -> str:
    """Returns the address that a browser on this machine uses for a listening address."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
