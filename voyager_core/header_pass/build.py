"""Files of a span to what the catalog stores: releases, chunks, fragments, candidates, counts."""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.domain.categories import category_of
from voyager_core.domain.episodes import Episode, parse_episode
from voyager_core.domain.names import is_readable_name
from voyager_core.domain.rulesets import RuleSet
from voyager_core.domain.tokens import token_hashes
from voyager_core.header_pass import stems
from voyager_core.header_pass.candidates import find_candidates
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import ParsedSpan
from voyager_core.header_pass.rules import apply_rules, count_drops, sample_rules
from voyager_core.header_pass.schemas import (
    BUILT_FILES,
    CANDIDATES,
    CHUNKS,
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
_SAID = [
    *("is_readable", "category", "season", "season_last", "episode", "episode_last"),
    *("aired_on", "year"),
]
_NEEDED = [
    *(*_KEY, "release_name", "file_key", "name", "poster", "poster_constant", "group", "groups"),
    *("first_posted_at", "last_posted_at", "first_number", "file_total", "parts_total"),
    *("parts_found", "size_bytes"),
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
    identified = apply_rules(identify_releases(parsed.files), rules)
    kept = identified.filter(pl.col("dropped_by").is_null())
    built = build_files(kept.filter(~pl.col("is_fragment")).drop("dropped_by"), now=now)
    dropped = pl.col("dropped_by").is_not_null()
    return BuiltSpan(
        files=identified.with_columns(
            release_key=pl.when(dropped).then(None).otherwise("release_key")
        ),
        releases=built.releases,
        chunks=built.chunks,
        fragments=kept.filter("is_fragment"),
        candidates=built.candidates,
        rule_counts=count_drops(identified),
        rule_samples=sample_rules(identified, rules),
    )


def build_files(files: pl.DataFrame, *, now: datetime) -> BuiltSpan:
    """Returns releases, chunks and candidates of identified whole files, merged ones included."""
    files = conform(files, IDENTIFIED, what="identified files")
    return BuiltSpan(
        files=files.with_columns(dropped_by=pl.lit(None, pl.String)),
        releases=_releases(files, now=now),
        chunks=_chunks(files),
        fragments=empty(FRAGMENTS),
        candidates=find_candidates(files),
        rule_counts=empty(RULE_COUNTS),
        rule_samples=empty(RULE_SAMPLES),
    )


def _releases(files: pl.DataFrame, *, now: datetime) -> pl.DataFrame:
    total = pl.col("parts_total")
    # An announced total may be any number; what was found is the least that there is.
    expected = pl.when(total > 0).then(total).otherwise("parts_found").cast(pl.UInt64)
    constant = pl.col("poster_constant").all() & (pl.col("poster").n_unique() == 1)
    rows = (
        files.select(_NEEDED)
        .with_columns(_par2=stems.is_par2(files["name"]))
        .sort(*_KEY, "first_number", "file_key")
    )
    releases = rows.group_by(_KEY, maintain_order=True).agg(
        pl.col("release_name").first().alias("name"),
        pl.when(constant).then(pl.col("poster").first()).alias("poster"),
        pl.col("group").first(),
        pl.col("groups").first(),
        (pl.col("groups").min() != pl.col("groups").max()).alias("_several"),
        pl.col("first_posted_at").min().alias("posted_at"),
        pl.col("last_posted_at").max(),
        pl.col("file_key").n_unique().alias("files"),
        pl.col("file_total").max().alias("files_expected"),
        pl.col("parts_found").cast(pl.UInt64).sum().clip(0, _UINT32_MAX).alias("segments"),
        pl.when((total > 0).any())
        .then(expected.sum().clip(0, _UINT32_MAX))
        .alias("segments_expected"),
        pl.col("size_bytes").sum(),
        pl.col("_par2").any().alias("has_par2"),
    )
    # Most files of a release were posted to the same groups.
    several = releases.filter("_several").select(_KEY)
    joined = (
        rows.join(several, on=_KEY, how="semi", maintain_order="left")
        .group_by(_KEY)
        .agg(_joined=pl.col("groups").unique(maintain_order=True).str.join(" "))
    )
    releases = releases.drop("_several").join(joined, on=_KEY, how="left", maintain_order="left")
    groups = releases.select(pl.coalesce("_joined", "groups")).to_series()
    releases = releases.drop("_joined").with_columns(groups=_lists_of_groups(groups))
    return releases.join(_said_by_names(releases, now=now), on=["name", "group"], how="left")


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
    columns: dict[str, list[object]] = {column: [] for column in _SAID}
    rows: list[int] = []
    tokens: list[int] = []
    for row, (name, group) in enumerate(names.iter_rows()):
        is_readable = is_readable_name(name)
        # A random word states nothing, whatever digits it holds.
        episode = parse_episode(name) if is_readable or not name.isalnum() else Episode()
        year = episode.year
        columns["is_readable"].append(is_readable)
        columns["category"].append(
            category_of(name, is_readable=is_readable, group=group, episode=episode)
        )
        columns["season"].append(episode.season)
        columns["season_last"].append(episode.season_last)
        columns["episode"].append(episode.episode)
        columns["episode_last"].append(episode.episode_last)
        columns["aired_on"].append(episode.air_date)
        columns["year"].append(year if year is None or year <= now.year + 1 else None)
        hashes = token_hashes(name)
        rows += [row] * len(hashes)
        tokens += hashes
    said = pl.DataFrame(columns, schema={column: RELEASES[column] for column in _SAID})
    return pl.concat([names, said], how="horizontal").with_columns(
        tok=_lists(rows, tokens, len(names))
    )


def _lists(rows: list[int], values: list[int], height: int) -> pl.Series:
    """Returns the values of each row as one list; polars is slow with lists of lists."""
    flat = pl.DataFrame({"row": rows, "tok": values}, schema={"row": pl.UInt32, "tok": pl.Int32})
    every = pl.DataFrame({"row": range(height)}, schema={"row": pl.UInt32})
    lists = flat.group_by("row", maintain_order=True).agg("tok")
    joined = every.join(lists, on="row", how="left", maintain_order="left")
    return joined["tok"].fill_null(pl.Series([[]], dtype=RELEASES["tok"]))


def _chunks(files: pl.DataFrame) -> pl.DataFrame:
    if files.is_empty():
        return empty(CHUNKS)
    # The files of an NZB are in the order of their chunk.
    ordered = files.sort(*_KEY, "file_index", "name", "first_number", "file_key")
    numbered = ordered.select(*_KEY).unique(maintain_order=True).with_row_index("_chunk")
    rows = ordered.join(numbered, on=_KEY, how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("_chunk").cast(pl.UInt64)).drop("release_name")
    payloads = pl.DataFrame(voyager_native.encode_chunks(rows, by="_chunk"))
    numbered = numbered.with_columns(pl.col("_chunk").cast(pl.UInt64))
    return numbered.join(payloads, on="_chunk").select(list(CHUNKS))
