"""What Dagster's webserver is asked over GraphQL: core starts it, and does not import it."""

import json
import time
from typing import Any

from voyager_core.supervisor.http import ClientError, fetch

_PROBE_SECONDS = 2
_POLL_SECONDS = 0.2
_LOCATIONS = """{ workspaceOrError { ... on Workspace { locationEntries {
 locationOrLoadError { __typename ... on PythonError { message } } } } } }"""
_DAEMONS = """{ instance { daemonHealth { allDaemonStatuses {
 required healthy lastHeartbeatTime } } } }"""
_PARTITIONS = """{ assetNodeOrError(assetKey: {path: [%s]}) { ... on AssetNode {
 partitionStats { numMaterialized numPartitions } } } }"""
_LAUNCHER = "{ instance { runLauncher { name } } }"
_OPEN_RUNS = """{ runsOrError(filter: {statuses: [STARTING, STARTED, CANCELING]}, limit: 1000) {
 ... on Runs { results { runId } } } }"""
_CLOSE_RUNS = """mutation ($runs: [String!]!) { terminateRuns(
 runIds: $runs, terminatePolicy: MARK_AS_CANCELED_IMMEDIATELY) { __typename } }"""
_CANCEL_RUNS = """mutation ($runs: [String!]!) { terminateRuns(
 runIds: $runs, terminatePolicy: SAFE_TERMINATE) { __typename } }"""
# Its runs are processes of this machine; those of others may go on without this installation.
_LOCAL_LAUNCHER = "DefaultRunLauncher"


class DagsterWeb:
    """The webserver at `base` (`http://host:port`)."""

    def __init__(self, base: str) -> None:
        self.base = base

    def is_loaded(self) -> bool:
        """Tells whether the webserver has loaded every code location without an error."""
        try:
            entries = self._ask(_LOCATIONS)["workspaceOrError"].get("locationEntries", [])
        except ClientError:
            return False
        return bool(entries) and all(
            (entry["locationOrLoadError"] or {}).get("__typename") == "RepositoryLocation"
            for entry in entries
        )

    def is_daemon_healthy(self, *, since: float) -> bool:
        """Tells whether every required daemon is well and has sent a heartbeat after `since`.

        Args:
            since: epoch seconds; heartbeats of an earlier start count as healthy for minutes.
        """
        try:
            health = self._ask(_DAEMONS)["instance"]["daemonHealth"]
        except ClientError:
            return False
        statuses = [one for one in health["allDaemonStatuses"] if one["required"]]
        return bool(statuses) and all(
            one["healthy"] and (one["lastHeartbeatTime"] or 0) > since for one in statuses
        )

    def materialised(self, asset: str) -> tuple[int, int] | None:
        """Returns how many partitions of an asset are materialised, and how many there are.

        None when the webserver does not say.
        """
        try:
            node = self._ask(_PARTITIONS % json.dumps(asset), timeout_seconds=30)[
                "assetNodeOrError"
            ]
        except ClientError:
            return None
        stats = node.get("partitionStats")
        return None if stats is None else (stats["numMaterialized"], stats["numPartitions"])

    def close_orphaned_runs(self) -> int:
        """Marks the runs that died with the last start as cancelled; returns how many.

        Only for runs that are processes of this machine, while no daemon runs: none of them can
        be alive then. Left open, they would hold their slots until Dagster's time limit.

        Raises:
            ClientError: the webserver does not answer.
        """
        if not self._is_local():
            return 0
        runs = self._open_runs()
        if runs:
            self._ask(_CLOSE_RUNS, {"runs": runs}, timeout_seconds=60)
        return len(runs)

    def cancel_runs(self, *, timeout_seconds: float) -> None:
        """Cancels the runs of this machine and waits a while for their end.

        A run that is cut short by a stop would count as failed, and the next one would wait.
        Nothing is raised: whatever is left is closed at the next start.
        """
        deadline = time.monotonic() + timeout_seconds
        try:
            if not self._is_local() or not (runs := self._open_runs()):
                return
            self._ask(_CANCEL_RUNS, {"runs": runs}, timeout_seconds=timeout_seconds)
            while self._open_runs() and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        except ClientError:
            return

    def _is_local(self) -> bool:
        name = self._ask(_LAUNCHER)["instance"]["runLauncher"]["name"]
        return bool(name == _LOCAL_LAUNCHER)

    def _open_runs(self) -> list[str]:
        found = self._ask(_OPEN_RUNS)["runsOrError"].get("results", [])
        return [str(run["runId"]) for run in found]

    def _ask(
        self,
        query: str,
        variables: dict[str, Any] | None = None,
        *,
        timeout_seconds: float = _PROBE_SECONDS,
    ) -> Any:
        body = json.dumps({"query": query, "variables": variables or {}}).encode()
        url = f"{self.base}/graphql"
        try:
            answer = json.loads(fetch(url, data=body, timeout_seconds=timeout_seconds))
            problems, data = answer.get("errors"), answer.get("data")
        except (ValueError, AttributeError) as error:
            msg = f"{url} answers something else than GraphQL"
            raise ClientError(msg) from error
        if problems or data is None:
            msg = f"{url} answers {problems}"
            raise ClientError(msg)
        return data
