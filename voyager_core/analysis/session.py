"""A DuckDB session with views of the corpus and, when a query asks for them, catalog tables.

Catalog tables are copied into the session when a query first names them, so that no query can
change the catalog or hold its locks, and nothing has to be installed from the network.
"""

import glob
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from voyager_core.analysis.parquet import FILES, PARSED_HEADERS, RELEASES
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.errors import PermanentError, reason_of

CATALOG_TABLES = (
    *("newsgroup", "group_name", "range", "range_version", "ruleset", "rule_retraction"),
    *("range_rule_count", "span_drop", "span_rule_count", "range_recovery", "reject_count", "hole"),
    *("rule_sample", "release", "release_alias", "release_fold", "repost", "chunk", "fragment"),
    "candidate",
)
"""Tables of the catalog; payloads are left out (`payload_bytes` is their size)."""

VIEWS: Mapping[str, str] = {
    "rule_counts": (
        "select n.name as newsgroup, r.low, r.high, c.rule, c.signature, c.owner_group,"
        " c.articles, c.files, r.rules_version from range_rule_count c join range r"
        " using (range_id) join newsgroup n using (newsgroup_id)"
    ),
    "reject_counts": (
        "select n.name as newsgroup, r.low, r.high, c.reason, c.articles from reject_count c"
        " join range r using (range_id) join newsgroup n using (newsgroup_id)"
    ),
}
"""Views over catalog tables, by name."""

CORPUS_VIEWS: Mapping[str, tuple[str, str]] = {
    "parsed_headers": (
        PARSED_HEADERS,
        (
            "number ubigint, posted_at timestamptz, subject varchar, poster varchar, message_id"
            " varchar, size_bytes ubigint, xref varchar, file_key ubigint, part uinteger,"
            ' reason varchar, "group" varchar, "range" bigint'
        ),
    ),
    "corpus_files": (
        FILES,
        (
            "file_key ubigint, release_key ubigint, name varchar, subject varchar, poster varchar,"
            " parts_total uinteger, parts_found uinteger, size_bytes ubigint, first_posted_at"
            " timestamptz, last_posted_at timestamptz, dropped_by varchar, is_fragment boolean,"
            ' "group" varchar, "range" bigint'
        ),
    ),
    "corpus_releases": (
        RELEASES,
        (
            "release_key ubigint, session uinteger, name varchar, is_readable boolean, poster"
            " varchar, posted_at timestamptz, files uinteger, files_expected uinteger, segments"
            " uinteger, segments_expected uinteger, size_bytes ubigint, has_par2 boolean, category"
            ' usmallint, season integer, episode integer, year integer, "group" varchar,'
            ' "range" bigint'
        ),
    ),
}
"""Views over the corpus's Parquet: the folder, and columns for when there is no file yet."""

_TYPES = {
    "bigint": "bigint",
    "integer": "integer",
    "smallint": "smallint",
    "boolean": "boolean",
    "date": "date",
    "timestamp with time zone": "timestamptz",
    "double precision": "double",
    "real": "float",
    "numeric": "double",
    "jsonb": "json",
    "text": "varchar",
    "bytea": "bigint",
    "ARRAY": "json",
}
_ARRAYS = {"_int4": "integer[]", "_int8": "bigint[]", "_text": "varchar[]"}


class QueryError(PermanentError):
    """DuckDB refuses a query; the text says why."""


CatalogOpener = Callable[[], AbstractContextManager[Connection]]


class Session:
    """One DuckDB session; use `open_session`."""

    def __init__(self, database: duckdb.DuckDBPyConnection, connect: CatalogOpener | None) -> None:
        self._database = database
        self._connect = connect
        self._stack = ExitStack()
        self._conn: Connection | None = None
        self._known: set[str] = set()

    def query(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Returns the columns and rows of a query; of several statements those of the last.

        Raises:
            QueryError: DuckDB refuses it.
            VoyagerError: a catalog table is asked for and the catalog cannot be read.
        """
        names: list[str] = []
        rows: list[tuple[Any, ...]] = []
        try:
            for statement in self._database.extract_statements(text):
                self._prepare(statement.query)
                result = self._database.execute(statement)
                names = [column[0] for column in result.description or []]
                rows = result.fetchall() if names else []
        except duckdb.Error as error:
            raise QueryError(str(error)) from error
        return names, rows

    def frame(self, text: str) -> Any:
        """Returns a query as a polars frame.

        Raises:
            QueryError: DuckDB refuses it.
            VoyagerError: a catalog table is asked for and the catalog cannot be read.
        """
        try:
            self._prepare(text)
            found = self._database.sql(text)
            return pl.DataFrame() if found is None else pl.from_arrow(found.to_arrow_table())
        except duckdb.Error as error:
            raise QueryError(str(error)) from error

    def close(self) -> None:
        """Gives up the session and its connection to the catalog."""
        self._stack.close()
        self._database.close()

    def _prepare(self, text: str) -> None:
        """Copies the catalog tables that a statement names, once a session."""
        try:
            asked = {name.lower() for name in self._database.get_table_names(text)}
        except duckdb.Error:
            # A statement that is no query (set, describe, copy) may still name a table.
            words = {word.strip('"').lower() for word in text.replace("(", " ").split()}
            asked = words & {*CATALOG_TABLES, *VIEWS}
        for name in sorted(asked - self._known):
            if name in VIEWS:
                self._prepare(VIEWS[name])
                self._database.execute(f"create view {name} as {VIEWS[name]}")
            elif name in CATALOG_TABLES and self._connect is not None:
                self._copy(name)
            else:
                continue
            self._known.add(name)

    def _copy(self, name: str) -> None:
        if self._conn is None and self._connect is not None:
            self._conn = self._stack.enter_context(self._connect())
        if self._conn is None:
            return
        columns = _columns(self._conn, name)
        with tempfile.NamedTemporaryFile(prefix="voyager-", suffix=".csv") as file:
            with catalog_errors(f"reading {name}"), self._conn.cursor() as cursor:
                wanted = ", ".join(expression for expression, _, _ in columns)
                with cursor.copy(
                    f'copy (select {wanted} from "{name}") to stdout (format csv)'
                ) as copy:
                    for data in copy:
                        file.write(data)
            file.flush()
            types = ", ".join(f"'{column}': '{kind}'" for _, column, kind in columns)
            self._database.execute(
                f'create table "{name}" as select * from read_csv($1, header = false,'
                f" auto_detect = false, delim = ',', quote = '\"', escape = '\"',"
                # Postgres quotes an empty text and leaves a null bare.
                " allow_quoted_nulls = false,"
                f" max_line_size = 100000000, columns = {{{types}}})",
                [file.name],
            )


def _columns(conn: Connection, table: str) -> list[tuple[str, str, str]]:
    """Returns of each column how Postgres gives it, its name and its type in DuckDB."""
    with catalog_errors(f"reading the columns of {table}"):
        rows = conn.execute(
            "select column_name, data_type, udt_name from information_schema.columns"
            " where table_schema = current_schema() and table_name = %s order by ordinal_position",
            [table],
        ).fetchall()
    columns: list[tuple[str, str, str]] = []
    for name, kind, udt in rows:
        if kind == "bytea":
            columns.append((f'octet_length("{name}")', f"{name}_bytes", "bigint"))
        elif kind == "ARRAY":
            columns.append((f'array_to_json("{name}")', name, _ARRAYS.get(udt, "json")))
        else:
            columns.append((f'"{name}"', name, _TYPES.get(kind, "varchar")))
    return columns


@contextmanager
def open_session(parquet: Path, connect: CatalogOpener | None = None) -> Iterator[Session]:
    """Yields a session.

    Args:
        parquet: the folder of the corpus's Parquet.
        connect: opens the catalog when a query asks for it; None: there is none.

    Raises:
        QueryError: a file of the corpus is damaged.
    """
    with tempfile.TemporaryDirectory(prefix="voyager-sql-") as folder:
        # On disk, so that a catalog larger than the memory can be looked at.
        database = duckdb.connect(str(Path(folder) / "session.duckdb"))
        database.execute("set timezone = 'UTC'")
        # Else a name that is no table would be looked for among Python's own variables.
        database.execute("set python_enable_replacements = false")
        for view, (table, columns) in CORPUS_VIEWS.items():
            _corpus_view(database, view, parquet / table, columns)
        session = Session(database, connect)
        try:
            yield session
        finally:
            session.close()


def _corpus_view(
    database: duckdb.DuckDBPyConnection, view: str, folder: Path, columns: str
) -> None:
    if next(folder.glob("group=*/range=*/*.parquet"), None) is None:
        database.execute(f"create table {view} ({columns})")
        return
    pattern = str(Path(glob.escape(str(folder))) / "group=*/range=*/*.parquet").replace("'", "''")
    statement = (
        f"create view {view} as select * from read_parquet('{pattern}', union_by_name = true,"
        " hive_partitioning = true,"
        ' hive_types = {"group": varchar, "range": bigint})'
    )
    try:
        database.execute(statement)
    except duckdb.Error as error:
        msg = (
            f"the Parquet of the corpus in {folder} cannot be read: {reason_of(error)}; delete it, "
            "and `voyager corpus parquet` writes it again"
        )
        raise QueryError(msg) from error


def as_rows(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Returns rows as mappings."""
    return [dict(zip(names, row, strict=True)) for row in rows]
