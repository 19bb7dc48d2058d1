"""The catalog as a command needs it: running, migrated, connected."""

from collections.abc import Iterator
from contextlib import contextmanager

from voyager_core.catalog.connect import Connection, connect, database_dsn, ensure_database
from voyager_core.catalog.embedded import embedded_postgres
from voyager_core.catalog.migrate import migrate
from voyager_core.settings import Settings


@contextmanager
def catalog_session(settings: Settings) -> Iterator[Connection]:
    """Yields a connection to the catalog.

    Without a database of one's own, the embedded server is joined when it runs and else
    started for as long as the command takes.

    Raises:
        VoyagerError: there is no usable database, with what to do about it.
    """
    if settings.database_url is not None:
        with _connected(settings) as conn:
            yield conn
        return
    with embedded_postgres(settings), _connected(settings) as conn:
        yield conn


@contextmanager
def _connected(settings: Settings) -> Iterator[Connection]:
    dsn = database_dsn(settings)
    ensure_database(dsn)
    migrate(dsn)
    with connect(dsn, application_name="voyager command") as conn:
        yield conn
