"""`voyager fetch` as a process: it fetches, outlives faults and ends at a signal."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.support.indexing import BLOCK_SIZE, GROUP, indexer
from voyager_core.catalog.connection_shares import count_holders
from voyager_core.cli import main
from voyager_core.domain.ranges import Span

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def until(condition, process, log):
    event = threading.Event()
    for _ in range(3000):
        if condition():
            return
        assert process.poll() is None, log.read_text()
        event.wait(0.02)
    raise AssertionError(log.read_text())


def test_it_fills_the_spool_and_ends_at_a_signal(database, tmp_path):
    with indexer(database, tmp_path / "it") as it:
        it.plan()
        environment = {
            **{name: value for name, value in os.environ.items() if "VOYAGER" not in name},
            "VOYAGER_DATA_DIR": str(tmp_path / "data"),
            "VOYAGER_DATABASE_URL": it.dsn,
            "VOYAGER_NEWS__URL": it.server.url("connections=4"),
            "VOYAGER_SPOOL__URL": it.spool().root.as_uri(),
            "VOYAGER_SPOOL__BLOCK_SIZE": str(BLOCK_SIZE),
            "VOYAGER_SPOOL__MIN_FREE_BYTES": "0",
            "VOYAGER_ENV_FILE": os.devnull,
        }
        log = tmp_path / "log.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "voyager_core.cli", "fetch", "--shard", "1/1"],
                env=environment,
                stdout=output,
                stderr=output,
            )
            try:
                # Of three ranges of one group, the tail takes the newest one over.
                until(lambda: it.spool().covers(Span(GROUP, 1, 500)), process, log)
                with it.connect() as conn:
                    assert count_holders(conn, "fetcher") == 1
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
                with it.connect() as conn:
                    assert count_holders(conn, "fetcher") == 0
            finally:
                process.kill()
                process.wait()


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", "1", "1/0", "\u0661/2", "-1/2"])
def test_a_shard_that_cannot_be_is_wrong_usage(shard, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fetch", f"--shard={shard}"])
    assert ended.value.code == 2
    assert "looks like 1/2" in capsys.readouterr().err
