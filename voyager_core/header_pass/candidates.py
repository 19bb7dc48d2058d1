"""Articles worth reading later: what tells most about a release for one article read.

At most one of each kind a release: the first article of the first archive volume (password,
inner names), the parity index (every name, size and hash), the only file under a random name
(its kind, its real name), and the end of a 7z archive, where its list stands.
"""

import polars as pl

import voyager_native
from voyager_core.domain.names import readable
from voyager_core.header_pass import stems
from voyager_core.header_pass.schemas import CANDIDATES, conform, empty

_KEY = ["release_key", "session"]
_SEVENZ = r"(?i)\.7z(?:\.\d{2,4})?$"
_NEEDED = [
    "file_key",
    "name",
    "subject",
    "size_bytes",
    "first_message_id",
    "parts_total",
    "parts_found",
    "payload",
]


def find_candidates(files: pl.DataFrame) -> pl.DataFrame:
    """Returns the candidates of identified whole files (`schemas.CANDIDATES`).

    Args:
        files: identified whole files, with `stems.KINDS`.
    """
    if files.is_empty():
        return empty(CANDIDATES)
    rows = files.select(*_KEY, *_NEEDED, *stems.KINDS)
    # A release may hold samples and subtitles in archives of their own; the biggest is meant.
    first = _one(rows.filter(pl.col("_is_start") & ~pl.col("_is_par2")), biggest=True)
    index = _one(rows.filter("_is_par2"), biggest=False)
    picked = [
        _of(first, "archive_first", last=False),
        _of(index, "par2_index", last=False),
        _of(_lone_random(rows), "lone_random", last=False),
        _of(_last_volumes(rows, first), "sevenz_last", last=True),
    ]
    return conform(pl.concat(picked).sort(*_KEY, "kind"), CANDIDATES, what="candidates")


def _last_volumes(rows: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    """Returns the last volume of each 7z archive whose first volume is a candidate."""
    archives = first.filter(pl.col("name").str.contains(_SEVENZ))
    if archives.is_empty():
        return archives
    base = pl.col("name").str.replace(_SEVENZ, "")
    volumes = rows.filter(pl.col("name").str.contains(_SEVENZ)).with_columns(_base=base)
    volumes = volumes.join(archives.select(*_KEY, _base=base), on=[*_KEY, "_base"])
    return (
        volumes.with_columns(_volume=stems.volume_number(volumes["name"]))
        .sort(*_KEY, "_volume", "name", descending=[False, False, True, False])
        .unique(_KEY, keep="first", maintain_order=True)
    )


def _lone_random(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the file of each release whose only content it is, where its name is random."""
    content = rows.filter(~pl.col("_is_par2") & ~pl.col("_is_sidecar"))
    # Far most keys have one session, and one column groups faster than two.
    by = _KEY if (content["session"] > 0).any() else _KEY[:1]
    counts = content.select(*by, "_is_start").group_by(by).agg(pl.len(), pl.first("_is_start"))
    lone = counts.filter((pl.col("len") == 1) & ~pl.col("_is_start"))
    alone = content.join(lone, on=by, how="semi")
    return alone.filter(~readable(alone["name"]))


def _one(rows: pl.DataFrame, *, biggest: bool) -> pl.DataFrame:
    """Returns one file of each release: about its content rather than a sample, then by size."""
    order = [*_KEY, "_extra", "size_bytes", "name", "file_key"]
    return (
        rows.with_columns(_extra=stems.is_extra(rows["name"]))
        .sort(order, descending=[False] * 3 + [biggest, False, False])
        .unique(_KEY, keep="first", maintain_order=True)
    )


def _of(rows: pl.DataFrame, kind: str, *, last: bool) -> pl.DataFrame:
    """Returns the first or last article of each file; none when that article is missing."""
    found = _last_articles(rows) if last else _first_articles(rows)
    picked = found.select(*_KEY, "file_key", "message_id", "part", kind=pl.lit(kind))
    return picked.drop_nulls("message_id")


def _first_articles(rows: pl.DataFrame) -> pl.DataFrame:
    # The subject is that of the lowest part.
    whole = pl.col("parts_found") == pl.col("parts_total")
    broken = rows.filter(~whole)["subject"].unique()
    firsts = [
        subject
        for subject in broken.drop_nulls().to_list()
        if voyager_native.parse_subject(subject)["part"] in (None, 0, 1)
    ]
    has_first = whole | pl.col("subject").is_in(firsts)
    return rows.with_columns(
        message_id=pl.when(has_first).then("first_message_id"), part=pl.lit(1, pl.UInt32)
    )


def _last_articles(rows: pl.DataFrame) -> pl.DataFrame:
    last = pl.DataFrame(voyager_native.last_segments(rows.select("payload"), "payload"))
    found = rows.with_columns(last.select("part", "message_id").get_columns())
    is_last = pl.col("part") >= pl.col("parts_total")
    return found.with_columns(message_id=pl.when(is_last).then("message_id"))
