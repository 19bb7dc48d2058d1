"""Articles worth reading later: what tells most about a release for one article read.

At most one of each kind a release: the first article of the first archive volume (password,
inner names), the parity index (every name, size and hash), the only file under a random name
(its kind, its real name), and the end of a 7z archive, where its list stands.
"""

import polars as pl

import voyager_native
from voyager_core.domain.names import is_readable_name
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
    """Returns the candidates of identified whole files (`schemas.CANDIDATES`)."""
    if files.is_empty():
        return empty(CANDIDATES)
    name = files["name"]
    rows = files.select(*_KEY, *_NEEDED).with_columns(
        _par2=stems.is_par2(name),
        _start=stems.is_archive_start(name),
        _sidecar=stems.is_sidecar(name),
    )
    # A release may hold samples and subtitles in archives of their own; the biggest is meant.
    first = _one(rows.filter(pl.col("_start") & ~pl.col("_par2")), biggest=True)
    index = _one(rows.filter("_par2"), biggest=False)
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
    content = rows.filter(~pl.col("_par2") & ~pl.col("_sidecar"))
    alone = content.filter((pl.len().over(_KEY) == 1) & ~pl.col("_start"))
    random = [not is_readable_name(name) for name in alone["name"].to_list()]
    return alone.filter(pl.Series(random, dtype=pl.Boolean))


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
    parts: list[int] = []
    ids: list[str | None] = []
    for total, payload in rows.select("parts_total", "payload").iter_rows():
        segments = pl.DataFrame(voyager_native.decode_segments(payload))
        part, message_id = segments.row(segments["part"].arg_max(), named=False)[:2]
        parts.append(part)
        ids.append(message_id if part >= total else None)
    return rows.with_columns(
        message_id=pl.Series(ids, dtype=pl.String), part=pl.Series(parts, dtype=pl.UInt32)
    )
