"""What the rules drop, count and sample."""

import json
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from tests.reference.frames import files_of
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.domain.blocklist import digest_of, half_digest_of
from voyager_core.domain.rulesets import (
    BLOCKED,
    DISGUISED_PROGRAM,
    DROP_RULES,
    GARBAGE,
    REPOST_REMNANT,
    RuleSet,
)
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.rules import (
    apply_rules,
    block_samples,
    count_drops,
    count_rejects,
    sample_rules,
)


def dropped(uploads, rules=None):
    identified = identify_releases(files_of(interleaved(uploads)[0]))
    return apply_rules(identified, rules or RuleSet())


def blocking(*texts, **values):
    """Rules with a harmless list of blocked words and pairs."""
    return RuleSet(
        blocked_digests=frozenset(map(digest_of, texts)),
        blocked_halves=frozenset(half_digest_of(text.split()[0]) for text in texts if " " in text),
        **values,
    )


def test_ordinary_upload_is_kept():
    files = dropped([Upload("a", volumes("Some.Show.S01E01", 4))])
    assert files["dropped_by"].null_count() == len(files)


def test_blocked_word_condemns_the_whole_upload():
    rules = blocking("forbiddenword")
    subject = '[Title Forbiddenword] [{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    bad = Upload("bad", [("x.part1.rar", 2), ("unrelated-name.nfo", 1)], subject)
    good = Upload("good", volumes("Some.Show.S01E01", 2))
    files = dropped([bad, good], rules)
    by_name = dict(files.select("name", "dropped_by").rows())
    assert by_name["x.part1.rar"] == by_name["unrelated-name.nfo"] == BLOCKED
    assert by_name["Some.Show.S01E01.part1.rar"] is None


def test_blocked_upload_leaves_no_sample():
    rules = blocking("forbiddenword", sample_share=1.0)
    files = dropped([Upload("bad", volumes("forbiddenword something", 2))], rules)
    assert count_drops(files, RuleSet())["rule"].to_list() == [BLOCKED]
    assert sample_rules(files, rules).is_empty()


def test_blocked_words_stand_nowhere_in_clear():
    rules = RuleSet()
    for digests in (rules.blocked_digests, rules.blocked_halves):
        assert len(digests) > 5
        assert all(len(each) == 16 and int(each, 16) for each in digests)


@pytest.mark.parametrize(
    "name",
    [
        "Some.forbiddenword.part1.rar",
        "FORBIDDENWORD",
        "f0rb1dd3nw0rd",
        "Forb\u00efddenword",
        "a forbidden word here",
        "Forbidden.Word",
        "12xy holiday",
    ],
)
def test_spellings_of_blocked_words_are_found(name):
    rules = blocking("forbiddenword", "forbidden word", "12xy")
    files = dropped([Upload("bad", [(f"{name}.mkv", 2)], '"{name}" yEnc ({p}/{parts})')], rules)
    assert files["dropped_by"].to_list() == [BLOCKED]


@pytest.mark.parametrize("name", ["forbidden.fruit", "word.forbidden", "unforbiddenwords", "12 xy"])
def test_other_words_are_kept(name):
    rules = blocking("forbiddenword", "forbidden word", "12xy")
    files = dropped([Upload("good", [(f"{name}.mkv", 2)], '"{name}" yEnc ({p}/{parts})')], rules)
    assert files["dropped_by"].to_list() == [None]


def test_blocked_samples_of_rejected_lines_are_left_out():
    samples = pl.Series(
        "samples", [[b"1\tforbiddenword", b"2\tother"], []], dtype=pl.List(pl.Binary)
    )
    assert block_samples(samples, blocking("forbiddenword")).to_list() == [[b"2\tother"], []]


def random_uploads(ids):
    """Uploads under random names, and one with a name, by the same tool."""
    names = ["kd83hgb72ndk38fhw93kd82h", "p0aSd8f7g6h5J4k3l2Q1w9e8", "Some.Show.S01E01.720p-GRP"]
    files = dropped([Upload(name, [(f"{name}.mkv", 3)]) for name in names])
    return files.with_columns(
        first_message_id=pl.Series([ids.format(n) for n in range(len(files))])
    ).drop("dropped_by")


def test_garbage_is_dropped_by_tool_and_newsgroup():
    files = random_uploads("d41d8cd98f00b204e9800998ecf8427{}@ngPost")
    for signature, count in (
        ("ngpost@*", 2),
        ("ngpost@alt.binaries.test", 2),
        ("ngpost@alt.binaries.other", 0),
        ("nyuu@*", 0),
    ):
        rules = RuleSet(garbage=(signature,), sample_share=1.0)
        found = apply_rules(files, rules)
        assert found["dropped_by"].count() == count
        # What has a name is never garbage.
        assert found.filter(pl.col("name").str.starts_with("Some"))["dropped_by"].to_list() == [
            None
        ]
        if count:
            assert count_drops(found, rules).rows() == [(GARBAGE, "ngpost", "", 6, 2)]


def test_garbage_of_unknown_tools_is_told_from_that_of_known_ones():
    rules = RuleSet(garbage=("unknown@*",))
    assert apply_rules(random_uploads("{}$x@y"), rules)["dropped_by"].count() == 2
    nyuu = random_uploads("KbOjGbFbAoKiBwIyAzJsNyTb-158710304598{}@nyuu")
    assert apply_rules(nyuu, rules)["dropped_by"].count() == 0


def test_nothing_is_garbage_by_default():
    found = apply_rules(random_uploads("d41d8cd98f00b204e9800998ecf8427{}@ngPost"), RuleSet())
    assert found["dropped_by"].count() == 0


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
    assert count_drops(files, RuleSet()).rows() == [
        (DISGUISED_PROGRAM, "avi.exe", "", 3, 1),
        (DISGUISED_PROGRAM, "avi.scr", "", 2, 1),
    ]


def test_rejects_are_counted_by_reason_and_owner():
    rejects = pl.DataFrame(
        {"reason": ["no_counter", "crosspost:alt.binaries.x"], "count": [5, 7], "samples": [[], []]}
    )
    assert count_rejects(rejects).rows() == [
        ("crosspost", "", "alt.binaries.x", 7, 0),
        ("no_counter", "", "", 5, 0),
    ]


def test_a_sample_names_the_articles_that_would_be_worth_reading():
    name = "d41d8cd98f00b204e9800998ecf8427e.mkv.exe"
    rules = RuleSet(sample_share=1.0)
    (sample,) = sample_rules(dropped([Upload("a", [(name, 3)])], rules), rules).to_dicts()
    detail = json.loads(sample["detail"])
    assert detail["name"] == name
    assert detail["candidates"] == [
        {"kind": "lone_random", "message_id": detail["first_message_id"], "part": 1}
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
    "settings",
    [
        {"dropped": ("nonsense",)},
        {"sample_share": 2},
        {"remnant_share": -1},
        {"garbage": ("nonsense@alt.binaries.test",)},
        {"garbage": ("nyuu",)},
        {"garbage": (1,)},
    ],
)
def test_impossible_rule_set_is_refused(settings):
    with pytest.raises(ValueError, match=r"no such rule|between 0 and 1|no signature"):
        RuleSet(**settings)


def test_every_rule_has_a_name():
    assert len(set(DROP_RULES)) == len(DROP_RULES)


def test_posts_that_share_few_of_many_announced_parts_are_no_retries():
    # Forty of a hundred parts are there; six of them twice, and then more than a tenth.
    film = Upload("a", [("Some.Film.2010.mkv", 100)], '"{name}" yEnc ({p}/{parts})')
    first = replace(film, missing=frozenset((1, part) for part in range(41, 101)))
    rest = frozenset((1, part) for part in range(1, 101) if part not in range(35, 41))
    again = replace(film, salt="again", missing=rest, at=START + timedelta(minutes=1))
    files = dropped([first, again])
    assert files["parts_found"].sum() == 46
    assert files["dropped_by"].null_count() == len(files)


def test_an_article_sent_again_is_dropped_and_a_repost_is_kept():
    film = Upload("a", [("Some.Film.2010.mkv", 40)], '"{name}" yEnc ({p}/{parts})')
    rest = frozenset((1, part) for part in range(1, 41) if part != 17)
    posts = [replace(film, salt=f"{n}", at=START + timedelta(minutes=9 * n)) for n in (1, 2)]
    retry = replace(film, salt="retry", missing=rest, at=START + timedelta(minutes=10))
    files = dropped([*posts, retry])
    by_number = files.sort("generation").select("parts_found", "dropped_by").rows()
    assert by_number == [(40, None), (40, None), (1, REPOST_REMNANT)]
    kept = dropped([*posts, retry], RuleSet().without(REPOST_REMNANT))
    assert kept["dropped_by"].null_count() == 3
