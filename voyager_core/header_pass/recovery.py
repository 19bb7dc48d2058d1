"""What the files of a release lack, and what its parity files can make good."""

import polars as pl

_KEY = ["release_key", "session"]
# .vol31+32.par2 holds 32 blocks, whatever the first number says.
_BLOCKS = r"(?i-u)vol(?:ume)?[._ -]?\d+\s?\+\s?(\d{1,6})(?:[._ -][a-z]+)?\.par2(?:\.par2)?$"
_MOST_BLOCKS = 32_768

COLUMNS = ["content_missing", "recovery_blocks", "recovery_bytes", "largest_file"]
"""What is counted of a release."""


def missing_of_content() -> pl.Expr:
    """Returns how many segments a file lacks that is no parity file (`_is_par2`)."""
    lacks = pl.col("parts_total") > pl.col("parts_found")
    return (
        pl.when(lacks & ~pl.col("_is_par2"))
        .then(pl.col("parts_total") - pl.col("parts_found"))
        .otherwise(pl.lit(0, pl.UInt32))
    )


def with_recovery(releases: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """Returns releases with `recovery_blocks` and `recovery_bytes`, in their order.

    Args:
        releases: rows with `release_key` and `session`.
        files: their files, with `_is_par2` telling the parity files.
    """
    # A volume that lacks a segment has lost blocks; how many is not known.
    volumes = (
        files.filter(pl.col("_is_par2") & (pl.col("parts_found") >= pl.col("parts_total")))
        .select(
            *_KEY,
            pl.col("name").str.extract(_BLOCKS, 1).cast(pl.UInt32, strict=False).alias("blocks"),
            "size_bytes",
        )
        .filter(pl.col("blocks").is_between(1, _MOST_BLOCKS))
        .group_by(_KEY)
        .agg(
            pl.col("blocks").sum().alias("recovery_blocks"),
            pl.col("size_bytes").sum().alias("recovery_bytes"),
        )
    )
    joined = releases.join(volumes, on=_KEY, how="left", maintain_order="left")
    return joined.with_columns(pl.col("recovery_blocks", "recovery_bytes").fill_null(0))
