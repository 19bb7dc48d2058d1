"""Small companions of an upload, posted apart from it: NZB, nfo and the like."""

import polars as pl

from voyager_core.header_pass import heads
from voyager_core.header_pass.sessions import NO_FROM, commonest, move

_OF_SIDECARS = [
    *("_key", "_text", "_grade", "_head", "_head_id", "_stem", "_stem_id", "_from_id"),
    *("_is_sidecar", "size_bytes", "first_posted_at", "last_posted_at"),
]
_SIDECAR_SECONDS = 600
_SIDECAR_BYTES = 1_000_000
_SIDECAR_FILES = 3
_BESIDE = 8


def join_sidecars(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins small companions, posted apart, to the upload that they came with.

    `[00/80] - "Name.nzb"` or `[1/1] - "x.nfo"` beside `[01/94] - "Name.part01.rar"`: the same
    poster, within ten minutes, and the same head or stem.
    """
    rows, every = rows.select(_OF_SIDECARS), rows
    companions = rows.filter("_is_sidecar").select("_key").unique()
    small = _posted_sets(rows.join(companions, on="_key", how="semi")).filter(
        pl.col("sidecar") & (pl.col("files") <= _SIDECAR_FILES) & (pl.col("bytes") < _SIDECAR_BYTES)
    )
    if small.is_empty():
        return every
    # Most posters have no small sets; what their sets say need not be known.
    near = rows.filter(pl.col("_from_id").is_in(small["from"].unique().implode()))
    files = rows.join(near.select("_key").unique(), on="_key", how="semi")
    sets = _posted_sets(files)
    for text, name in (("_head", "head"), ("_stem", "stem")):
        most = commonest(files, "_key", text).select("_key", pl.col(f"{text}_id").alias(name))
        sets = sets.join(most, on="_key", how="left")
    small = sets.join(small.select("_key"), on="_key", how="semi")
    big = sets.filter(~pl.col("sidecar")).select(
        *("from", "head", "stem", "since", "until", "bytes"),
        _target="_key",
        _target_text="_text",
    )
    wanted = ["_key", "_target", "_target_text", "since", "until", "since_big", "until_big"]
    wanted.append("bytes_big")
    by_head = _beside(small.filter(pl.col("grade") > heads.BANNER), big, ["from", "head"])
    by_stem = _beside(small, big, ["from", "stem"])
    gap = pl.max_horizontal(
        pl.col("since_big") - pl.col("until"), pl.col("since") - pl.col("until_big")
    )
    chosen = (
        pl.concat([by_head.select(wanted), by_stem.select(wanted)])
        .with_columns(_gap=gap.dt.total_seconds())
        .filter((pl.col("_gap") <= _SIDECAR_SECONDS) & (pl.col("_key") != pl.col("_target")))
        .sort("_key", "_gap", "bytes_big", "_target_text", descending=[False, False, True, False])
        .unique("_key", keep="first", maintain_order=True)
        .select("_key", "_target", "_target_text")
    )
    return move(every, chosen, on="_key")


def _beside(small: pl.DataFrame, big: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns small sets with the big ones that began nearest, some before and some after each.

    A poster may have thousands of sets under one head: not every pair is looked at.
    """
    small, big = small.drop_nulls("since"), big.drop_nulls("since")
    big = big.sort(*by, "since", "_target_text").with_columns(
        _place=pl.int_range(pl.len(), dtype=pl.Int64).over(by)
    )
    marks = pl.concat(
        [
            big.select(*by, "since", _key=pl.lit(None, small.schema["_key"]), _is_big=1),
            small.select(*by, "since", "_key", _is_big=0),
        ],
        how="vertical_relaxed",
    ).sort(*by, "since", "_is_big", descending=[False] * (len(by) + 1) + [True])
    before = marks.with_columns(_before=pl.col("_is_big").cum_sum().over(by).cast(pl.Int64))
    near = pl.DataFrame({"_step": range(-_BESIDE, _BESIDE)}, schema={"_step": pl.Int64})
    places = (
        before.filter(pl.col("_is_big") == 0)
        .select("_key", "_before")
        .join(near, how="cross")
        .select("_key", _place=pl.col("_before") + pl.col("_step"))
    )
    return small.join(places, on="_key").join(big, on=[*by, "_place"], suffix="_big")


def _posted_sets(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the files of each key as one, where they have one poster."""
    sets = rows.group_by("_key").agg(
        pl.col("_text").first(),
        pl.col("_is_sidecar").all().alias("sidecar"),
        pl.len().alias("files"),
        pl.col("size_bytes").sum().alias("bytes"),
        pl.col("first_posted_at").min().alias("since"),
        pl.col("last_posted_at").max().alias("until"),
        pl.col("_from_id").min().alias("from"),
        (pl.col("_from_id").min() == pl.col("_from_id").max()).alias("one_poster"),
        pl.col("_grade").max().alias("grade"),
    )
    return sets.filter(pl.col("one_poster") & (pl.col("from") != NO_FROM))
