"""Every process that runs tests must know them by the same names."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_another_process_knows_the_tests_by_the_same_names(request: pytest.FixtureRequest) -> None:
    """The order of a set, an address or the time in a name: xdist then runs nothing at all."""
    mine = {item.nodeid.split("@")[0] for item in request.session.items}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:syrupy"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    theirs = {line.split("@")[0] for line in done.stdout.splitlines() if "::" in line}
    assert len(theirs) > 1000
    assert sorted(mine - theirs) == []
