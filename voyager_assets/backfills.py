"""Backfills that a sensor starts: the one place that uses Dagster's private classes for them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.utils import make_new_backfill_id

_UNDER_WAY = (BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING, BulkActionStatus.FAILING)
_LOOKED_AT = 200


def start_backfill(
    instance: dg.DagsterInstance,
    asset: str,
    partitions: dg.PartitionsDefinition[str],
    keys: Sequence[str],
    *,
    at: datetime,
    title: str,
    tags: Mapping[str, str],
) -> str:
    """Starts a backfill of partitions of an asset; returns its id.

    Args:
        instance: Dagster's, whose daemon carries it out.
        asset: the asset's name.
        partitions: the asset's partitions.
        keys: those to materialize; the asset's backfill policy says how they share runs.
        at: the time.
        title: what the list of backfills shows.
        tags: of the backfill and its runs.
    """
    subset = AssetGraphSubset(  # type: ignore[call-arg] # its defaults are lost in a decorator
        partitions_subsets_by_asset_key={
            dg.AssetKey(asset): partitions.subset_with_partition_keys(keys)
        },
    )
    backfill: PartitionBackfill = PartitionBackfill.from_asset_graph_subset(
        backfill_id=make_new_backfill_id(),
        backfill_timestamp=at.timestamp(),
        tags=dict(tags),
        dynamic_partitions_store=instance,
        asset_graph_subset=subset,
        title=title,
        description=None,
        run_config=None,
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id


def backfills_under_way(instance: dg.DagsterInstance, asset: str) -> list[Mapping[str, str]]:
    """Returns the tags of each backfill of an asset that is not finished."""
    found: list[Mapping[str, str]] = []
    for status in _UNDER_WAY:
        found.extend(
            each.tags or {}
            for each in instance.get_backfills(status=status, limit=_LOOKED_AT)
            if dg.AssetKey(asset) in (each.asset_selection or [])
        )
    return found
