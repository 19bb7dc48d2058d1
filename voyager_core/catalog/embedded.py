"""A PostgreSQL server of Voyager's own, started as a child and shared by joining.

The folder holds `cluster/` (the data directory), `password`, `dsn` (for the catalog's
database), `port`, `postgres.log` and `lock`. Whoever starts first owns the server, which shuts down
cleanly when that process ends, however it ends; whoever comes later joins.

A crash can leave a `postmaster.pid` that names a dead or, after its number was given out
again, a strange process; PostgreSQL itself then refuses to start. So the file is only
believed when its process is a `postgres` that works in this very data directory.
"""

import fcntl
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from voyager_core.catalog.connect import (
    CATALOG_DATABASE,
    DSN_FILE,
    connect,
    create_database,
    embedded_dir,
)
from voyager_core.catalog.errors import EmbeddedError, catalog_errors
from voyager_core.catalog.postgres_cluster import (
    PASSWORD_FILE,
    USER,
    create_cluster,
    give,
    major_of,
    processes_in,
    write_private,
)
from voyager_core.catalog.postgres_programs import Programs, RunAs, choose_user, find_programs
from voyager_core.errors import reason_of
from voyager_core.settings import Settings

logger = logging.getLogger(__name__)

ADMIN_DATABASE = "postgres"

DEFAULT_OPTIONS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    # Loopback only: the path of a socket file may be longer than the 107 bytes allowed.
    "unix_socket_directories": "",
    "max_connections": "150",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "128MB",
    # A search over many months of chunks locks every partition and its indexes.
    "max_locks_per_transaction": "256",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "jit": "off",
    # Parallel workers need more /dev/shm than containers give, and searches gain nothing.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%a ",
    "log_checkpoints": "off",
}

_POLL_SECONDS = 0.02
_BUSY_PORT_TRIES = 5
_LOG_KEPT_BYTES = 16_000_000


class EmbeddedPostgres:
    """One embedded server; `with EmbeddedPostgres(folder) as server: server.dsn()`.

    Args:
        data_dir: the folder described above; created when absent.
        port: the TCP port on 127.0.0.1; 0 takes the last one again when it is free, else any.
        pgbin: folder of the programs; unset: `PGBIN`, the wheel, the system.
        options: server settings beside `DEFAULT_OPTIONS`, which they override.
        timeout_seconds: how long a start may take; recovery after a crash is part of it.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int = 0,
        *,
        pgbin: Path | None = None,
        options: Mapping[str, str] | None = None,
        timeout_seconds: float = 300,
    ) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.cluster = self.data_dir / "cluster"
        self._port = port
        self._pgbin = pgbin
        self._options = {**DEFAULT_OPTIONS, **(options or {})}
        self._timeout = timeout_seconds
        self._keeper: _Keeper | None = None
        self._dsn: str | None = None

    @property
    def owned(self) -> bool:
        """Whether this object started the server (and will stop it)."""
        return self._keeper is not None

    @property
    def pid(self) -> int | None:
        """The process id of the running server, None when it is not running."""
        pid = self._written_pid()
        return pid if pid in processes_in(self.cluster) else None

    @property
    def is_running(self) -> bool:
        """Whether the server that was started or joined still runs."""
        return self.pid is not None if self._keeper is None else self._keeper.is_alive()

    def start(self) -> Self:
        """Starts the server, or joins the one that runs on this folder already.

        Safe against other processes that do the same at the same moment.

        Raises:
            EmbeddedError: no server can be started here, with the reason.
        """
        if not sys.platform.startswith("linux"):
            msg = f"no embedded PostgreSQL on {sys.platform}: set VOYAGER_DATABASE_URL"
            raise EmbeddedError(msg)
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"the folder for PostgreSQL cannot be made: {reason_of(error)}"
            raise EmbeddedError(msg) from error
        deadline = time.monotonic() + self._timeout
        if self._keeper is not None and not self._keeper.is_alive():
            self._keeper = None
        with self._locked(deadline):
            while not (self._join() if self._is_occupied() else self._launch(deadline)):
                if time.monotonic() > deadline:
                    raise self._late()
                time.sleep(_POLL_SECONDS)
        return self

    def stop(self) -> None:
        """Shuts the server down when this object started it; else does nothing."""
        keeper, self._keeper, self._dsn = self._keeper, None, None
        if keeper is None:
            return
        with suppress(OSError):
            (self.data_dir / DSN_FILE).unlink()
        _end(keeper)
        keeper.join(timeout=10)

    def dsn(self, database: str = CATALOG_DATABASE) -> str:
        """Returns the DSN of a database on the running server, creating the database if needed.

        Raises:
            EmbeddedError: the server was not started or joined.
            CatalogUnavailable: the server went away.
        """
        if self._dsn is None:
            msg = f"PostgreSQL on {self.cluster} was not started: call start() first"
            raise EmbeddedError(msg)
        with connect(self._dsn) as conn:
            create_database(conn, database)
        return _replace_database(self._dsn, database)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @contextmanager
    def _locked(self, deadline: float) -> Iterator[None]:
        with (self.data_dir / "lock").open("a") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        msg = f"another process holds {file.name} for {self._timeout:g} seconds"
                        raise EmbeddedError(msg) from None
                    time.sleep(_POLL_SECONDS)
            yield

    def _written_pid(self) -> int | None:
        """Returns the number in `postmaster.pid`."""
        try:
            return abs(int(self._pid_file()[0]))
        except (OSError, ValueError, IndexError):
            return None

    def _pid_file(self) -> list[str]:
        text = (self.cluster / "postmaster.pid").read_text(encoding="utf-8", errors="replace")
        return text.splitlines()

    def _is_occupied(self) -> bool:
        """Tells whether a server works in the data directory; removes what a crash left.

        Children that outlive a killed server end by themselves; starting beside them would
        be refused by their shared memory, so they count as occupation as well.
        """
        if processes_in(self.cluster):
            return True
        with suppress(FileNotFoundError):
            (self.cluster / "postmaster.pid").unlink()
            logger.info("removed the stale %s", self.cluster / "postmaster.pid")
        return False

    def _join(self) -> bool:
        """Connects to the server that occupies the data directory, if it lets anybody in."""
        try:
            # Line 4 is the port, line 8 the state that the server itself reports.
            port, state = int(self._pid_file()[3]), self._pid_file()[7].strip()
            password = (self.data_dir / PASSWORD_FILE).read_text(encoding="utf-8").strip()
        except (OSError, ValueError, IndexError):
            return False
        # Children of a killed server still hold its port, where nobody answers.
        if state != "ready" or self.pid is None:
            return False
        dsn = f"postgresql://{USER}:{password}@127.0.0.1:{port}/{ADMIN_DATABASE}"
        try:
            with psycopg.connect(dsn, autocommit=True, connect_timeout=5) as conn:
                place = conn.execute("show data_directory").fetchone()
                if place is None or not self.cluster.samefile(place[0]):
                    return False
                with catalog_errors("creating the catalog's database"):
                    create_database(conn, CATALOG_DATABASE)
        except (psycopg.OperationalError, OSError):
            return False
        self._dsn = dsn
        (self.data_dir / "port").write_text(f"{port}\n", encoding="utf-8")
        write_private(self.data_dir / DSN_FILE, _replace_database(dsn, CATALOG_DATABASE) + "\n")
        return True

    def _launch(self, deadline: float) -> bool:
        """Starts a server; False when somebody else's got in between."""
        programs, run_as = self._prepare()
        for attempt in range(_BUSY_PORT_TRIES):
            port = self._port or (self._last_port() if attempt == 0 else 0) or _free_port()
            keeper = self._spawn(programs, run_as, port)
            if self._is_up(keeper, deadline):
                logger.info("PostgreSQL %s runs on port %s", programs.major, port)
                return True
            tail = self._log_tail()
            if "postmaster.pid" in tail and "already exists" in tail:
                return False
            if "could not bind" not in tail or self._port:
                msg = f"PostgreSQL does not start on {self.cluster}:\n{tail}"
                raise EmbeddedError(msg)
        msg = f"PostgreSQL finds no free port on 127.0.0.1:\n{self._log_tail()}"
        raise EmbeddedError(msg)

    def _is_up(self, keeper: "_Keeper", deadline: float) -> bool:
        """Waits until a started server lets somebody in; False when it ended instead."""
        try:
            while keeper.process.poll() is None:
                if self.pid == keeper.process.pid and self._join():
                    self._keeper = keeper
                    return True
                if time.monotonic() > deadline:
                    raise self._late()
                time.sleep(_POLL_SECONDS)
        finally:
            if self._keeper is None:
                # Nobody may join it while it goes down.
                _end(keeper)
        return False

    def _late(self) -> EmbeddedError:
        return EmbeddedError(
            f"PostgreSQL on {self.cluster} did not become ready within {self._timeout:g} seconds; "
            f"its log ends with:\n{self._log_tail()}"
        )

    def _prepare(self) -> tuple[Programs, RunAs]:
        """Finds programs and user, and creates the cluster when there is none."""
        try:
            major = major_of(self.cluster)
            programs = find_programs(self._pgbin, major=major)
            run_as = choose_user(programs, self.data_dir)
            if major is None:
                sync = self._options.get("fsync") != "off"
                create_cluster(self.cluster, programs, run_as, sync=sync)
            elif not (self.data_dir / PASSWORD_FILE).exists():
                msg = f"{self.data_dir / PASSWORD_FILE} is missing, without it nobody gets in"
                raise EmbeddedError(msg)
            elif os.geteuid() == 0:
                give(self.cluster, run_as.owner)
        except OSError as error:
            why = reason_of(error, self.data_dir)
            msg = f"PostgreSQL's folder {self.data_dir} cannot be used: {why}"
            raise EmbeddedError(msg) from error
        return programs, run_as

    def _spawn(self, programs: Programs, run_as: RunAs, port: int) -> "_Keeper":
        log = self.data_dir / "postgres.log"
        if log.exists() and log.stat().st_size > _LOG_KEPT_BYTES:
            log.replace(log.with_suffix(".log.1"))
        options = {**self._options, "port": str(port)}
        command = run_as.command(
            programs.postgres,
            "-D",
            str(self.cluster),
            *(word for name, value in options.items() for word in ("-c", f"{name}={value}")),
            death_signal=signal.SIGINT,
        )
        keeper = _Keeper(command, log)
        keeper.start()
        keeper.spawned.wait()
        if keeper.error is not None:
            msg = f"PostgreSQL cannot be run: {keeper.error}"
            raise EmbeddedError(msg) from keeper.error
        return keeper

    def _last_port(self) -> int:
        """Returns the port of the last run when nobody listens there now, else 0."""
        try:
            port = int((self.data_dir / "port").read_text(encoding="utf-8"))
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except (OSError, ValueError, OverflowError):
            return 0
        return port

    def _log_tail(self) -> str:
        try:
            return (self.data_dir / "postgres.log").read_text(errors="replace")[-1200:].strip()
        except OSError:
            return "(no log)"


def _end(keeper: "_Keeper") -> None:
    """Ends a server and waits until it has ended."""
    # Fast, then immediate shutdown (recovery at the next start), then the hard way.
    for number, seconds in ((signal.SIGINT, 60), (signal.SIGQUIT, 10), (signal.SIGKILL, 60)):
        keeper.process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            keeper.process.wait(seconds)
            return


class _Keeper(threading.Thread):
    """Starts the server and waits for its end.

    The kernel's death signal follows the thread that forked, not its process; this thread
    lives as long as the server, so a short-lived caller's thread does not take it down.
    """

    process: "subprocess.Popen[bytes]"

    def __init__(self, command: list[str], log: Path) -> None:
        super().__init__(name="postgres-keeper", daemon=True)
        self._command = command
        self._log = log
        self.spawned = threading.Event()
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            with self._log.open("ab") as log:
                self.process = subprocess.Popen(  # noqa: S603 - made by the launcher above
                    self._command,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            self.error = error
            return
        finally:
            self.spawned.set()
        self.process.wait()


def embedded_postgres(settings: Settings) -> EmbeddedPostgres:
    """Returns the embedded server of an installation, not yet started."""
    return EmbeddedPostgres(embedded_dir(settings))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _replace_database(dsn: str, database: str) -> str:
    return f"{dsn.rpartition('/')[0]}/{database}"
