"""Brings a database to the schema of this code: numbered SQL files, each applied once.

A file `migrations/NNNN_name.sql` runs in one transaction of its own. One whose first line is
`-- no transaction` holds a single statement that Postgres refuses inside a transaction
(`create index concurrently`); it must be harmless to run again.
"""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg
from psycopg import errors as pg

from voyager_core.catalog.connect import Connection, connect, describe
from voyager_core.catalog.errors import (
    CatalogUnavailable,
    MigrationError,
    catalog_errors,
    first_line,
)

logger = logging.getLogger(__name__)

NO_TRANSACTION = "-- no transaction"
LOCK_KEY = 0x766F79616765  # "voyage": one migrator at a time in a database
WAIT_SECONDS = 300
LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"

_FILE = re.compile(r"(?P<version>\d{4})_(?P<name>[a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file.

    Attributes:
        version: its number, from 1 without a gap.
        name: the rest of the file's name.
        text: the SQL.
    """

    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The checksum, the same for both kinds of line end."""
        return hashlib.sha256(self.text.replace("\r\n", "\n").encode()).hexdigest()

    @property
    def in_transaction(self) -> bool:
        """Whether the file runs in a transaction of its own."""
        return not self.text.startswith(NO_TRANSACTION)

    def __str__(self) -> str:
        """Returns `0001_groups_and_ranges`."""
        return f"{self.version:04d}_{self.name}"


def load_migrations(folder: Traversable | None = None) -> list[Migration]:
    """Returns the migrations of this code, or of another folder, in order.

    Raises:
        MigrationError: a file is misnamed, or the numbers have a gap or a double.
    """
    found: list[Migration] = []
    for file in (folder or files("voyager_core.catalog") / "migrations").iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = _FILE.fullmatch(file.name)
        if match is None:
            msg = f"migration {file.name} is not named NNNN_name.sql"
            raise MigrationError(msg)
        text = file.read_text(encoding="utf-8")
        found.append(Migration(int(match["version"]), match["name"], text))
    found.sort(key=lambda migration: migration.version)
    numbers = [migration.version for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        msg = f"the migrations are not numbered 1, 2, 3 …: {numbers}"
        raise MigrationError(msg)
    return found


def migrate(dsn: str, *, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Applies what is missing and returns the names of what was applied.

    Processes that do so at the same time wait for each other.

    Args:
        dsn: the database, which must exist.
        migrations: others than those of this code, for tests.

    Raises:
        MigrationError: an applied file was changed, the database is newer than this code,
            or a file failed; nothing of the failing file is kept.
        CatalogUnavailable: the database does not answer, or another migrator takes too long.
    """
    wanted = load_migrations() if migrations is None else list(migrations)
    doing = f"migrating {describe(dsn)}"
    with connect(dsn, application_name="voyager-migrate") as conn, catalog_errors(doing):
        with _one_at_a_time(conn):
            conn.execute(
                "create table if not exists schema_migration ("
                " version integer primary key, name text not null, sha256 text not null,"
                " applied_at timestamptz not null default now())"
            )
            missing = _compare(wanted, _applied(conn))
            for migration in missing:
                _apply(conn, migration)
                logger.info("applied migration %s", migration)
        return [str(migration) for migration in missing]


def check_schema(conn: Connection) -> None:
    """Returns when the database has exactly the schema of this code.

    Raises:
        MigrationError: it is empty, older, newer or changed; the message says what to do.
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("checking the schema"):
        found = conn.execute("select to_regclass('schema_migration') is not null").fetchone()
        applied = _applied(conn) if found is not None and found[0] else {}
    missing = _compare(load_migrations(), applied)
    if missing:
        names = ", ".join(str(migration) for migration in missing)
        msg = f"the database lacks {names}: run `voyager migrate`"
        raise MigrationError(msg)


def _applied(conn: Connection) -> dict[int, tuple[str, str]]:
    rows = conn.execute("select version, name, sha256 from schema_migration order by version")
    return {version: (name, sha256) for version, name, sha256 in rows}


def _compare(
    wanted: Sequence[Migration], applied: Mapping[int, tuple[str, str]]
) -> list[Migration]:
    """Returns what is missing.

    Raises:
        MigrationError: what was applied is not the beginning of what is wanted.
    """
    known = {migration.version: migration for migration in wanted}
    for version, (name, sha256) in applied.items():
        migration = known.get(version)
        if migration is None:
            msg = (
                f"the database is newer than this code: it has migration {version:04d}_{name}, "
                f"this code ends at {max(known, default=0):04d}; install the newer version"
            )
            raise MigrationError(msg)
        if migration.sha256 != sha256:
            msg = (
                f"migration {migration} was changed after it had been applied as "
                f"{version:04d}_{name}; restore the file and add a new one"
            )
            raise MigrationError(msg)
    last = max(applied, default=0)
    missing = [migration for migration in wanted if migration.version not in applied]
    if missing and missing[0].version < last:
        msg = f"the database has migration {last:04d} but not {missing[0]}"
        raise MigrationError(msg)
    return missing


def _apply(conn: Connection, migration: Migration) -> None:
    record = "insert into schema_migration (version, name, sha256) values (%s, %s, %s)"
    row = (migration.version, migration.name, migration.sha256)
    try:
        if migration.in_transaction:
            with conn.transaction():
                conn.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
                conn.execute(f"set local statement_timeout = '{STATEMENT_TIMEOUT}'")
                conn.execute(migration.text.encode())
                conn.execute(record, row)
        else:
            conn.execute(migration.text.encode())
            conn.execute(record, row)
    except (pg.LockNotAvailable, pg.QueryCanceled) as error:
        msg = f"migration {migration} gave up waiting, try again: {first_line(error)}"
        raise CatalogUnavailable(msg) from error
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        msg = f"migration {migration} failed, nothing of it was kept: {first_line(error)}"
        raise MigrationError(msg) from error


@contextmanager
def _one_at_a_time(conn: Connection) -> Iterator[None]:
    """Holds the migrators' lock; it goes with the session when the process dies."""
    conn.execute("select set_config('lock_timeout', %s, false)", [f"{WAIT_SECONDS}s"])
    try:
        conn.execute("select pg_advisory_lock(%s)", [LOCK_KEY])
    except pg.LockNotAvailable as error:
        msg = f"another migrator holds the lock for {WAIT_SECONDS} seconds"
        raise CatalogUnavailable(msg) from error
    conn.execute("reset lock_timeout")
    try:
        yield
    finally:
        if not conn.broken:
            conn.execute("select pg_advisory_unlock(%s)", [LOCK_KEY])
