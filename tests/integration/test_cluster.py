"""Runs over Redis and two Celery workers: one is killed, one run is cancelled, nothing is lost.

The workers share Postgres and a spool in object storage, as on machines of their own.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dagster as dg
import httpx
import psycopg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef
from moto.server import ThreadedMotoServer

from tests.integration.test_dagster_runs import (
    FINISHED,
    Platform,
    daemon,
    environment_of,
    waiting,
)
from tests.support.indexing import Indexer
from tests.support.newsserver import NewsServer, Rule
from tests.support.postgres import FAST
from voyager_core.catalog.connect import ensure_database, with_database
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.migrate import migrate

pytest.importorskip("dagster_celery", reason="the extra `cluster` is not installed")
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        shutil.which("redis-server") is None, reason="redis-server is not installed (.ci/run does)"
    ),
]
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def redis(folder):
    """Yields the port of a Redis server of the test's own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


@contextmanager
def object_storage():
    """Yields the URL of a spool in S3-compatible storage, which both workers reach."""
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    try:
        address = "http://{}:{}".format(*moto.get_host_and_port())
        httpx.put(f"{address}/voyager").raise_for_status()
        yield f"s3://voyager/spool?endpoint={address}"
    finally:
        moto.stop()


class Worker:
    """A Celery worker in a process group of its own, as on a machine of its own."""

    def __init__(self, name, folder):
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", "voyager_assets.celery_app", "worker"),
                    *("--queues", "tail,history", "--hostname", f"{name}@test"),
                    *("--concurrency", "1", "--prefetch-multiplier", "1", "--loglevel", "info"),
                ],
                cwd=ROOT,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def is_ready(self):
        return b" ready." in self.log.read_bytes()

    def holds(self, run_id):
        return run_id.encode() in self.log.read_bytes()

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        if self.process.poll() is None:
            self.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedPostgres(folder / "postgres", options=FAST))
        migrate(server.dsn())
        ensure_database(with_database(server.dsn(), "voyager_dagster"))
        news = stack.enter_context(NewsServer())
        it = Indexer(server.dsn(), news, folder)
        it.prepare()
        port = stack.enter_context(redis(folder))
        spool = stack.enter_context(object_storage())
        environment = environment_of(it, folder) | {
            "VOYAGER_CLUSTER__BROKER": f"redis://127.0.0.1:{port}/0",
            "VOYAGER_CLUSTER__BACKEND": f"redis://127.0.0.1:{port}/1",
            "VOYAGER_SPOOL__URL": spool,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        config = yaml.safe_load((ROOT / "deploy" / "dagster.cluster.yaml").read_text())
        config["run_monitoring"]["poll_interval_seconds"] = 2
        (folder / "dagster.yaml").write_text(yaml.safe_dump(config))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment.items():
            patch.setenv(name, value)
        workers = [Worker(name, folder) for name in ("one", "two")]
        for worker in workers:
            stack.callback(worker.stop)
        instance = stack.enter_context(
            dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder)))
        )
        log = stack.enter_context(daemon(folder))
        platform = Platform(it, instance, log)
        platform.wait(lambda: all(each.is_ready for each in workers), "the workers")
        yield platform, workers
        for storage in (
            instance.run_storage,
            instance.event_log_storage,
            instance.schedule_storage,
        ):
            storage._engine.dispose()


def status(platform, run):
    return platform.instance.get_run_by_id(run.run_id).status


def test_a_cancelled_run_ends_as_cancelled_and_is_not_tried_again(cluster):
    platform, workers = cluster
    rule = Rule("XOVER", "stall", 9, argument="^601", times=None)
    platform.it.server.rules.append(rule)
    keys = platform.add("alt.binaries.cancelled")
    platform.wait(lambda: platform.rows(keys)[0].state == "done", "the first range")
    (run,) = platform.runs(keys)
    assert platform.instance.run_coordinator.cancel_run(run.run_id)
    platform.wait(lambda: status(platform, run) in FINISHED, "the cancellation")
    assert status(platform, run) is dg.DagsterRunStatus.CANCELED
    platform.it.server.rules.remove(rule)
    # The sensor asks again after some minutes; nobody has to wait for it.
    from voyager_core.domain.ranges import parse_partition_key
    from voyager_core.header_pass.run import index_stretches

    with platform.it.tools() as tools:
        list(index_stretches(tools, [parse_partition_key(key) for key in keys]))
    assert len(platform.runs(keys)) == 1
    platform.require_exact(keys)
    assert all(each.process.poll() is None for each in workers)


def test_a_killed_worker_is_noticed_and_another_one_does_the_rest(cluster):
    platform, workers = cluster
    group = "alt.binaries.killed"
    with psycopg.connect(platform.it.dsn) as lock:
        # The span waits in the middle of its transaction.
        lock.execute("lock table release in exclusive mode")
        keys = platform.add(group)
        (run,) = platform.wait(lambda: platform.runs(keys), "the run")
        platform.wait(lambda: waiting(platform.it.dsn), "the transaction")
        (victim,) = [each for each in workers if each.holds(run.run_id)]
        victim.kill()
        platform.wait(lambda: status(platform, run) is dg.DagsterRunStatus.FAILURE, "the failure")
    platform.wait(lambda: platform.is_indexed(keys), "indexing by the other worker")
    platform.wait(
        lambda: all(each.status in FINISHED for each in platform.runs(keys)), "the second run's end"
    )
    second = platform.runs(keys)[1]
    assert second.parent_run_id == run.run_id
    assert second.status is dg.DagsterRunStatus.SUCCESS
    (left,) = [each for each in workers if each is not victim]
    assert left.holds(second.run_id)
    platform.require_exact(keys)
    assert set(keys) <= platform.instance.get_materialized_partitions(dg.AssetKey("chunks"))
