"""What the rules drop, count and sample."""

import hashlib
import json

import polars as pl
import pytest

from tests.reference.frames import files_of
from tests.support.uploads import Upload, interleaved, volumes
from voyager_core.domain.rulesets import (
    BLOCKED,
    DISGUISED_PROGRAM,
    DROP_RULES,
    REPOST_REMNANT,
    RuleSet,
)
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.rules import apply_rules, count_drops, count_rejects, sample_rules


def dropped(uploads, rules=None):
    identified = identify_releases(files_of(interleaved(uploads)[0]))
    return apply_rules(identified, rules or RuleSet())


def digest(word):
    return hashlib.sha256(word.encode()).hexdigest()[:16]


def test_ordinary_upload_is_kept():
    files = dropped([Upload("a", volumes("Some.Show.S01E01", 4))])
    assert files["dropped_by"].null_count() == len(files)


def test_blocked_word_condemns_the_whole_upload():
    rules = RuleSet(blocked_digests=frozenset({digest("forbiddenword")}))
    subject = '[Title Forbiddenword] [{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    bad = Upload("bad", [("x.part1.rar", 2), ("unrelated-name.nfo", 1)], subject)
    good = Upload("good", volumes("Some.Show.S01E01", 2))
    files = dropped([bad, good], rules)
    by_name = dict(files.select("name", "dropped_by").rows())
    assert by_name["x.part1.rar"] == by_name["unrelated-name.nfo"] == BLOCKED
    assert by_name["Some.Show.S01E01.part1.rar"] is None


def test_blocked_upload_leaves_no_sample():
    rules = RuleSet(blocked_digests=frozenset({digest("forbiddenword")}), sample_share=1.0)
    files = dropped([Upload("bad", volumes("forbiddenword something", 2))], rules)
    assert count_drops(files)["rule"].to_list() == [BLOCKED]
    assert sample_rules(files, rules).is_empty()


def test_blocked_words_stand_nowhere_in_clear():
    assert all(len(each) == 16 and int(each, 16) for each in RuleSet().blocked_digests)


def test_program_under_a_media_name_is_dropped_and_sampled():
    rules = RuleSet(sample_share=1.0)
    files = dropped([Upload("a", [("Some.Film.2019.mkv.exe", 3)])], rules)
    assert files["dropped_by"].to_list() == [DISGUISED_PROGRAM]
    sample = sample_rules(files, rules)
    assert json.loads(sample["detail"][0])["name"] == "Some.Film.2019.mkv.exe"


def test_retried_article_is_no_second_release():
    whole = files_of(interleaved([Upload("a", [("Some.Film.2019.mkv", 40)])])[0])
    retry = whole.with_columns(
        pl.col("file_key") + 1,
        generation=pl.lit(1, pl.UInt16),
        parts_found=pl.lit(1, pl.UInt32),
    )
    files = apply_rules(identify_releases(pl.concat([whole, retry])), RuleSet())
    assert sorted(files.select("parts_found", "dropped_by").rows()) == [
        (1, REPOST_REMNANT),
        (40, None),
    ]


def test_real_repost_is_kept():
    whole = Upload("a", [("Some.Film.2019.mkv", 40)])
    files = dropped([whole, Upload("b", whole.files, salt="again")])
    assert files["dropped_by"].to_list() == [None, None]


def test_drops_are_counted_by_article_and_file():
    files = dropped([Upload("a", [("x.avi.exe", 3), ("y.avi.scr", 2)])])
    assert count_drops(files).rows() == [(DISGUISED_PROGRAM, "", "", 5, 2)]


def test_rejects_are_counted_by_reason_and_owner():
    rejects = pl.DataFrame(
        {"reason": ["no_counter", "crosspost:alt.binaries.x"], "count": [5, 7], "samples": [[], []]}
    )
    assert count_rejects(rejects).rows() == [
        ("crosspost", "", "alt.binaries.x", 7, 0),
        ("no_counter", "", "", 5, 0),
    ]


def test_samples_are_chosen_by_key():
    uploads = [Upload(f"{n}", [(f"Film number {n}.avi.exe", 1)]) for n in range(400)]
    rules = RuleSet(sample_share=0.1)
    first, second = (sample_rules(dropped(uploads, rules), rules) for _ in range(2))
    assert first.equals(second)
    assert 15 <= len(first) <= 75


def test_rule_sets_differ_by_content_and_not_by_number():
    assert RuleSet().digest == RuleSet(version=2).digest
    assert RuleSet().digest != RuleSet(dropped=(BLOCKED,)).digest
    assert RuleSet().digest != RuleSet(blocked_digests=frozenset()).digest
    assert json.loads(json.dumps(RuleSet().content())) == RuleSet().content()


def test_rule_out_of_force_drops_nothing():
    files = dropped([Upload("a", [("x.avi.exe", 3)])], RuleSet(dropped=(BLOCKED,)))
    assert files["dropped_by"].to_list() == [None]


@pytest.mark.parametrize(
    "settings", [{"dropped": ("nonsense",)}, {"sample_share": 2}, {"remnant_share": -1}]
)
def test_impossible_rule_set_is_refused(settings):
    with pytest.raises(ValueError, match=r"no such rule|between 0 and 1"):
        RuleSet(**settings)


def test_every_rule_has_a_name():
    assert len(set(DROP_RULES)) == len(DROP_RULES)
