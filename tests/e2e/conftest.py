"""The end-to-end tests need programs that only .ci/run installs."""

import os
import shutil

import pytest

from tests.support import inn2, nyuu, nzbget


def _missing() -> str | None:
    for part in (inn2, nyuu, nzbget):
        if reason := part.missing_parts():
            return reason
    for program, package in (("par2", "par2"), ("flexget", "flexget, from PyPI")):
        if shutil.which(program) is None:
            return f"{program} is not installed ({package})"
    return None


@pytest.fixture(scope="session", autouse=True)
def _programs():
    if reason := _missing():
        if os.environ.get("VOYAGER_TEST_REQUIRE_E2E"):
            pytest.fail(f"the end-to-end tests must run here, but {reason}")
        pytest.skip(reason)
