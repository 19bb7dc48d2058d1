"""Dagster's own storage in Postgres, with connections that stay open.

Stock `DagsterPostgresStorage` opens a new connection for every statement outside the webserver
(6 to 8 ms of server CPU each, against 0.15 ms on an open one) and looks up the schema for
every event that carries a data version. Both together are most of what an event costs. See
`docs/decisions/0001-dagster-partitions-and-runs.md`.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from dagster import DagsterRunStatus
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.runs.schema import RunsTable
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import create_pg_engine, pg_url_from_config
from sqlalchemy import Engine, make_url, select

DRIVER = "postgresql+psycopg2"


def with_driver(url: str) -> str:
    """Returns a Postgres URL that names the driver Dagster's storage is written for.

    SQLAlchemy 2.1 reads a plain `postgresql://` as psycopg 3 where that is installed, and the
    first event then fails on `NOTIFY run_events, $1` (dagster-io/dagster#33958).
    """
    return make_url(url).set(drivername=DRIVER).render_as_string(hide_password=False)


class CachingEventLogStorage(PostgresEventLogStorage):
    """An event log that asks for each table once; tables do not vanish while it is open."""

    def __init__(
        self, postgres_url: str, *, known_tables: set[str] | None = None, **options: Any
    ) -> None:
        super().__init__(postgres_url, **options)
        self._known_tables: set[str] = set() if known_tables is None else known_tables

    def has_table(self, table_name: str) -> bool:
        """Returns whether the table exists; only a yes is remembered."""
        if table_name not in self._known_tables and super().has_table(table_name):
            self._known_tables.add(table_name)
        return table_name in self._known_tables

    def prune(self, kinds: Sequence[str], *, before: float, most: int) -> int:
        """Deletes events of runs that succeeded; returns how many.

        Args:
            kinds: of events; log lines of no kind are deleted as well.
            before: epoch seconds.
            most: how many at a time.
        """
        events, runs = SqlEventLogStorageTable.c, RunsTable.c
        limit = datetime.fromtimestamp(before, UTC).replace(tzinfo=None)
        chosen = (
            select(events.id)
            .join(RunsTable, runs.run_id == events.run_id)
            .where(runs.status == DagsterRunStatus.SUCCESS.value)
            .where(events.timestamp < limit)
            .where(events.dagster_event_type.is_(None) | events.dagster_event_type.in_(list(kinds)))
            .limit(most)
        )
        with self.index_connection() as conn:
            done = conn.execute(SqlEventLogStorageTable.delete().where(events.id.in_(chosen)))
        return int(done.rowcount)


@cache
def _engine(_process: int, url: str, _kind: str) -> Engine:
    """Returns the engine of this process for one of the three storages of a database."""
    return create_pg_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=1,
        max_overflow=20,
        pool_recycle=3600,
        pool_pre_ping=True,
    )


@dataclass(slots=True)
class _Schema:
    """What a process knows of a database: whether it is set up, and tables that exist."""

    is_ready: bool = False
    tables: set[str] = field(default_factory=set)


@cache
def _schema(_process: int, _url: str) -> _Schema:
    return _Schema()


class PooledPostgresStorage(DagsterPostgresStorage):
    """Runs, events and schedules in Postgres over pooled engines.

    Each of the three engines keeps one connection and opens up to twenty more while a threaded
    daemon needs them. A connection is tested before use, so that a restarted server costs nobody
    a run. The engines belong to the process, since the code server makes an instance for every
    tick of a sensor, and new engines and a look at the schema are most of what a tick costs.
    """

    def __init__(
        self,
        postgres_url: str,
        should_autocreate_tables: bool = True,  # noqa: FBT001, FBT002 - Dagster's signature
        inst_data: ConfigurableClassData | None = None,
    ) -> None:
        url = with_driver(postgres_url)
        schema = _schema(os.getpid(), url)
        super().__init__(url, should_autocreate_tables and not schema.is_ready, inst_data)
        schema.is_ready = True
        self._event_log_storage = CachingEventLogStorage(
            url, should_autocreate_tables=False, known_tables=schema.tables
        )
        # No public way to choose the pool.
        self._run_storage._engine = _engine(os.getpid(), url, "runs")  # noqa: SLF001
        self._event_log_storage._engine = _engine(os.getpid(), url, "events")  # noqa: SLF001
        self._schedule_storage._engine = _engine(os.getpid(), url, "schedules")  # noqa: SLF001

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
