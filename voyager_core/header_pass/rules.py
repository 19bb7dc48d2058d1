"""The rules of the rule set, applied to the files of a span."""

import json

import polars as pl

from voyager_core.domain.rulesets import (
    BLOCKED,
    DISGUISED_PROGRAM,
    UNSAMPLED,
    RuleSet,
)
from voyager_core.header_pass.schemas import RULE_COUNTS, RULE_SAMPLES, conform, empty

__all__ = ["RuleSet", "apply_rules", "count_drops", "count_rejects", "sample_rules"]

_MEDIA = r"mkv|mp4|m4v|avi|wmv|mov|mpe?g|mp3|flac|m4a|pdf|epub|jpe?g|iso"
_PROGRAM = r"exe|scr|com|bat|cmd|pif|vbs|js|lnk|msi"
_DISGUISED = rf"(?i)\.(?:{_MEDIA})\s*\.(?:{_PROGRAM})$"
_CROSSPOST = "crosspost:"
_WORD = r"[a-z]+"
_ONLY_LETTERS = bytes(
    code if chr(code) in "abcdefghijklmnopqrstuvwxyz\n" else 32 for code in range(256)
)


def apply_rules(files: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Returns the identified files with `dropped_by`: the rule that keeps each out, or null."""
    dropped = pl.lit(None, pl.String)
    for rule in reversed(rules.dropped):
        dropped = pl.when(_matches(files, rule, rules)).then(pl.lit(rule)).otherwise(dropped)
    return files.with_columns(dropped_by=dropped)


def _matches(files: pl.DataFrame, rule: str, rules: RuleSet) -> pl.Expr:
    if rule == BLOCKED:
        return _blocked(files, rules)
    if rule == DISGUISED_PROGRAM:
        return pl.col("name").str.contains(_DISGUISED)
    return _remnant(files, rules)


def _blocked(files: pl.DataFrame, rules: RuleSet) -> pl.Expr:
    # The subject holds every text that a file has.
    blocked = [word for word in sorted(_words(files["subject"])) if rules.is_blocked_word(word)]
    if not blocked:
        return pl.lit(value=False)
    plain = pl.col("subject").str.replace_all(r"[0-9]+", "").str.to_lowercase()
    found = plain.str.extract_all(_WORD)
    # One bad file condemns the whole upload.
    return found.list.eval(pl.element().is_in(blocked)).list.any().any().over("release_key")


def _words(subjects: pl.Series) -> set[str]:
    """Returns the words of subjects: runs of a-z in lower case, digits left out."""
    text = subjects.unique().str.to_lowercase().str.join("\n").cast(pl.Binary).item()
    # Volumes differ in their digits only, so that few lines are left.
    lines = set(text.translate(_ONLY_LETTERS, b"0123456789").split(b"\n"))
    return {word.decode() for word in b"\n".join(lines).split()}


def _remnant(files: pl.DataFrame, rules: RuleSet) -> pl.Expr:
    # Few files are sent twice, and only of these the other post is looked for.
    again = files.filter(pl.col("generation") > 0)["base_key"].unique()
    if again.is_empty():
        return pl.lit(value=False)
    posts = files.join(again.to_frame(), on="base_key", how="semi")
    fullest = posts.group_by("base_key").agg(pl.col("parts_found").max())
    few = pl.col("parts_found") <= (pl.col("parts_total") * rules.remnant_share).floor()
    best = pl.col("base_key").replace_strict(
        fullest["base_key"], fullest["parts_found"], default=None, return_dtype=pl.UInt32
    )
    return (
        (pl.col("generation") > 0) & ~pl.col("is_fragment") & few & (best > pl.col("parts_found"))
    )


def count_drops(files: pl.DataFrame) -> pl.DataFrame:
    """Returns how many articles and files each rule dropped."""
    counts = (
        files.filter(pl.col("dropped_by").is_not_null())
        .group_by(pl.col("dropped_by").alias("rule"))
        .agg(
            pl.col("parts_found").cast(pl.UInt64).sum().alias("articles"),
            pl.len().alias("files"),
        )
        .sort("rule")
        .with_columns(signature=pl.lit(""), owner_group=pl.lit(""))
    )
    return conform(counts, RULE_COUNTS, what="rule counts")


def count_rejects(rejects: pl.DataFrame) -> pl.DataFrame:
    """Returns the lines that are in no file, as rule counts: by reason and owner group."""
    reason = pl.col("reason")
    is_crosspost = reason.str.starts_with(_CROSSPOST)
    counts = rejects.select(
        rule=pl.when(is_crosspost).then(pl.lit("crosspost")).otherwise(reason),
        owner_group=pl.when(is_crosspost)
        .then(reason.str.slice(len(_CROSSPOST)))
        .otherwise(pl.lit("")),
        articles="count",
    ).with_columns(signature=pl.lit(""), files=pl.lit(0))
    return conform(counts.sort("rule", "owner_group"), RULE_COUNTS, what="reject counts")


def sample_rules(files: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Returns about one percent of the dropped releases, chosen by their keys, with their files.

    The same release is a sample wherever and whenever it is met, and never of a rule whose
    drops must not be stored.
    """
    limit = min(int(rules.sample_share * (1 << 64)), (1 << 64) - 1)
    chosen = files.filter(
        pl.col("dropped_by").is_not_null()
        & ~pl.col("dropped_by").is_in(list(UNSAMPLED))
        & (pl.col("release_key") < limit)
    ).sort("release_key", "first_number", "file_key")
    if chosen.is_empty():
        return empty(RULE_SAMPLES)
    columns = ["subject", "name", "poster", "groups", "file_index", "file_total", "parts_total"]
    columns += ["parts_found", "size_bytes", "first_number", "first_message_id", "release_name"]
    details = [json.dumps(row, ensure_ascii=False) for row in chosen.select(columns).to_dicts()]
    samples = chosen.select(rule="dropped_by", release_key="release_key").with_columns(
        detail=pl.Series(details, dtype=pl.String)
    )
    return conform(samples, RULE_SAMPLES, what="rule samples")
