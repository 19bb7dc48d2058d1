"""Made-up groups of known truth: shares of exact files and releases, and wrong joins."""

from collections.abc import Iterator
from datetime import UTC, datetime

import polars as pl

import voyager_native
from tests.quality.data import QualityData
from tests.quality.report import Result, share
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_blocks

_NOW = datetime(2100, 1, 1, tzinfo=UTC)
_LINES = 300_000
_SEEDS = (1, 2, 3)
# A part of what is cut by the ends of the overview cannot be told in one span.
_EXACT_RELEASES = {"boneless": 0.93, "ath": 1.0, "modern": 1.0, "classic": 1.0}


def results(data: QualityData) -> Iterator[Result]:
    """Yields exactness and precision for each mix of posting tools."""
    del data
    for mix, bar in _EXACT_RELEASES.items():
        pieces = [_pieces(mix, seed) for seed in _SEEDS]
        yield _exact(f"{mix}: files", pieces, "file", "file_key", bar=1.0)
        yield _exact(f"{mix}: releases", pieces, "upload", "release", bar=bar)
        yield _mixed(f"{mix}: releases that hold more than one upload", pieces)


def _pieces(mix: str, seed: int) -> pl.DataFrame:
    """Returns upload, file, file key and release of each article."""
    overview = voyager_native.synthesize_overview(mix, _LINES, seed=seed, block_lines=100_000)
    parsed = parse_blocks(
        overview.group,
        overview.blocks,
        low=0,
        high=0,
        groups=overview.groups,
        now=_NOW,
        keep_articles=True,
    )
    files = identify_releases(parsed.files).select(
        "file_key", release=pl.struct("release_key", "session").hash()
    )
    is_crosspost = pl.col("reason").str.starts_with("crosspost:").fill_null(value=False)
    rows = pl.DataFrame(overview.truth).join(parsed.articles, on="number", how="left")
    rows = rows.filter(~is_crosspost & pl.col("file").is_not_null())
    return rows.join(files, on="file_key", how="left").select(
        "upload", "file", "file_key", "release"
    )


def _exact(name: str, pieces: list[pl.DataFrame], truth: str, found: str, *, bar: float) -> Result:
    failing: list[str] = []
    counted = 0
    for seed, rows in zip(_SEEDS, pieces, strict=True):
        pairs = rows.select(pl.col(truth).alias("truth"), pl.col(found).alias("found")).unique()
        shared = pairs.group_by("found").agg(others=pl.len() > 1)
        per = (
            pairs.join(shared, on="found", how="left", nulls_equal=True)
            .group_by("truth")
            .agg(
                pl.len().alias("pieces"),
                pl.col("others").any(),
                pl.col("found").null_count().alias("lost"),
            )
        )
        wrong = per.filter((pl.col("pieces") > 1) | pl.col("others") | (pl.col("lost") > 0))
        failing += [
            f"seed {seed}, {truth} {row['truth']}: {row['pieces']} pieces"
            + (", joined with others" if row["others"] else "")
            for row in wrong.sort("truth").iter_rows(named=True)
        ]
        counted += per.height
    return share(name, failing, counted, bar=bar)


def _mixed(name: str, pieces: list[pl.DataFrame]) -> Result:
    failing: list[str] = []
    counted = 0
    for seed, rows in zip(_SEEDS, pieces, strict=True):
        held = rows.drop_nulls("release").group_by("release").agg(pl.col("upload").unique())
        counted += held.height
        failing += [
            f"seed {seed}: uploads {sorted(uploads)}"
            for uploads in held["upload"].to_list()
            if len(uploads) > 1
        ]
    return share(name, failing, counted, bar=0.001, at_most=True)
