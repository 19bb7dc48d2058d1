"""The whole demo: it indexes with everything running, verifies, stops, and goes on later."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from voyager_core.demo.client import read_nzb
from voyager_core.demo.posts import build_corpus
from voyager_core.demo.truth import expected
from voyager_core.supervisor.environment import free_port

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(900)]

RUN = "import sys; from voyager_core.cli import main; sys.exit(main(sys.argv[1:]))"
# Far above what a loaded machine needs; only a demo that hangs gets there.
LIMIT_SECONDS = 420


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("demo") / "data"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    base = {name: value for name, value in os.environ.items() if not name.startswith("VOYAGER_")}
    return {
        **base,
        "VOYAGER_API__PORT": str(free_port()),
        "VOYAGER_DAGSTER__PORT": str(free_port()),
        "VOYAGER_ENV_FILE": os.devnull,
        # A real account and a real database must be left alone.
        "VOYAGER_NEWS__URL": "nntps://user:secret@news.invalid:563",
        "VOYAGER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    }


def command(data_dir: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-c", RUN, "demo", *arguments, "--data-dir", str(data_dir)]


def run_once(data_dir: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(data_dir, "--once"),
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def living(data_dir: Path) -> list[str]:
    """Returns the command lines of processes that belong to the data directory."""
    mark = str(data_dir).encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line, variables = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if line and (mark in line or mark in variables):
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.fixture(scope="module")
def first(data_dir, environment) -> subprocess.CompletedProcess[str]:
    return run_once(data_dir, environment)


def api_key(output: str) -> str:
    return re.search(r"API key +(\S+)", output)[1]


def test_everything_posted_is_found(first, data_dir):
    truth = expected(build_corpus())
    assert first.returncode == 0, first.stdout + first.stderr
    files = sum(len(release.files) for release in truth.releases)
    segments = sum(1 for release in truth.releases for _ in release.segments)
    assert (
        f"Verified: {len(truth.releases)} releases, {files} files and {segments:,} segments"
        in first.stdout
    )
    assert first.stderr == ""
    for release in truth.releases:
        if release.title:
            assert release.title[:12] in first.stdout  # long names are cut in a narrow terminal
    assert living(data_dir) == []


def test_a_second_start_reads_nothing_again_and_keeps_its_key(first, data_dir, environment):
    again = run_once(data_dir, environment)
    assert again.returncode == 0, again.stdout + again.stderr
    assert api_key(again.stdout) == api_key(first.stdout)
    progress = re.findall(r"([\d,]+) of ([\d,]+) articles", again.stdout)
    assert progress[0][0] == progress[0][1]
    assert living(data_dir) == []


def test_ctrl_c_stops_everything_after_the_printed_address_gave_an_nzb(
    first, data_dir, environment
):
    demo = subprocess.Popen(
        command(data_dir), env=environment, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    lines = []
    try:
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        output = "".join(lines)
        url = re.search(r"curl .*'(http\S+)'", output)[1]
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert list(read_nzb(answer.read()))
        second = subprocess.run(
            command(data_dir), env=environment, capture_output=True, text=True, check=False
        )
        assert second.returncode == 1
        assert f"already running on {data_dir}" in second.stderr
        assert str(demo.pid) in second.stderr
        assert living(data_dir)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
    finally:
        demo.kill()
        demo.wait()
        demo.stdout.close()
    assert living(data_dir) == []
