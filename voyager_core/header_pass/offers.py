"""Titles that stand between the file counter and the name.

`[REPOST][Crew presents](44/54) - Some Film 2012 720p x264 - "crew-sf.rar"`: the poster's phrase
stands before the counter, and the title after it.
"""

from functools import lru_cache

import polars as pl

import voyager_native
from voyager_core.domain.titles import scene_name, title_in, worth

_BETWEEN = voyager_native.FILE_FLAGS["tail_between"]
# `Some.Show.S09 (001/179) - Description - "…`: a remark must not take a title's place.
_CLEARLY_MORE = 3


def is_between() -> pl.Expr:
    """Tells files whose `tail` stands between the file counter and the name."""
    return (pl.col("flags") & _BETWEEN) != 0


def texts_between(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the text between counter and name (`_between`) of each `_key` whose files share one.

    A text that differs from file to file is about the file and names no release.

    Args:
        rows: files with `_key`, `flags` and `tail`.
    """
    between = is_between()
    keys = rows.filter(between).select("_key").unique()
    texts = (
        rows.join(keys, on="_key", how="semi")
        .group_by("_key")
        .agg(
            pl.col("tail").filter(between).first().alias("_between"),
            pl.col("tail").filter(between).n_unique().alias("_texts"),
            (between.sum() * 2 > pl.len()).alias("_is_usual"),
        )
    )
    return texts.filter((pl.col("_texts") == 1) & pl.col("_is_usual")).select("_key", "_between")


@lru_cache(maxsize=16384)
def title_text(head: str, between: str) -> str:
    """Returns the text that names the release: that before the counter, or that after it."""
    if not between or scene_name(head):
        return head
    own, other = worth(title_in(head)), worth(title_in(between))
    return between if other >= own + _CLEARLY_MORE else head
