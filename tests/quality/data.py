"""The real headers, found by what they hold and not by their names.

Any data of the same layout works: every `X.over.gz` with an `X.truth.json` beside it is one
post, every one with an `X.truth.tsv.gz` a group of many, and every `.tsv` is known by the
columns of its first line.
"""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_OVERVIEW = ".over.gz"


@dataclass(frozen=True)
class Post:
    """One upload alone.

    Attributes:
        name: of its file.
        path: its overview lines, gzip.
        truth: name, files (name, poster, parts and bytes of each) and so on.
    """

    name: str
    path: Path
    truth: dict[str, Any]

    @cached_property
    def text(self) -> bytes:
        """Its overview lines."""
        return gzip.decompress(self.path.read_bytes())

    @property
    def group(self) -> str:
        """The newsgroup in which the lines are numbered."""
        return numbered_in(self.text)


@dataclass(frozen=True)
class MixedGroup:
    """A newsgroup in which posts mix, with the truth of every article."""

    name: str
    path: Path
    truth_path: Path

    @cached_property
    def text(self) -> bytes:
        """Its overview lines."""
        return gzip.decompress(self.path.read_bytes())

    @property
    def group(self) -> str:
        """The newsgroup in which the lines are numbered."""
        return numbered_in(self.text)

    @cached_property
    def truth(self) -> dict[int, tuple[str, str, int, str]]:
        """Release, file, part and state of each article that is there, by its number."""
        rows = read_table(self.truth_path)
        return {
            int(row["article"]): (row["release"], row["file"], int(row["part"]), row["state"])
            for row in rows
            if row["state"] != "missing"
        }


@dataclass(frozen=True)
class QualityData:
    """A folder of data."""

    root: Path

    def posts(self) -> Iterator[Post]:
        """Yields the single posts."""
        for path in sorted(self.root.rglob(f"*{_OVERVIEW}")):
            name = path.name.removesuffix(_OVERVIEW)
            truth = path.with_name(f"{name}.truth.json")
            if truth.is_file():
                yield Post(name, path, json.loads(truth.read_text(encoding="utf-8")))

    def mixed_groups(self) -> Iterator[MixedGroup]:
        """Yields the groups of many posts."""
        for path in sorted(self.root.rglob(f"*{_OVERVIEW}")):
            name = path.name.removesuffix(_OVERVIEW)
            truth = path.with_name(f"{name}.truth.tsv.gz")
            if truth.is_file():
                yield MixedGroup(name, path, truth)

    def rows_with(self, *columns: str) -> list[dict[str, str]]:
        """Returns the rows of all tables that have these columns, the same row only once."""
        rows: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        for path in sorted((*self.root.rglob("*.tsv"), *self.root.rglob("*.tsv.gz"))):
            if set(columns) <= set(_columns_of(path)):
                rows.update((tuple(row.items()), row) for row in read_table(path))
        return list(rows.values())


def read_table(path: Path) -> Iterator[dict[str, str]]:
    """Yields the rows of a table with tabs; quotes mean nothing in it."""
    lines = _lines_of(path)
    columns = next(lines, "").split("\t")
    for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row:
            yield dict(zip(columns, [*row, *[""] * (len(columns) - len(row))], strict=False))


def numbered_in(text: bytes, lines: int = 500) -> str:
    """Returns the newsgroup whose number in the Xref is the number of the line, most often."""
    found: Counter[bytes] = Counter()
    for line in text.split(b"\n", lines)[:lines]:
        number, _, rest = line.rstrip(b"\r").partition(b"\t")
        for place in rest.rpartition(b"\t")[2].split():
            group, _, at = place.rpartition(b":")
            if at == number and group:
                found[group] += 1
    return found.most_common(1)[0][0].decode() if found else "alt.binaries.test"


def _columns_of(path: Path) -> list[str]:
    return next(_lines_of(path), "").split("\t")


def _lines_of(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    lines: Iterable[str] = text.split("\n")
    return iter([line.rstrip("\r") for line in lines])


__all__ = ["MixedGroup", "Post", "QualityData", "numbered_in", "read_table"]
