"""The catalog after the pass: cut files put together, finished releases settled, an overview."""

import dagster as dg

from voyager_assets.assets.stages import CHUNKS, OWNERS, PROBE_CANDIDATES, RELEASES
from voyager_assets.automation import CATALOG_POOL
from voyager_assets.resources import Catalog, Clock
from voyager_assets.retries import core_errors
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.header_pass.settle import merge_ready_fragments, settle_releases

GROUP = "catalog"


@dg.asset(
    group_name=GROUP,
    kinds={"rust", "postgres"},
    owners=OWNERS,
    deps=[CHUNKS],
    code_version="1",
    pool=CATALOG_POOL,
    description="Files that the edge of a span cut in two, put together once the neighbouring "
    "ranges are read and no further segment can come.",
)
def merged_fragments(
    context: dg.AssetExecutionContext, catalog: Catalog, clock: Clock
) -> dg.MaterializeResult[None]:
    """Merges the fragments that are ready."""
    with core_errors(context), catalog.connect() as conn:
        patience, rules = catalog.settle_after_seconds, rules_in_force(conn)
        report = merge_ready_fragments(
            conn, now=clock.now(), patience_seconds=patience, rules=rules
        )
    return dg.MaterializeResult(
        metadata={
            "fragments_merged": report.merged,
            "fragments_waiting": report.waiting,
            "files": report.files,
            "segments": report.segments,
            "releases_added": report.releases_added,
            "releases_updated": report.releases_updated,
        }
    )


@dg.asset(
    group_name=GROUP,
    kinds={"postgres"},
    owners=OWNERS,
    deps=[RELEASES, PROBE_CANDIDATES, merged_fragments],
    code_version="1",
    pool=CATALOG_POOL,
    description="Releases to which nothing is added any more: the ranges that could hold more of "
    "them are read, and nothing arrived for a day. Their completeness is known.",
)
def settled_catalog(
    context: dg.AssetExecutionContext, catalog: Catalog, clock: Clock
) -> dg.MaterializeResult[None]:
    """Settles the releases that are finished."""
    with core_errors(context), catalog.connect() as conn:
        patience, rules = catalog.settle_after_seconds, rules_in_force(conn)
        report = settle_releases(conn, now=clock.now(), settle_after_seconds=patience, rules=rules)
    return dg.MaterializeResult(
        metadata={
            "settled": report.settled,
            "complete": report.complete,
            "incomplete": report.incomplete,
            "reposts_told_apart": report.parted,
            **{f"folded_by_{rule}": count for rule, count in report.folded.items()},
        }
    )
