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

from voyager_core.domain.generations import REPOST_WINDOW, repost_text
from voyager_core.domain.names import is_readable_name
from voyager_core.domain.titles import best_name
from voyager_core.header_pass import heads, keys, sessions, sidecars, stems
from voyager_core.header_pass.editions import numbered_posts
from voyager_core.header_pass.offers import is_between, texts_between, title_text
from voyager_core.header_pass.retries import SHARE, retries
from voyager_core.header_pass.runs import join_runs
from voyager_core.header_pass.schemas import IDENTIFIED, conform
from voyager_core.header_pass.sessions import NO_FROM, commonest

IDENTITY_VERSION = 4
"""Raised with every change that gives files other release keys."""

_STATED = 1
_READ = [
    "name",
    "head",
    "poster",
    "poster_constant",
    "first_message_id",
    "file_index",
    "file_total",
]
_OF_POSTS = ["_row", "_key", "session", "base_key", "generation", "is_fragment"]
_OF_EDITIONS = [
    *("_row", "_key", "session", "_name_id", "base_key", "generation", "_total", "_index"),
    *("_from_id", "first_number", "parts_found", "parts_total"),
]
_MOST_STEMS = 8
_OFFERED = ["shared", "track", "request", "_shown_head", "tail", "_between"]
_NEEDED = [
    *("file_key", "base_key", "generation", "subject", "name", "head", "tail", "request"),
    *("file_index", "file_total", "size_bytes", "poster", "poster_constant", "group"),
    *("first_posted_at", "last_posted_at", "first_number", "last_number", "first_message_id"),
    *("parts_total", "parts_found", "is_fragment", "flags"),
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
    return identified_with_kinds(files)[0]


def identified_with_kinds(files: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns what `identify_releases` does, and the `stems.KINDS` of each file."""
    # Sorted once, so that the first file of anything is the one with the lowest number.
    rows = files.select(_NEEDED).with_row_index("_row").sort("first_number", "file_key")
    # Every step copies the columns that there are.
    rows = _stated(_features(rows).drop(_READ))
    rows = sessions.split_banners(rows)
    rows = sessions.join_words(rows)
    rows = sessions.join_counted(rows)
    rows = join_runs(rows)
    rows = sidecars.join_sidecars(rows)
    rows = _split_reposts(rows)
    releases = _release_names(rows)
    releases = releases.with_columns(release_key=keys.hashed(releases["_text"]))
    found = rows.select("_row", "_key", "session", *stems.KINDS, release_rank="_rank").sort("_row")
    found = found.join(releases, on="_key", how="left", maintain_order="left")
    added = found.select(name for name in IDENTIFIED if name in found.columns)
    kinds = found.select(stems.KINDS)
    return conform(files.hstack(added), IDENTIFIED, what="identified files"), kinds


def _features(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds what names, heads and requests say.

    Texts that are compared have a number beside them (`_head` and `_head_id`).
    """
    # A head may be the file's own name: `f.part03.rar [4/9] - "f.part03.rar"`.
    shown = stems.features(rows["head"], is_file=False)
    head = heads.squeezed(shown["_shown"])
    request = heads.squeezed_requests(rows["request"])
    has_from = pl.col("poster_constant") & (pl.col("poster") != "")
    return rows.with_columns(
        stems.features(rows["name"]).drop("name").get_columns(),
        _shown_head=shown["_shown"],
        _shown_head_id=shown["_shown_id"],
        _grade=heads.grades(rows["head"]),
        _head=head["text"],
        _head_id=head["id"],
        _request=request["text"],
        _request_id=request["id"],
        _name_id=pl.when(pl.col("name") != "").then(pl.col("name").str.to_lowercase().hash()),
        _total=pl.col("file_total").fill_null(0),
        _index=pl.col("file_index").cast(pl.Int64).fill_null(-1),
        _from=pl.when(has_from).then("poster").otherwise(pl.lit("")),
        _from_id=pl.when(has_from).then(pl.col("poster").hash()).otherwise(NO_FROM),
        _form=_form(),
    )


def _form() -> pl.Expr:
    """Returns a number for what the files of one upload have in common whatever their names."""
    tool = pl.col("first_message_id")
    return (
        pl.col("subject").str.ends_with(")").cast(pl.UInt8)
        + tool.str.ends_with("@nyuu").cast(pl.UInt8) * 2
        + tool.str.ends_with("@ngPost").cast(pl.UInt8) * 4
    )


def _stated(rows: pl.DataFrame) -> pl.DataFrame:
    """Gives every file the key that it states by itself."""
    named = pl.col("_grade") == heads.NAME
    worded = pl.col("_grade") == heads.WORDS
    counted = pl.col("_total") > 1
    member = pl.col("_is_member") & pl.col("_is_specific")
    rows = rows.with_columns(
        _kind=pl.when(pl.col("_request") != "")
        .then(pl.lit(keys.REQUEST, pl.UInt8))
        .when(named)
        .then(pl.lit(keys.HEAD, pl.UInt8))
        .when(member)
        .then(pl.lit(keys.STEM, pl.UInt8))
        .when(worded & (counted | pl.col("_is_track")))
        .then(pl.lit(keys.WORDS, pl.UInt8))
        .otherwise(keys.own_kind())
    )
    own = (pl.col("_kind") == keys.LOOSE) | (
        (pl.col("_kind") == keys.STEM) & ~pl.col("_is_member") & ~pl.col("_is_sidecar")
    )
    return keys.with_keys(rows.with_columns(_rank=pl.when(own).then(0).otherwise(_STATED)))


def _split_reposts(rows: pl.DataFrame) -> pl.DataFrame:
    """Sets apart what was posted again: a session later than the window, the same parts twice.

    The same parts within one session get a key of their own, because the times of both posts
    run into each other and nothing else would tell them apart later.
    """
    rows = _with_sessions(rows)
    again = _numbered_posts(rows)
    if again.is_empty():
        return rows
    rows = rows.join(again, on="_row", how="left", maintain_order="left")
    key = pl.struct(pl.lit("again"), "_key", "_again").hash()
    is_again = pl.col("_again") > 0
    posts = rows.filter(is_again).select("_key", "_text", "_again").unique(["_key", "_again"])
    numbered = zip(keys.hashed(posts["_text"]), posts["_again"], strict=True)
    texts = pl.Series([repost_text(first, number) for first, number in numbered], dtype=pl.String)
    posts = posts.select("_key", "_again", _again_text=texts)
    rows = rows.join(posts, on=["_key", "_again"], how="left", maintain_order="left")
    return rows.with_columns(
        _key=pl.when(is_again).then(key).otherwise("_key"),
        _text=pl.coalesce("_again_text", "_text"),
    ).drop("_again_text")


def _with_sessions(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the session of every file; most keys have one only."""
    first, last = pl.col("first_posted_at"), pl.col("last_posted_at")
    # No silence is longer than all the time in which files of a key were posted.
    brief = (first.null_count() + last.null_count() == 0) & (
        first.max() - last.min() <= REPOST_WINDOW
    )
    one = rows.with_columns(session=pl.lit(0, pl.UInt32))
    if rows.select(brief).item():
        return one
    spread = rows.group_by("_key").agg(_brief=brief).filter(~pl.col("_brief"))
    doubtful = rows.select(
        *("_row", "_key", "file_key", "first_number", "first_posted_at", "last_posted_at")
    ).join(spread, on="_key", how="semi")
    if doubtful.is_empty():
        return one
    doubtful = doubtful.sort("_key", "first_number", "file_key").with_columns(
        _at=first.forward_fill().backward_fill().over("_key"),
        _until=last.forward_fill().backward_fill().over("_key"),
    )
    doubtful = doubtful.sort("_key", "_at", "first_number", "file_key").with_columns(
        _silence=pl.col("_at") - pl.col("_until").cum_max().shift(1).over("_key")
    )
    late = (pl.col("_silence") > REPOST_WINDOW).fill_null(value=False)
    sessions_of = doubtful.select("_row", session=late.cum_sum().over("_key"))
    return rows.join(sessions_of, on="_row", how="left", maintain_order="left").with_columns(
        pl.col("session").fill_null(0)
    )


def _numbered_posts(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns which post of its session a file is (`_again`), where there may be several."""
    again, edition = _posted_again(rows), _editions(rows)
    if edition.is_empty():
        return again
    posts = edition.join(again, on="_row", how="full", coalesce=True)
    # What was merely sent again is of no edition, and behind them all.
    behind = pl.col("_again") + pl.col("_editions").fill_null(1) - 1
    return posts.select("_row", _again=pl.coalesce("_edition", behind).cast(pl.UInt32))


def _editions(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the `_edition` of files and how many there are, where names are there twice."""
    files = rows.filter(~pl.col("is_fragment")).select(_OF_EDITIONS)
    files = files.with_columns(fullest=pl.col("parts_found").max().over("base_key"))
    return numbered_posts(
        files.with_columns(_sent_again=retries(SHARE), _file=pl.col("base_key")), "_key"
    )


def _posted_again(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns which post of the same parts in its session a file is, where there are several."""
    several = rows.select("base_key", "generation").filter(pl.col("generation") > 0)
    several = several.select("base_key").unique()
    # Of which post a cut file is shows when it is put together.
    posts = rows.select(_OF_POSTS).filter(~pl.col("is_fragment"))
    posts = posts.join(several, on="base_key", how="semi")
    # The engine puts what was merely sent again behind the posts, so that it moves none of them.
    generation = pl.col("generation").cast(pl.UInt32)
    rank = generation.rank("dense").over("_key", "session", "base_key").cast(pl.UInt32)
    return posts.select("_row", _again=rank - 1)


def _release_names(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the name of each release, chosen among what its files offer."""
    offered = rows.group_by("_key", "_shown_id").agg(
        pl.col("_shown").first(),
        pl.len().alias("files"),
        pl.col("_is_member").any().alias("member"),
        pl.col("_is_track").any().alias("track"),
        pl.col("_is_sidecar").all().alias("sidecar"),
        pl.col("size_bytes").sum().alias("bytes"),
    )
    offers = rows.group_by("_key").agg(
        pl.col("_text", "subject").first(),
        (pl.col("_shown_id").min() == pl.col("_shown_id").max()).alias("one"),
    )
    titles = rows.select("_key", "_shown_head", "_shown_head_id", "_grade")
    tails = rows.select("_key", "tail", "flags")
    for text in (
        _first_requests(rows.select("_key", "request", "_request")),
        commonest(titles.filter(pl.col("_grade") > heads.BANNER), "_key", "_shown_head"),
        commonest(tails.filter((pl.col("tail") != "") & ~is_between()), "_key", "tail"),
        texts_between(tails),
    ):
        offers = offers.join(text, on="_key", how="left", maintain_order="left")
    texts = ["request", "_shown_head", "tail", "_between"]
    offers = offers.with_columns(pl.col(texts).fill_null(""))
    few, many = offers.filter("one"), offers.filter(~pl.col("one"))
    named = pl.concat([_names_of_one(few, offered), _names_of_many(many, offered)])
    # Nothing is named by nobody: then the subject has to do.
    names = [
        name or subject.strip()[:200] for name, subject in named.select("_name", "subject").rows()
    ]
    return named.select("_key", "_text", release_name=pl.Series(names, dtype=pl.String))


def _first_requests(rows: pl.DataFrame) -> pl.DataFrame:
    asked = rows.filter(pl.col("_request") != "")
    return asked.group_by("_key").agg(pl.col("request").first())


def _names_of_one(offers: pl.DataFrame, offered: pl.DataFrame) -> pl.DataFrame:
    """Returns the offers with the `_name` of the releases all of whose files offer one stem."""
    said = ["_shown", *_OFFERED]
    offers = offers.join(offered, on="_key", how="left", maintain_order="left").with_columns(
        shared=pl.lit(value=True), track=pl.col("track") & (pl.col("files") > 1)
    )
    # Posts of one name under many random From offer the same again and again.
    offers = offers.with_columns(_said=pl.struct(said).hash())
    distinct = offers.select("_said", *said).unique("_said", keep="any")
    chosen = [_chosen([shown], tuple(rest)) for shown, *rest in distinct.select(said).rows()]
    names = distinct.select("_said", _name=pl.Series(chosen, dtype=pl.String))
    return offers.join(names, on="_said", how="left").select("_key", "_text", "subject", "_name")


def _names_of_many(offers: pl.DataFrame, offered: pl.DataFrame) -> pl.DataFrame:
    """Returns the offers with the `_name` of the releases whose files offer several stems."""
    stems_shown = (
        offered.join(offers.select("_key"), on="_key", how="semi")
        .sort(
            ["_key", "sidecar", "track", "files", "bytes", "_shown"],
            descending=[False, False, False, True, True, False],
        )
        .group_by("_key", maintain_order=True)
        .agg(
            pl.col("_shown").head(_MOST_STEMS),
            (pl.col("member").first() | (pl.col("files").first() > 1)).alias("shared"),
            pl.col("track").first() & (pl.col("files").sum() > 1),
        )
    )
    offers = offers.join(stems_shown, on="_key", how="left", maintain_order="left")
    chosen = [
        _chosen(shown, tuple(rest)) for shown, *rest in offers.select("_shown", *_OFFERED).rows()
    ]
    return offers.select("_key", "_text", "subject", _name=pl.Series(chosen, dtype=pl.String))


def _chosen(stems_shown: list[str], offer: tuple[bool, bool, str, str, str, str]) -> str:
    is_shared, is_track, request, head, tail, between = offer
    shown = [text for text in stems_shown if text]
    stem = next((text for text in shown if is_readable_name(text)), "")
    if not stem:
        stem = shown[0] if shown else ""
    else:
        is_shared = is_shared and not is_track and stem == shown[0]
    title = title_text(head, between)
    name = best_name(request, title, stem, is_shared_stem=is_shared, tail=tail or between)
    return name.strip()
