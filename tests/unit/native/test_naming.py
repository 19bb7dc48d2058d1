"""The rules of names as the native core takes them: what they refuse, and what they stand."""

import hashlib

import polars as pl
import pytest

import voyager_native

NAMES = pl.DataFrame({"name": ["Some.Show.rar", "Some.Show.r00"]})


def stem_rules(**changed):
    tables = {
        "endings": {"temporary": r"\.tmp", "archive": r"\.(?:rar|r\d\d)"},
        "patterns": {"front": "^sample-"},
        "around": " ",
        "transient": "temporary",
        "members": ["archive"],
        "volumes": ["archive"],
        "cuts": ["front"],
        "edges": ".",
        "separators": r"[._]+",
        "specific_length": 4,
        "kinds": {"_is_archive": (["archive"], ["temporary"])},
    }
    return voyager_native.StemRules(**{**tables, **changed})


def head_rules(**changed):
    tables = {
        "nothing": ["posted by"],
        "kinds": "film",
        "least_letters": 3,
        "named": r"s\d+e\d+",
        "named_bare": r"\d{5}",
        "separators": " +",
        "edges": " ",
        "no_request": "^full$",
    }
    return voyager_native.HeadRules(**{**tables, **changed})


def test_names_are_described_by_the_tables_given():
    told = pl.DataFrame(stem_rules().describe(NAMES, "name"))
    assert told["_shown"].to_list() == ["Some.Show", "Some.Show"]
    assert told["_stem"].to_list() == ["some.show", "some.show"]
    assert told["_stem_id"].n_unique() == 1
    assert told["_is_archive"].all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"endings": {"temporary": "(", "archive": "a"}}, "temporary"),
        ({"patterns": {"front": "(?<=a)"}}, "front"),
        ({"cuts": ["nothing"]}, "nothing"),
        ({"transient": "gone"}, "gone"),
        ({"kinds": {"_is_x": (["lost"], [])}}, "lost"),
        ({"separators": "["}, "separators"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_by_name(changed, said):
    with pytest.raises(ValueError, match=said):
        stem_rules(**changed)


def test_heads_are_graded_by_the_tables_given():
    heads = pl.DataFrame({"head": ["", "a film", "posted by me", "words", "s1e2 words", "12345"]})
    grades = pl.DataFrame(head_rules().grades(heads, "head"))["grade"].to_list()
    assert grades == [0, 0, 0, 1, 2, 2]
    with pytest.raises(ValueError, match="named"):
        head_rules(named="(")


@pytest.mark.parametrize("table", [pl.DataFrame({"name": [1]}), pl.DataFrame({"other": ["a"]})])
def test_a_table_without_names_is_an_error(table):
    with pytest.raises(ValueError, match="name"):
        stem_rules().describe(table, "name")
    with pytest.raises(ValueError, match="name"):
        voyager_native.text_keys(table, "name")


def test_missing_names_are_empty_ones():
    told = pl.DataFrame(stem_rules().describe(pl.DataFrame({"name": [None, ""]}), "name"))
    assert told["_shown"].to_list() == ["", ""]


def test_keys_of_texts_are_those_of_blake2b():
    texts = ["", "a", "é" * 70, "x" * 1_000]
    keys = pl.DataFrame(voyager_native.text_keys(pl.DataFrame({"text": texts}), "text"))
    assert keys["key"].to_list() == [
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        for text in texts
    ]


def test_readable_rules_want_their_tables_whole():
    with pytest.raises(ValueError, match="surely"):
        voyager_native.ReadableRules(surprise=[], patterns={}, ids=[], marks=[])
    patterns = dict.fromkeys(("surely", "may_hold_id", "extension", "year"), "a")
    with pytest.raises(ValueError, match="surprise"):
        voyager_native.ReadableRules(surprise=["1"] * 27, patterns=patterns, ids=[], marks=[])


def test_runs_want_whole_columns():
    with pytest.raises(ValueError, match="_counter"):
        voyager_native.follow_runs(
            NAMES, pause_ms=1, swapped_files=1, open_runs=1, edge_numbers=1, clearly_nearer=1
        )


def test_digests_that_are_none_block_nothing():
    listed = voyager_native.BlockList(
        salt="s", digests=["", "zz", "ABCDEF0123456789"], halves=["x"]
    )
    assert listed.blocked(["", "a", "\0", "é"]) == [False, False, False, None]
    assert listed.suspects(NAMES, "name") == []
