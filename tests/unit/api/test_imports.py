"""The API starts light."""

import subprocess
import sys

HEAVY = ("dagster", "polars", "duckdb", "pyarrow", "voyager_assets")


def test_importing_the_application_loads_no_dagster_polars_or_duckdb():
    script = (
        "import sys, voyager_api.app, voyager_api.server;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
