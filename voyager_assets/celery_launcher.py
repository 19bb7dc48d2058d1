"""Runs on several machines: Celery workers that stay warm take them from Redis.

Dagster's own launcher ends a cancelled run as failed, so that it is tried again, and never
notices that a worker is gone. Both are mended here (docs/decisions/0001 has the numbers).
"""

from collections.abc import Mapping
from typing import Any

from celery.exceptions import CeleryError  # type: ignore[import-untyped]
from dagster import DagsterRun
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._serdes import ConfigurableClassData
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from kombu.exceptions import OperationalError

# A worker that is busy may miss an answer; one that misses so many in a row is gone.
MISSES = 3
ANSWER_SECONDS = 3.0


class VoyagerRunLauncher(CeleryRunLauncher):
    """Starts runs as Celery tasks, ends cancelled ones as cancelled, and notices lost workers."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._missed: dict[str, int] = {}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "VoyagerRunLauncher":
        """Builds the launcher from the `run_launcher:` block of `dagster.yaml`."""
        return cls(inst_data=inst_data, **config_value)

    def terminate(self, run_id: str) -> bool:
        """Stops a run; False when there is nothing to stop."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        # Else the end of the worker's process is taken for a failure, which is tried again.
        self._instance.report_run_canceling(run)
        if DAGSTER_CELERY_TASK_ID_TAG not in run.tags:
            self._instance.report_run_canceled(run)
            return True
        return bool(super().terminate(run_id))

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Tells whether a run is still worked on: some live worker must hold its task."""
        if DAGSTER_CELERY_TASK_ID_TAG not in run.tags:
            return CheckRunHealthResult(WorkerStatus.UNKNOWN, "the run has no task yet")
        health = super().check_run_worker_health(run)
        if health.status != WorkerStatus.RUNNING or self._is_held(run):
            self._missed.pop(run.run_id, None)
            return health
        missed = self._missed[run.run_id] = self._missed.get(run.run_id, 0) + 1
        if missed < MISSES:
            return health
        self._missed.pop(run.run_id)
        return CheckRunHealthResult(WorkerStatus.FAILED, "no live worker holds this run")

    def _is_held(self, run: DagsterRun) -> bool:
        """Tells whether a worker says that it holds the task; a broken broker tells nothing."""
        task = run.tags[DAGSTER_CELERY_TASK_ID_TAG]
        try:
            answers = self.celery.control.inspect(timeout=ANSWER_SECONDS).active() or {}
        except (OperationalError, CeleryError, OSError):
            return True
        return any(each["id"] == task for tasks in answers.values() for each in tasks)
