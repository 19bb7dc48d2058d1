"""Connections and pools to the catalog's Postgres."""

from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from voyager_core.catalog.errors import CatalogRefused, CatalogUnavailable, catalog_errors
from voyager_core.errors import reason_of
from voyager_core.settings import Settings

Connection = psycopg.Connection[Any]
Pool = ConnectionPool[Connection]

CATALOG_DATABASE = "voyager"
EMBEDDED_FOLDER = "postgres"
DSN_FILE = "dsn"


def connect(
    dsn: str, *, application_name: str = "voyager", statement_timeout_seconds: float = 0
) -> Connection:
    """Opens a connection in autocommit mode, in UTC.

    Args:
        dsn: a `postgresql://` URL or a libpq connection string.
        application_name: shown in `pg_stat_activity`.
        statement_timeout_seconds: the longest a statement may take; 0 is no limit.

    Raises:
        CatalogUnavailable: the server does not answer.
        CatalogRefused: the server refuses the login, or the database does not exist.
    """
    with catalog_errors(f"connecting to {describe(dsn)}"):
        return psycopg.connect(
            dsn,
            autocommit=True,
            connect_timeout=15,
            application_name=application_name,
            options=_options(statement_timeout_seconds),
        )


def open_pool(
    settings: Settings,
    *,
    max_size: int | None = None,
    application_name: str = "voyager",
    statement_timeout_seconds: float = 10,
    timeout_seconds: float = 10,
) -> Pool:
    """Opens a pool of autocommit connections; it connects in the background.

    A database that is down makes the pool's `connection()` raise `psycopg_pool.PoolTimeout`,
    which `catalog_errors` turns into `CatalogUnavailable`; it recovers by itself.

    Raises:
        CatalogUnavailable: no database is configured and the embedded one is not running.
    """
    size = max_size or settings.api.workers_pool_size
    return ConnectionPool(
        database_dsn(settings),
        connection_class=Connection,
        min_size=min(1, size),
        max_size=size,
        timeout=timeout_seconds,
        check=ConnectionPool.check_connection,
        name=application_name,
        kwargs={
            "autocommit": True,
            "connect_timeout": 15,
            "application_name": application_name,
            "options": _options(statement_timeout_seconds),
        },
        open=True,
    )


def database_dsn(settings: Settings) -> str:
    """Returns the catalog's DSN: the configured one, else that of the running embedded server.

    Raises:
        CatalogUnavailable: neither exists.
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    file = embedded_dir(settings) / DSN_FILE
    problem = "holds no address of one"
    try:
        dsn = file.read_text(encoding="utf-8").strip()
        if dsn and "\0" not in dsn and conninfo_to_dict(dsn):
            return dsn
    except (FileNotFoundError, NotADirectoryError):
        problem = "does not exist"
    except OSError as error:
        problem = f"cannot be read: {reason_of(error, file)}"
    except (UnicodeDecodeError, psycopg.ProgrammingError):
        # The text of the error would show what the file holds.
        pass
    msg = (
        f"no database: {file} {problem}; start the embedded PostgreSQL with `voyager up`, or set "
        "VOYAGER_DATABASE_URL"
    )
    raise CatalogUnavailable(msg)


def dagster_dsn(settings: Settings) -> str:
    """Returns the DSN of Dagster's own database: the configured one, else `<catalog>_dagster`.

    Raises:
        CatalogUnavailable: see `database_dsn`.
    """
    if settings.dagster_database_url is not None:
        return settings.dagster_database_url.get_secret_value()
    catalog = database_dsn(settings)
    return with_database(catalog, f"{database_name(catalog)}_dagster")


def embedded_dir(settings: Settings) -> Path:
    """Returns the folder of the embedded server: cluster, password, DSN and log."""
    return settings.data_dir / EMBEDDED_FOLDER


def database_name(dsn: str) -> str:
    """Returns the database that a DSN names (libpq's default is the user's name)."""
    parts = conninfo_to_dict(dsn)
    return str(parts.get("dbname") or parts.get("user") or "postgres")


def with_database(dsn: str, database: str) -> str:
    """Returns the DSN of another database on the same server.

    A URL stays a URL, since Dagster's storage takes nothing else.
    """
    if "://" not in dsn:
        return make_conninfo(dsn, dbname=database)
    head, question, query = dsn.partition("?")
    scheme, _, rest = head.partition("://")
    authority = rest.partition("/")[0]
    return f"{scheme}://{authority}/{database}{question}{query}"


def ensure_database(dsn: str) -> None:
    """Creates the database that a DSN names when its server does not have it.

    Raises:
        CatalogUnavailable: the server does not answer.
        CatalogRefused: the login is refused or may not create databases.
    """
    name = database_name(dsn)
    try:
        connect(dsn).close()
    except CatalogRefused:
        with connect(with_database(dsn, "postgres")) as conn:
            create_database(conn, name)


def create_database(conn: Connection, name: str) -> None:
    """Creates a database; one that is there already, or appears meanwhile, is fine.

    Raises:
        CatalogRefused: the login may not create databases.
    """
    exists = conn.execute("select 1 from pg_database where datname = %s", [name]).fetchone()
    if exists:
        return
    statement = psycopg.sql.SQL("create database {}").format(psycopg.sql.Identifier(name))
    with catalog_errors(f"creating the database {name}"):
        try:
            conn.execute(statement)
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return  # another process was faster


def describe(dsn: str) -> str:
    """Returns `host:port/database` of a DSN, without user and password, for messages."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return "a database with an unreadable DSN"
    host = parts.get("host") or parts.get("hostaddr") or "local socket"
    return f"{host}:{parts.get('port') or 5432}/{database_name(dsn)}"


def _options(statement_timeout_seconds: float) -> str:
    settings = {
        "timezone": "UTC",
        "statement_timeout": round(statement_timeout_seconds * 1000),
        # Sessions of a machine that is gone, or of a process that is stopped, keep their locks
        # only so long.
        "tcp_keepalives_idle": 60,
        "tcp_keepalives_interval": 10,
        "tcp_keepalives_count": 6,
        "idle_in_transaction_session_timeout": "15min",
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())
