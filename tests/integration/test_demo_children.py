"""Starting, watching and stopping real processes; nothing outlives the one that started it."""

import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from voyager_core.errors import PermanentError
from voyager_core.supervisor import children
from voyager_core.supervisor.children import Children, Service, ServiceError, StopRequestedError
from voyager_core.supervisor.lock import AlreadyRunningError, InstanceLock

# Bounds of waits that end as soon as the state is reached; starting Python on a machine that
# does much else takes many seconds.
DEADLINE_SECONDS = 90.0


def wait_for(condition, *, what: str):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        threading.Event().wait(0.02)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def script(tmp_path: Path, name: str, code: str) -> tuple[str, ...]:
    file = tmp_path / f"{name}.py"
    file.write_text(textwrap.dedent(code))
    return (sys.executable, str(file), str(tmp_path / f"{name}.ready"))


READY = """
    import signal, sys, time
    from pathlib import Path
    def ready(text=""):
        # Whole or not there: whoever waits for the file reads it at once.
        new = Path(sys.argv[1] + ".new")
        new.write_text(text)
        new.rename(sys.argv[1])
"""


def service(tmp_path: Path, name: str, code: str, **changes) -> Service:
    ready = tmp_path / f"{name}.ready"
    values = {
        "name": name,
        "command": script(tmp_path, name, textwrap.dedent(READY) + textwrap.dedent(code)),
        "is_ready": ready.exists,
        "timeout_seconds": DEADLINE_SECONDS,
        "grace_seconds": DEADLINE_SECONDS,
    }
    return Service(**{**values, **changes})


class Kit:
    def __init__(self, tmp_path: Path) -> None:
        self.lines: list[str] = []
        self.stopping = threading.Event()
        self.children = Children(
            environment={"PATH": os.defpath, "COLOUR": "blue"},
            log_dir=tmp_path / "logs",
            report=self.lines.append,
            stopping=self.stopping,
        )


@pytest.fixture
def kit(tmp_path):
    kit = Kit(tmp_path)
    yield kit
    kit.children.stop()


SLEEPS = "ready(); signal.pause()"


def test_a_service_is_ready_when_it_says_so_and_has_the_environment(kit, tmp_path):
    code = "import os; ready(os.environ['COLOUR']); print('hello', flush=True); signal.pause()"
    kit.children.start(service(tmp_path, "one", code, address="there"))
    assert (tmp_path / "one.ready").read_text() == "blue"
    assert kit.lines[0] == "one: starting"
    assert kit.lines[1].startswith("one: ready on there after ")
    kit.children.check()
    wait_for(lambda: "hello" in (tmp_path / "logs/one.log").read_text(), what="no log")


def test_a_service_that_does_not_start_shows_the_end_of_its_log(kit, tmp_path):
    code = "print('line 1'); print('the reason', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ServiceError, match=r"(?s)bad ended with code 3.*the reason"):
        kit.children.start(service(tmp_path, "bad", code))


def test_the_first_error_of_a_long_log_is_shown_and_nothing_of_an_earlier_start(kit, tmp_path):
    code = """
        print("ValueError: the true reason")
        for number in range(200):
            print("  line", number)
        sys.exit(1)
    """
    for _ in range(2):
        with pytest.raises(ServiceError, match="the true reason") as caught:
            kit.children.start(service(tmp_path, "bad", textwrap.dedent(code)))
        kit.children.stop()
    assert "line 199" in str(caught.value)
    assert "line 5\n" not in str(caught.value)
    assert str(caught.value).count("the true reason") == 1


def test_a_program_that_does_not_exist_is_told(kit, tmp_path):
    with pytest.raises(ServiceError, match="nothing"):
        kit.children.start(service(tmp_path, "nothing", "", command=("/no/such/program",)))


def test_a_service_that_never_gets_ready_is_given_up(kit, tmp_path):
    with pytest.raises(ServiceError, match=r"slow is not ready after 0\.5 seconds"):
        kit.children.start(service(tmp_path, "slow", "signal.pause()", timeout_seconds=0.5))


def test_a_stop_request_ends_the_waiting(kit, tmp_path):
    kit.stopping.set()
    with pytest.raises(StopRequestedError, match="slow"):
        kit.children.start(service(tmp_path, "slow", "signal.pause()"))


PID = "import os; ready(str(os.getpid())); signal.pause()"


def test_a_death_while_another_starts_is_noticed(kit, tmp_path):
    kit.children.start(service(tmp_path, "first", PID))
    os.kill(int((tmp_path / "first.ready").read_text()), signal.SIGKILL)
    with pytest.raises(ServiceError, match="first was ended by signal 9"):
        kit.children.start(service(tmp_path, "second", "signal.pause()"))


def test_a_death_is_noticed_by_the_check(kit, tmp_path):
    kit.children.start(service(tmp_path, "one", PID))
    pid = int((tmp_path / "one.ready").read_text())
    kit.children.check()
    end = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    # Readable as soon as the process has ended.
    select.select([end], [], [])
    os.close(end)
    with pytest.raises(ServiceError, match="one was ended by signal 15"):
        kit.children.check()


def test_what_has_died_is_told_and_can_be_started_again_beside_the_others(kit, tmp_path):
    for name in ("one", "two"):
        kit.children.start(service(tmp_path, name, PID))
    old, other = (int((tmp_path / f"{name}.ready").read_text()) for name in ("one", "two"))
    end = os.pidfd_open(old)
    os.kill(old, signal.SIGKILL)
    select.select([end], [], [])
    os.close(end)
    assert list(kit.children.ended()) == ["one"]
    assert "ended by signal 9" in kit.children.ended()["one"]
    kit.children.stop(names={"one"})
    assert kit.children.names() == {"two"}
    (tmp_path / "one.ready").unlink()
    kit.children.start(service(tmp_path, "one", PID))
    assert int((tmp_path / "one.ready").read_text()) != old
    assert kit.children.ended() == {}
    assert is_alive(other)
    kit.children.stop()
    assert not is_alive(other)


def test_a_start_that_is_alone_does_not_mind_the_death_of_another(kit, tmp_path):
    kit.children.start(service(tmp_path, "first", PID))
    pid = int((tmp_path / "first.ready").read_text())
    end = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([end], [], [])
    os.close(end)
    kit.children.start(service(tmp_path, "second", PID), alone=True)
    assert list(kit.children.ended()) == ["first"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_service_can_be_asked_to_stop_though_its_starter_cannot(kit, tmp_path, number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        kit.children.start(service(tmp_path, "one", PID))
    finally:
        signal.signal(number, before)
    pid = int((tmp_path / "one.ready").read_text())
    end = os.pidfd_open(pid)
    os.kill(pid, number)
    ended, _, _ = select.select([end], [], [], 30)
    os.close(end)
    assert ended


def test_stopping_goes_stage_by_stage_and_takes_grandchildren_along(kit, tmp_path):
    order = tmp_path / "order"
    code = """
        import os, subprocess
        helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
        def stop(*_):
            with open({order!r}, "a") as file:
                file.write({name!r} + " ")
            sys.exit(0)
        signal.signal(signal.SIGTERM, stop)
        ready(f"{{os.getpid()}} {{helper.pid}}")
        while True:
            signal.pause()
    """
    for name, stage in (("news", 1), ("code", 2), ("front", 3)):
        text = textwrap.dedent(code).format(order=str(order), name=name)
        kit.children.start(service(tmp_path, name, text, stage=stage))
    pids = [
        int(pid)
        for name in ("news", "code", "front")
        for pid in (tmp_path / f"{name}.ready").read_text().split()
    ]
    assert all(is_alive(pid) for pid in pids)
    kit.children.stop()
    assert order.read_text().split() == ["front", "code", "news"]
    assert not any(is_alive(pid) for pid in pids)
    kit.children.stop()


def test_a_guardian_that_leaves_late_is_not_left_behind(kit, tmp_path, monkeypatch):
    # On a busy machine its Python has hardly started when it may leave.
    monkeypatch.setattr(children, "_LEAVE_SECONDS", 0.0)
    mine = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children")
    before = mine.read_text()
    kit.children.start(service(tmp_path, "one", PID))
    assert len(mine.read_text().split()) == len(before.split()) + 2
    kit.children.stop()
    assert mine.read_text() == before


def test_a_service_that_ignores_sigterm_is_killed(kit, tmp_path):
    code = """
        import os
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ready(str(os.getpid()))
        while True:
            signal.pause()
    """
    kit.children.start(service(tmp_path, "deaf", textwrap.dedent(code), grace_seconds=0.3))
    pid = int((tmp_path / "deaf.ready").read_text())
    kit.children.stop()
    assert not is_alive(pid)
    assert "deaf: does not stop by itself, killing it" in kit.lines


DEAF = """
    import os, subprocess
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    ready(f"{os.getpid()} {helper.pid}")
    while True:
        signal.pause()
"""


@pytest.mark.parametrize("code", [PID, DEAF], ids=["obedient", "deaf"])
def test_children_die_with_a_parent_that_is_killed(tmp_path, code):
    ready = tmp_path / "child.ready"
    child = script(tmp_path, "child", textwrap.dedent(READY) + textwrap.dedent(code))
    starter = f"""
        import threading, time
        from pathlib import Path
        from voyager_core.supervisor.children import Children, Service
        children = Children(environment={{}}, log_dir=Path({str(tmp_path)!r}), report=print,
                            stopping=threading.Event(), orphan_grace_seconds=0.3)
        children.start(Service("child", {child!r}, Path({str(ready)!r}).exists))
        Path({str(tmp_path / "parent.ready")!r}).write_text("yes")
        time.sleep(60)
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(starter)])
    try:
        wait_for((tmp_path / "parent.ready").exists, what="the parent did not start")
        pids = [int(pid) for pid in ready.read_text().split()]
        assert all(is_alive(pid) for pid in pids)
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: not any(is_alive(pid) for pid in pids), what="a child outlived its parent")


def test_a_second_start_on_the_same_folder_is_refused_and_told_where_the_first_is(tmp_path):
    with InstanceLock(tmp_path) as lock:
        lock.describe({"Dagster": "http://127.0.0.1:3000"})
        with pytest.raises(AlreadyRunningError) as caught, InstanceLock(tmp_path):
            pass
        text = str(caught.value)
        assert f"already running on {tmp_path} (process {os.getpid()})" in text
        assert "Dagster: http://127.0.0.1:3000" in text
    with InstanceLock(tmp_path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1, "addresses": 5}'])
def test_a_lock_file_with_strange_content_still_refuses(tmp_path, text):
    with InstanceLock(tmp_path):
        (tmp_path / "running.json").write_text(text)
        with pytest.raises(AlreadyRunningError, match="already running"), InstanceLock(tmp_path):
            pass


def test_a_lock_of_a_killed_process_is_free(tmp_path):
    code = f"""
        import time
        from pathlib import Path
        from voyager_core.supervisor.lock import InstanceLock
        with InstanceLock(Path({str(tmp_path)!r})):
            print("held", flush=True)
            time.sleep(60)
    """
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AlreadyRunningError, match=str(holder.pid)), InstanceLock(tmp_path):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with InstanceLock(tmp_path):
        assert str(os.getpid()) in (tmp_path / "running.json").read_text()


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(PermanentError, match="cannot be used"), InstanceLock(file / "data"):
        pass
