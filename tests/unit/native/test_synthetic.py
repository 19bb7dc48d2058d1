"""Made-up overviews are what they say, and the engine takes them apart exactly."""

import polars as pl
import pytest

import voyager_native

MIXES = ["classic", "modern", "boneless", "ath"]


def index(overview: voyager_native.SyntheticOverview) -> voyager_native.SpanTables:
    """Indexes a made-up overview."""
    indexer = voyager_native.SpanIndexer(
        overview.group, 0, 0, groups=overview.groups, now=2_000_000_000, keep_articles=True
    )
    for block in overview.blocks:
        indexer.feed(block)
    return indexer.finish()


@pytest.mark.parametrize("mix", MIXES)
def test_files_of_a_made_up_overview_are_exactly_right(mix):
    overview = voyager_native.synthesize_overview(mix, 20_000, seed=3, block_lines=7_000, lost=0.01)
    tables = index(overview)
    assert len(overview.blocks) == 3
    rows = pl.DataFrame(overview.truth).join(pl.DataFrame(tables.articles), on="number")
    assert rows.height == tables.stats["lines"] == 20_000
    crossposts = pl.col("reason").str.starts_with("crosspost:").fill_null(value=False)
    told = rows.filter(pl.col("file").is_not_null() & ~crossposts)
    assert told["reason"].null_count() == told.height
    assert told.filter(pl.col("part") != pl.col("part_right")).is_empty()
    files = told.group_by("file").agg(pl.col("file_key").n_unique())
    keys = told.group_by("file_key").agg(pl.col("file").n_unique())
    assert files.height == keys.height > 50
    assert files["file_key"].max() == keys["file"].max() == 1


@pytest.mark.parametrize("mix", MIXES)
def test_segments_take_little_more_than_their_entropy(mix):
    overview = voyager_native.synthesize_overview(mix, 60_000)
    tables = index(overview)
    rows = pl.DataFrame(overview.truth).join(pl.DataFrame(tables.articles), on="number")
    entropy = rows.filter(pl.col("reason").is_null())["entropy_bits"].sum() / 8
    payload = pl.DataFrame(tables.files)["payload"].bin.size().sum()
    assert payload < entropy * 1.16


def test_a_seed_gives_the_same_overview_again():
    first, again, other = (
        voyager_native.synthesize_overview("boneless", 500, seed=seed) for seed in (1, 1, 2)
    )
    assert first.blocks == again.blocks != other.blocks


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="no mix"):
        voyager_native.synthesize_overview("nonsense", 10)
    with pytest.raises(ValueError, match="block_lines"):
        voyager_native.synthesize_overview("ath", 10, block_lines=0)
    assert voyager_native.synthesize_overview("ath", 0).blocks == []
