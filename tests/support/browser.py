"""A headless Chromium, where one is installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Starts the browser, or skips the test where there is none."""
    program = next((found for name in _PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        # Chromium's sandbox does not run as root, as which CI runs.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def axe_script() -> str:
    """Returns axe-core, which `.ci/run` installs, or skips the test where it is not."""
    tools = Path(__file__).resolve().parents[2] / ".ci" / "tools" / "node_modules"
    script = tools / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("axe-core is not installed (.ci/run does it)")
    return script.read_text()
