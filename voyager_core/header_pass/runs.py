"""Uploads of which every file has a name and a poster of its own: only the counter runs on.

`[1/51] "kYehJ8UJQj3O" … [51/51] "ybToYPTTvo8N"`, each From another one. Such files are joined
where they follow each other as one upload does: one number after the other, each beginning
where the one before ended, none missing but what lies beyond the span's edges. Where two
uploads with one total run side by side and a file could be of either, neither is joined.
"""

from datetime import timedelta

import polars as pl

import voyager_native
from voyager_core.domain.names import readable
from voyager_core.header_pass.going_on import PAUSE
from voyager_core.header_pass.sessions import counted, counted_alone, move, own_books

_BY = ["_head_id", "_total", "_form"]
_UPLOAD = ["_counter", "_run"]
_FOLLOWED = [
    *("_counter", "_set", "_index", "first_number", "last_number", "parts_total"),
    *("first_posted_at", "last_posted_at"),
]
_SWAPPED_FILES = 3
_OPEN_RUNS = 12
_EDGE_NUMBERS = 200
# A file is of the run that it is this many times nearer to than to any other.
_CLEARLY_NEARER = 4


def join_runs(rows: pl.DataFrame) -> pl.DataFrame:
    """Gives the files of each run of numbers one key."""
    files = counted(counted_alone(rows), _BY)
    if files.is_empty():
        return rows
    files = files.sort("_counter", "first_number", "_index", "_text", "generation")
    files = files.hstack(_runs(files))
    torn = pl.col("_run").min().over("_set") != pl.col("_run").max().over("_set")
    files = files.with_columns(_doubtful=pl.col("_doubtful") | torn)
    is_archive = pl.col("_is_member") & ~pl.col("_is_par2")
    files = files.with_columns(_book=pl.col("_is_book").any().over("_set"))
    runs = files.group_by(_UPLOAD).agg(
        pl.col("_total").first(),
        pl.col("_set").n_unique().alias("sets"),
        pl.len().alias("seen"),
        pl.col("_index").min().alias("low"),
        pl.col("_index").max().alias("high"),
        pl.col("first_number").min().alias("start"),
        pl.col("last_number").max().alias("end"),
        pl.col("_set").filter(is_archive).n_unique().alias("archives"),
        pl.col("_set").filter("_is_par2").n_unique().alias("parity_sets"),
        pl.col("_set").filter("_book").n_unique().alias("books"),
        (pl.col("_book") & pl.col("_is_par2")).any().alias("books_with_parity"),
        pl.col("_doubtful").any().alias("doubtful"),
        (pl.col("last_posted_at").max() - pl.col("first_posted_at").min() <= PAUSE).alias("brief"),
    )
    low, high = rows["first_number"].min(), rows["last_number"].max()
    extent = (pl.col("end") - pl.col("start")) // pl.col("seen")
    # A file that is not there at all ended before the span began, just before the next one did.
    near = pl.max_horizontal(extent, pl.lit(_EDGE_NUMBERS))
    begins, ends = pl.col("low") <= 1, pl.col("high") >= pl.col("_total")
    cut = (begins | (pl.col("start") - low <= near)) & (ends | (high - pl.col("end") <= near))
    one_content = (pl.col("archives") < 2) & (pl.col("parity_sets") == 0)
    accepted = runs.filter(
        (pl.col("sets") > 1)
        & (pl.col("_total") > 2)
        & (pl.col("seen") == pl.col("high") - pl.col("low") + 1)
        & ~pl.col("doubtful")
        & pl.col("brief").fill_null(value=True)
        & ((begins & ends & own_books()) | (cut & one_content & (pl.col("books") == 0)))
    ).with_columns(_whole=begins & ends)
    if accepted.is_empty():
        return rows
    files = files.join(accepted.select(*_UPLOAD, "_whole"), on=_UPLOAD)
    files = files.with_columns(_readable=readable(files["_shown"]))
    # A name that says something belongs to an upload that can be told by it.
    files = files.filter(pl.col("_whole") | ~pl.col("_readable").any().over(_UPLOAD))
    target = (
        files.sort(
            [*_UPLOAD, "_readable", "_is_member", "_index", "_text"],
            descending=[False, False, True, True, False, False],
        )
        .group_by(_UPLOAD, maintain_order=True)
        .agg(_target=pl.col("_key").first(), _target_text=pl.col("_text").first())
    )
    moved = files.join(target, on=_UPLOAD).select("_row", "_target", "_target_text")
    return move(rows, moved, on="_row")


def _runs(files: pl.DataFrame) -> pl.DataFrame:
    """Returns the `_run` of each file, and whether it might as well be of another (`_doubtful`)."""
    return pl.DataFrame(
        voyager_native.follow_runs(
            files.select(_FOLLOWED),
            pause_ms=PAUSE // timedelta(milliseconds=1),
            swapped_files=_SWAPPED_FILES,
            open_runs=_OPEN_RUNS,
            edge_numbers=_EDGE_NUMBERS,
            clearly_nearer=_CLEARLY_NEARER,
        )
    )
