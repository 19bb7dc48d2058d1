"""`voyager up` and `voyager demo` when they cannot start: clear words, and nothing left running."""

import io
import os
import signal
import socket
import threading

import pytest

from voyager_core.catalog.connect import connect
from voyager_core.catalog.embedded import embedded_postgres
from voyager_core.catalog.groups import list_groups
from voyager_core.catalog.keys import verify_key
from voyager_core.catalog.stored_settings import cut_of_history
from voyager_core.demo.posts import build_corpus
from voyager_core.demo.run import RANGE_SIZE, demo_settings, prepare_catalog, run_demo
from voyager_core.demo.state import DemoState, choose_ports
from voyager_core.demo.truth import expected
from voyager_core.errors import SettingsError
from voyager_core.settings import Settings
from voyager_core.supervisor.children import StopRequestedError
from voyager_core.supervisor.installation import Installation
from voyager_core.supervisor.interrupts import Interrupts
from voyager_core.supervisor.lock import AlreadyRunningError, InstanceLock
from voyager_core.supervisor.terminal import Terminal
from voyager_core.supervisor.up import missing, run_up

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(_env_file=None, data_dir=tmp_path / "data")


@pytest.fixture
def taken_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("section", "variable"), [("api", "VOYAGER_API__PORT"), ("dagster", "VOYAGER_DAGSTER__PORT")]
)
def test_up_names_the_setting_of_a_taken_port_before_it_starts_anything(
    settings, taken_port, section, variable
):
    ports = {"api": 0, "dagster": 0, section: taken_port}
    update = {
        name: getattr(settings, name).model_copy(update={"port": port})
        for name, port in ports.items()
    }
    with pytest.raises(SettingsError, match=variable):
        run_up(settings.model_copy(update=update), terminal=Terminal(io.StringIO()))
    assert not (settings.data_dir / "postgres").exists()


@pytest.mark.parametrize("run", [run_up, lambda *a, **k: run_demo(*a, once=True, **k)])
def test_a_second_start_is_told_that_the_first_runs(settings, run):
    with InstanceLock(settings.data_dir) as lock:
        lock.describe({"API": "http://127.0.0.1:8484"})
        with pytest.raises(AlreadyRunningError, match=r"http://127\.0\.0\.1:8484"):
            run(settings, terminal=Terminal(io.StringIO()))


def test_the_database_is_made_ready_and_stops_with_the_installation(settings):
    lines = []
    with Installation(settings, lines.append, threading.Event()) as installation:
        dsn = installation.start_database()
        with connect(dsn) as conn:
            assert cut_of_history(conn) == (2_000_000, 1)
            names = conn.execute("select datname from pg_database order by 1").fetchall()
        assert {("voyager",), ("voyager_dagster",)} <= set(names)
        hints = missing(settings, dsn)
        assert [hint.partition(":")[0] for hint in hints] == [
            "no news account yet",
            "no newsgroups yet",
            "no API key yet",
        ]
    assert lines[-1] == "stopping"
    assert embedded_postgres(settings).pid is None


def test_the_demo_keeps_its_groups_and_its_key(settings):
    state = choose_ports(DemoState(), settings)
    truth = expected(build_corpus())
    demo = demo_settings(settings, state)
    with (
        Installation(demo, lambda _: None, threading.Event()) as installation,
        connect(installation.start_database()) as conn,
    ):
        assert cut_of_history(conn)[0] == RANGE_SIZE
        first = prepare_catalog(conn, truth, state)
        again = prepare_catalog(conn, truth, first)
        assert again == first
        assert verify_key(conn, first.api_key) is not None
        assert {g.name: g.priority for g in list_groups(conn)} == dict(truth.priorities)
        stale = prepare_catalog(conn, truth, DemoState(api_key="0" * 64))
        assert verify_key(conn, stale.api_key) is not None


def test_a_stop_request_ends_the_start_and_everything_with_it(settings):
    stopping = threading.Event()
    stopping.set()
    with (
        pytest.raises(StopRequestedError),
        Installation(settings, lambda _: None, stopping) as installation,
    ):
        installation.start_database()
    assert embedded_postgres(settings).pid is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_sets_a_flag_and_the_next_one_has_its_usual_effect(number):
    seen = []
    before = signal.signal(number, lambda *_: seen.append(number))
    try:
        with Interrupts() as stopping:
            os.kill(os.getpid(), number)
            assert stopping.wait(10)
            assert seen == []
            os.kill(os.getpid(), number)
            assert seen == [number]
        assert signal.getsignal(number) is not None
    finally:
        signal.signal(number, before)


def test_signals_are_as_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
