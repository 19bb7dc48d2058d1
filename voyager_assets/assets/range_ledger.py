"""An overview of the range ledger, which Dagster's partitions only show stretch by stretch."""

from collections import Counter
from collections.abc import Mapping, Sequence

import dagster as dg

from voyager_assets.assets.metadata import MOST_ROWS, counts_table, without_nulls
from voyager_assets.assets.stages import OWNERS
from voyager_assets.resources import Catalog
from voyager_assets.retries import core_errors
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.ranges import GroupProgress, group_progress
from voyager_core.catalog.rulecounts import reject_totals, rule_totals
from voyager_core.catalog.stretches import planned_bounds


@dg.asset(
    group_name="planning",
    kinds={"postgres"},
    owners=OWNERS,
    deps=["newsgroups"],
    code_version="1",
    description="How far each newsgroup is: ranges planned, done and parked, lines read, and how "
    "far the newest article is ahead. What rules and the parser left out, over all ranges.",
)
def range_ledger(context: dg.AssetExecutionContext, catalog: Catalog) -> dg.MaterializeResult[None]:
    """Adds up the ledger."""
    with core_errors(context), catalog.connect() as conn:
        groups, bounds = group_progress(conn), planned_bounds(conn)
        tables = {
            "newsgroups": _table(groups),
            "dropped_by_rule": counts_table(_dropped(conn), what="rule"),
            "rejected_by_reason": counts_table(_rejected(conn), what="reason"),
        }
    return dg.MaterializeResult(metadata={**_sums(groups, bounds), **without_nulls(tables)})


def _dropped(conn: Connection) -> Counter[str]:
    counts = Counter[str]()
    for total in rule_totals(conn):
        counts[total.rule] += total.articles
    return counts


def _rejected(conn: Connection) -> Counter[str]:
    return Counter({total.reason: total.articles for total in reject_totals(conn)})


def _sums(
    groups: Sequence[GroupProgress], bounds: Mapping[str, tuple[int, int]]
) -> dict[str, int | float]:
    numbers = sum(each.numbers - _unposted(each, bounds) for each in groups)
    indexed = sum(each.indexed for each in groups)
    return {
        "groups": len(groups),
        "ranges": sum(each.ranges for each in groups),
        "ranges_done": sum(each.done for each in groups),
        "ranges_parked": sum(each.parked for each in groups),
        "lines": sum(each.lines for each in groups),
        "behind": sum(_behind(each) for each in groups),
        "percent_indexed": round(100 * indexed / numbers, 2) if numbers else 0.0,
    }


def _table(groups: Sequence[GroupProgress]) -> dg.MetadataValue:
    """Returns the groups that are furthest behind, at most `MOST_ROWS`."""
    shown = sorted(groups, key=lambda each: (-_behind(each), each.group))[:MOST_ROWS]
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
                    "behind": _behind(each),
                }
            )
            for each in shown
        ],
        schema=dg.TableSchema(
            [dg.TableColumn(name, kind) for name, kind in zip(columns, kinds, strict=True)]
        ),
    )


def _unposted(group: GroupProgress, bounds: Mapping[str, tuple[int, int]]) -> int:
    """Returns the article numbers at the end of the last range that nobody has posted yet."""
    if group.high is None or group.group not in bounds:
        return 0
    return max(0, bounds[group.group][1] - group.high)


def _behind(group: GroupProgress) -> int:
    """Returns the article numbers between the last indexed one and the server's newest."""
    if group.high is None or group.resume_at is None:
        return 0
    return max(0, group.high - group.resume_at + 1)
