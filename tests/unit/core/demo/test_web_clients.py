"""The small HTTP clients against a scripted server on loopback."""

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from voyager_core.demo.client import Newznab
from voyager_core.demo.truth import Segment
from voyager_core.supervisor.dagster_web import DagsterWeb
from voyager_core.supervisor.http import ClientError, fetch


@contextmanager
def serving(answer):
    """Serves `answer(method, path, body) -> (status, bytes)`; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            length = int(self.headers.get("Content-Length") or 0)
            status, body = answer(self.command, self.path, self.rfile.read(length))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = respond  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


NZB = """<nzb xmlns="http://www.newzbin.com/DTD/2003/nzb"><file subject="s{0}"><groups>
<group>alt.a</group></groups><segments><segment bytes="5" number="1">{0}@x</segment></segments>
</file></nzb>"""


def item(number: int) -> str:
    values = {"guid": f"{number:018x}", "size": 5, "files": 1, "group": "alt.a", "completion": 100}
    attributes = "".join(
        f'<newznab:attr name="{name}" value="{value}"/>' for name, value in values.items()
    )
    return f"<item><title>t{number}</title><category>TV</category>{attributes}</item>"


def test_every_page_is_read_and_every_nzb_fetched():
    asked = []

    def answer(_method, path, _body):
        query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        asked.append(query)
        if query["t"] == "get":
            return 200, NZB.format(int(query["id"], 16)).encode()
        offset, limit = int(query["offset"]), int(query["limit"])
        items = "".join(item(number) for number in range(offset, min(offset + limit, 130)))
        return 200, (
            '<rss xmlns:newznab="http://www.newznab.com/DTD/2010/feeds/attributes/">'
            f"<channel>{items}</channel></rss>"
        ).encode()

    with serving(answer) as base:
        found = list(Newznab(base, "k&y").releases())
    assert [one.title for one in found] == [f"t{number}" for number in range(130)]
    assert found[7].files[0].segments == (Segment(1, "7@x", 5),)
    assert (found[7].group, found[7].file_count, found[7].completion) == ("alt.a", 1, 100)
    assert {query["apikey"] for query in asked} == {"k&y"}


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b'<error code="100" description="Incorrect credentials"/>', "Incorrect credentials"),
        (200, b"not xml", "no XML"),
        (500, b"broken", "answers 500: broken"),
        (403, b"", "answers 403"),
    ],
)
def test_an_api_that_refuses_is_told(status, body, message):
    with serving(lambda *_: (status, body)) as base, pytest.raises(ClientError, match=message):
        list(Newznab(base, "k").releases())


def test_no_server_is_told_without_the_key():
    with serving(lambda *_: (200, b"")) as base:
        pass
    with pytest.raises(ClientError, match="does not answer") as caught:
        fetch(f"{base}/api?apikey=secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTT",
        b"220 news.example ready\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<rss>",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n<rss>",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\nnot",
    ],
)
def test_a_server_that_dies_while_it_answers_or_is_another_program_is_told(said):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with server.accept()[0] as client:
                client.recv(65536)
                client.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ClientError, match=r"^http://127\.0\.0\.1:\d+/api (does not|answers)"):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}/api?apikey=secret")
        thread.join()


def dagster(answers):
    """Returns an answer function for GraphQL: the first key that the query contains decides."""

    def answer(_method, path, body):
        assert path == "/graphql"
        query = json.loads(body)["query"]
        data = next(value for key, value in answers.items() if key in query)
        if callable(data):
            data = data(json.loads(body)["variables"])
        return 200, json.dumps({"data": data}).encode()

    return answer


def location(kind):
    return {"workspaceOrError": {"locationEntries": [{"locationOrLoadError": kind}]}}


@pytest.mark.parametrize(
    ("workspace", "loaded"),
    [
        (location({"__typename": "RepositoryLocation"}), True),
        (location({"__typename": "PythonError", "message": "boom"}), False),
        (location(None), False),
        ({"workspaceOrError": {"locationEntries": []}}, False),
        ({"workspaceOrError": {}}, False),
    ],
)
def test_locations_count_as_loaded_only_without_errors(workspace, loaded):
    with serving(dagster({"workspaceOrError": workspace})) as base:
        assert DagsterWeb(base).is_loaded() is loaded


def daemons(*statuses):
    names = ("required", "healthy", "lastHeartbeatTime")
    listed = [dict(zip(names, status, strict=True)) for status in statuses]
    return {"instance": {"daemonHealth": {"allDaemonStatuses": listed}}}


@pytest.mark.parametrize(
    ("statuses", "healthy"),
    [
        ([(True, True, 101.0), (False, False, None)], True),
        ([(True, True, 101.0), (True, True, 99.0)], False),
        ([(True, True, 101.0), (True, False, 101.0)], False),
        ([(True, True, None)], False),
        ([], False),
    ],
)
def test_daemons_are_healthy_by_a_heartbeat_of_this_start(statuses, healthy):
    with serving(dagster({"daemonHealth": daemons(*statuses)})) as base:
        assert DagsterWeb(base).is_daemon_healthy(since=100.0) is healthy


def test_orphaned_runs_are_closed():
    closed = []

    def close(variables):
        closed.append(variables["runs"])
        return {"terminateRuns": {"__typename": "TerminateRunsResult"}}

    answers = {
        "runLauncher": {"instance": {"runLauncher": {"name": "DefaultRunLauncher"}}},
        "runsOrError": {"runsOrError": {"results": [{"runId": "a"}, {"runId": "b"}]}},
        "terminateRuns": close,
    }
    with serving(dagster(answers)) as base:
        assert DagsterWeb(base).close_orphaned_runs() == 2
    assert closed == [["a", "b"]]


def test_runs_of_other_machines_are_left_alone():
    answers = {"runLauncher": {"instance": {"runLauncher": {"name": "VoyagerRunLauncher"}}}}
    with serving(dagster(answers)) as base:
        assert DagsterWeb(base).close_orphaned_runs() == 0


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"errors": [{"message": "x"}]}', b"{}"])
def test_what_is_no_graphql_is_no_answer(body):
    with serving(lambda *_: (200, body)) as base:
        web = DagsterWeb(base)
        assert not web.is_loaded()
        assert not web.is_daemon_healthy(since=0)
        with pytest.raises(ClientError):
            web.close_orphaned_runs()


def test_running_runs_are_cancelled_and_waited_for():
    runs, asked = [["a", "b"], ["b"], []], []

    def cancel(variables):
        asked.append(variables["runs"])
        return {"terminateRuns": {"__typename": "TerminateRunsResult"}}

    answers = {
        "runLauncher": {"instance": {"runLauncher": {"name": "DefaultRunLauncher"}}},
        "SAFE_TERMINATE": cancel,
        "runsOrError": lambda _: {"runsOrError": {"results": [{"runId": r} for r in runs.pop(0)]}},
    }
    with serving(dagster(answers)) as base:
        DagsterWeb(base).cancel_runs(timeout_seconds=20)
    assert asked == [["a", "b"]]
    assert runs == []


def test_a_webserver_that_is_gone_does_not_keep_anybody_from_stopping():
    with serving(lambda *_: (500, b"")) as base:
        assert DagsterWeb(base).cancel_runs(timeout_seconds=20) is None
    assert DagsterWeb(base).cancel_runs(timeout_seconds=20) is None


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ({"partitionStats": {"numMaterialized": 3, "numPartitions": 7}}, (3, 7)),
        ({"partitionStats": None}, None),
        ({}, None),
    ],
)
def test_materialised_partitions_are_told(node, told):
    with serving(dagster({"partitionStats": {"assetNodeOrError": node}})) as base:
        assert DagsterWeb(base).materialised("releases") == told
    assert DagsterWeb(base).materialised("releases") is None
