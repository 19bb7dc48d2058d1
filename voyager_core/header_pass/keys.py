"""The texts from which release keys are made.

A key names its kind first, so that a stem can never be taken for a head. All of them stay
within one newsgroup: a crosspost has one owner, and a post to another group is a repost.
"""

import hashlib

import polars as pl

REQUEST, HEAD, WORDS, STEM, LOOSE = "request", "head", "words", "stem", "loose"


def key_text(kinds: pl.Series) -> pl.Expr:
    """Returns the key text of files of the given kinds, one a row."""
    texts = {
        REQUEST: _key(REQUEST, "_request"),
        HEAD: _key(HEAD, "_head"),
        WORDS: words_key(),
        STEM: _key(STEM, "_stem"),
    }
    # A name that says too little is told apart by all that stands around it.
    text = _key(LOOSE, "_stem", "_head", "_total", "_from")
    # Every branch is worked out for every row: those of absent kinds are left out.
    for kind in kinds.unique().to_list():
        if kind in texts:
            text = pl.when(pl.lit(kinds) == kind).then(texts[kind]).otherwise(text)
    return text


def words_key() -> pl.Expr:
    """Returns the key text of the kind WORDS, from a frame that has only its columns."""
    return _key(WORDS, "_head", "_total")


def own_kind() -> pl.Expr:
    """Returns the kind of a file when its head counts for nothing."""
    return pl.when("_is_specific").then(pl.lit(STEM)).otherwise(pl.lit(LOOSE))


def hashed(keys: pl.Series) -> pl.Series:
    """Returns the 64-bit key of each key text; stable for ever, unlike polars' own hash."""
    blake, place = hashlib.blake2b, int.from_bytes
    digests = [place(blake(key.encode(), digest_size=8).digest(), "big") for key in keys.to_list()]
    return pl.Series(digests, dtype=pl.UInt64)


def _key(kind: str, *columns: str) -> pl.Expr:
    return pl.concat_str([pl.col("group"), pl.lit(kind), *columns], separator="\n")
