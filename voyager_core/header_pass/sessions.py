"""Uploads seen as a whole: what the files of one upload show together and none alone.

Each step takes the files with their stated keys and moves some of them to the key of
another set. An upload is recognised by its counters: every number of `[i/N]` at most once,
sets in the order of their numbers, one poster. Where that is in doubt nothing is joined:
two releases made one cannot be taken apart again, and a later pass can still join them.
"""

import polars as pl

from voyager_core.domain.names import readable
from voyager_core.header_pass import heads, keys
from voyager_core.header_pass.going_on import session_numbers

LINKED = 2
"""Rank of a key that another file of the upload gave."""

NO_FROM = 0
"""The `_from_id` of a file whose From says nothing."""

_OF_UPLOADS = [
    *("_row", "_key", "_text", "_kind", "_rank", "_grade", "group", "generation"),
    *("_head", "_head_id", "_total", "_index", "_from_id", "_form", "_shown", "_shown_id"),
    *("_is_member", "_is_par2", "_is_piece", "_is_book", "_is_lone_archive", "parts_total"),
    *("first_number", "last_number", "first_posted_at", "last_posted_at"),
]
"""What joining files into uploads asks of them."""


def split_banners(rows: pl.DataFrame) -> pl.DataFrame:
    """Gives the files under a shared head back to their stems.

    A head is shared when numbers of its counter stand for files of different stems, or when
    different totals stand over different stems: no upload counts its files so.
    """
    headed = (
        rows.select(
            *("_key", "_total", "_index", "_stem_id", "_kind", "_is_sidecar", "generation"),
        )
        .filter(
            pl.col("_kind").is_in([keys.HEAD, keys.WORDS])
            & (pl.col("_total") > 1)
            & ~pl.col("_is_sidecar")
            & (pl.col("generation") == 0)
        )
        .select("_key", "_total", "_index", "_stem_id")
    )
    # Either way there are several stems.
    several = headed.group_by("_key").agg(
        several=pl.col("_stem_id").min() != pl.col("_stem_id").max()
    )
    headed = headed.join(several.filter("several"), on="_key", how="semi")
    if headed.is_empty():
        return rows
    clashing = (
        headed.group_by("_key", "_total", "_index")
        .agg(pl.col("_stem_id").n_unique().alias("stems"))
        .group_by("_key")
        .agg((pl.col("stems") > 1).sum().alias("clashes"), pl.len().alias("indexes"))
        .filter((pl.col("clashes") > 1) | ((pl.col("clashes") == 1) & (pl.col("indexes") < 5)))
        .select("_key")
    )
    by_total = (
        headed.group_by("_key", "_total")
        .agg(pl.len().alias("files"), pl.col("_stem_id").unique())
        .filter(pl.col("files") > 2)
        .group_by("_key")
        .agg(
            pl.len().alias("totals"),
            pl.col("_stem_id").list.len().sum().alias("stems"),
            pl.col("_stem_id").explode().n_unique().alias("distinct"),
        )
        .filter((pl.col("totals") > 1) & (pl.col("stems") == pl.col("distinct")))
        .select("_key")
    )
    shared = pl.concat([clashing, by_total]).unique()
    if shared.is_empty():
        return rows
    is_shared = pl.col("_key").is_in(shared["_key"].implode())
    rows = rows.with_columns(_shared=is_shared)
    return keys.with_keys(
        rows.with_columns(
            _kind=pl.when("_shared").then(keys.own_kind()).otherwise("_kind"),
            _grade=pl.when("_shared").then(pl.lit(heads.BANNER, pl.UInt8)).otherwise("_grade"),
            _rank=pl.when("_shared").then(0).otherwise("_rank"),
        ).drop("_shared")
    )


def join_words(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins the files under one head of plain words that together are one upload.

    An archive is keyed by its stem; the tracks, pictures and further archives beside it have
    only the head in common with it, and belong together when their numbers do not clash.
    """
    worded = rows.select(_OF_UPLOADS).filter(
        (pl.col("_grade") == heads.WORDS)
        & (pl.col("_total") > 1)
        & pl.col("_kind").is_in([keys.WORDS, keys.STEM])
    )
    files = counted(worded, ["_head_id", "_total"])
    if files.is_empty():
        return rows
    sets = _sets(files)
    uploads = _uploads(sets)
    one = (pl.len().over("_counter") == 1) & (pl.col("keys") > 1)
    chosen = uploads.filter(one & (pl.col("has_words") | pl.col("complete")))
    number, text = keys.words_key()
    moved = files.join(chosen.select("_counter"), on="_counter", how="semi")
    return move(rows, moved.select("_row", _target=number, _target_text=text), on="_row")


def join_counted(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins files that have nothing in common but the counter of their upload.

    One poster's `[1/8] … [8/8]` without a telling head: a video under a random name beside
    readable parity files, a disc structure, an album. Books and single archives, which are
    posted in floods under one counter, stay what they are; `own_books` tells when a book is of
    an upload all the same.
    """
    return _join_counted(rows, ["_head_id", "_total", "_from_id"])


def commonest(rows: pl.DataFrame, by: str, text: str) -> pl.DataFrame:
    """Returns the text that most rows of each group have; of equals the first in their order.

    Args:
        rows: with `TEXT_id`, a number for each text, where the text is long or has many rows.
        by: the column of the groups.
        text: the column of the texts.
    """
    number = f"{text}_id"
    rows = rows.select(
        by, text, pl.col(number) if number in rows.columns else pl.col(text).hash().alias(number)
    )
    counted = rows.group_by(by, number).agg(pl.col(text).first(), pl.len().alias("_rows"))
    return (
        counted.sort("_rows", text, descending=[True, False])
        .unique(by, keep="first", maintain_order=True)
        .drop("_rows")
    )


def counted_alone(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the files that only their counter can join to others."""
    files = rows.select(_OF_UPLOADS).filter(
        (pl.col("_grade") == heads.BANNER)
        & (pl.col("_total") > 1)
        & pl.col("_kind").is_in([keys.STEM, keys.LOOSE])
        & (pl.col("_rank") < LINKED)
    )
    if files["_is_lone_archive"].any():
        # A file that was posted again is still one.
        count = (pl.col("generation") == 0).sum().over("_key", "_total")
        files = files.filter(~(pl.col("_is_lone_archive") & (count <= 1)))
    return files


def _join_counted(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    files = counted(counted_alone(rows).filter(pl.col("_from_id") != NO_FROM), by)
    if files.is_empty():
        return rows
    sets = _sets(files).filter(~pl.col("doubtful"))
    upload = ["_counter", "_session"]
    whole = _uploads(sets).filter(pl.col("complete") & (pl.col("books") > 0) & own_books())
    whole = sets.join(whole.select(upload), on=upload)
    sets = sets.filter(~pl.col("book")).join(whole, on="_set", how="anti")
    uploads = _uploads(sets).filter(pl.col("keys") > 1)
    pieces = pl.col("has_pieces") & (pl.col("archives") < 2)
    parity = (pl.col("parity_sets") == 1) & (pl.col("archives") == 0)
    accepted = pl.col("complete") | pieces | parity
    joined = sets.join(uploads.filter(accepted).select(upload), on=upload)
    joined = pl.concat([whole, joined])
    if joined.is_empty():
        return rows
    shown = commonest(files.join(joined.select("_set"), on="_set", how="semi"), "_set", "_shown")
    joined = joined.join(shown, on="_set", how="left")
    # Every album of a poster has its `cover.jpg`: the key is that of a name which says more.
    shared = pl.struct(upload).n_unique().over("_counter", "_key") > 1
    length = pl.col("_shown").str.len_chars()
    target = (
        joined.with_columns(_readable=readable(joined["_shown"]), _shared=shared, _length=length)
        .sort(
            [*upload, "_readable", "members", "_shared", "_length", "low", "_text"],
            descending=[False, False, True, True, False, True, False, False],
        )
        .group_by(upload, maintain_order=True)
        .agg(_target=pl.col("_key").first(), _target_text=pl.col("_text").first())
    )
    moved = joined.select("_set", *upload).join(target, on=upload)
    rows_moved = files.select("_row", "_set").join(moved, on="_set")
    return move(rows, rows_moved.select("_row", "_target", "_target_text"), on="_row")


def own_books() -> pl.Expr:
    """Tells uploads, of which every file is there, whose books are no flood.

    There is one book at most, or one parity set over all of them that has the name of none.
    """
    of_all = (pl.col("parity_sets") == 1) & ~pl.col("books_with_parity")
    return (pl.col("books") < 2) | of_all


def counted(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns the rows under counters with several sets, numbered by `_counter` and `_set`.

    A set is the files of one key under one counter. Two albums have a `01 - Intro.mp3` each:
    the same name, posted twice, is two sets.
    """
    rows = rows.with_columns(_counter=pl.struct(by).hash())
    rows = rows.with_columns(_set=pl.struct("_counter", "_key", "generation").hash())
    several = rows.group_by("_counter").agg(several=pl.col("_set").min() != pl.col("_set").max())
    return rows.join(several.filter("several"), on="_counter", how="semi")


def _sets(files: pl.DataFrame) -> pl.DataFrame:
    """Returns the sets under each counter, with the session each is in."""
    sets = (
        files.group_by("_set")
        .agg(
            pl.col("_counter", "_key", "_text", "generation", "_total").first(),
            pl.col("_index").unique().alias("indexes"),
            pl.struct("first_number", "_index", "last_number").alias("files"),
            pl.col("_index").min().alias("low"),
            pl.col("_index").max().alias("high"),
            pl.col("first_number").min().alias("start"),
            pl.col("last_number").max().alias("end"),
            pl.col("first_posted_at").min().alias("since"),
            pl.col("last_posted_at").max().alias("until"),
            (pl.col("_kind") == keys.WORDS).any().alias("words"),
            pl.col("_is_member").sum().alias("members"),
            pl.col("_is_par2").any().alias("parity"),
            (pl.col("_is_member") & ~pl.col("_is_par2")).any().alias("archive"),
            pl.col("_is_piece").any().alias("pieces"),
            pl.col("_is_book").any().alias("book"),
        )
        .sort("_counter", "start", "low", "_text", "generation")
    )
    numbers, doubtful = session_numbers(sets.drop("files"), sets["files"])
    sets = sets.drop("files").with_columns(_session=pl.Series(numbers, dtype=pl.UInt32))
    doubt = pl.DataFrame(
        sorted(doubtful),
        schema={"_counter": sets.schema["_counter"], "_session": pl.UInt32},
        orient="row",
    ).with_columns(doubtful=True)
    sets = sets.join(doubt, on=["_counter", "_session"], how="left", maintain_order="left")
    return sets.with_columns(pl.col("doubtful").fill_null(value=False))


def _uploads(sets: pl.DataFrame) -> pl.DataFrame:
    """Returns what each session looks like as one upload."""
    return (
        sets.group_by("_counter", "_session")
        .agg(
            pl.col("_total").first(),
            pl.len().alias("keys"),
            pl.col("indexes").list.len().sum().alias("seen"),
            pl.col("low").min(),
            pl.col("high").max(),
            pl.col("words").any().alias("has_words"),
            pl.col("pieces").any().alias("has_pieces"),
            pl.col("archive").sum().alias("archives"),
            pl.col("parity").sum().alias("parity_sets"),
            pl.col("book").sum().alias("books"),
            (pl.col("book") & pl.col("parity")).any().alias("books_with_parity"),
        )
        .with_columns(
            complete=(pl.col("low") <= 1)
            & (pl.col("high") >= pl.col("_total"))
            & (pl.col("seen") == pl.col("high") - pl.col("low") + 1)
        )
    )


def move(rows: pl.DataFrame, moved: pl.DataFrame, *, on: str) -> pl.DataFrame:
    """Gives the rows that `moved` names their `_target` as key."""
    if moved.is_empty():
        return rows
    rows = rows.join(moved, on=on, how="left", maintain_order="left")
    goes = pl.col("_target").is_not_null()
    return rows.with_columns(
        _key=pl.when(goes).then("_target").otherwise("_key"),
        _text=pl.when(goes).then("_target_text").otherwise("_text"),
        _rank=pl.when(goes).then(LINKED).otherwise("_rank"),
    ).drop("_target", "_target_text")
