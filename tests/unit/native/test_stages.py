"""Functions of the native core for benchmarks and rules: stages, records, words."""

import polars as pl
import pytest

import voyager_native


@pytest.fixture(scope="module")
def overview() -> voyager_native.SyntheticOverview:
    return voyager_native.synthesize_overview("ath", 2_000, block_lines=1_000)


def test_every_stage_of_every_block_is_measured(overview):
    stages = voyager_native.stages_ns(
        overview.blocks, overview.group, groups=overview.groups, repeats=3
    )
    assert len(stages) == 2
    for inflate, *lines in stages:
        assert inflate > 0
        assert len(lines) == 4
        assert all(spent > 0 for spent in lines)


def test_a_block_that_is_none_is_an_error(overview):
    with pytest.raises(ValueError, match=r"\w"):
        voyager_native.stages_ns([b"\x78\x9c\0\0"], overview.group, groups={})


def test_records_are_encoded_again(overview):
    indexer = voyager_native.SpanIndexer(overview.group, 0, 0, groups=overview.groups, now=1 << 31)
    for block in overview.blocks:
        indexer.feed(block)
    tables = indexer.finish()
    assert tables.stats["arrow_ns"] <= tables.stats["finish_ns"]
    files = pl.DataFrame(tables.files)
    assert voyager_native.records_ns(files) > 0
    with pytest.raises(ValueError, match="checksum"):
        voyager_native.records_ns(pl.DataFrame({"payload": [b"\x01" * 40]}))
    with pytest.raises(ValueError, match="no column payload"):
        voyager_native.records_ns(files.drop("payload"))


def test_words_are_distinct_and_digits_are_left_out():
    texts = pl.DataFrame({"subject": ["Some w0rd (1/2)", "some WORD", "", None, "\u212aelvin ü"]})
    words = voyager_native.distinct_words(texts, "subject")
    assert sorted(words) == ["kelvin", "some", "word", "wrd"]
    with pytest.raises(ValueError, match="strings"):
        voyager_native.distinct_words(pl.DataFrame({"subject": [1]}), "subject")
