"""An overview of the range ledger, which Dagster's partitions only show stretch by stretch."""

from collections import Counter
from collections.abc import Sequence

import dagster as dg

from voyager_assets.assets.metadata import MOST_ROWS, counts_table, without_nulls
from voyager_assets.assets.stages import OWNERS
from voyager_assets.resources import Catalog, Clock
from voyager_assets.retries import core_errors
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.progress import GroupStatus, group_status
from voyager_core.catalog.rulecounts import reject_totals, rule_totals


@dg.asset(
    group_name="planning",
    kinds={"postgres"},
    owners=OWNERS,
    deps=["newsgroups"],
    code_version="1",
    description="How far each newsgroup is: ranges planned, done and parked, lines read, and how "
    "far the newest article is ahead. What rules and the parser left out, over all ranges.",
)
def range_ledger(
    context: dg.AssetExecutionContext, catalog: Catalog, clock: Clock
) -> dg.MaterializeResult[None]:
    """Adds up the ledger."""
    with core_errors(context), catalog.connect() as conn:
        groups = group_status(conn, at=clock.now())
        tables = {
            "newsgroups": _table(groups),
            "dropped_by_rule": counts_table(_dropped(conn), what="rule"),
            "rejected_by_reason": counts_table(_rejected(conn), what="reason"),
        }
    return dg.MaterializeResult(metadata={**_sums(groups), **without_nulls(tables)})


def _dropped(conn: Connection) -> Counter[str]:
    counts = Counter[str]()
    for total in rule_totals(conn):
        counts[total.rule] += total.articles
    return counts


def _rejected(conn: Connection) -> Counter[str]:
    return Counter({total.reason: total.articles for total in reject_totals(conn)})


def _sums(groups: Sequence[GroupStatus]) -> dict[str, int | float]:
    numbers = sum(each.numbers for each in groups)
    indexed = sum(each.indexed for each in groups)
    return {
        "groups": len(groups),
        "ranges": sum(each.ranges for each in groups),
        "ranges_done": sum(each.done for each in groups),
        "ranges_parked": sum(each.parked for each in groups),
        "lines": sum(each.lines for each in groups),
        "behind": sum(each.lag for each in groups),
        "percent_indexed": round(100 * indexed / numbers, 2) if numbers else 0.0,
    }


def _table(groups: Sequence[GroupStatus]) -> dg.MetadataValue:
    """Returns the groups that are furthest behind, at most `MOST_ROWS`."""
    shown = sorted(groups, key=lambda each: (-each.lag, each.group))[:MOST_ROWS]
    columns = ("newsgroup", "ranges", "done", "parked", "lines", "behind")
    kinds = ("string", *["int"] * 5)
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "newsgroup": each.group,
                    "ranges": each.ranges,
                    "done": each.done,
                    "parked": each.parked,
                    "lines": each.lines,
                    "behind": each.lag,
                }
            )
            for each in shown
        ],
        schema=dg.TableSchema(
            [dg.TableColumn(name, kind) for name, kind in zip(columns, kinds, strict=True)]
        ),
    )
