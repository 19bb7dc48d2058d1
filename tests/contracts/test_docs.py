"""What a person can set or run is documented."""

from pathlib import Path

import pytest

from voyager_core.cli.main import build_parser
from voyager_core.settings import known_variables

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("variable", sorted(known_variables()))
def test_every_setting_is_in_the_operations_page_with_its_meaning(variable):
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    row = next((line for line in page.splitlines() if line.startswith(f"| `{variable}` |")), None)
    assert row is not None, f"docs/operations.md has no row for {variable}"
    assert known_variables()[variable] in row


def test_every_command_is_in_the_operations_page():
    page = (DOCS / "operations.md").read_text(encoding="utf-8")
    commands = next(
        action for action in build_parser()._actions if action.dest == "command"
    ).choices
    assert len(commands) > 10
    missing = [name for name in commands if f"voyager {name}" not in page]
    assert missing == []


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    broken = []
    for page in pages:
        for target in page.read_text(encoding="utf-8").split("](")[1:]:
            path = target.split(")")[0].split("#")[0]
            if path and "://" not in path and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(root)}: {path}")
    assert broken == []
