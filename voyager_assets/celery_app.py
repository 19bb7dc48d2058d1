"""What Celery workers load: `celery -A voyager_assets.celery_app worker -Q tail,history`.

`VOYAGER_CLUSTER__BROKER` and `VOYAGER_CLUSTER__BACKEND` say where Redis is; DAGSTER_HOME holds the
same dagster.yaml as on every other machine.
"""

from celery import Celery  # type: ignore[import-untyped]
from dagster_celery.config import DEFAULT_CONFIG
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from voyager_core.errors import SettingsError
from voyager_core.settings import load_settings


def worker_app() -> Celery:
    """Returns the application with the tasks that execute runs.

    Raises:
        SettingsError: it is not said where Redis is.
    """
    cluster = load_settings().cluster
    if cluster.broker is None or cluster.backend is None:
        msg = (
            "set VOYAGER_CLUSTER__BROKER and VOYAGER_CLUSTER__BACKEND, such as redis://host:6379/0"
        )
        raise SettingsError(msg)
    made: Celery = make_app(  # type: ignore[no-untyped-call]
        app_args={
            "broker": cluster.broker.get_secret_value(),
            "backend": cluster.backend.get_secret_value(),
            "config_source": dict(DEFAULT_CONFIG),
            "task_default_queue": "history",
        }
    )
    create_execute_job_task(made)
    create_resume_job_task(made)
    return made


app = worker_app()
