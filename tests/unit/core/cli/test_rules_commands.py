"""`voyager rules` on a real catalog and a real corpus."""

import json
import zlib

import pytest

from tests.support.recovering import mixed
from tests.support.spans import GROUP, add_ranges, built, release, store
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.catalog.stored_settings import pin
from voyager_core.domain.ranges import Span
from voyager_core.storage.blocks import BlockFacts
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.spool import Spool

pytestmark = pytest.mark.postgres
DETAIL = {
    "name": "Film.mkv.exe",
    "subject": '"Film.mkv.exe" yEnc (1/3)',
    "parts_found": 3,
    "parts_total": 3,
    "size_bytes": 3000,
    "candidates": [{"kind": "lone_random", "message_id": "a@b", "part": 1}],
}


@pytest.fixture
def dropped(catalog):
    pin(catalog, {"range_size": "1000", "ranges_per_partition": "1"})
    rules_in_force(catalog)
    (range_id,) = add_ranges(catalog)
    catalog.execute("update newsgroup set state = 'ok'")
    contents = built(
        [release(1)],
        rule_counts=[("disguised_program", 12, 3)],
        rule_samples=[("disguised_program", 5, DETAIL)],
    )
    store(catalog, range_id, 1, 100, contents, rejects={"crosspost:alt.other": 4})


def test_the_list_says_what_each_rule_dropped_and_which_set_is_in_force(voyager, dropped):
    for command in (("rules",), ("rules", "list")):
        out = voyager(*command).out
        assert out.startswith("rule set 1 is in force")
        (line,) = [line for line in out.splitlines() if line.startswith("disguised_program")]
        assert line.split()[:6] == ["disguised_program", "in", "force", "12", "3", "0"]
        assert "crosspost:alt.other" in out
    found = json.loads(voyager("rules", "list", "--json").out)
    assert found["rules_version"] == 1
    assert [each["version"] for each in found["versions"]] == [1]


def test_a_rule_is_shown_with_counts_samples_and_what_would_be_read(voyager, dropped):
    out = voyager("rules", "show", "disguised_program").out
    assert "3 of 3 parts, 3.0 kB" in out
    assert "worth reading: lone_random <a@b>" in out
    found = json.loads(voyager("rules", "show", "disguised_program", "--json").out)
    assert found["samples"][0]["detail"] == DETAIL
    assert found["groups"] == [{"group": GROUP, "ranges": 1, "articles": 12, "files": 3}]
    wrong = voyager("rules", "show", "no_such\x1b[31m")
    assert wrong.code == 1
    assert "disguised_program" in wrong.err
    assert "\x1b" not in wrong.err


def test_retracting_says_what_becomes_stale_and_a_dry_run_changes_nothing(voyager, dropped):
    dry = json.loads(voyager("rules", "retract", "disguised_program", "--dry-run", "--json").out)
    assert dry == {
        "rule": "disguised_program",
        "rules_version": 1,
        "dry_run": True,
        "ranges": 1,
        "articles": 12,
        "files": 3,
    }
    out = voyager("rules", "retract", "disguised_program", "--note", "too greedy").out
    assert "rule set 2 is in force" in out
    assert "12 articles of 3 files in 1 ranges" in out
    (line,) = [
        line for line in voyager("rules").out.splitlines() if line.startswith("disguised_program")
    ]
    assert line.split()[1:5] == ["retracted", "12", "3", "1"]
    assert "0 articles" not in voyager("rules", "retract", "repost_remnant").out
    assert voyager("rules", "retract", "nothing").code == 1
    assert "rule set 4" in voyager("rules", "restore", "disguised_program").out


@pytest.fixture
def corpus(tmp_path):
    spool = Spool(tmp_path / "spool", corpus=Corpus(tmp_path / ".voyager" / "corpus"))
    span = Span(GROUP, 1, 300)
    text = b"\r\n".join(mixed(1, 300)) + b"\r\n"
    facts = BlockFacts("zlib", 300, 1, 300, len(text), "test", 0)
    spool.write(span, zlib.compress(text), facts)
    spool.release(span, capture=True)


def test_a_diff_shows_on_the_corpus_what_appears_and_vanishes(voyager, dropped, corpus, tmp_path):
    found = json.loads(
        voyager("rules", "diff", "in-force", "without:disguised_program", "--json").out
    )
    assert found["lines"] == 300
    assert set(found["changes"]) == {"appears", "grows"}
    assert {each["change"] for each in found["files"]} == {"appears"}
    assert {each["dropped_before"] for each in found["files"]} == {"disguised_program"}
    back = json.loads(
        voyager("rules", "diff", "without:disguised_program", "in-force", "--json").out
    )
    assert set(back["changes"]) == {"vanishes", "shrinks"}
    assert len(back["files"]) == len(found["files"])
    changes = tmp_path / "rules.json"
    changes.write_text('{"program_types": ["scr"]}')
    out = voyager("rules", "diff", "1", str(changes)).out
    assert "mkv.exe" in out
    assert "no release and no file differs" in voyager("rules", "diff", "built-in", "1").out


@pytest.mark.parametrize(
    "spec",
    [
        "99",
        "without:nothing",
        "/no/such.json",
        "x",
        "bad.json",
        "list.json",
        "wrong.json",
        "re.json",
    ],
)
def test_a_rule_set_that_is_none_is_refused(voyager, dropped, corpus, tmp_path, spec):
    (tmp_path / "bad.json").write_text('{"nonsense": 1}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "re.json").write_text('{"media_types": ["(mkv"]}')
    (tmp_path / "wrong.json").write_text('{"remnant_share": "much", "dropped": ["blocked"]}')
    ran = voyager("rules", "diff", "1", spec)
    assert (ran.code, ran.out) == (1, "")
    assert "rule" in ran.err


def test_a_diff_needs_captured_ranges(voyager, dropped):
    ran = voyager("rules", "diff", "1", "without:blocked")
    assert ran.code == 1
    assert "voyager corpus mark" in ran.err


@pytest.mark.parametrize(
    "command", [("show",), ("retract",), ("retract", "--dry-run"), ("restore",)]
)
@pytest.mark.parametrize("name", ["disguised_programs", "", "x" * 5000, "\x1b[31m"])
def test_a_rule_that_does_not_exist_is_told(voyager, dropped, command, name):
    ran = voyager("rules", *command, "--", name)
    assert (ran.code, ran.out) == (1, "")
    assert "there is no rule" in ran.err
    assert "repost_remnant" in ran.err
    assert "\x1b" not in ran.err
    assert len(ran.err) < 300
