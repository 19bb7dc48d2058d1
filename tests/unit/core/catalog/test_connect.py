"""DSNs, errors and imports of the catalog."""

import subprocess
import sys

import psycopg
import pytest
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

from voyager_core.catalog.connect import (
    connect,
    dagster_dsn,
    database_dsn,
    database_name,
    describe,
    embedded_dir,
    with_database,
)
from voyager_core.catalog.errors import (
    CatalogRefused,
    CatalogUnavailable,
    StatementTimeout,
    catalog_errors,
)
from voyager_core.errors import PermanentError, TransientError
from voyager_core.settings import Settings

URL = "postgresql://joe:s%40crt@db.example:5433/voyager?sslmode=require"


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        (URL, "postgresql://joe:s%40crt@db.example:5433/other?sslmode=require"),
        ("postgresql://db.example", "postgresql://db.example/other"),
        ("postgresql://joe@/voyager?host=/run/pg", "postgresql://joe@/other?host=/run/pg"),
        ("host=db.example dbname=voyager", "dbname=other host=db.example"),
    ],
)
def test_database_of_a_dsn_is_replaced(dsn, expected):
    assert with_database(dsn, "other") == expected
    assert database_name(expected) == "other"


@pytest.mark.parametrize(
    ("dsn", "name"),
    [(URL, "voyager"), ("postgresql://joe@db.example", "joe"), ("host=db.example", "postgres")],
)
def test_database_has_the_name_that_libpq_takes(dsn, name):
    assert database_name(dsn) == name


def test_description_has_no_secret():
    assert describe(URL) == "db.example:5433/voyager"
    assert describe("host=/run/pg user=joe password=secret") == "/run/pg:5432/joe"
    assert describe("dbname=x") == "local socket:5432/x"
    assert "secret" not in describe("nonsense secret")


def test_configured_database_is_used(tmp_path):
    settings = Settings(data_dir=tmp_path, database_url=URL, _env_file=None)
    assert database_dsn(settings) == URL
    assert dagster_dsn(settings) == with_database(URL, "voyager_dagster")
    other = settings.model_copy(
        update={"dagster_database_url": Settings(database_url="postgresql://x").database_url}
    )
    assert dagster_dsn(other) == "postgresql://x"


def test_embedded_database_is_found_by_its_file(tmp_path):
    settings = Settings(data_dir=tmp_path, _env_file=None)
    with pytest.raises(CatalogUnavailable, match=r"voyager up.*VOYAGER_DATABASE_URL"):
        database_dsn(settings)
    embedded_dir(settings).mkdir()
    (embedded_dir(settings) / "dsn").write_text("postgresql://x/voyager\n")
    assert database_dsn(settings) == "postgresql://x/voyager"


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (pg.QueryCanceled("canceling"), StatementTimeout),
        (pg.LockNotAvailable("lock"), CatalogUnavailable),
        (pg.DeadlockDetected("deadlock"), CatalogUnavailable),
        (pg.AdminShutdown("terminating"), CatalogUnavailable),
        (pg.CannotConnectNow("starting up"), CatalogUnavailable),
        (pg.DiskFull("no space"), CatalogUnavailable),
        (psycopg.OperationalError("connection refused"), CatalogUnavailable),
        (psycopg.InterfaceError("closed"), CatalogUnavailable),
        (PoolTimeout("no connection"), CatalogUnavailable),
        (pg.InsufficientPrivilege("denied"), CatalogRefused),
        (pg.InvalidCatalogName("no database"), CatalogRefused),
        (psycopg.OperationalError("FATAL: password authentication failed"), CatalogRefused),
        (psycopg.OperationalError('FATAL: database "x" does not exist'), CatalogRefused),
    ],
)
def test_errors_of_the_database_say_whether_another_try_makes_sense(raised, expected):
    with (
        pytest.raises(expected, match="storing something: ") as caught,
        catalog_errors("storing something"),
    ):
        raise raised
    wanted = PermanentError if expected is CatalogRefused else TransientError
    assert isinstance(caught.value, wanted)
    assert caught.value.__cause__ is raised


def test_errors_of_the_program_stay_what_they_are():
    with pytest.raises(pg.SyntaxError), catalog_errors("x"):
        raise pg.SyntaxError("near")
    with pytest.raises(KeyError), catalog_errors("x"):
        raise KeyError


def test_server_that_is_not_there_is_a_transient_error():
    with pytest.raises(CatalogUnavailable, match=r"connecting to 127\.0\.0\.1:1/x: "):
        connect("postgresql://joe:secret@127.0.0.1:1/x")


def test_reading_the_catalog_loads_neither_polars_nor_dagster():
    code = (
        "import sys\n"
        "from voyager_core.catalog import connect, releases, search, keys, groups, ranges\n"
        "from voyager_core.catalog import migrate, rulecounts, candidates, settle, embedded\n"
        "from voyager_core.nzb import writer\n"
        "print([name for name in ('polars', 'pyarrow', 'dagster', 'duckdb')"
        " if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"hunter2",
        b"postgresql://u:hunter2%zz@h/d",
        b"\xff\xfehunter2",
        b"host=a\0hunter2",
        None,
    ],
)
def test_a_dsn_file_that_holds_no_address_is_told_without_its_content(tmp_path, content):
    settings = Settings(_env_file=None, data_dir=tmp_path)
    file = tmp_path / "postgres" / "dsn"
    file.parent.mkdir()
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(
        CatalogUnavailable, match=r"dsn (cannot be read|holds no address)"
    ) as caught:
        database_dsn(settings)
    assert "hunter2" not in str(caught.value)
    assert "voyager up" in str(caught.value)
