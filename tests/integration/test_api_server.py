"""The API's own process, spoken to byte by byte."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.integration.api_support import add_releases, shared_database
from voyager_api.transport import MAX_UNREAD_BODY
from voyager_core.catalog.connect import connect
from voyager_core.catalog.keys import create_key

pytestmark = pytest.mark.postgres

NAME = "Some.Show.S01E01.1080p.WEB.h264-GRP"
LOOPBACK = "127.0.0.1"


class Process:
    """`python -m voyager_api.server` on a free port, with what it logged."""

    def __init__(self, database, **settings):
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            self.port = probe.getsockname()[1]
        kept = {name: value for name, value in os.environ.items() if "VOYAGER_" not in name}
        environment = kept | {
            "VOYAGER_DATABASE_URL": database,
            "VOYAGER_API__PORT": str(self.port),
            "VOYAGER_ENV_FILE": os.devnull,
            **settings,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "voyager_api.server"],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = []
        self.listening = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line)
            if "running on" in line:
                self.listening.set()
        self.listening.set()

    def __enter__(self):
        assert self.listening.wait(60)
        assert self.process.poll() is None, "".join(self.log)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.reader.join(30)
        self.process.stderr.close()

    def send(self, request):
        """Sends bytes, and returns what comes until the server closes."""
        with socket.create_connection((LOOPBACK, self.port), timeout=30) as connection:
            connection.sendall(request)
            received = b""
            while piece := connection.recv(65536):
                received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        return head.split(b"\r\n"), body


@pytest.fixture(scope="module")
def served(postgres_server):
    with shared_database(postgres_server) as database:
        with connect(database, application_name="test") as conn:
            (public_id,) = add_releases(conn, NAME)
            key = create_key(conn, "test")
        with Process(database) as process:
            yield process, key, public_id


def fields(head):
    return dict(line.split(b": ", 1) for line in head[1:])


def test_nz16_http_1_0_gets_a_length_and_the_end_of_the_connection(served):
    process, key, _ = served
    request = f"GET /api?t=search&apikey={key} HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n"
    head, body = process.send(request.encode())
    assert head[0].startswith(b"HTTP/1.1 200")
    assert not any(b"chunked" in line.lower() for line in head)
    assert int(fields(head)[b"Content-Length"]) == len(body) > 0


def test_http_1_0_without_host_has_links_to_the_socket(served):
    process, key, _ = served
    _, body = process.send(f"GET /api?t=search&apikey={key} HTTP/1.0\r\n\r\n".encode())
    assert f"http://127.0.0.1:{process.port}/getnzb/".encode() in body


@pytest.mark.parametrize("path", ["/", "/setup", "/settings", "/groups"])
def test_a_proxy_that_says_nothing_of_itself_is_not_this_machine(served, path):
    process, _, _ = served
    host = f"Host: 127.0.0.1:{process.port}\r\nConnection: close\r\n\r\n".encode()
    head, _ = process.send(f"GET {path} HTTP/1.1\r\n".encode() + host)
    assert head[0].startswith(b"HTTP/1.1 200")
    # What nginx sends without any proxy_set_header.
    head, body = process.send(f"GET {path} HTTP/1.0\r\n".encode() + host)
    assert head[0].startswith((b"HTTP/1.1 403", b"HTTP/1.1 303"))
    assert b"form_token" not in body


def test_nz18_a_strange_host_does_not_get_into_links(served):
    process, key, _ = served
    request = f"GET /api?t=search&apikey={key} HTTP/1.0\r\nHost: evil.example\r\n\r\n"
    _, body = process.send(request.encode())
    assert b"evil" not in body
    assert b"/getnzb/" in body


def test_nz17_header_names_keep_their_case_on_the_wire(served):
    process, _, _ = served
    head, _ = process.send(b"GET /api?t=caps HTTP/1.0\r\n\r\n")
    assert {b"Content-Type", b"Content-Length", b"ETag"} <= set(fields(head))


def test_without_settings_only_this_machine_is_listened_to(served):
    process, _, _ = served
    assert any(f"running on http://{LOOPBACK}:{process.port}" in line for line in process.log)
    listening = Path(f"/proc/{process.process.pid}/net/tcp").read_text().splitlines()[1:]
    own = [line.split()[1] for line in listening if line.split()[3] == "0A"]
    assert f"0100007F:{process.port:04X}" in own
    assert f"00000000:{process.port:04X}" not in own


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /api?t=search&q=\x00 HTTP/1.1",
        b"NONSENSE",
    ],
)
def test_nz16_what_is_no_http_is_400_with_its_length_and_the_server_goes_on(served, request_line):
    process, _, _ = served
    head, body = process.send(request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert head[0] == b"HTTP/1.1 400 Bad Request"
    assert fields(head)[b"Content-Length"] == str(len(body)).encode()
    head, body = process.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert body == b'{"status":"ok"}'


@pytest.mark.parametrize("authority", ["{}:{}", "u:p@{}:{}", "index.example", ""])
@pytest.mark.parametrize("scheme", ["http", "HTTPS"])
def test_an_address_with_scheme_and_host_is_served_as_its_path(served, authority, scheme):
    process, key, public_id = served
    whole = f"{scheme}://{authority.format(LOOPBACK, process.port)}"
    end = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    head, body = process.send(f"GET {whole}/api?t=search&apikey={key}".encode() + end)
    assert head[0].startswith(b"HTTP/1.1 200")
    assert public_id.encode() in body
    # Links name what the address names, when that is this machine.
    assert f"http://127.0.0.1:{process.port}/getnzb/".encode() in body
    head, body = process.send(f"GET {whole}//api/?t=caps".encode() + end)
    assert b"<caps>" in body
    head, _ = process.send(f"GET {whole}?t=caps".encode() + end)
    assert not head[0].startswith(b"HTTP/1.1 404")
    head, _ = process.send(f"GET {whole}/nothing".encode() + end)
    assert head[0].startswith(b"HTTP/1.1 404")


def test_an_address_with_scheme_and_host_is_not_one_of_this_machine(served):
    """A proxy sends it, and asks for whom is not known."""
    process, _, _ = served
    here = f"127.0.0.1:{process.port}"
    request = f"GET http://{here}/setup HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n"
    head, body = process.send(request.encode())
    assert head[0].startswith((b"HTTP/1.1 403", b"HTTP/1.1 303"))
    assert b"form_token" not in body


@pytest.mark.parametrize("typed", ["größe", "日本", "caf\xe9".encode("latin-1")])
def test_an_address_with_bare_letters_is_understood(served, typed):
    process, key, _ = served
    raw = typed if isinstance(typed, bytes) else typed.encode()
    head, body = process.send(
        b"GET /api?t=search&q=" + raw + f"&apikey={key} HTTP/1.0\r\n\r\n".encode()
    )
    assert head[0].startswith(b"HTTP/1.1 200")
    assert b'<newznab:response offset="0" total="0"/>' in body


def test_a_very_long_address_gets_an_answer(served):
    process, key, _ = served
    request = f"GET /api?t=search&apikey={key}&q={'a' * 60_000} HTTP/1.0\r\n\r\n"
    head, body = process.send(request.encode())
    assert head[0].startswith(b"HTTP/1.1 200")
    assert b'<error code="201"' in body


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("size", [10, 100_000, 900_000])
def test_an_answer_is_not_lost_to_a_body_that_nobody_reads(served, kind, size):
    process, key, _ = served
    head = (
        f"POST /api?t=caps&apikey={key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {size}\r\n\r\n"
    )
    answered, body = process.send(head.encode() + b"a" * size)
    assert answered[0].startswith(b"HTTP/1.1 200")
    assert b"<caps>" in body or b'code="201"' in body


def test_a_body_without_end_is_answered_and_the_connection_closed(served):
    process, key, _ = served
    head = (
        f"POST /api?t=caps&apikey={key} HTTP/1.1\r\nHost: x\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {1 << 40}\r\n\r\n"
    )
    answered, body = process.send(head.encode() + b"a" * (MAX_UNREAD_BODY + 1))
    assert answered[0].startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in answered
    assert b"<caps>" in body


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/api?t=caps", b"Content-Length: 100\r\n\r\nq=1"),
        ("/api/v1/releases", b"Content-Length: 100\r\n\r\nq=1"),
        ("/login", b"Content-Length: 100\r\n\r\nname=1"),
        ("/rss", b"Transfer-Encoding: chunked\r\n\r\n5\r\nq=1&a\r\nzz\r\n\r\n"),
    ],
)
def test_a_client_that_leaves_amid_its_form_is_no_fault_of_the_server(served, path, sent):
    process, key, _ = served
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {key}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
    )
    logged = len(process.log)
    with socket.create_connection((LOOPBACK, process.port), timeout=30) as connection:
        connection.sendall(head.encode() + sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    # What is asked for afterwards is logged afterwards.
    process.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    give_up = time.monotonic() + 30
    while not any("/healthz" in line for line in process.log[logged:]):
        assert time.monotonic() < give_up
        time.sleep(0.02)
    log = "".join(process.log[logged:])
    assert "Traceback" not in log
    assert "ERROR" not in log


def test_requests_on_one_connection_are_answered_in_turn(served):
    process, _, _ = served
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    _, body = process.send(one + last)
    assert body.count(b'{"status":"ok"}') == 2


def test_no_key_is_in_the_log_and_the_requests_are(postgres_server):
    with shared_database(postgres_server) as database:
        with connect(database, application_name="test") as conn:
            key = create_key(conn, "test")
        with Process(database) as process:
            for query in (f"apikey={key}", f"r={key}", f"%61PIKEY={key}", f"apikey=wrong{key}"):
                process.send(f"GET /api?t=search&{query} HTTP/1.0\r\n\r\n".encode())
                process.send(f"GET /rss?t=0&{query} HTTP/1.0\r\n\r\n".encode())
                process.send(f"GET /getnzb/x.nzb?{query} HTTP/1.0\r\n\r\n".encode())
                process.send(f"GET http://x:1/rss?{query} HTTP/1.0\r\n\r\n".encode())
                process.send(f"GET http://{key}@x/rss?{query} HTTP/1.0\r\n\r\n".encode())
        log = "".join(process.log)
    assert key not in log
    assert len(re.findall(r'"GET /api\?t=search&.*REDACTED', log)) == 4
    assert len(re.findall(r'"GET /rss\?.*REDACTED', log)) == 12
    # uvicorn ends orderly and then lets the signal have its way.
    assert process.process.returncode in {0, -signal.SIGTERM}


def test_an_address_adds_no_line_to_the_log_and_no_key(postgres_server):
    key = "0123456789abcdef" * 2
    with Process(postgres_server.dsn("postgres")) as process:
        for path in ("details", "getnzb", "groups"):
            request = f"GET /{path}/%0A2026%1B[31m{key}?apikey={key} HTTP/1.0\r\n\r\n"
            head, _ = process.send(request.encode())
            assert head[0].startswith(b"HTTP/1.1 503")
    told = [line for line in process.log if "cannot answer" in line]
    assert len(told) == 3
    assert all(r"/\n2026\x1b[31mREDACTED?apikey=REDACTED: " in line for line in told)
    assert not any(line.startswith("2026\x1b") for line in process.log)


def test_an_external_address_that_cannot_be_used_stops_the_start_with_words():
    process = Process("postgresql://x@127.0.0.1:1/x", VOYAGER_API__EXTERNAL_URL="ftp://x")
    assert process.process.wait(60) == 1
    process.reader.join(30)
    process.process.stderr.close()
    assert "VOYAGER_API__EXTERNAL_URL" in "".join(process.log)
    assert "Traceback" not in "".join(process.log)


def test_listening_to_the_network_without_an_external_address_is_warned_about(postgres_server):
    with Process(postgres_server.dsn("postgres"), VOYAGER_API__HOST="0.0.0.0") as process:
        pass
    assert any("VOYAGER_API__EXTERNAL_URL is not set" in line for line in process.log)
