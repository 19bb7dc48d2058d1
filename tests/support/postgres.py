"""Postgres for tests: one embedded server a session, a migrated database of its own a test.

Use the fixtures `database` (a DSN) or `catalog` (a connection). A database is a copy of a
migrated template, which takes some hundredths of a second.
"""

from collections.abc import Iterator
from itertools import count

import pytest

from voyager_core.catalog.connect import Connection, connect, with_database
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.migrate import migrate

# What is lost in a crash of the machine does not matter here.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "autovacuum": "off",
}
TEMPLATE = "voyager_template"

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """The running server; its template database is migrated."""
    folder = tmp_path_factory.mktemp("postgres")
    with EmbeddedPostgres(folder, options=FAST) as server:
        migrate(server.dsn(TEMPLATE))
        yield server


@pytest.fixture
def empty_database(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The DSN of a database without any table."""
    yield from _database(postgres_server, "template1")


@pytest.fixture
def database(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """The DSN of a migrated, empty catalog."""
    yield from _database(postgres_server, TEMPLATE)


@pytest.fixture
def catalog(database: str) -> Iterator[Connection]:
    """A connection to a migrated, empty catalog."""
    with connect(database, application_name="test") as conn:
        yield conn


def _database(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    admin = server.dsn("postgres")
    with connect(admin) as conn:
        conn.execute(f"create database {name} template {template} strategy file_copy")
    yield with_database(admin, name)
    with connect(admin) as conn:
        conn.execute(f"drop database {name} with (force)")
