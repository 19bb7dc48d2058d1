"""What all tests share."""

import os
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["tests.support.postgres"]

# A change must not fail for an example that nobody saw before; everybody else keeps looking.
hypothesis.settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("ci")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real headers beside the project; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real headers of ../shared/data are not beside the project")
    return SHARED_DATA
