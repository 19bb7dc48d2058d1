"""Uploads seen as a whole: what the files of one upload show together and none alone.

Each step takes the files with their stated keys and moves some of them to the key of
another set. An upload is recognised by its counters: every number of `[i/N]` at most once,
sets in the order of their numbers, one poster. Where that is in doubt nothing is joined:
two releases made one cannot be taken apart again, and a later pass can still join them.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from voyager_core.domain.names import is_readable_name
from voyager_core.header_pass import heads, keys

LINKED = 2
"""Rank of a key that another file of the upload gave."""

PAUSE = timedelta(hours=6)
"""A longer silence inside one upload means two."""

# Two albums have a `01 - Intro.mp3` each: the same name, posted twice.
_SET = ["_key", "generation"]

_OPEN_SESSIONS = 8
_SWAPPED_FILES = 3
_SWAPPED_NUMBERS = 60
_SIDECAR_SECONDS = 600
_SIDECAR_BYTES = 1_000_000
_SIDECAR_FILES = 3


def split_banners(rows: pl.DataFrame) -> pl.DataFrame:
    """Gives the files under a shared head back to their stems.

    A head is shared when numbers of its counter stand for files of different stems, or when
    different totals stand over different stems: no upload counts its files so.
    """
    headed = rows.filter(
        pl.col("_kind").is_in([keys.HEAD, keys.WORDS])
        & (pl.col("_total") > 1)
        & ~pl.col("_is_sidecar")
        & (pl.col("generation") == 0)
    )
    clashing = (
        headed.group_by("_key", "_total", "_index")
        .agg(pl.col("_stem").n_unique().alias("stems"))
        .group_by("_key")
        .agg((pl.col("stems") > 1).sum().alias("clashes"), pl.len().alias("indexes"))
        .filter((pl.col("clashes") > 1) | ((pl.col("clashes") == 1) & (pl.col("indexes") < 5)))
        .select("_key")
    )
    by_total = (
        headed.group_by("_key", "_total")
        .agg(pl.len().alias("files"), pl.col("_stem").unique())
        .filter(pl.col("files") > 2)
        .group_by("_key")
        .agg(
            pl.len().alias("totals"),
            pl.col("_stem").list.len().sum().alias("stems"),
            pl.col("_stem").explode().n_unique().alias("distinct"),
        )
        .filter((pl.col("totals") > 1) & (pl.col("stems") == pl.col("distinct")))
        .select("_key")
    )
    shared = pl.concat([clashing, by_total]).unique().with_columns(_shared=True)
    if shared.is_empty():
        return rows
    rows = rows.join(shared, on="_key", how="left").with_columns(
        _kind=pl.when("_shared").then(keys.own_kind()).otherwise("_kind"),
        _grade=pl.when("_shared").then(pl.lit(heads.BANNER, pl.UInt8)).otherwise("_grade"),
        _rank=pl.when("_shared").then(0).otherwise("_rank"),
    )
    own = keys.key_text(rows["_kind"])
    return rows.with_columns(_key=pl.when("_shared").then(own).otherwise("_key")).drop("_shared")


def join_words(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins the files under one head of plain words that together are one upload.

    An archive is keyed by its stem; the tracks, pictures and further archives beside it have
    only the head in common with it, and belong together when their numbers do not clash.
    """
    by = ["group", "_head", "_total"]
    where = (
        (pl.col("_grade") == heads.WORDS)
        & (pl.col("_total") > 1)
        & pl.col("_kind").is_in([keys.WORDS, keys.STEM])
    )
    sets = _sets(rows.filter(where), by)
    uploads = _uploads(sets, [*by, "_session"])
    one = (pl.len().over(by) == 1) & (pl.col("keys") > 1)
    chosen = uploads.filter(one & (pl.col("has_words") | pl.col("complete")))
    moved = sets.join(chosen.select(by), on=by).select(*_SET, *by, _target=keys.words_key())
    return _move(rows, where, [*by, *_SET], moved)


def join_counted(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins files that have nothing in common but the counter of their upload.

    One poster's `[1/8] … [8/8]` without a telling head: a video under a random name beside
    readable parity files, a disc structure, an album. Books and single archives, which are
    posted in floods under one counter, stay what they are.
    """
    rows = _join_counted(rows, ["group", "_head", "_total", "_from"], only_complete=False)
    # A poster of its own for every file: then only a complete upload is unmistakable.
    return _join_counted(rows, ["group", "_head", "_total"], only_complete=True)


def join_sidecars(rows: pl.DataFrame) -> pl.DataFrame:
    """Joins small companions, posted apart, to the upload that they came with.

    `[00/80] - "Name.nzb"` or `[1/1] - "x.nfo"` beside `[01/94] - "Name.part01.rar"`: the same
    poster, within ten minutes, and the same head or stem.
    """
    sets = rows.group_by("group", "_key").agg(
        pl.col("_is_sidecar").all().alias("sidecar"),
        pl.len().alias("files"),
        pl.col("size_bytes").sum().alias("bytes"),
        pl.col("first_posted_at").min().alias("since"),
        pl.col("last_posted_at").max().alias("until"),
        pl.col("_from").min().alias("from"),
        (pl.col("_from").min() == pl.col("_from").max()).alias("one_poster"),
        pl.col("_grade").max().alias("grade"),
    )
    sets = sets.filter(pl.col("one_poster") & (pl.col("from") != ""))
    small = sets.filter(
        pl.col("sidecar") & (pl.col("files") <= _SIDECAR_FILES) & (pl.col("bytes") < _SIDECAR_BYTES)
    )
    if small.is_empty():
        return rows
    # Most posters have no small sets; what their sets say need not be known.
    sets = sets.join(small.select("group", "from").unique(), on=["group", "from"], how="semi")
    files = rows.join(sets.select("group", "_key"), on=["group", "_key"], how="semi")
    for text, name in (("_head", "head"), ("_stem", "stem")):
        most = commonest(files, ["group", "_key"], text).rename({text: name})
        sets = sets.join(most, on=["group", "_key"], how="left")
    small = sets.join(small.select("group", "_key"), on=["group", "_key"], how="semi")
    big = sets.filter(~pl.col("sidecar")).select(
        "group", "from", "head", "stem", "since", "until", "bytes", _target="_key"
    )
    wanted = ["_key", "_target", "since", "until", "since_big", "until_big", "bytes_big"]
    by_head = small.filter(pl.col("grade") > heads.BANNER).join(
        big, on=["group", "from", "head"], suffix="_big"
    )
    by_stem = small.join(big, on=["group", "from", "stem"], suffix="_big")
    gap = pl.max_horizontal(
        pl.col("since_big") - pl.col("until"), pl.col("since") - pl.col("until_big")
    )
    chosen = (
        pl.concat([by_head.select(wanted), by_stem.select(wanted)])
        .with_columns(_gap=gap.dt.total_seconds())
        .filter((pl.col("_gap") <= _SIDECAR_SECONDS) & (pl.col("_key") != pl.col("_target")))
        .sort("_key", "_gap", "bytes_big", "_target", descending=[False, False, True, False])
        .unique("_key", keep="first", maintain_order=True)
        .select("_key", "_target")
    )
    return _move(rows, pl.lit(value=True), ["_key"], chosen)


def commonest(rows: pl.DataFrame, by: str | list[str], text: str) -> pl.DataFrame:
    """Returns the text that most rows of each group have; of equals the first in their order."""
    groups = [by] if isinstance(by, str) else by
    return (
        rows.select(*groups, text)
        .group_by(*groups, text)
        .agg(pl.len().alias("_rows"))
        .sort("_rows", text, descending=[True, False])
        .unique(groups, keep="first", maintain_order=True)
        .drop("_rows")
    )


def _join_counted(rows: pl.DataFrame, by: list[str], *, only_complete: bool) -> pl.DataFrame:
    where = (
        (pl.col("_grade") == heads.BANNER)
        & (pl.col("_total") > 1)
        & pl.col("_kind").is_in([keys.STEM, keys.LOOSE])
        & (pl.col("_rank") < LINKED)
        & ~pl.col("_is_book")
    )
    if not only_complete:
        where &= pl.col("_from") != ""
    alone = pl.col("_is_lone_archive") & (pl.len().over("_key", "_total") == 1)
    sets = _sets(rows.filter(where).filter(~alone), by)
    by_session = [*by, "_session"]
    uploads = _uploads(sets, by_session).filter(pl.col("keys") > 1)
    if only_complete:
        accepted = pl.col("complete") & pl.col("brief") & (pl.col("_total") > 2)
    else:
        pieces = pl.col("has_pieces") & (pl.col("archives") < 2)
        parity = (pl.col("parity_sets") == 1) & (pl.col("archives") == 0)
        accepted = pl.col("complete") | pieces | parity
    joined = sets.join(uploads.filter(accepted).select(by_session), on=by_session)
    readable = [is_readable_name(name) for name in joined["shown"].to_list()]
    target = (
        joined.with_columns(_readable=pl.Series(readable, dtype=pl.Boolean))
        .sort(
            [*by_session, "_readable", "members", "low", "_key"],
            descending=[False] * len(by_session) + [True, True, False, False],
        )
        .group_by(by_session, maintain_order=True)
        .agg(pl.col("_key").first().alias("_target"))
    )
    moved = joined.join(target, on=by_session).select(*_SET, *by, "_target")
    return _move(rows, where, [*by, *_SET], moved)


def _sets(rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns the sets (files of one key) under each counter, with the session each is in."""
    sets = (
        rows.sort("first_number", "file_key")
        .group_by([*by, *_SET], maintain_order=True)
        .agg(
            pl.col("_index").unique().alias("indexes"),
            pl.col("_index").min().alias("low"),
            pl.col("_index").max().alias("high"),
            pl.col("first_number").min().alias("start"),
            pl.col("last_number").max().alias("end"),
            pl.col("first_posted_at").min().alias("since"),
            pl.col("last_posted_at").max().alias("until"),
            pl.col("_shown").mode().sort().first().alias("shown"),
            (pl.col("_kind") == keys.WORDS).any().alias("words"),
            pl.col("_is_member").sum().alias("members"),
            pl.col("_is_par2").any().alias("parity"),
            (pl.col("_is_member") & ~pl.col("_is_par2")).any().alias("archive"),
            pl.col("_is_piece").any().alias("pieces"),
        )
        .filter(pl.len().over(by) > 1)
        .sort([*by, "start", "low", *_SET])
    )
    numbers = _session_numbers(sets, by)
    return sets.with_columns(_session=pl.Series(numbers, dtype=pl.UInt32))


@dataclass(slots=True)
class _Session:
    """An upload while its sets are put together, in the order in which they began."""

    number: int
    indexes: set[int] = field(default_factory=set)
    low: int = 0
    end: int = 0
    latest: int = 0
    until: datetime | None = None

    def takes(self, one: "_Set") -> bool:
        """Tells whether a set can be of this upload."""
        if not self.indexes.isdisjoint(one.indexes):
            return False
        # The end of one upload and the beginning of the next look complete together; their
        # order shows that they are two. Neighbours may change places on their way.
        swapped = self.low - one.high <= _SWAPPED_FILES and one.start - self.end <= _SWAPPED_NUMBERS
        if self.end < one.start and self.low > one.high and not swapped:
            return False
        return one.since is None or self.until is None or one.since - self.until <= PAUSE

    def add(self, one: "_Set") -> None:
        """Puts a set in."""
        self.indexes.update(one.indexes)
        self.low = min(self.low, one.low)
        self.end = max(self.end, one.end)
        self.latest = one.high
        if one.until is not None:
            self.until = one.until if self.until is None else max(self.until, one.until)


class _Set(NamedTuple):
    """The files of one key under a counter: where they lie."""

    indexes: list[int]
    low: int
    high: int
    start: int
    end: int
    since: datetime | None
    until: datetime | None


def _session_numbers(sets: pl.DataFrame, by: list[str]) -> list[int]:
    """Returns the number of the session of each set; sets come sorted by counter and start."""
    numbers: list[int] = []
    sessions: list[_Session] = []
    counter: tuple[object, ...] = ()
    rows = sets.select(_Set._fields).iter_rows()
    for row, values in zip(sets.select(by).iter_rows(), rows, strict=True):
        if row != counter:
            counter, sessions = row, []
        one = _Set(*values)
        # Of several uploads at once the one goes on whose latest file has the number before.
        session = min(
            (each for each in sessions[-_OPEN_SESSIONS:] if each.takes(one)),
            key=lambda each: (abs(one.low - each.latest - 1), -each.number),
            default=None,
        )
        if session is None:
            session = _Session(number=len(sessions), low=one.low)
            sessions.append(session)
        session.add(one)
        numbers.append(session.number)
    return numbers


def _uploads(sets: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns what each session looks like as one upload."""
    return (
        sets.group_by(by)
        .agg(
            pl.len().alias("keys"),
            pl.col("indexes").list.len().sum().alias("seen"),
            pl.col("low").min(),
            pl.col("high").max(),
            pl.col("words").any().alias("has_words"),
            pl.col("pieces").any().alias("has_pieces"),
            pl.col("archive").sum().alias("archives"),
            pl.col("parity").sum().alias("parity_sets"),
            (pl.col("until").max() - pl.col("since").min() <= PAUSE).alias("brief"),
        )
        .with_columns(
            complete=(pl.col("low") <= 1)
            & (pl.col("high") >= pl.col("_total"))
            & (pl.col("seen") == pl.col("high") - pl.col("low") + 1)
        )
    )


def _move(rows: pl.DataFrame, where: pl.Expr, on: list[str], moved: pl.DataFrame) -> pl.DataFrame:
    """Gives the rows that `moved` names (by the columns `on`) their `_target` as key."""
    if moved.is_empty():
        return rows
    rows = rows.join(moved.select(*on, "_target"), on=on, how="left")
    goes = where & pl.col("_target").is_not_null()
    return rows.with_columns(
        _key=pl.when(goes).then("_target").otherwise("_key"),
        _rank=pl.when(goes).then(LINKED).otherwise("_rank"),
    ).drop("_target")
