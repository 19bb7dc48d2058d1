"""What another rule set would change, seen on captured ranges before anything is changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl

from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_files
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_blocks
from voyager_core.header_pass.rules import apply_rules, count_drops
from voyager_core.storage.corpus import CapturedRange, blocks_in

APPEARS = "appears"
VANISHES = "vanishes"
RENAMED = "renamed"
RECATEGORISED = "recategorised"
GROWS = "grows"
SHRINKS = "shrinks"

_KEY = ["group", "release_key", "session"]
_SHOWN = ["name", "category", "files", "segments", "size_bytes"]


@dataclass(frozen=True, slots=True)
class RuleDiff:
    """The difference that one rule set makes to another on captured ranges.

    Attributes:
        ranges: how many were read.
        lines: overview lines in them.
        releases: one row a release that differs: `group`, `release_key`, `session`, `change`, and
            name, category, files, segments and size_bytes of both, `_before` and `_after`.
        files: one row a file that differs: `group`, `first_number`, `name`, `subject`, `poster`,
            `parts_found`, `size_bytes`, `change`, `dropped_before`, `dropped_after`.
        counts: `rule`, `signature`, and articles and files dropped by both.
    """

    ranges: int
    lines: int
    releases: pl.DataFrame
    files: pl.DataFrame
    counts: pl.DataFrame

    @property
    def changes(self) -> dict[str, int]:
        """How many releases changed how."""
        return dict(self.releases.group_by("change").len().sort("change").iter_rows())


@dataclass(slots=True)
class _Seen:
    releases: list[pl.DataFrame] = field(default_factory=list)
    files: list[pl.DataFrame] = field(default_factory=list)
    counts: list[pl.DataFrame] = field(default_factory=list)


def diff_rules(
    captured: Iterable[CapturedRange],
    before: RuleSet,
    after: RuleSet,
    *,
    now: datetime | None = None,
) -> RuleDiff:
    """Applies two rule sets to captured ranges and compares what they make of them.

    Args:
        captured: ranges of the corpus; each is read and parsed once.
        before: one rule set.
        after: the other.
        now: the time that later dates are cut to; the year 2200 when absent.

    Raises:
        BlockMissing: a block of the corpus is gone.
        BlockDamaged: a block does not match its checksum.
    """
    moment = now or datetime(2200, 1, 1, tzinfo=UTC)
    seen = _Seen()
    ranges = lines = 0
    for each in captured:
        parsed = parse_blocks(
            each.span.group,
            blocks_in(each.folder),
            low=each.span.low,
            high=each.span.high,
            groups={},
            now=moment,
        )
        ranges += 1
        lines += parsed.stats.get("lines", 0)
        _compare(identify_releases(parsed.files), before, after, seen, moment)
    return RuleDiff(
        ranges=ranges,
        lines=lines,
        releases=_all(seen.releases, _RELEASES),
        files=_all(seen.files, _FILES),
        counts=_counts(seen.counts),
    )


def compare_releases(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Returns the releases that differ, one row each with what changed.

    Both frames have `group`, `release_key`, `session` and the columns that are compared:
    name, category, files, segments and size_bytes.
    """
    joined = before.select(*_KEY, *_SHOWN, _in=pl.lit(value=True)).join(
        after.select(*_KEY, *_SHOWN, _in=pl.lit(value=True)),
        on=_KEY,
        how="full",
        coalesce=True,
        suffix="_after",
    )
    changed = joined.with_columns(
        change=pl.when(pl.col("_in").is_null())
        .then(pl.lit(APPEARS))
        .when(pl.col("_in_after").is_null())
        .then(pl.lit(VANISHES))
        .when(pl.col("name") != pl.col("name_after"))
        .then(pl.lit(RENAMED))
        .when(pl.col("category") != pl.col("category_after"))
        .then(pl.lit(RECATEGORISED))
        .when(pl.col("segments") < pl.col("segments_after"))
        .then(pl.lit(GROWS))
        .when(pl.col("segments") > pl.col("segments_after"))
        .then(pl.lit(SHRINKS))
    ).filter(pl.col("change").is_not_null())
    renamed = changed.rename({name: f"{name}_before" for name in _SHOWN})
    typed = renamed.select(pl.col(name).cast(dtype) for name, dtype in _RELEASES.items())
    return typed.sort("change", *_KEY)


def _compare(
    files: pl.DataFrame, before: RuleSet, after: RuleSet, seen: _Seen, now: datetime
) -> None:
    one, two = apply_rules(files, before), apply_rules(files, after)
    releases = [_releases(each, now) for each in (one, two)]
    seen.releases.append(compare_releases(*releases))
    both = one.rename({"dropped_by": "dropped_before"}).with_columns(
        dropped_after=two["dropped_by"]
    )
    was, is_now = pl.col("dropped_before").is_not_null(), pl.col("dropped_after").is_not_null()
    differing = both.filter(pl.col("dropped_before").ne_missing(pl.col("dropped_after")))
    seen.files.append(
        differing.with_columns(
            change=pl.when(was & ~is_now)
            .then(pl.lit(APPEARS))
            .when(~was & is_now)
            .then(pl.lit(VANISHES))
            .otherwise(pl.lit("counted elsewhere"))
        ).select(list(_FILES))
    )
    seen.counts.extend(
        count_drops(frame, rules).with_columns(side=pl.lit(side))
        for frame, rules, side in ((one, before, "before"), (two, after, "after"))
    )


def _releases(files: pl.DataFrame, now: datetime) -> pl.DataFrame:
    kept = files.filter(pl.col("dropped_by").is_null() & ~pl.col("is_fragment"))
    return build_files(kept.drop("dropped_by"), now=now).releases


def _counts(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    names = [f"{what}_{side}" for what in ("articles", "files") for side in ("before", "after")]
    if not frames:
        return pl.DataFrame(
            schema={"rule": pl.String, "signature": pl.String} | dict.fromkeys(names, pl.UInt64)
        )
    sums = pl.concat(frames).group_by("rule", "signature")
    columns = [
        pl.col(what).filter(pl.col("side") == side).sum().alias(f"{what}_{side}")
        for what in ("articles", "files")
        for side in ("before", "after")
    ]
    return sums.agg(columns).sort("rule", "signature")


def _all(frames: Sequence[pl.DataFrame], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _shown_types(side: str) -> dict[str, pl.DataType]:
    types = (pl.String(), pl.UInt16(), pl.UInt32(), pl.UInt32(), pl.UInt64())
    return {f"{name}_{side}": dtype for name, dtype in zip(_SHOWN, types, strict=True)}


_RELEASES: dict[str, pl.DataType] = {
    "group": pl.String(),
    "release_key": pl.UInt64(),
    "session": pl.UInt32(),
    "change": pl.String(),
    **_shown_types("before"),
    **_shown_types("after"),
}
_FILES: dict[str, pl.DataType] = {
    "group": pl.String(),
    "first_number": pl.UInt64(),
    "name": pl.String(),
    "subject": pl.String(),
    "poster": pl.String(),
    "parts_found": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "change": pl.String(),
    "dropped_before": pl.String(),
    "dropped_after": pl.String(),
}
