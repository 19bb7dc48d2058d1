"""The examples of docs/rules.md are what the rules do."""

import re
from pathlib import Path

import polars as pl
import pytest

import voyager_native
from tests.reference.facts import category_of
from voyager_core.domain.name_facts import facts_of
from voyager_core.domain.names import is_readable_name
from voyager_core.domain.titles import best_name
from voyager_core.header_pass import stems
from voyager_core.header_pass.offers import title_text

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")


def rows(kind):
    """The cells of the table after the mark of a kind, without its head."""
    text = PAGE.split(f"<!-- {kind}: ")[1].split("-->", 1)[1].strip()
    lines = text.split("\n\n")[0].splitlines()[2:]
    assert lines
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize(("rule", "subject", "name"), rows("names"))
def test_subject_is_named_as_the_page_says(rule, subject, name):
    said = voyager_native.parse_subject(subject)
    file, head = said["name"] or "", said["head"] or ""
    is_track = stems.features(pl.Series([file]))["_is_track"].item()
    titles = stems.display_stem(pl.Series([head]), is_file=False)
    shown = [*stems.display_stem(pl.Series([file])), *titles]
    tail = said["tail"]
    between = tail if said["flags"] & voyager_native.FILE_FLAGS["tail_between"] else ""
    found = best_name(
        said["request"] or "",
        title_text(shown[1], between),
        shown[0],
        is_shared_stem=not is_track,
        tail=tail,
    )
    assert found == name, rule


@pytest.mark.parametrize(("name", "judged", "why"), rows("readable"))
def test_name_is_judged_as_the_page_says(name, judged, why):
    assert is_readable_name(name) is (judged == "readable"), why


@pytest.mark.parametrize(("row", "name", "category"), rows("categories"))
def test_name_is_filed_as_the_page_says(row, name, category):
    assert category_of(name) == int(category), row


@pytest.mark.parametrize(("name", "stored"), rows("facts"))
def test_what_a_name_states_is_what_the_page_says(name, stored):
    facts = facts_of(pl.Series([name]), pl.Series([""]), last_year=2030).row(0, named=True)
    said = {}
    for part in stored.split(", "):
        what, first, last = re.fullmatch(r"(\w+?)s? ([^ ]+)(?: to (\d+))?", part).groups()
        said[what] = first
        said[f"{what}_last"] = last or first
    found = {
        "season": facts["season"],
        "season_last": facts["season_last"],
        "episode": facts["episode"],
        "episode_last": facts["episode_last"],
        "date": facts["aired_on"],
        "year": facts["year"],
        "resolution": facts["resolution"],
        "source": facts["source"],
        "language": facts["language"],
        "team": facts["team"],
    }
    for what, value in found.items():
        assert str(value or "") == str(said.get(what) or ""), what
