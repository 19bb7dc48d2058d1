"""Which files belong together: the release of every file of a span.

The key of a release is a function of what each of its files says on its own (a request, a
head that names the release, the stem of an archive), so that it does not matter how a group
is cut into spans, or in which order these are indexed. What one file cannot say is decided
on the set (`sessions`): heads shared by different uploads are banners, files that only carry
a number of an upload join the archive or the parity set around them.

The From is asked only where a name is too common to identify anything, and only where it is
constant within the file.
"""

from typing import Any

import polars as pl

from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.domain.names import best_name, is_readable_name
from voyager_core.header_pass import heads, keys, sessions, stems
from voyager_core.header_pass.schemas import IDENTIFIED, conform

IDENTITY_VERSION = 1
"""Raised with every change that gives files other release keys."""

_SPECIFIC_LENGTH = 8
_NO_REQUEST = r"(?i)^(?:re-?post(?:ed)?|fills?|full|pars?|par2)$"
_STATED = 1
_NEEDED = [
    *("file_key", "base_key", "generation", "subject", "name", "head", "tail", "request"),
    *("file_index", "file_total", "size_bytes", "poster", "poster_constant", "group"),
    *("first_posted_at", "last_posted_at", "first_number", "last_number"),
]


def identify_releases(files: pl.DataFrame) -> pl.DataFrame:
    """Returns the files with `release_key`, `session`, `release_rank` and `release_name`.

    The rank tells how the key was found: 0 by the file's own name alone, 1 stated by the file,
    2 given by other files of its upload. The result does not depend on the order of the rows.

    Args:
        files: the engine's files of one span and group.

    Raises:
        SchemaMismatchError: the frame lacks columns of the files contract.
    """
    rows = _stated(_features(files.select(_NEEDED).with_row_index("_row")))
    rows = sessions.split_banners(rows)
    rows = sessions.join_words(rows)
    rows = sessions.join_counted(rows)
    rows = sessions.join_sidecars(rows)
    rows = _split_reposts(rows)
    releases = _release_names(rows).join(keys.hashed(rows["_key"].unique()), on="_key")
    found = rows.select("_row", "_key", "session", release_rank="_rank").sort("_row")
    found = found.join(releases, on="_key", how="left", maintain_order="left")
    added = found.select(name for name in IDENTIFIED if name in found.columns)
    return conform(files.hstack(added), IDENTIFIED, what="identified files")


def _features(files: pl.DataFrame) -> pl.DataFrame:
    """Adds what names and heads say, each worked out once for a distinct text."""
    rows = files.join(_of_names(files["name"].unique()), on="name", how="left")
    rows = rows.join(_of_heads(files["head"].unique()), on="head", how="left")
    return rows.with_columns(
        _total=pl.col("file_total").fill_null(0),
        _index=pl.col("file_index").cast(pl.Int64).fill_null(-1),
        _from=pl.when("poster_constant").then("poster").otherwise(pl.lit("")),
        _request=_squeezed(pl.col("request").str.replace(_NO_REQUEST, "")),
    )


def _of_names(names: pl.Series) -> pl.DataFrame:
    shown = stems.display_stem(names)
    stem = stems.key_form(shown)
    is_track = stems.is_track(names)
    letters = stem.str.count_matches(r"[\p{L}\p{N}]")
    return pl.DataFrame(
        {
            "name": names,
            "_stem": stem,
            "_shown": shown,
            "_is_member": stems.is_member(names),
            "_is_lone_archive": stems.is_lone_archive(names),
            "_is_par2": stems.is_par2(names),
            "_is_sidecar": stems.is_sidecar(names),
            "_is_track": is_track,
            "_is_piece": stems.is_piece(names),
            "_is_book": stems.is_book(names),
            "_is_specific": (letters >= _SPECIFIC_LENGTH) & ~is_track,
        }
    )


def _of_heads(texts: pl.Series) -> pl.DataFrame:
    # A head may be the file's own name: `f.part03.rar [4/9] - "f.part03.rar"`.
    return pl.DataFrame({"head": texts, "_shown_head": stems.display_stem(texts)}).with_columns(
        _grade=heads.grade(pl.col("head")), _head=_squeezed(pl.col("_shown_head"))
    )


def _squeezed(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(r"[\s._]+", " ").str.strip_chars(" -[](){}<>")


def _stated(rows: pl.DataFrame) -> pl.DataFrame:
    """Gives every file the key that it states by itself."""
    named = pl.col("_grade") == heads.NAME
    worded = pl.col("_grade") == heads.WORDS
    counted = pl.col("_total") > 1
    member = pl.col("_is_member") & pl.col("_is_specific")
    rows = rows.with_columns(
        _kind=pl.when(pl.col("_request") != "")
        .then(pl.lit(keys.REQUEST))
        .when(named)
        .then(pl.lit(keys.HEAD))
        .when(member)
        .then(pl.lit(keys.STEM))
        .when(worded & (counted | pl.col("_is_track")))
        .then(pl.lit(keys.WORDS))
        .otherwise(keys.own_kind())
    )
    own = (pl.col("_kind") == keys.LOOSE) | (
        (pl.col("_kind") == keys.STEM) & ~pl.col("_is_member") & ~pl.col("_is_sidecar")
    )
    return rows.with_columns(
        _key=keys.key_text(pl.col("_kind")), _rank=pl.when(own).then(0).otherwise(_STATED)
    )


def _split_reposts(rows: pl.DataFrame) -> pl.DataFrame:
    """Sets apart what was posted again: a session later than the window, the same parts twice.

    The same parts within one session get a key of their own, because the times of both posts
    run into each other and nothing else would tell them apart later.
    """
    rows = rows.sort("_key", "first_number", "file_key").with_columns(
        _at=pl.col("first_posted_at").forward_fill().backward_fill().over("_key"),
        _until=pl.col("last_posted_at").forward_fill().backward_fill().over("_key"),
    )
    rows = rows.sort("_key", "_at", "first_number", "file_key").with_columns(
        _silence=pl.col("_at") - pl.col("_until").cum_max().shift(1).over("_key")
    )
    late = (pl.col("_silence") > REPOST_WINDOW).fill_null(value=False)
    rows = rows.with_columns(session=late.cum_sum().over("_key")).with_columns(
        _again=pl.col("generation").rank("dense").over("_key", "session", "base_key") - 1
    )
    again = pl.concat_str(["_key", pl.lit("again"), "_again"], separator="\n")
    return rows.with_columns(_key=pl.when(pl.col("_again") > 0).then(again).otherwise("_key"))


def _release_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the name of each release, chosen among what its files offer."""
    offered = (
        rows.group_by("_key", "_shown")
        .agg(
            pl.len().alias("files"),
            pl.col("_is_member").any().alias("member"),
            pl.col("_is_track").any().alias("track"),
            pl.col("_is_sidecar").all().alias("sidecar"),
            pl.col("size_bytes").sum().alias("bytes"),
        )
        .sort(
            ["_key", "sidecar", "track", "files", "bytes", "_shown"],
            descending=[False, False, False, True, True, False],
        )
        .group_by("_key", maintain_order=True)
        .agg(
            pl.col("_shown").head(8),
            (pl.col("member").first() | (pl.col("files").first() > 1) | (pl.len() == 1)).alias(
                "shared"
            ),
            pl.col("track").first() & (pl.col("files").sum() > 1),
        )
    )
    texts = (
        rows.sort("_key", "first_number", "file_key")
        .group_by("_key", maintain_order=True)
        .agg(
            pl.col("request").filter(pl.col("_request") != "").first().fill_null(""),
            pl.col("_shown_head")
            .filter(pl.col("_grade") > heads.BANNER)
            .mode()
            .sort()
            .first()
            .fill_null("")
            .alias("head"),
            pl.col("tail").filter(pl.col("tail") != "").mode().sort().first().fill_null(""),
            pl.col("subject").first(),
        )
    )
    offers = texts.join(offered, on="_key", how="left")
    names = [_chosen(offer) for offer in offers.iter_rows(named=True)]
    return offers.select("_key", release_name=pl.Series(names, dtype=pl.String))


def _chosen(offer: dict[str, Any]) -> str:
    shown: list[str] = [text for text in offer["_shown"] if text]
    stem = next((text for text in shown if is_readable_name(text)), "")
    is_shared = bool(offer["shared"])
    if not stem:
        stem = shown[0] if shown else ""
    else:
        is_shared = is_shared and not offer["track"] and stem == shown[0]
    name = best_name(
        offer["request"], offer["head"], stem, is_shared_stem=is_shared, tail=offer["tail"]
    )
    subject: str = offer["subject"]
    return name.strip() or subject.strip()[:200]
