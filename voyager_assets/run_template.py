"""What the template of runs imports (see `forked_runs`): what a run needs and starts no threads.

Whatever imports polars stays out, since polars starts threads that a fork would lose.
"""

import gc
from importlib import import_module

MODULES = (
    "antlr4",
    "dagster._cli.api",
    "dagster._core.definitions.antlr_asset_selection.antlr_asset_selection",
    "dagster._grpc.impl",
    "dagster_postgres",
    "isal.isal_zlib",
    "psycopg.types.json",
    "psycopg2.extras",
    "sqlalchemy.dialects.postgresql.psycopg2",
    "voyager_assets.automation",
    "voyager_assets.dagster_storage",
    "voyager_assets.partitions",
    "voyager_core.catalog.stretches",
    "voyager_core.nntp.client",
    "voyager_core.settings",
    "voyager_core.storage.spool",
)

for _module in MODULES:
    import_module(_module)
# Pages that no collection touches stay shared with the runs.
gc.collect()
gc.freeze()
