"""`voyager doctor` in every state of an installation."""

import socket
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.support.newsserver import NewsServer, Rule
from voyager_core.cli.doctor import examine


@pytest.fixture
def free_ports(monkeypatch):
    """Two ports that nobody uses, set in the environment."""
    for name in ("VOYAGER_API__PORT", "VOYAGER_DAGSTER__PORT"):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            monkeypatch.setenv(name, str(probe.getsockname()[1]))


def findings():
    return {finding.what: finding for finding in examine()}


@contextmanager
def answering(body):
    """An address on loopback that answers every connection with an HTTP reply."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            try:
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + body)
            except OSError:
                return

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.postgres
def test_a_finished_set_up_is_in_place(voyager, monkeypatch, free_ports):
    voyager("groups", "add", "alt.one")
    voyager("keys", "create", "sonarr")
    with NewsServer([], user="joe", password="secret") as server:
        monkeypatch.setenv("VOYAGER_NEWS__URL", server.url())
        ran = voyager("doctor")
    assert ran.code == 0, ran.out
    assert ran.out.endswith("\neverything is in place\n")
    assert "✗" not in ran.out
    assert "secret" not in ran.out + ran.err


@pytest.mark.postgres
def test_what_is_missing_comes_with_the_command_that_adds_it(voyager, free_ports):
    ran = voyager("doctor")
    assert ran.code == 1
    for advice in ("voyager groups add", "voyager keys create", "set VOYAGER_NEWS__URL="):
        assert advice in ran.out
    assert ran.out.endswith("\n3 of 11 need attention\n")


@pytest.mark.parametrize(
    ("rule", "advice"),
    [
        (Rule("AUTHINFO", "reply", "481 wrong", times=None), "mend VOYAGER_NEWS__URL"),
        (Rule("connect", "reply", "502 too many connections", times=None), "later"),
        (Rule("connect", "reply", "400 going down", times=None), "later"),
        (Rule("connect", "close", times=None), "later"),
        (Rule("connect", "raw", b"\x16\x03\x01 what is this\r\n", times=None), "later"),
        (Rule("DATE", "reply", "111 tomorrow", times=None), "later"),
    ],
)
def test_a_news_server_that_refuses_is_told_with_what_to_do(
    run, monkeypatch, free_ports, rule, advice
):
    with NewsServer([], user="joe", password="hunter2", rules=[rule]) as server:
        monkeypatch.setenv("VOYAGER_NEWS__URL", server.url())
        found = findings()["news account"]
        connections = server.count("connect") if rule.on == "connect" else 1
    assert not found.ok
    assert advice in found.advice
    assert "hunter2" not in found.found
    assert connections <= 1


def test_a_news_server_that_is_down_or_unknown_is_told(run, monkeypatch, free_ports):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("VOYAGER_NEWS__URL", f"nntp://127.0.0.1:{closed.getsockname()[1]}")
        found = findings()["news account"]
    assert (found.ok, "refused" in found.found) == (False, True)
    monkeypatch.setenv("VOYAGER_NEWS__URL", "nntsp://joe:hunter2@host")
    found = findings()["news account"]
    assert not found.ok
    assert "nntps" in found.found
    assert "hunter2" not in found.found


def test_a_missing_login_is_told_although_the_server_tells_its_clock(run, monkeypatch, free_ports):
    clock = Rule("DATE", "reply", "111 20240301120000", times=None)
    with NewsServer([], user="joe", password="hunter2", rules=[clock]) as server:
        monkeypatch.setenv("VOYAGER_NEWS__URL", f"nntp://127.0.0.1:{server.port}")
        found = findings()["news account"]
    assert not found.ok
    assert "put user and password" in found.found


def test_a_database_that_is_down_or_refuses_is_told(run, monkeypatch, free_ports):
    monkeypatch.setenv("VOYAGER_DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/catalog")
    found = findings()
    assert not found["catalog"].ok
    assert "hunter2" not in found["catalog"].found
    assert "news account" in found


def test_a_wrong_settings_file_ends_the_examination(run, monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("VOYAGER_API__PROT=1\n")
    ran = run("doctor")
    assert ran.code == 1
    assert "VOYAGER_API__PROT" in ran.out
    assert ran.out.endswith("\n1 of 3 needs attention\n")


@pytest.mark.parametrize("kind", ["file", "dangling link", "below a file", "not writable"])
def test_a_data_folder_that_cannot_be_one_is_told(run, monkeypatch, tmp_path, free_ports, kind):
    path = tmp_path / "data"
    if kind == "dangling link":
        path.symlink_to(tmp_path / "gone" / "disk")
    elif kind == "not writable":
        path = path.parent.parent.parent / "/proc/voyager"
    else:
        path.write_text("")
    monkeypatch.setenv("VOYAGER_DATA_DIR", str(path / "below" if kind == "below a file" else path))
    found = findings()
    assert not found["data folder"].ok
    assert "VOYAGER_DATA_DIR" in found["data folder"].advice
    assert "API port" in found


def test_ports_that_voyager_itself_uses_are_fine(run, monkeypatch, free_ports):
    caps = b'<?xml version="1.0"?><caps><server title="Voyager"/></caps>'
    with answering(caps) as api, answering(b'{"dagster_webserver_version":"1"}') as dagster:
        monkeypatch.setenv("VOYAGER_API__PORT", str(api))
        monkeypatch.setenv("VOYAGER_DAGSTER__PORT", str(dagster))
        found = findings()
        assert found["API port"].ok, found["API port"]
        assert found["Dagster port"].ok, found["Dagster port"]
        monkeypatch.setenv("VOYAGER_API__PORT", str(dagster))
        taken = findings()["API port"]
    assert not taken.ok
    assert "another program" in taken.found


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "a" * 70, "x..y"])
def test_an_address_that_is_not_this_machine_is_told(run, monkeypatch, free_ports, host):
    monkeypatch.setenv("VOYAGER_API__HOST", host)
    found = findings()["API port"]
    assert not found.ok
    assert "VOYAGER_API__HOST" in found.advice
