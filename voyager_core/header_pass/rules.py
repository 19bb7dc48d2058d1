"""The rules of the rule set, applied to the files of a span."""

import json
from functools import lru_cache

import polars as pl

import voyager_native
from voyager_core.domain.blocklist import SALT, is_blocked
from voyager_core.domain.names import readable
from voyager_core.domain.posting_tools import POSTING_TOOLS, UNKNOWN_TOOL
from voyager_core.domain.rulesets import (
    BLOCKED,
    DISGUISED_PROGRAM,
    GARBAGE,
    UNSAMPLED,
    RuleSet,
)
from voyager_core.header_pass import stems
from voyager_core.header_pass.candidates import find_candidates
from voyager_core.header_pass.retries import retries
from voyager_core.header_pass.schemas import RULE_COUNTS, RULE_SAMPLES, conform, empty

__all__ = ["RuleSet", "apply_rules", "count_drops", "count_rejects", "sample_rules"]

_CROSSPOST = "crosspost:"
_SPELLED_OTHERWISE = r"[A-Za-z][0-9@$]|[0-9@$][A-Za-z]|[^\x00-\x7f]"


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
        return pl.col("name").str.contains(disguise(rules))
    if rule == GARBAGE:
        return _garbage(files, rules)
    return _remnant(files, rules)


def disguise(rules: RuleSet) -> str:
    """Returns the pattern of a program's name that pretends to be media."""
    media, program = "|".join(rules.media_types), "|".join(rules.program_types)
    # Without types there is nothing to pretend; an empty alternative would match everything.
    return rf"(?i)\.((?:{media})\s*\.(?:{program}))$" if media and program else r"(a\bc)"


def _blocked(files: pl.DataFrame, rules: RuleSet) -> pl.Expr:
    # The subject holds every text that a file has.
    listed = _block_list(rules)
    found = listed.suspects(files.select("subject"), "subject")
    rows = files.select("subject", "release_key", "release_name")
    likely = rows["subject"].str.to_lowercase().str.contains_any(found) if found else None
    # Digits and accents in words are looked at in names alone: subjects are full of numbers.
    names = rows["release_name"].unique()
    odd = names.filter(names.str.contains(_SPELLED_OTHERWISE)).to_list()
    spelled = _blocked_of(odd, rules)
    wrong = rows.filter(pl.col("release_name").is_in(spelled)) if spelled else rows.clear()
    if likely is not None:
        doubtful = rows.filter(likely)
        bad = _blocked_of(doubtful["subject"].unique().to_list(), rules)
        wrong = pl.concat([wrong, doubtful.filter(pl.col("subject").is_in(bad))])
    if wrong.is_empty():
        return pl.lit(value=False)
    # One bad file condemns the whole upload.
    return pl.col("release_key").is_in(wrong["release_key"].unique().implode())


def _blocked_of(texts: list[str], rules: RuleSet) -> list[str]:
    """Returns the texts with a blocked word or pair."""
    told = _block_list(rules).blocked(texts)
    return [
        text
        for text, answer in zip(texts, told, strict=True)
        if (_is_blocked(text, rules) if answer is None else answer)
    ]


def _is_blocked(text: str, rules: RuleSet) -> bool:
    return is_blocked(text, rules.blocked_digests, rules.blocked_halves)


def _block_list(rules: RuleSet) -> voyager_native.BlockList:
    return _block_list_of(rules.blocked_digests, rules.blocked_halves)


@lru_cache(maxsize=4)
def _block_list_of(digests: frozenset[str], halves: frozenset[str]) -> voyager_native.BlockList:
    return voyager_native.BlockList(salt=SALT, digests=sorted(digests), halves=sorted(halves))


def _garbage(files: pl.DataFrame, rules: RuleSet) -> pl.Expr:
    """Tells the files of releases under random names of which the first listed tool posted one."""
    if not rules.garbage or files.is_empty():
        return pl.lit(value=False)
    signed = files.select("release_key", "release_name", "group", "first_message_id").filter(
        _signed(rules)
    )
    names = signed["release_name"].unique()
    random = names.filter(~readable(names)).to_list()
    keys = signed.filter(pl.col("release_name").is_in(random))["release_key"].unique()
    return pl.col("release_key").is_in(keys.implode())


def _signed(rules: RuleSet) -> pl.Expr:
    """Tells articles of the tools and newsgroups that the rule set lists."""
    listed = [signature.partition("@")[::2] for signature in rules.garbage]
    matches = [
        _is_of(tool) & (pl.lit(value=True) if group == "*" else pl.col("group") == group)
        for tool, group in listed
    ]
    return pl.any_horizontal(matches)


def _is_of(tool: str) -> pl.Expr:
    message_id = pl.col("first_message_id")
    if tool != UNKNOWN_TOOL:
        return message_id.str.contains(POSTING_TOOLS[tool])
    known = [message_id.str.contains(pattern) for pattern in POSTING_TOOLS.values()]
    return ~pl.any_horizontal(known)


def block_samples(samples: pl.Series, rules: RuleSet) -> pl.Series:
    """Returns samples of rejected lines (lists of bytes) without those that are blocked."""
    kept = [
        [line for line in lines if not _is_blocked(line.decode("utf-8", "replace"), rules)]
        for lines in samples.to_list()
    ]
    return pl.Series(samples.name, kept, dtype=samples.dtype)


def _remnant(files: pl.DataFrame, rules: RuleSet) -> pl.Expr:
    # Few files are sent twice, and only of these the other post is looked for.
    again = files.filter(pl.col("generation") > 0).select("base_key").unique()
    if again.is_empty():
        return pl.lit(value=False)
    posts = files.with_row_index("_at").join(again, on="base_key", how="semi")
    posts = posts.with_columns(fullest=pl.col("parts_found").max().over("base_key", "file_index"))
    found = posts.filter(retries(rules.remnant_share) & ~pl.col("is_fragment"))
    return pl.int_range(pl.len(), dtype=pl.UInt32).is_in(found["_at"].implode())


def count_drops(files: pl.DataFrame, rules: RuleSet) -> pl.DataFrame:
    """Returns how many articles and files each rule dropped, and by what (the signature)."""
    dropped = files.filter(pl.col("dropped_by").is_not_null())
    counts = (
        dropped.group_by(pl.col("dropped_by").alias("rule"), _signature(rules).alias("signature"))
        .agg(
            pl.col("parts_found").cast(pl.UInt64).sum().alias("articles"),
            pl.len().alias("files"),
        )
        .sort("rule", "signature")
        .with_columns(owner_group=pl.lit(""))
    )
    return conform(counts, RULE_COUNTS, what="rule counts")


def _signature(rules: RuleSet) -> pl.Expr:
    """Returns what of a rule matched, where that says something: `mkv.exe`."""
    types = pl.col("name").str.extract(disguise(rules), 1).str.to_lowercase()
    tool = pl.lit(UNKNOWN_TOOL)
    for name in {signature.partition("@")[0] for signature in rules.garbage} - {UNKNOWN_TOOL}:
        tool = pl.when(_is_of(name)).then(pl.lit(name)).otherwise(tool)
    return (
        pl.when(pl.col("dropped_by") == DISGUISED_PROGRAM)
        .then(types.str.replace_all(r"\s", ""))
        .when(pl.col("dropped_by") == GARBAGE)
        .then(tool)
        .otherwise(pl.lit(""))
        .fill_null("")
    )


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
    candidates = _candidates_of(chosen)
    details = [
        json.dumps({**row, "candidates": candidates.get(key, [])}, ensure_ascii=False)
        for key, row in zip(chosen["file_key"], chosen.select(columns).to_dicts(), strict=True)
    ]
    samples = chosen.select(rule="dropped_by", release_key="release_key").with_columns(
        detail=pl.Series(details, dtype=pl.String)
    )
    return conform(samples, RULE_SAMPLES, what="rule samples")


def _candidates_of(files: pl.DataFrame) -> dict[int, list[dict[str, object]]]:
    """Returns which articles of dropped files would be worth reading, by file."""
    found: dict[int, list[dict[str, object]]] = {}
    whole = files.filter(~pl.col("is_fragment"))
    candidates = find_candidates(stems.with_kinds(whole))
    for row in candidates.select("file_key", "kind", "message_id", "part").to_dicts():
        found.setdefault(row.pop("file_key"), []).append(row)
    return found
