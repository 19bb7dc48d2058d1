"""When a sensor holds back: a run is under way, or the last ones failed."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import dagster as dg

from voyager_assets.automation import unfinished_runs
from voyager_assets.resources import Catalog
from voyager_core.catalog.connect import Connection
from voyager_core.errors import VoyagerError

FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
_RUNS_LOOKED_AT = 40
_FINISHED = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]


class NotNow(Exception):  # noqa: N818 - the reason of a skipped tick, not an error
    """The sensor asks for nothing now; the text says why."""


@contextmanager
def asking(catalog: Catalog) -> Iterator[Connection]:
    """Yields a connection for a tick.

    Raises:
        NotNow: the database cannot be asked.
    """
    try:
        with catalog.connect() as conn:
            yield conn
    except VoyagerError as error:
        raise NotNow(str(error)) from error


def require_no_run(instance: dg.DagsterInstance, job: str) -> None:
    """Returns when no run of a job is queued or under way.

    Raises:
        NotNow: there is one.
    """
    if unfinished_runs(instance, job):
        msg = f"a run of {job} is queued or under way"
        raise NotNow(msg)


def require_success(instance: dg.DagsterInstance, job: str, now: datetime) -> None:
    """Returns when the last run of a job did not fail, or long enough ago.

    The wait begins with half a minute and is four times as long after each further failure.
    Runs that failed side by side met the same fault and count as one.

    Raises:
        NotNow: the last run failed a short while ago.
    """
    records = instance.get_run_records(
        dg.RunsFilter(job_name=job, statuses=_FINISHED), limit=_RUNS_LOOKED_AT
    )
    failures, began, ended = 0, 0.0, 0.0
    for record in sorted(records, key=lambda each: each.end_time or 0.0, reverse=True):
        status = record.dagster_run.status
        if status == dg.DagsterRunStatus.SUCCESS:
            break
        if status == dg.DagsterRunStatus.CANCELED:
            # Says nothing about the next one.
            continue
        end = record.end_time or 0.0
        start = end if record.start_time is None else record.start_time
        if not failures:
            failures, began, ended = 1, start, end
        elif end <= began:
            failures, began = failures + 1, start
        else:
            began = min(began, start)
    if not failures:
        return
    wait = min(FIRST_WAIT * 4 ** (failures - 1), LONGEST_WAIT)
    again = datetime.fromtimestamp(ended, tz=now.tzinfo) + wait
    if now < again:
        what = "run" if failures == 1 else f"{failures} runs in a row"
        msg = f"the last {what} of {job} failed; the next try is at {again:%H:%M:%S} UTC"
        raise NotNow(msg)
