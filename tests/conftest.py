"""What all tests share."""

import os
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["tests.support.postgres"]

# No test asserts a time, and a change must not fail CI for an example that nobody saw before;
# everybody else keeps looking for new ones.
_PATIENT = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("search", **_PATIENT)
hypothesis.settings.register_profile("ci", derandomize=True, **_PATIENT)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "search")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real headers beside the project; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real headers of ../shared/data are not beside the project")
    return SHARED_DATA
