"""Dagster's code server with runs that are forked (`forked_runs`) instead of started anew.

    python -m voyager_assets.code_server --module-name voyager_assets.definitions --port 4000 …

It takes the arguments of `dagster api grpc`.
"""

from typing import Any

from dagster._cli.api import grpc_command
from dagster._grpc import server

from voyager_assets.forked_runs import run_context


class CodeServer(server.DagsterApiServer):
    """A code server that makes its runs' processes with `run_context`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # No public way to choose how processes are started.
        self._mp_ctx = run_context()  # type: ignore[assignment]


def main() -> None:
    """Serves until it is told to stop."""
    server.DagsterApiServer = CodeServer  # type: ignore[misc]
    grpc_command(prog_name="python -m voyager_assets.code_server")


if __name__ == "__main__":
    main()
