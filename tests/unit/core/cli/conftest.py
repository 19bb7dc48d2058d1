"""Running `voyager` in this process, on settings of the test's own."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from voyager_core.cli import main


class Ran(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in an empty folder; settings come from the test alone."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("VOYAGER_"):
            monkeypatch.delenv(name)

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        try:
            code = main(arguments)
        except SystemExit as wrong_usage:
            code = int(wrong_usage.code or 0)
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert "a fault of Voyager" not in err
        return Ran(code, out, err)

    return run


@pytest.fixture
def voyager(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a migrated, empty catalog."""
    monkeypatch.setenv("VOYAGER_DATABASE_URL", database)
    return run
