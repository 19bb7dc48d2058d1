"""The texts from which release keys are made.

A key names its kind first, so that a stem can never be taken for a head. All of them stay
within one newsgroup: a crosspost has one owner, and a post to another group is a repost.
"""

import polars as pl

import voyager_native

REQUEST, HEAD, WORDS, STEM, LOOSE = range(5)
"""Kinds of keys, as small numbers: these are compared row by row."""

_NAMES = {REQUEST: "request", HEAD: "head", WORDS: "words", STEM: "stem", LOOSE: "loose"}
_COLUMNS = {
    REQUEST: ("_request",),
    HEAD: ("_head",),
    WORDS: ("_head", "_total"),
    STEM: ("_stem",),
    # A name that says too little is told apart by all that stands around it.
    LOOSE: ("_stem", "_head", "_total", "_from"),
}
# Texts are compared by their numbers, which every row carries beside them.
_NUMBERS = {
    "_request": "_request_id",
    "_head": "_head_id",
    "_total": "_total",
    "_stem": "_stem_id",
    "_from": "_from_id",
}


def with_keys(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with the key of their `_kind`: its text, and `_key`, a number for it.

    The numbers hold within one process only: they are grouped and joined far faster than
    texts. The texts are put together once for a distinct key.
    """
    numbers = _number(LOOSE)
    for kind in (REQUEST, HEAD, WORDS, STEM):
        numbers = pl.when(pl.col("_kind") == kind).then(_number(kind)).otherwise(numbers)
    rows = rows.drop("_key", "_text", strict=False).with_columns(_key=numbers)
    named = {name for names in _COLUMNS.values() for name in names}
    distinct = rows.select("_key", "_kind", "group", *sorted(named)).unique("_key", keep="any")
    texts = [
        of_kind.select("_key", _text=_text(kind))
        for kind in _NAMES
        if (of_kind := distinct.filter(pl.col("_kind") == kind)).height
    ]
    if not texts:
        return rows.with_columns(_text=pl.lit("", pl.String))
    return rows.join(pl.concat(texts), on="_key", how="left", maintain_order="left")


def words_key() -> tuple[pl.Expr, pl.Expr]:
    """Returns number and text of the key of the kind WORDS, from rows that have its columns."""
    return _number(WORDS), _text(WORDS)


def own_kind() -> pl.Expr:
    """Returns the kind of a file when its head counts for nothing."""
    return pl.when("_is_specific").then(pl.lit(STEM, pl.UInt8)).otherwise(pl.lit(LOOSE, pl.UInt8))


def hashed(keys: pl.Series) -> pl.Series:
    """Returns the 64-bit key of each key text; stable for ever, unlike polars' own hash."""
    return pl.DataFrame(voyager_native.text_keys(keys.to_frame("text"), "text")).to_series()


def _number(kind: int) -> pl.Expr:
    return pl.struct(
        pl.lit(kind, pl.UInt8).alias("kind"), *(_NUMBERS[name] for name in _COLUMNS[kind])
    ).hash()


def _text(kind: int) -> pl.Expr:
    return pl.concat_str([pl.col("group"), pl.lit(_NAMES[kind]), *_COLUMNS[kind]], separator="\n")
