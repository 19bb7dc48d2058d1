"""Newsgroups and what is planned of them: water marks, ranges, partitions, the rule set."""

import dagster as dg

from voyager_assets.assets.metadata import plans_table, without_nulls
from voyager_assets.assets.stages import NEWSGROUPS_VERSION, OWNERS, RULE_SET_VERSION
from voyager_assets.automation import PLAN_POOL
from voyager_assets.partitions import add_stretches
from voyager_assets.recoveries import stale_now, stale_table
from voyager_assets.resources import Catalog, Clock, NewsServer
from voyager_assets.retries import core_errors
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.catalog.stretches import all_stretches
from voyager_core.domain.ranges import partition_key
from voyager_core.header_pass.dates import first_posted_at, usual_posted_at
from voyager_core.header_pass.eras import date_groups
from voyager_core.header_pass.plan import refresh_groups, totals

GROUP = "planning"


@dg.asset(
    group_name=GROUP,
    kinds={"nntp", "postgres"},
    owners=OWNERS,
    code_version="1",
    pool=PLAN_POOL,
    description="The newsgroups that are indexed, the article numbers that the server has of "
    "them, and the ranges planned from these. Each stretch of ranges becomes a partition.",
)
def newsgroups(
    context: dg.AssetExecutionContext, news: NewsServer, catalog: Catalog, clock: Clock
) -> dg.MaterializeResult[None]:
    """Asks the server for the water marks, plans new ranges and adds their partitions."""
    with core_errors(context), catalog.connect() as conn, news.open() as server:
        now, days = clock.now(), catalog.backfill_days
        plans = refresh_groups(conn, server, now=now, backfill_days=days, date_of=first_posted_at)
        keys = [partition_key(*stretch) for stretch in all_stretches(conn)]
        added = add_stretches(context.instance, keys)
        # Runs of the history can begin meanwhile; each date puts them in a better order.
        dates = date_groups(conn, server, now=now, date_of=usual_posted_at)
    numbers = {**totals(plans), "stretches": len(keys), "new_partitions": added}
    numbers["dates_asked"] = dates
    return dg.MaterializeResult(
        metadata={**numbers, **without_nulls({"newsgroups": plans_table(plans)})},
        data_version=dg.DataVersion(NEWSGROUPS_VERSION),
    )


@dg.asset(
    group_name=GROUP,
    kinds={"python"},
    owners=OWNERS,
    code_version=RULE_SET_VERSION,
    description="What is kept out of the catalog, under names that are counted. A changed rule "
    "makes stale only where it had dropped something: the partitions of `rule_recovery`.",
)
def rule_set(context: dg.AssetExecutionContext, catalog: Catalog) -> dg.MaterializeResult[None]:
    """Records the rule set in force in the catalog, and tells what earlier ones left stale."""
    with core_errors(context), catalog.connect() as conn:
        rules = rules_in_force(conn)
        stale = stale_now(conn, rules)
    return dg.MaterializeResult(
        metadata={
            "rules_version": rules.version,
            "stretches_stale": len(stale),
            **without_nulls({"stale": stale_table(stale)}),
            "digest": rules.digest,
            "rules": dg.MetadataValue.json(rules.content()),
        },
        data_version=dg.DataVersion(RULE_SET_VERSION),
    )
