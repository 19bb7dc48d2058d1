"""Dagster's own storage in Postgres, with connections that stay open.

Stock `DagsterPostgresStorage` opens a new connection for every statement outside the webserver
(6 to 8 ms of server CPU each, against 0.15 ms on an open one) and looks up the schema for
every event that carries a data version. Both together are most of what an event costs. See
`docs/decisions/0001-dagster-partitions-and-runs.md`.
"""

from collections.abc import Mapping
from typing import Any

from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import create_pg_engine, pg_url_from_config
from sqlalchemy import make_url

DRIVER = "postgresql+psycopg2"


def with_driver(url: str) -> str:
    """Returns a Postgres URL that names the driver Dagster's storage is written for.

    SQLAlchemy 2.1 reads a plain `postgresql://` as psycopg 3 where that is installed, and the
    first event then fails on `NOTIFY run_events, $1` (dagster-io/dagster#33958).
    """
    return make_url(url).set(drivername=DRIVER).render_as_string(hide_password=False)


class CachingEventLogStorage(PostgresEventLogStorage):
    """An event log that asks for each table once; tables do not vanish while it is open."""

    def __init__(self, postgres_url: str, **options: Any) -> None:
        super().__init__(postgres_url, **options)
        self._known_tables: set[str] = set()

    def has_table(self, table_name: str) -> bool:
        """Returns whether the table exists; only a yes is remembered."""
        if table_name not in self._known_tables and super().has_table(table_name):
            self._known_tables.add(table_name)
        return table_name in self._known_tables


class PooledPostgresStorage(DagsterPostgresStorage):
    """Runs, events and schedules in Postgres over pooled engines.

    Each of the three engines keeps one connection and opens up to twenty more while a threaded
    daemon needs them. A connection is tested before use, so that a restarted server costs nobody
    a run.
    """

    def __init__(
        self,
        postgres_url: str,
        should_autocreate_tables: bool = True,  # noqa: FBT001, FBT002 - Dagster's signature
        inst_data: ConfigurableClassData | None = None,
    ) -> None:
        url = with_driver(postgres_url)
        super().__init__(url, should_autocreate_tables, inst_data)
        self._event_log_storage = CachingEventLogStorage(url, should_autocreate_tables=False)
        for storage in (self._run_storage, self._event_log_storage, self._schedule_storage):
            storage._engine.dispose()  # noqa: SLF001 - no public way to choose the pool
            storage._engine = create_pg_engine(  # noqa: SLF001
                url,
                isolation_level="AUTOCOMMIT",
                pool_size=1,
                max_overflow=20,
                pool_recycle=3600,
                pool_pre_ping=True,
            )

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "PooledPostgresStorage":
        """Builds the storage from the `storage:` block of `dagster.yaml`."""
        return cls(
            pg_url_from_config(config_value),
            should_autocreate_tables=config_value.get("should_autocreate_tables", True),
            inst_data=inst_data,
        )
