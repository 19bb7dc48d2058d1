"""Which files belong together: the release of every file of a span.

The key of a release is a function of what each of its files says on its own (a request, a
head that names the release, the stem of an archive), so that it does not matter how a group
is cut into spans, or in which order these are indexed. What one file cannot say is decided
on the set (`sessions`): heads shared by different uploads are banners, files that only carry
a number of an upload join the archive or the parity set around them.

The From is asked only where a name is too common to identify anything, and only where it is
constant within the file.
"""

import polars as pl

from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.domain.names import best_name, is_readable_name
from voyager_core.header_pass import heads, keys, sessions, stems
from voyager_core.header_pass.schemas import IDENTIFIED, conform
from voyager_core.header_pass.sessions import commonest

IDENTITY_VERSION = 1
"""Raised with every change that gives files other release keys."""

_SPECIFIC_LENGTH = 8
_NO_REQUEST = r"(?i)^(?:re-?post(?:ed)?|fills?|full|pars?|par2)$"
_STATED = 1
_MOST_STEMS = 8
_OFFERED = ["shared", "track", "request", "_shown_head", "tail"]
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
    releases = _release_names(rows)
    releases = releases.with_columns(release_key=keys.hashed(releases["_key"]))
    found = rows.select("_row", "_id", "session", release_rank="_rank").sort("_row")
    found = found.join(releases, on="_id", how="left", maintain_order="left")
    added = found.select(name for name in IDENTIFIED if name in found.columns)
    return conform(files.hstack(added), IDENTIFIED, what="identified files")


def _features(files: pl.DataFrame) -> pl.DataFrame:
    """Adds what names and heads say, each worked out once for a distinct text."""
    rows = files.with_columns(_request=stems.once(files["request"], _key_of_request))
    rows = rows.join(_of_names(files["name"].unique()), on="name", how="left")
    rows = rows.join(_of_heads(files["head"].unique()), on="head", how="left")
    return rows.with_columns(
        _total=pl.col("file_total").fill_null(0),
        _index=pl.col("file_index").cast(pl.Int64).fill_null(-1),
        _from=pl.when("poster_constant").then("poster").otherwise(pl.lit("")),
    )


def _of_names(names: pl.Series) -> pl.DataFrame:
    shown = stems.display_stem(names)
    stem = stems.once(shown, stems.key_form)
    is_track = stems.is_track(names)
    letters = stems.once(stem, lambda text: text.str.count_matches(r"[\p{L}\p{N}]"))
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


def _key_of_request(requests: pl.Series) -> pl.Series:
    plain = (
        requests.alias("text")
        .to_frame()
        .select(_squeezed(pl.col("text").str.replace(_NO_REQUEST, "")))
    )
    return plain.to_series()


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
        _key=keys.key_text(rows["_kind"]), _rank=pl.when(own).then(0).otherwise(_STATED)
    )


def _split_reposts(rows: pl.DataFrame) -> pl.DataFrame:
    """Sets apart what was posted again: a session later than the window, the same parts twice.

    The same parts within one session get a key of their own, because the times of both posts
    run into each other and nothing else would tell them apart later.
    """
    # Numbers are sorted and grouped far faster than the texts of keys.
    numbers = rows.select(pl.col("_key").unique()).with_row_index("_id")
    rows = rows.join(numbers, on="_key", how="left")
    rows = rows.join(_sessions(rows), on="_row", how="left").with_columns(
        pl.col("session").fill_null(0)
    )
    rows = rows.join(_posted_again(rows), on="_row", how="left")
    again = pl.concat_str(["_key", pl.lit("again"), "_again"], separator="\n")
    number = pl.col("_again").fill_null(0).cast(pl.UInt64) * numbers.height
    return rows.with_columns(
        _key=pl.when(pl.col("_again") > 0).then(again).otherwise("_key"),
        _id=pl.col("_id") + number,
    )


def _sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the session of every file whose key may have more than one."""
    first, last = pl.col("first_posted_at"), pl.col("last_posted_at")
    # No silence is longer than all the time in which files of a key were posted.
    brief = (first.null_count() + last.null_count() == 0) & (
        first.max() - last.min() <= REPOST_WINDOW
    )
    spread = rows.group_by("_id").agg(_brief=brief).filter(~pl.col("_brief"))
    doubtful = rows.select(
        *("_row", "_id", "file_key", "first_number", "first_posted_at", "last_posted_at")
    ).join(spread, on="_id", how="semi")
    doubtful = doubtful.sort("_id", "first_number", "file_key").with_columns(
        _at=first.forward_fill().backward_fill().over("_id"),
        _until=last.forward_fill().backward_fill().over("_id"),
    )
    doubtful = doubtful.sort("_id", "_at", "first_number", "file_key").with_columns(
        _silence=pl.col("_at") - pl.col("_until").cum_max().shift(1).over("_id")
    )
    late = (pl.col("_silence") > REPOST_WINDOW).fill_null(value=False)
    return doubtful.select("_row", session=late.cum_sum().over("_id"))


def _posted_again(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns which post of the same parts in its session a file is, where there are several."""
    several = rows.filter(pl.col("generation") > 0).select("base_key").unique()
    rank = pl.col("generation").rank("dense").over("_id", "session", "base_key")
    posts = rows.select("_row", "_id", "session", "base_key", "generation")
    return posts.join(several, on="base_key", how="semi").select("_row", _again=rank - 1)


def _release_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the name of each release, chosen among what its files offer."""
    offered = (
        rows.group_by("_id", "_shown")
        .agg(
            pl.len().alias("files"),
            pl.col("_is_member").any().alias("member"),
            pl.col("_is_track").any().alias("track"),
            pl.col("_is_sidecar").all().alias("sidecar"),
            pl.col("size_bytes").sum().alias("bytes"),
        )
        .sort(
            ["_id", "sidecar", "track", "files", "bytes", "_shown"],
            descending=[False, False, False, True, True, False],
        )
    )
    offers = offered.group_by("_id", maintain_order=True).agg(
        pl.len().alias("count"),
        (pl.col("member").first() | (pl.col("files").first() > 1) | (pl.len() == 1)).alias(
            "shared"
        ),
        pl.col("track").first() & (pl.col("files").sum() > 1),
    )
    lowest = (
        rows.select("_id", "_key", "subject", "request", "_request", "first_number", "file_key")
        .sort("_id", "first_number", "file_key")
        .select("_id", "_key", "subject", "request", "_request")
    )
    requests = lowest.filter(pl.col("_request") != "").select("_id", "request")
    texts = [
        lowest.select("_id", "_key", "subject").unique("_id", keep="first", maintain_order=True),
        requests.unique("_id", keep="first", maintain_order=True),
        commonest(rows.filter(pl.col("_grade") > heads.BANNER), "_id", "_shown_head"),
        commonest(rows.filter(pl.col("tail") != ""), "_id", "tail"),
    ]
    for text in texts:
        offers = offers.join(text, on="_id", how="left", maintain_order="left")
    offers = offers.with_columns(pl.col("request", "_shown_head", "tail").fill_null(""))
    shown = offered["_shown"].to_list()
    names: list[str] = []
    # Posts of one name under many random From offer the same again and again.
    chosen: dict[tuple[object, ...], str] = {}
    start = 0
    counted = offers.select("count", "subject").iter_rows()
    for (count, subject), offer in zip(counted, offers.select(_OFFERED).iter_rows(), strict=True):
        own = shown[start : start + min(count, _MOST_STEMS)]
        start += count
        said = (*own, *offer)
        name = chosen.get(said)
        if name is None:
            name = chosen[said] = _chosen(own, offer)
        names.append(name or subject.strip()[:200])
    return offers.select("_id", "_key", release_name=pl.Series(names, dtype=pl.String))


def _chosen(stems_shown: list[str], offer: tuple[bool, bool, str, str, str]) -> str:
    is_shared, is_track, request, head, tail = offer
    shown = [text for text in stems_shown if text]
    stem = next((text for text in shown if is_readable_name(text)), "")
    if not stem:
        stem = shown[0] if shown else ""
    else:
        is_shared = is_shared and not is_track and stem == shown[0]
    name = best_name(request, head, stem, is_shared_stem=is_shared, tail=tail)
    return name.strip()
