"""The category that a name asks for."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.facts import category_of
from voyager_core.domain.category_names import (
    CATEGORY_NAMES,
    HASHED,
    MISC,
    category_label,
    parent_category,
    subcategories,
)
from voyager_core.domain.category_rules import ROWS, WEAK_ROWS
from voyager_core.domain.name_facts import facts_of
from voyager_core.domain.name_features import BITS

GOLDEN = Path(__file__).parents[2] / "golden" / "categories.tsv"
CASES = [
    line.split("\t")
    for line in GOLDEN.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("category", "name"), CASES, ids=[name for _, name in CASES])
def test_name_gets_category(category, name):
    assert category_of(name) == int(category)


def test_real_names_reach_a_listed_main_category(shared_data):
    # The listing sites disagree among themselves, and one files with numbers of its own:
    # what is held here is that the rules do not get worse. `make quality` says more.
    rows = [
        line.split("\t")
        for line in (shared_data / "names" / "newznab_items.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    ]
    facts = facts_of(
        pl.Series([row[0] for row in rows]), pl.Series([row[3] for row in rows]), last_year=2030
    )
    right = sum(
        parent_category(category) in {parent_category(int(number)) for number in row[1].split(",")}
        for row, category in zip(rows, facts["category"].to_list(), strict=True)
    )
    assert right / len(rows) > 0.9


def test_unreadable_name_is_hashed():
    assert category_of("65b514a24bb817521a6d10cfd2530eb9") == HASHED


def test_group_is_asked_only_when_the_name_is_silent():
    assert category_of("something") == MISC
    assert category_of("something", group="alt.binaries.sounds.lossless") == 3040
    assert category_of("Some.Show.S01E01.1080p.WEB.h264", group="alt.binaries.e-book") == 5040


def test_every_subcategory_has_a_parent_with_a_name():
    assert all(parent_category(number) in CATEGORY_NAMES for number in CATEGORY_NAMES)
    assert 5040 in subcategories(5000)
    assert 5000 not in subcategories(5000)
    assert category_label(5040) == "TV > HD"
    assert category_label(5000) == "TV"
    assert category_label(9999) == ""


def test_every_rule_asks_for_features_that_exist():
    for row in (*ROWS, *WEAK_ROWS):
        assert row.category in CATEGORY_NAMES
        listed = " ".join(row[1:]).split()
        assert listed
        assert set(listed) <= set(BITS)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Some Band - The Album (2004) WAV", 3040),
        ("Some Band - The Album.wav", 3040),
        ("Some.Film.2015.720p.BRRip.XviD.AC3-GRP", 2030),
        ("Some.Film.2015.AC3.DD5.1.NLSubs-Q", 2030),
        ("Some Film (2015)", 2020),
        ("VA-The Compilation-(LBL035)-WEB-2014-CBR INT", 3010),
        ("Some.Hero.05.of.5", 7030),
        ("[Group] Some Show S2 - 76 [1080p]", 5070),
    ],
)
def test_kinds_of_names_that_used_to_be_misfiled(name, category):
    assert category_of(name) == category


@given(st.text(max_size=200))
def test_any_name_gets_a_known_category(name):
    assert category_of(name) in CATEGORY_NAMES
