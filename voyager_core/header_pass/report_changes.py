"""What a later report says otherwise than an earlier one, by the files that both know.

Files are known by group and number of their first article, so that releases can be compared
whatever their keys and names are.
"""

from collections.abc import Mapping

import polars as pl

from voyager_core.header_pass.report import MOST_ROWS, Report, Table

_SHOWN_NAMES = 4


def changes(earlier: Report, later: Report) -> tuple[Table, ...]:
    """Returns what became of the releases of an earlier report.

    A release is split when its files are now in several, merged when files of several are now
    in it; it is renamed when it holds the same files under another name.
    """
    files = earlier.members.join(
        later.members, on=["group", "number"], how="full", suffix="_later", coalesce=True
    )
    both = files.drop_nulls(["release", "release_later"])
    pairs = both.group_by("release", "release_later").len("files").sort("files", descending=True)
    into = pairs.group_by("release").agg(
        pl.len().alias("parts"), pl.col("files").sum(), pl.col("release_later").alias("others")
    )
    from_ = pairs.group_by("release_later").agg(
        pl.len().alias("parts"), pl.col("files").sum(), pl.col("release").alias("others")
    )
    split, merged = (
        table.filter(pl.col("parts") > 1).sort("parts", "files", descending=True)
        for table in (into, from_)
    )
    same = pairs.join(into.filter(pl.col("parts") == 1).select("release"), on="release").join(
        from_.filter(pl.col("parts") == 1).select("release_later"), on="release_later"
    )
    gone = files.filter(pl.col("release_later").is_null())
    new = files.filter(pl.col("release").is_null())
    return (
        Table(
            "Split",
            "One release before, several now.",
            split.height,
            ("name", "files", "parts", "now"),
            _torn(split, "release", earlier.names, later.names),
        ),
        Table(
            "Merged",
            "Several releases before, one now.",
            merged.height,
            ("name", "files", "parts", "before"),
            _torn(merged, "release_later", later.names, earlier.names),
        ),
        _renamed(same, earlier.names, later.names),
        _moved("No longer in a release", gone, "release", earlier.names),
        _moved("New in a release", new, "release_later", later.names),
    )


def _torn(
    rows: pl.DataFrame, key: str, own: Mapping[str, str], other: Mapping[str, str]
) -> tuple[tuple[object, ...], ...]:
    shown = rows.head(MOST_ROWS).select(key, "files", "parts", "others")
    return tuple(
        (
            own.get(release, ""),
            files,
            parts,
            " | ".join(other.get(each, "") for each in others[:_SHOWN_NAMES]),
        )
        for release, files, parts, others in shown.iter_rows()
    )


def _renamed(pairs: pl.DataFrame, before: Mapping[str, str], after: Mapping[str, str]) -> Table:
    rows = [
        (old, new, files)
        for release, later, files in pairs.iter_rows()
        if (old := before.get(release, "")) != (new := after.get(later, ""))
    ]
    rows.sort(key=lambda row: (-row[2], row[0]))
    return Table(
        "Renamed",
        "The same files under another name.",
        len(rows),
        ("before", "now", "files"),
        tuple(rows[:MOST_ROWS]),
    )


def _moved(title: str, files: pl.DataFrame, key: str, names: Mapping[str, str]) -> Table:
    counted = files.group_by(key).len("files").sort("files", key, descending=[True, False])
    rows = [(names.get(release, ""), count) for release, count in counted.head(MOST_ROWS).rows()]
    says = "Files that only one of the reports has in a release."
    return Table(title, says, counted.height, ("name", "files"), tuple(rows))
