"""The embedded server starts as anybody, is shared, and survives every kind of death."""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import FAST
from voyager_core.catalog import postgres_programs
from voyager_core.catalog.connect import connect
from voyager_core.catalog.embedded import EmbeddedPostgres
from voyager_core.catalog.errors import CatalogRefused, EmbeddedError
from voyager_core.catalog.postgres_programs import RunAs, find_programs

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
# Durable, unlike what other tests use: these are about crashes.
DURABLE = {"shared_buffers": "16MB", "autovacuum": "off"}

# Starts or joins the server of a folder, stores a row, says so, and then does what it is told.
CHILD = """
import os, signal, sys
from pathlib import Path
import psycopg
from voyager_core.catalog.embedded import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), options={"shared_buffers": "16MB"}).start()
with psycopg.connect(server.dsn(), autocommit=True) as conn:
    conn.execute("create table if not exists t (i int)")
    conn.execute("insert into t values (1)")
print("owner" if server.owned else "joined", server.pid, server.dsn(), flush=True)
sys.stdin.readline()
server.stop()
"""


@pytest.fixture
def public():
    """A folder where everybody may pass, so that root can drop to a user; pytest's are private."""
    with tempfile.TemporaryDirectory(prefix="voyager-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def folder(public):
    return public / "pg"


@pytest.fixture
def child():
    """Starts processes that start or join a server; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path, python: str = sys.executable, **values) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [python, "-c", CHILD, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            **values,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def report(process: subprocess.Popen[str]) -> tuple[str, int, str]:
    assert process.stdout is not None
    words = process.stdout.readline().split()
    assert len(words) == 3, "the child failed, see its error above"
    return words[0], int(words[1]), words[2]


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=60)


def wait_for_end(descriptor: int) -> bool:
    """Tells whether the process of a pidfd ended within half a minute."""
    readable, _, _ = select.select([descriptor], [], [], 30)
    return bool(readable)


def rows(server: EmbeddedPostgres) -> int:
    with psycopg.connect(server.dsn()) as conn:
        return conn.execute("select count(*) from t").fetchone()[0]


def kill_processes_of(server: EmbeddedPostgres) -> None:
    pid = server.pid
    assert pid is not None
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for victim in (pid, *map(int, children)):
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_databases_are_made_on_demand_and_survive_a_restart(folder):
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert server.owned
        for name in ("voyager", "some-other"):
            with connect(server.dsn(name)) as conn:
                assert conn.execute("select current_database()").fetchone() == (name,)
                conn.execute("create table t (i int)")
                conn.execute("insert into t values (1)")
        port = server.dsn().rpartition(":")[2].partition("/")[0]
    assert server.pid is None
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert rows(server) == 1
        assert server.dsn().rpartition(":")[2].partition("/")[0] == port


def test_only_the_password_opens_the_server(folder):
    with EmbeddedPostgres(folder, options=FAST) as server:
        dsn = server.dsn()
        wrong = dsn.replace(dsn.split("@")[0], "postgresql://voyager:wrong")
        with pytest.raises(CatalogRefused, match="password authentication failed"):
            connect(wrong)
        for name in ("password", "dsn"):
            assert (folder / name).stat().st_mode & 0o077 == 0
        assert (folder / "cluster").stat().st_mode & 0o077 == 0


def test_dsn_file_leads_to_the_catalog_while_it_runs(folder):
    with EmbeddedPostgres(folder, options=FAST) as server:
        assert (folder / "dsn").read_text().strip() == server.dsn()
    assert not (folder / "dsn").exists()


def test_asking_for_a_dsn_before_the_start_is_an_error(folder):
    with pytest.raises(EmbeddedError, match="not started"):
        EmbeddedPostgres(folder).dsn()


def test_second_process_joins_and_leaves_the_server_running(folder, child):
    with EmbeddedPostgres(folder, options=FAST) as server:
        other = child(folder)
        kind, pid, dsn = report(other)
        end(other)
        assert (kind, pid, dsn) == ("joined", server.pid, server.dsn())
        assert rows(server) == 1
        again = EmbeddedPostgres(folder).start()
        assert not again.owned
        again.stop()
        assert server.pid == pid


def test_launchers_that_race_share_one_server(folder, child):
    racers = [child(folder) for _ in range(3)]
    reports = [report(racer) for racer in racers]
    assert sorted(kind for kind, _, _ in reports) == ["joined", "joined", "owner"]
    assert len({pid for _, pid, _ in reports}) == 1
    assert len({dsn for _, _, dsn in reports}) == 1
    # Those who joined leave first.
    for (_, _, _), racer in sorted(zip(reports, racers, strict=True), key=lambda pair: pair[0][0]):
        end(racer)


def test_server_ends_cleanly_when_its_parent_is_killed(folder, child):
    parent = child(folder)
    _, pid, _ = report(parent)
    postmaster = os.pidfd_open(pid)
    parent.kill()
    parent.communicate()
    assert wait_for_end(postmaster)
    os.close(postmaster)
    assert "database system is shut down" in (folder / "postgres.log").read_text()
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert server.owned
        assert rows(server) == 1


def test_start_while_the_old_server_still_shuts_down_waits_for_it(folder, child):
    parent = child(folder)
    _, pid, dsn = report(parent)
    # A session in the middle of something makes the shutdown take a moment.
    busy = psycopg.connect(dsn)
    busy.execute("insert into t select generate_series(1, 1000)")
    parent.kill()
    parent.communicate()
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert server.pid != pid
        assert rows(server) == 1
    busy.close()


def test_killed_postmaster_is_restarted_and_recovers(folder, child):
    parent = child(folder)
    report(parent)
    with EmbeddedPostgres(folder, options=DURABLE) as joined:
        os.kill(joined.pid, signal.SIGKILL)
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert server.owned
        assert rows(server) == 1
    end(parent)


def test_everything_killed_at_once_restarts_again(folder, child):
    for expected in (1, 2):
        parent = child(folder)
        kind, _, _ = report(parent)
        assert kind == "owner"
        joined = EmbeddedPostgres(folder, options=DURABLE).start()
        assert rows(joined) == expected
        kill_processes_of(joined)
        parent.kill()
        parent.communicate()


@pytest.mark.parametrize("pid", ["dead", "recycled", "garbage"])
def test_stale_pid_file_is_removed(folder, pid):
    with EmbeddedPostgres(folder, options=DURABLE) as server, connect(server.dsn()) as conn:
        conn.execute("create table t as select 1 as i")
    done = subprocess.run(["true"], check=True)
    assert done.returncode == 0
    number = {"dead": "4194304", "recycled": str(os.getpid()), "garbage": "x"}[pid]
    stale = folder / "cluster" / "postmaster.pid"
    stale.write_text(f"{number}\n{folder}/cluster\n1700000000\n5432\n\n127.0.0.1\n\nready\n")
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert rows(server) == 1


def test_server_outlives_the_thread_that_started_it(folder):
    servers: list[EmbeddedPostgres] = []

    def start() -> None:
        servers.append(EmbeddedPostgres(folder, options=FAST).start())

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    (server,) = servers
    with server, connect(server.dsn()) as conn:
        assert conn.execute("select 1").fetchone() == (1,)
        assert server.pid is not None


def test_port_that_somebody_took_is_replaced(folder):
    with EmbeddedPostgres(folder, options=FAST):
        pass
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        squatter.bind(("127.0.0.1", int((folder / "port").read_text())))
        squatter.listen()
        with EmbeddedPostgres(folder, options=FAST) as server:
            assert f":{squatter.getsockname()[1]}/" not in server.dsn()


def test_wanted_port_that_is_taken_is_an_error(folder):
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        server = EmbeddedPostgres(folder, squatter.getsockname()[1], options=FAST)
        with pytest.raises(EmbeddedError, match="Address already in use"):
            server.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to step aside")
def test_root_drops_to_a_user_where_that_user_can_go(folder):
    with EmbeddedPostgres(folder, options=FAST) as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
        user = int(status.split("Uid:")[1].split()[0])
        assert user != 0
        assert (folder / "cluster").stat().st_uid == user


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to step aside")
def test_root_uses_a_namespace_below_a_private_home_with_the_same_care(tmp_path, child):
    (tmp_path / "home").mkdir(mode=0o700)
    folder = tmp_path / "home" / "data" / "pg"
    parent = child(folder)
    _, pid, _ = report(parent)
    assert (folder / "cluster").stat().st_uid == 0
    postmaster = os.pidfd_open(pid)
    parent.kill()
    parent.communicate()
    assert wait_for_end(postmaster)
    os.close(postmaster)
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert rows(server) == 1
        kill_processes_of(server)
        with EmbeddedPostgres(folder, options=DURABLE) as again:
            assert again.owned
            assert rows(again) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_data_that_changed_hands_is_taken_over(public, folder):
    with EmbeddedPostgres(folder, options=DURABLE) as server, connect(server.dsn()) as conn:
        conn.execute("create table t as select 1 as i")
    home = public / "home"
    home.mkdir(mode=0o700)
    shutil.copytree(folder, home / "pg")
    with EmbeddedPostgres(home / "pg", options=DURABLE) as server:
        assert rows(server) == 1
    shutil.move(home / "pg", public / "back")
    with EmbeddedPostgres(public / "back", options=DURABLE) as server:
        assert rows(server) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_ordinary_user_starts_it_as_itself(public, child):
    place = public / "mine"
    place.mkdir()
    os.chown(place, 65534, 65534)
    # Root's own interpreter may lie in a private home; the system's runs the same code.
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    packages = Path(psycopg.__file__).parents[1]
    if not Path(python).exists() or not postgres_programs._reaches(packages, 65534, 65534):
        pytest.skip("no interpreter that an ordinary user can run")
    path = os.pathsep.join([str(ROOT), str(packages)])
    other = child(
        place / "pg",
        python,
        user=65534,
        group=65534,
        extra_groups=[],
        env={"PYTHONPATH": path, "PATH": os.defpath},
    )
    kind, pid, _ = report(other)
    status = Path(f"/proc/{pid}/status").read_text()
    end(other)
    assert kind == "owner"
    assert int(status.split("Uid:")[1].split()[0]) == 65534


def test_system_programs_serve_as_well(folder):
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not installed:
        pytest.skip("the system has no PostgreSQL programs")
    pgbin = installed[-1].parent
    with EmbeddedPostgres(folder, options=DURABLE, pgbin=pgbin) as server:
        with connect(server.dsn()) as conn:
            conn.execute("create table t as select 1 as i")
        assert Path(f"/proc/{server.pid}/exe").readlink().parent == pgbin
        kill_processes_of(server)
    # The programs that made the data are found again without being named.
    with EmbeddedPostgres(folder, options=DURABLE) as server:
        assert rows(server) == 1


def test_named_folder_without_programs_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(EmbeddedError, match=r"has no postgres[\s\S]*VOYAGER_DATABASE_URL"):
        EmbeddedPostgres(tmp_path / "pg", pgbin=tmp_path).start()
    monkeypatch.setenv("PGBIN", str(tmp_path))
    with pytest.raises(EmbeddedError, match=f"PGBIN {tmp_path}: has no postgres"):
        find_programs()


def test_no_programs_at_all_is_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.setattr(postgres_programs, "_places", lambda _: iter(()))
    with pytest.raises(EmbeddedError, match="nothing was found"):
        find_programs()


def test_program_that_is_no_postgres_is_refused(tmp_path):
    for name in ("postgres", "initdb"):
        (tmp_path / name).write_text("#!/bin/sh\necho hello\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(EmbeddedError, match="postgres -V says 'hello'"):
        find_programs(tmp_path)


def test_data_of_another_version_is_left_alone(folder):
    (folder / "cluster").mkdir(parents=True)
    (folder / "cluster" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedError, match="the data was made by 9"):
        EmbeddedPostgres(folder).start()


def test_folder_that_holds_something_else_is_left_alone(folder):
    (folder / "cluster").mkdir(parents=True)
    (folder / "cluster" / "letter.txt").write_text("mine")
    with pytest.raises(EmbeddedError, match="no PostgreSQL data directory"):
        EmbeddedPostgres(folder).start()
    assert (folder / "cluster" / "letter.txt").read_text() == "mine"


def test_lost_password_is_an_error(folder):
    with EmbeddedPostgres(folder, options=FAST):
        pass
    (folder / "password").unlink()
    with pytest.raises(EmbeddedError, match="password is missing"):
        EmbeddedPostgres(folder, options=FAST).start()


def test_server_that_never_gets_ready_is_given_up_and_ended(folder):
    server = EmbeddedPostgres(folder, options=FAST, timeout_seconds=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_timeout", 0)
        patch.setattr(server, "_join", lambda: False)
        with pytest.raises(EmbeddedError, match="did not become ready within 0 seconds"):
            server.start()
    with server:
        assert server.owned


def test_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match="cannot be made"):
        EmbeddedPostgres(tmp_path / "file" / "pg").start()


def test_setting_that_the_server_refuses_is_shown(folder):
    with pytest.raises(EmbeddedError, match="no_such_setting"):
        EmbeddedPostgres(folder, options={"no_such_setting": "1"}).start()


def test_interrupted_creation_is_begun_again(folder):
    (folder / "cluster.new" / "base").mkdir(parents=True)
    with EmbeddedPostgres(folder, options=FAST) as server:
        assert server.pid is not None
    assert not (folder / "cluster.new").exists()


def test_child_that_lost_its_parent_before_it_asked_does_not_start():
    command = RunAs("self").command(Path("/bin/echo"), "started", death_signal=15)
    at = command.index(str(os.getpid()))
    done = subprocess.run(
        [*command[:at], "1", *command[at + 1 :]], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "started" not in done.stdout
