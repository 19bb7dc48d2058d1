"""The stages of the header pass as asset specs: names, versions, and what each one tells.

The pass is one step that streams a materialization a stretch. Streamed events carry their
provenance by hand, so that Dagster can say which partitions are stale.
"""

from collections.abc import Iterator, Mapping

import dagster as dg

from voyager_core.domain.rulesets import RuleSet
from voyager_core.domain.versions import (
    CATEGORIES_VERSION,
    CHUNKS_AS_GOOD_SINCE,
    NAMES_VERSION,
)
from voyager_core.header_pass.run import versions_of

OWNERS = ["team:voyager"]
GROUP = "header_pass"

_NOW = versions_of(RuleSet())

SPOOLED_OVERVIEW = "spooled_overview"
PARSED_HEADERS = "parsed_headers"
RELEASES = "releases"
CHUNKS = "chunks"
PROBE_CANDIDATES = "probe_candidates"
STAGES = (SPOOLED_OVERVIEW, PARSED_HEADERS, RELEASES, CHUNKS, PROBE_CANDIDATES)

CODE_VERSIONS = {
    SPOOLED_OVERVIEW: "1",
    PARSED_HEADERS: f"parser {_NOW.parser}",
    RELEASES: f"parser {_NOW.parser}, names {NAMES_VERSION}, categories {CATEGORIES_VERSION}",
    CHUNKS: f"parser {_NOW.parser}, codec {CHUNKS_AS_GOOD_SINCE}",
    PROBE_CANDIDATES: f"parser {_NOW.parser}",
}

# Upstream assets that are not made by the pass, with their data versions. Newsgroups change all
# the time and never make a stretch stale: a new group takes no article from an old one. A new
# rule set makes only those stale in which a changed rule had dropped something; which these are
# the ledger knows, and the partitions of `rule_recovery` show.
NEWSGROUPS_VERSION = "ledger"
RULE_SET_VERSION = "ledger"
_OUTSIDE = {"newsgroups": NEWSGROUPS_VERSION, "rule_set": RULE_SET_VERSION}

DEPS: Mapping[str, tuple[str, ...]] = {
    SPOOLED_OVERVIEW: ("newsgroups",),
    PARSED_HEADERS: (SPOOLED_OVERVIEW,),
    RELEASES: (PARSED_HEADERS, "rule_set"),
    CHUNKS: (RELEASES,),
    PROBE_CANDIDATES: (CHUNKS,),
}

_DESCRIPTIONS = {
    SPOOLED_OVERVIEW: (
        "Overview lines (the headers of articles) as the news server sent them, compressed, in "
        "blocks on disk. They are deleted once the stretch is stored, unless it is captured."
    ),
    PARSED_HEADERS: (
        "Every overview line read by the native engine: it belongs to a file, or it is counted "
        "under a reason. In memory only."
    ),
    RELEASES: (
        "Files put together to what people search for, with rules applied. One row a release in "
        "the catalog, added to as further stretches bring more of it."
    ),
    CHUNKS: (
        "The segments (message-ids and sizes) of every kept file, encoded and written once. NZBs "
        "are made from these."
    ),
    PROBE_CANDIDATES: (
        "Articles worth reading later: the first of an archive, the parity index, a file under "
        "a random name."
    ),
}
_KINDS = {
    SPOOLED_OVERVIEW: {"nntp", "gzip"},
    PARSED_HEADERS: {"rust", "arrow"},
    RELEASES: {"polars", "postgres"},
    CHUNKS: {"rust", "postgres"},
    PROBE_CANDIDATES: {"polars", "postgres"},
}


def specs() -> list[dg.AssetSpec]:
    """Returns the specs of the five stages."""
    return [
        dg.AssetSpec(
            stage,
            deps=list(DEPS[stage]),
            description=_DESCRIPTIONS[stage],
            group_name=GROUP,
            kinds=_KINDS[stage],
            owners=OWNERS,
            code_version=CODE_VERSIONS[stage],
            skippable=True,
        )
        for stage in STAGES
    ]


def materializations(
    partition: str, told: Mapping[str, Mapping[str, dg.MetadataValue]], *, resume: str
) -> Iterator[dg.AssetMaterialization]:
    """Yields the event of each stage that has something to tell, in order.

    Args:
        partition: the stretch's key.
        told: metadata by stage.
        resume: how far the stretch is, as the data's version.
    """
    for stage in STAGES:
        if stage in told:
            yield dg.AssetMaterialization(
                stage,
                partition=partition,
                metadata=dict(told[stage]),
                tags=provenance(stage, resume),
            )


def provenance(stage: str, resume: str) -> dict[str, str]:
    """Returns the tags from which Dagster reads what a materialization was made of."""
    tags = {
        "dagster/code_version": CODE_VERSIONS[stage],
        "dagster/data_version": _data_version(stage, resume),
    }
    for upstream in DEPS[stage]:
        version = _OUTSIDE.get(upstream) or _data_version(upstream, resume)
        tags[f"dagster/input_data_version/{upstream}"] = version
        tags[f"dagster/input_event_pointer/{upstream}"] = "NULL"
    return tags


def _data_version(stage: str, resume: str) -> str:
    return f"{resume}, {CODE_VERSIONS[stage]}"
