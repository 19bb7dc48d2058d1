"""What is suspect in the releases that the rules make: how a rule change is judged.

Pure functions over the frames of the header pass, of one span or of a whole corpus. A report is
kept as JSON; with it goes, compressed, which file is in which release, so that a later report can
be held against it (`report_changes`).
"""

import base64
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from voyager_core.domain.category_names import category_label
from voyager_core.errors import PermanentError, reason_of

REPORT_VERSION = 1
"""Of the JSON form; another version cannot be read."""

MOST_ROWS = 200
"""Rows that are kept of a table; its count is of all."""

_NEAR = "6h"
"""A set is beside a file that was posted within this time of it."""
_LONG = 24
_MOST_KINDS = 6
_SMALL_SEGMENT, _LARGE_SEGMENT = 20_000, 4_000_000
_LONG_NAME = 150
# What a file may do to whoever reads it as JSON with a frame inside.
_UNREADABLE = (
    *(KeyError, TypeError, ValueError, AttributeError, OSError, OverflowError, RecursionError),
    pl.exceptions.PolarsError,
)
_MEMBERS = {"group": pl.String, "number": pl.UInt64, "release": pl.String}


class ReportError(PermanentError):
    """An earlier report cannot be read, or a report cannot be written."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind.

    Attributes:
        title: what they are.
        says: why they are worth a look.
        count: how many there are in all.
        columns: names of the columns.
        rows: the first of them, the most suspect first.
    """

    title: str
    says: str
    count: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """Bars, in order."""

    title: str
    bars: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What there is to judge.

    Attributes:
        made_at: when.
        totals: of the replay, as `voyager replay` prints them.
        figures: shares and counts that are compared between reports.
        tables: the suspects.
        plots: distributions.
        names: the name of each release, by its key in digits.
        members: group and number of each file's first article, and its release.
    """

    made_at: datetime
    totals: Mapping[str, Any]
    figures: Mapping[str, float]
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    names: Mapping[str, str] = field(repr=False)
    members: pl.DataFrame = field(repr=False)


def report_of(
    files: pl.DataFrame,
    releases: pl.DataFrame,
    totals: Mapping[str, Any],
    *,
    made_at: datetime,
) -> Report:
    """Returns the report on files and releases.

    Args:
        files: the columns of `BUILT_FILES`; sessions must have keys of their own.
        releases: the columns of `RELEASES`. Rows of one key, from several spans, add up.
        totals: what is known of the lines.
        made_at: the time of the report.
    """
    kept = files.filter(pl.col("release_key").is_not_null() & ~pl.col("is_fragment"))
    whole = _whole(releases)
    members = kept.select(
        "group", number=pl.col("first_number"), release=_digits(pl.col("release_key"))
    )
    tables = (
        _with_too_many_files(whole),
        _lone_beside_sets(kept, whole),
        _shared_names(whole),
        _oddest(kept, whole),
        _biggest(whole),
    )
    return Report(
        made_at=made_at,
        totals=dict(totals),
        figures=_figures(whole, tables),
        tables=tables,
        plots=_plots(whole, totals),
        names=dict(whole.select(_digits(pl.col("release_key")), "name").iter_rows()),
        members=members.unique(["group", "number"], keep="first", maintain_order=True),
    )


def to_json(report: Report, changed: Iterable[Table] = ()) -> str:
    """Returns a report as it is kept."""
    packed = io.BytesIO()
    report.members.write_ipc(packed, compression="zstd")
    return json.dumps(
        {
            "version": REPORT_VERSION,
            **shown(report, changed),
            "names": report.names,
            "members": base64.b64encode(packed.getvalue()).decode("ascii"),
        },
        ensure_ascii=False,
        default=str,
    )


def shown(report: Report, changed: Iterable[Table] = ()) -> dict[str, Any]:
    """Returns the part of a report that people and programs read, as JSON takes it."""
    return {
        "made_at": report.made_at.isoformat(timespec="seconds"),
        "totals": dict(report.totals),
        "figures": dict(report.figures),
        "tables": [_as_json(table) for table in report.tables],
        "plots": [{"title": plot.title, "bars": list(plot.bars)} for plot in report.plots],
        "changes": [_as_json(table) for table in changed],
    }


def _as_json(table: Table) -> dict[str, Any]:
    rows = [list(map(_plain, row)) for row in table.rows]
    return {
        "title": table.title,
        "says": table.says,
        "count": table.count,
        "columns": list(table.columns),
        "rows": rows,
    }


def from_json(text: str) -> Report:
    """Returns a kept report.

    Raises:
        ReportError: it is none, or of another version.
    """
    try:
        kept = json.loads(text)
        if kept["version"] != REPORT_VERSION:
            msg = f"the report is of version {kept['version']}, not {REPORT_VERSION}"
            raise ReportError(msg)
        packed = base64.b64decode(kept["members"], validate=True)
        members = pl.read_ipc(io.BytesIO(packed)).cast(_MEMBERS)  # type: ignore[arg-type]
        return Report(
            made_at=datetime.fromisoformat(kept["made_at"]),
            totals=dict(kept["totals"]),
            figures={name: float(value) for name, value in kept["figures"].items()},
            tables=tuple(
                Table(
                    title=str(table["title"]),
                    says=str(table["says"]),
                    count=int(table["count"]),
                    columns=tuple(table["columns"]),
                    rows=tuple(map(tuple, table["rows"])),
                )
                for table in kept["tables"]
            ),
            plots=tuple(
                Plot(plot["title"], tuple((str(bar), int(count)) for bar, count in plot["bars"]))
                for plot in kept["plots"]
            ),
            names={str(key): str(name) for key, name in kept["names"].items()},
            members=members.select(list(_MEMBERS)),
        )
    except _UNREADABLE as error:
        msg = f"this is no report: {reason_of(error)}"
        raise ReportError(msg) from error


def _whole(releases: pl.DataFrame) -> pl.DataFrame:
    """Returns one row a release, from what several spans say of it."""
    total = pl.col("segments_expected")
    return releases.group_by("release_key", maintain_order=True).agg(
        pl.col("name", "is_readable", "group", "category").first(),
        pl.col("posted_at").min(),
        pl.col("last_posted_at").max(),
        pl.col("files").cast(pl.Int64).sum(),
        pl.col("files_expected").cast(pl.Int64).max(),
        pl.col("segments").cast(pl.Int64).sum(),
        pl.when(total.is_not_null().any()).then(total.cast(pl.Int64).sum()).alias("announced"),
        pl.col("size_bytes").cast(pl.Int64).sum(),
    )


def _with_too_many_files(releases: pl.DataFrame) -> Table:
    # A list of the files is often posted beside those that its counter counts.
    rows = releases.filter(pl.col("files") > pl.col("files_expected") + 1)
    rows = rows.sort(pl.col("files") / pl.col("files_expected"), "release_key", descending=True)
    return _table(
        "More files than announced",
        "Different uploads may have become one release.",
        rows.select(
            "name", "files", announced="files_expected", size="size_bytes", posted="posted_at"
        ),
    )


def _lone_beside_sets(files: pl.DataFrame, releases: pl.DataFrame) -> Table:
    per_release = pl.len().over("release_key")
    counted = files.filter((per_release == 1) & (pl.col("file_total") > 1)).select(
        "release_key",
        "group",
        "file_index",
        total=pl.col("file_total").cast(pl.Int64),
        posted_at=pl.col("first_posted_at"),
    )
    named = releases.select("release_key", "name", "is_readable")
    lone = counted.join(named, on="release_key").drop_nulls("posted_at").sort("posted_at")
    sets = releases.filter(
        (pl.col("files") > 1) & (pl.col("files") < pl.col("files_expected"))
    ).select(
        "group",
        "posted_at",
        set_posted=pl.col("posted_at"),
        total="files_expected",
        set_name="name",
        set_files="files",
    )
    sets = sets.drop_nulls("posted_at").sort("posted_at")
    beside = lone.join_asof(
        sets,
        on="posted_at",
        by=["group", "total"],
        strategy="nearest",
        tolerance=_NEAR,
        check_sortedness=False,
    ).drop_nulls("set_name")
    apart = (pl.col("posted_at") - pl.col("set_posted")).abs().dt.total_minutes()
    beside = beside.with_columns(minutes_apart=apart).sort("minutes_apart", "release_key")
    return _table(
        "Single files beside a set of the same counter",
        "They may belong to that set, which misses files.",
        beside.select(
            "name",
            counter=pl.format("{}/{}", pl.col("file_index").fill_null(0), "total"),
            beside="set_name",
            has=pl.format("{} of {}", "set_files", "total"),
            minutes_apart="minutes_apart",
        ),
    )


def _shared_names(releases: pl.DataFrame) -> Table:
    named = releases.filter(pl.col("is_readable") & (pl.col("name") != ""))
    shared = (
        named.group_by("name")
        .agg(
            pl.len().alias("releases"),
            pl.col("files").sum(),
            pl.col("size_bytes").min().alias("smallest"),
            pl.col("size_bytes").max().alias("largest"),
            pl.col("posted_at").min().alias("first_posted"),
            pl.col("posted_at").max().alias("last_posted"),
        )
        .filter(pl.col("releases") > 1)
        .sort(["releases", "name"], descending=[True, False])
    )
    return _table(
        "Names shared by several releases",
        "One upload may be torn, or a banner taken for a name.",
        shared,
    )


def _oddest(files: pl.DataFrame, releases: pl.DataFrame) -> Table:
    kinds = pl.col("name").str.extract(r"\.([A-Za-z]{2,4}[0-9]?)$").str.to_lowercase()
    seen = files.group_by("release_key").agg(
        pl.col("file_total").drop_nulls().n_unique().alias("_totals"),
        kinds.drop_nulls().n_unique().alias("_kinds"),
    )
    rows = releases.join(seen, on="release_key", how="left")
    segment = pl.col("size_bytes") / pl.col("segments").clip(1)
    hours = (pl.col("last_posted_at") - pl.col("posted_at")).dt.total_hours()
    found = pl.col("segments") / pl.col("announced")
    reasons = {
        "counters of several sets": pl.col("_totals") > 1,
        "posted over more than a day": hours >= _LONG,
        "less than half is there": found < 1 / 2,
        "more segments than announced": found > 1,
        "many kinds of files": pl.col("_kinds") > _MOST_KINDS,
        "tiny segments": segment < _SMALL_SEGMENT,
        "huge segments": segment > _LARGE_SEGMENT,
        "long name": pl.col("name").str.len_chars() > _LONG_NAME,
    }
    said = [pl.when(holds).then(pl.lit(text)) for text, holds in reasons.items()]
    rows = rows.with_columns(
        odd=pl.concat_str(said, separator=", ", ignore_nulls=True),
        _count=pl.sum_horizontal(holds.fill_null(value=False) for holds in reasons.values()),
    )
    rows = rows.filter(pl.col("_count") > 0).sort(
        ["_count", "size_bytes", "release_key"], descending=[True, True, False]
    )
    return _table(
        "Odd releases",
        "What uploads rarely are; the more of it, the higher.",
        rows.select("name", "odd", "files", size="size_bytes", posted="posted_at"),
    )


def _biggest(releases: pl.DataFrame) -> Table:
    rows = releases.sort("size_bytes", "release_key", descending=[True, False])
    return _table(
        "Biggest releases",
        "Merged uploads grow large.",
        rows.select(
            "name", "files", announced="files_expected", size="size_bytes", posted="posted_at"
        ),
    )


def _table(title: str, says: str, rows: pl.DataFrame) -> Table:
    kept = rows.head(MOST_ROWS)
    return Table(title, says, rows.height, tuple(kept.columns), tuple(kept.iter_rows()))


def _figures(releases: pl.DataFrame, tables: tuple[Table, ...]) -> dict[str, float]:
    count = releases.height
    counted = releases.filter(pl.col("files_expected") > 1)
    complete = counted.filter(pl.col("files") >= pl.col("files_expected")).height
    figures = {
        "releases": float(count),
        "readable": _share(int(releases["is_readable"].sum()), count),
        "of one file": _share(releases.filter(pl.col("files") == 1).height, count),
        "with all announced files": _share(complete, counted.height),
    }
    # The last table lists every release.
    return figures | {table.title.lower(): float(table.count) for table in tables[:-1]}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _plots(releases: pl.DataFrame, totals: Mapping[str, Any]) -> tuple[Plot, ...]:
    rejected = totals.get("rejected") or {}
    dropped = totals.get("dropped") or {}
    left_out = {**rejected, **dropped}
    files = [_power(count, 2) for count in releases["files"]]
    sizes = [_power(size, 10) for size in releases["size_bytes"]]
    found = releases.filter(pl.col("files_expected") > 1).select(
        (pl.col("files") * 10 // pl.col("files_expected")).clip(0, 10)
    )
    tenths = {f"{tenth * 10} %": 0 for tenth in range(11)}
    for tenth in found.to_series():
        tenths[f"{tenth * 10} %"] += 1
    by_category = releases["category"].value_counts(sort=True).head(15)
    return (
        Plot("Files of a release", _bars(files, _file_counts)),
        Plot("Size of a release", _bars(sizes, lambda power: f"from {_bytes(10**power)}")),
        Plot("Share of the announced files that is there", tuple(tenths.items())),
        Plot(
            "Categories",
            tuple((category_label(key) or str(key), count) for key, count in by_category.rows()),
        ),
        Plot(
            "Lines that are in no release, by reason",
            tuple(sorted(left_out.items(), key=lambda bar: -bar[1])[:15]),
        ),
    )


def _power(value: int, base: int) -> int:
    return int(math.log(max(value, 1), base) + 1e-9)


def _bars(powers: list[int], label: Callable[[int], str]) -> tuple[tuple[str, int], ...]:
    if not powers:
        return ()
    counts = Counter(powers)
    return tuple((label(power), counts[power]) for power in range(min(counts), max(counts) + 1))


def _file_counts(power: int) -> str:
    return f"{2**power:,}-{2 ** (power + 1) - 1:,}" if power else "1"


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size} {unit}"
        size //= 1000
    return ""


def _digits(key: pl.Expr) -> pl.Expr:
    """Returns keys as the text that JSON can hold exactly."""
    return key.cast(pl.String)


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="minutes") if isinstance(value, datetime) else value
