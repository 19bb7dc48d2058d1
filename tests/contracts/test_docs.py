"""What a person can set or run is documented."""

import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from voyager_core.cli.program import build_parser
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


def choices_of(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The commands below a command."""
    nested = parser._subparsers
    return dict(nested._group_actions[0].choices) if nested else {}


def test_every_command_that_a_person_is_told_to_run_exists():
    root = DOCS.parent
    texts = [root / "README.md", root / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    for package in ("voyager_core", "voyager_api", "voyager_assets"):
        texts += [*(root / package).rglob("*.py"), *(root / package).rglob("*.html")]
    # In backticks, at the start of a line of a code block, or as a whole string.
    told = re.compile(r"(?:`|\"|^|/)voyager ([a-z]+)(?: ([a-z]+))?", re.MULTILINE)
    commands = choices_of(build_parser())
    found, unknown = 0, []
    for file in texts:
        for command, action in told.findall(file.read_text(encoding="utf-8")):
            if command in {"api", "command", "dagster"}:
                continue  # names in pg_stat_activity and in hashes
            found += 1
            actions = choices_of(commands[command]) if command in commands else {}
            if command not in commands or (actions and action and action not in actions):
                unknown.append(f"{file.relative_to(root)}: voyager {command} {action}")
    assert found > 40
    assert unknown == []


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    broken = []
    for page in pages:
        # An example between backticks is no link, whatever brackets are in it.
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for target in text.split("](")[1:]:
            path = target.split(")")[0].split("#")[0]
            if path and "://" not in path and not (page.parent / path).exists():
                broken.append(f"{page.relative_to(root)}: {path}")
    assert broken == []
