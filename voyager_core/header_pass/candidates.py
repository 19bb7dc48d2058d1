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
    columns = ["subject", "parts_total", "parts_found", "first_message_id", "payload"]
    find = _last_article if last else _first_article
    found = [find(*row) for row in rows.select(columns).iter_rows()]
    return rows.select(
        *_KEY,
        "file_key",
        kind=pl.lit(kind),
        message_id=pl.Series([each and each[0] for each in found], dtype=pl.String),
        part=pl.Series([each and each[1] for each in found], dtype=pl.UInt32),
    ).drop_nulls("message_id")


def _first_article(
    subject: str, total: int, found: int, message_id: str, _payload: bytes
) -> tuple[str, int] | None:
    # The subject is that of the lowest part.
    is_first = found == total or voyager_native.parse_subject(subject)["part"] in (None, 0, 1)
    return (message_id, 1) if is_first else None


def _last_article(
    _subject: str, total: int, _found: int, _message_id: str, payload: bytes
) -> tuple[str, int] | None:
    segments = pl.DataFrame(voyager_native.decode_segments(payload)).sort("part")
    part, message_id = segments.select("part", "message_id").row(-1)
    return (message_id, part) if part >= total else None
