"""The category that a name asks for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.domain.categories import (
    CATEGORY_NAMES,
    HASHED,
    MISC,
    category_label,
    category_of,
    parent_category,
    subcategories,
)

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
    # The listing sites disagree among themselves and file random names under magazines:
    # what is held here is that the rules do not get worse.
    rows = [
        line.split("\t")
        for line in (shared_data / "names" / "newznab_items.tsv")
        .read_text(encoding="utf-8")
        .splitlines()[1:]
    ]
    right = sum(
        parent_category(category_of(row[0], group=row[3]))
        in {parent_category(int(number)) for number in row[1].split(",")}
        for row in rows
    )
    assert right / len(rows) > 0.88


def test_unreadable_name_is_hashed():
    assert category_of("Some.Show.S01E01.1080p.WEB.h264-GRP", is_readable=False) == HASHED


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


@given(st.text(max_size=200))
def test_any_name_gets_a_known_category(name):
    assert category_of(name) in CATEGORY_NAMES
