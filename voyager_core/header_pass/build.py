"""Files of a span to what the catalog stores: releases, chunks, fragments, candidates, counts."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.domain.name_facts import facts_of
from voyager_core.domain.rulesets import RuleSet
from voyager_core.domain.token_columns import token_hashes_of
from voyager_core.header_pass import stems
from voyager_core.header_pass.candidates import find_candidates
from voyager_core.header_pass.identity import identified_with_kinds
from voyager_core.header_pass.parse import ParsedSpan
from voyager_core.header_pass.recovery import missing_of_content, with_recovery
from voyager_core.header_pass.rules import apply_rules, count_drops, sample_rules
from voyager_core.header_pass.schemas import (
    BUILT_FILES,
    CANDIDATES,
    CHUNKS,
    FILES,
    FRAGMENTS,
    IDENTIFIED,
    RELEASES,
    RULE_COUNTS,
    RULE_SAMPLES,
    Schema,
    conform,
    empty,
)

_UINT32_MAX = (1 << 32) - 1
_KEY = ["release_key", "session"]
_IN_CHUNKS = [*FILES, *_KEY]
_NEEDED = [
    *(*_KEY, "release_name", "file_key", "name", "poster", "poster_constant", "group", "groups"),
    *("first_posted_at", "last_posted_at", "first_number", "file_total", "parts_total"),
    *("parts_found", "size_bytes", "_is_par2"),
]


@dataclass(frozen=True, slots=True)
class BuiltSpan:
    """The frames of a span, each with the columns of its schema in `schemas`.

    Attributes:
        files: every file (`BUILT_FILES`); dropped ones have no release key.
        releases: one row a release and session of which the span holds files (`RELEASES`).
        chunks: their files, encoded (`CHUNKS`).
        fragments: files that the span's edges may have cut (`FRAGMENTS`).
        candidates: articles worth reading later (`CANDIDATES`).
        rule_counts: what each rule dropped (`RULE_COUNTS`).
        rule_samples: a sample of it (`RULE_SAMPLES`).
    """

    files: pl.DataFrame
    releases: pl.DataFrame
    chunks: pl.DataFrame
    fragments: pl.DataFrame
    candidates: pl.DataFrame
    rule_counts: pl.DataFrame
    rule_samples: pl.DataFrame

    def __post_init__(self) -> None:
        """Checks every frame against its schema."""
        for name, schema in _SCHEMAS.items():
            object.__setattr__(self, name, conform(getattr(self, name), schema, what=name))


_SCHEMAS: dict[str, Schema] = {
    "files": BUILT_FILES,
    "releases": RELEASES,
    "chunks": CHUNKS,
    "fragments": FRAGMENTS,
    "candidates": CANDIDATES,
    "rule_counts": RULE_COUNTS,
    "rule_samples": RULE_SAMPLES,
}


def build_span(parsed: ParsedSpan, rules: RuleSet, *, now: datetime) -> BuiltSpan:
    """Returns what the catalog stores of a parsed span.

    Every article of `parsed.files` ends in exactly one place: in a chunk, in a fragment, or
    in the count of the rule that dropped its file.

    Args:
        parsed: the span's files.
        rules: the rules in force.
        now: the time; years after the next one are taken for no years.
    """
    files, kinds = identified_with_kinds(parsed.files)
    identified = apply_rules(files, rules)
    every = identified.hstack(kinds)
    kept = _where(every, every["dropped_by"].is_null()).drop("dropped_by")
    whole = _where(kept, ~kept["is_fragment"])
    dropped = pl.col("dropped_by").is_not_null()
    return BuiltSpan(
        files=identified.with_columns(
            release_key=pl.when(dropped).then(None).otherwise("release_key")
        ),
        releases=_releases(whole, now=now),
        chunks=encode_chunks(whole),
        fragments=kept.filter("is_fragment"),
        candidates=find_candidates(whole),
        rule_counts=count_drops(identified, rules),
        rule_samples=sample_rules(identified, rules),
    )


def _where(rows: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
    """Returns the rows that a mask tells; mostly that is all of them."""
    return rows if mask.all() else rows.filter(mask)


def build_files(files: pl.DataFrame, *, now: datetime) -> BuiltSpan:
    """Returns releases, chunks and candidates of identified whole files, merged ones included."""
    files = conform(files, IDENTIFIED, what="identified files")
    whole = stems.with_kinds(files)
    return BuiltSpan(
        files=files.with_columns(dropped_by=pl.lit(None, pl.String)),
        releases=_releases(whole, now=now),
        chunks=encode_chunks(files),
        fragments=empty(FRAGMENTS),
        candidates=find_candidates(whole),
        rule_counts=empty(RULE_COUNTS),
        rule_samples=empty(RULE_SAMPLES),
    )


def _releases(files: pl.DataFrame, *, now: datetime) -> pl.DataFrame:
    total = pl.col("parts_total")
    # An announced total may be any number; what was found is the least that there is.
    expected = pl.when(total > 0).then(total).otherwise("parts_found").cast(pl.UInt64)
    constant = pl.col("poster_constant").all() & (
        pl.col("_poster").min() == pl.col("_poster").max()
    )
    rows = files.select(
        *_NEEDED,
        _poster=pl.col("poster").hash(),
        _groups=pl.col("groups").hash(),
        _missing=missing_of_content(),
    )
    rows = rows.sort("first_number", "file_key")
    # Far most keys have one session, and one column groups faster than two.
    by = _KEY if (rows["session"] > 0).any() else ["release_key"]
    is_once = rows["file_key"].n_unique() == rows.height
    releases = rows.group_by(by).agg(
        *([] if len(by) > 1 else [pl.col("session").first()]),
        pl.col("release_name").first().alias("name"),
        pl.when(constant).then(pl.col("poster").first()).alias("poster"),
        pl.col("group").first(),
        pl.col("groups").first(),
        (pl.col("_groups").min() != pl.col("_groups").max()).alias("_several"),
        pl.col("first_posted_at").min().alias("posted_at"),
        pl.col("last_posted_at").max(),
        (pl.len() if is_once else pl.col("file_key").n_unique()).alias("files"),
        pl.col("file_total").max().alias("files_expected"),
        pl.col("parts_found").cast(pl.UInt64).sum().clip(0, _UINT32_MAX).alias("segments"),
        pl.when((total > 0).any())
        .then(expected.sum().clip(0, _UINT32_MAX))
        .alias("segments_expected"),
        pl.col("size_bytes").sum(),
        pl.col("_is_par2").any().alias("has_par2"),
        pl.col("_missing").sum().alias("content_missing"),
        pl.max_horizontal(total.max(), pl.col("parts_found").max()).alias("largest_file"),
    )
    releases = releases.sort(_KEY)
    # Most files of a release were posted to the same groups.
    several = releases.filter("_several").select(_KEY)
    joined = (
        rows.join(several, on=_KEY, how="semi", maintain_order="left")
        .group_by(_KEY)
        .agg(_joined=pl.col("groups").unique(maintain_order=True).str.join(" "))
    )
    releases = with_recovery(releases, rows)
    releases = releases.drop("_several").join(joined, on=_KEY, how="left", maintain_order="left")
    groups = releases.select(pl.coalesce("_joined", "groups")).to_series()
    releases = releases.drop("_joined").with_columns(groups=_lists_of_groups(groups))
    said = _said_by_names(releases, now=now)
    return releases.join(said, on=["name", "group"], how="left", maintain_order="left")


def _lists_of_groups(joined: pl.Series) -> pl.Series:
    """Returns the distinct groups of each text, in the order of their first mention."""
    # There are far fewer crosspostings than releases.
    texts = joined.unique()
    distinct = [" ".join(dict.fromkeys(text.split())) for text in texts.to_list()]
    replaced = joined.replace_strict(texts, pl.Series(distinct, dtype=pl.String))
    is_empty = replaced == ""
    lists = replaced.to_frame("text").select(
        pl.when(is_empty)
        .then(pl.lit([], pl.List(pl.String)))
        .otherwise(pl.col("text").str.split(" "))
    )
    return lists.to_series()


def _said_by_names(releases: pl.DataFrame, *, now: datetime) -> pl.DataFrame:
    """Returns what follows from each distinct name and group."""
    names = releases.select("name", "group").unique()
    facts = facts_of(names["name"], names["group"], last_year=now.year + 1)
    return names.hstack(facts).with_columns(tok=token_hashes_of(names["name"]))


def encode_chunks(files: pl.DataFrame) -> pl.DataFrame:
    """Returns the files of each release, encoded (`CHUNKS`).

    Args:
        files: identified whole files.
    """
    if files.is_empty():
        return empty(CHUNKS)
    chunks = voyager_native.encode_releases(files.select(_IN_CHUNKS))
    return conform(pl.DataFrame(chunks), CHUNKS, what="chunks")
