"""Rules from the launchpad: take one back, or put it in force again."""

import dagster as dg
from pydantic import Field

from voyager_assets.automation import CATALOG_LANE
from voyager_assets.resources import Catalog
from voyager_core.catalog.rulesets import restore_rule, retract_rule
from voyager_core.errors import VoyagerError


class RetractConfig(dg.Config):
    """Which rule, and why."""

    rule: str = Field(description="The rule's name, such as disguised_program.")
    note: str = Field(default="", description="Why, for those who come after.")
    restore: bool = Field(
        default=False, description="Put it in force again, for what is indexed from now on."
    )


@dg.op(description="Takes a rule back, or puts it in force again.")
def change_rule(context: dg.OpExecutionContext, config: RetractConfig, catalog: Catalog) -> int:
    """Changes the rules in force and returns the number of the rule set from now on.

    Raises:
        dagster.Failure: there is no such rule, or the catalog cannot be asked.
    """
    try:
        with catalog.connect() as conn:
            if config.restore:
                rules = restore_rule(conn, config.rule)
            else:
                rules = retract_rule(conn, config.rule, note=config.note)
    except VoyagerError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    context.log.info("rule set %d is in force: %s", rules.version, ", ".join(rules.dropped))
    return rules.version


@dg.job(
    name="retract_rule",
    tags=CATALOG_LANE,
    executor_def=dg.in_process_executor,
    description="Take a rule back (Launchpad: ops.change_rule.config.rule). What it had dropped is "
    "brought back by the backfill that recover_stale_rules starts.",
)
def retract_rule_job() -> None:
    """Changes a rule."""
    change_rule()
