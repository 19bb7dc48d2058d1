"""A person is told once when newsgroups fall behind or vanish."""

import http.server
import json
import threading
from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

import dagster as dg
import pytest

from tests.support.indexing import GROUP, NOW, indexer
from voyager_assets.resources import Alerts
from voyager_assets.sensors.alerts import lag_sensor, read_cursor
from voyager_core.catalog.groups import record_gone
from voyager_core.catalog.progress import take_samples
from voyager_core.header_pass.run import index_stretches

pytestmark = pytest.mark.postgres


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path) as made:
        made.plan()
        with made.tools() as tools:
            list(index_stretches(tools, [(GROUP, 0), (GROUP, 1), (GROUP, 2)]))
            take_samples(tools.conn, at=NOW - timedelta(seconds=1000))
        yield made


def tick(it, cursor=None, **alerts):
    resources = {**it.resources(), "alerts": Alerts(**alerts)}
    with dg.build_sensor_context(cursor=cursor, resources=resources) as context:
        return lag_sensor(context)


def test_lag_above_the_threshold_is_told_once_until_it_is_told_again(it):
    assert tick(it, lag_seconds=60).run_requests == []
    with it.connect() as conn:
        # A number a second is posted, and 1000 are missing.
        conn.execute("update newsgroup set high = 2200")
    assert tick(it, lag_seconds=2000).run_requests == []
    told = tick(it, lag_seconds=60)
    (request,) = told.run_requests
    text = request.run_config["ops"]["tell"]["config"]["text"]
    assert text == f"{GROUP}: 1000 articles, about 16 minutes, behind"
    assert tick(it, told.cursor, lag_seconds=60).run_requests == []
    later = replace(it, now=NOW + timedelta(hours=13))
    assert len(tick(later, told.cursor, lag_seconds=60).run_requests) == 1
    assert isinstance(tick(it, lag_seconds=0), dg.SkipReason)


def test_a_newsgroup_that_vanished_is_told_of(it):
    with it.connect() as conn:
        record_gone(conn, GROUP, "411 no such group", NOW)
    (request,) = tick(it, lag_seconds=60).run_requests
    assert "411 no such group" in request.run_config["ops"]["tell"]["config"]["text"]


@pytest.mark.parametrize("cursor", [None, "", "{", "[]", '{"a": 1}', '{"a": "x"}'])
def test_a_cursor_that_cannot_be_read_is_an_empty_one(cursor):
    assert read_cursor(cursor) == {}


class Receiver(http.server.BaseHTTPRequestHandler):
    received: ClassVar[list] = []

    def do_POST(self):
        self.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


def test_an_alert_is_a_failed_run_and_is_posted(it):
    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        it.extra["alerts"] = Alerts(url=f"http://127.0.0.1:{server.server_port}/hook")
        config = {"ops": {"tell": {"config": {"text": "behind"}}}}
        with dg.DagsterInstance.ephemeral() as instance:
            assert not it.run(instance, "alert", run_config=config).success
            it.extra["alerts"] = Alerts(url="http://127.0.0.1:9/nobody")
            assert not it.run(instance, "alert", run_config=config).success
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert Receiver.received == [{"text": "behind", "source": "voyager"}]
