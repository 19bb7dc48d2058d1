"""The rule sets of a catalog: which one is in force, which were, and what was taken back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import SettingMismatch, catalog_errors
from voyager_core.catalog.rulecounts import list_rulesets
from voyager_core.domain.rulesets import DROP_RULES, RuleSet


class UnknownRuleError(SettingMismatch):
    """There is no rule of that name."""


@dataclass(frozen=True, slots=True)
class Retraction:
    """A rule that was taken back.

    Attributes:
        rule: the rule's name.
        retracted_at: when.
        note: why, in somebody's words.
    """

    rule: str
    retracted_at: datetime
    note: str


def rules_in_force(conn: Connection, built_in: RuleSet | None = None) -> RuleSet:
    """Returns the rules to work by: those built in, without what was retracted.

    Whenever they differ from the last recorded rule set, they are recorded under a new number,
    so that the number of the result always means these rules.

    Args:
        conn: the catalog, outside any transaction.
        built_in: the rules of this program; absent: `RuleSet()`.

    Raises:
        SettingMismatch: a newer version of Voyager works with this catalog; upgrade this one.
        CatalogUnavailable: the database does not answer.
    """
    rules = built_in or RuleSet()
    with catalog_errors("reading the rules in force"):
        found = _newest(conn, rules)
        if found is not None:
            return found
        with conn.transaction():
            conn.execute("lock table ruleset in share row exclusive mode")
            return _newest(conn, rules) or _record(conn, rules)


def retract_rule(
    conn: Connection, rule: str, *, note: str = "", built_in: RuleSet | None = None
) -> RuleSet:
    """Takes a rule back and returns the rules in force from now on.

    Spans in which it dropped something are stale then. Taking it back twice changes nothing.

    Raises:
        UnknownRuleError: there is no such rule.
        SettingMismatch: see `rules_in_force`.
        CatalogUnavailable: the database does not answer.
    """
    require_known(rule)
    with catalog_errors(f"retracting {rule}"):
        # The version that the rule was last part of must be on record, to be compared with.
        rules_in_force(conn, built_in)
        conn.execute(
            "insert into rule_retraction (rule, note) values (%s, %s)"
            " on conflict (rule) do nothing",
            [rule, note.replace("\0", "")[:2000]],
        )
    return rules_in_force(conn, built_in)


def restore_rule(conn: Connection, rule: str, *, built_in: RuleSet | None = None) -> RuleSet:
    """Puts a retracted rule in force again, for what is indexed from now on.

    What was brought back stays in the catalog, which never forgets.

    Raises:
        UnknownRuleError: there is no such rule.
        SettingMismatch: see `rules_in_force`.
        CatalogUnavailable: the database does not answer.
    """
    require_known(rule)
    with catalog_errors(f"restoring {rule}"):
        rules_in_force(conn, built_in)
        conn.execute("delete from rule_retraction where rule = %s", [rule])
    return rules_in_force(conn, built_in)


def list_retractions(conn: Connection) -> Sequence[Retraction]:
    """Returns the rules that are taken back, by name.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("listing what was retracted"):
        return (
            conn.cursor(row_factory=class_row(Retraction))
            .execute(
                "select rule, retracted_at, note from rule_retraction order by rule limit 1000"
            )
            .fetchall()
        )


def recorded_rulesets(conn: Connection) -> dict[int, RuleSet]:
    """Returns the rule sets that were in force, by version; unusable ones are left out.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    found: dict[int, RuleSet] = {}
    for row in list_rulesets(conn):
        try:
            found[row.version] = RuleSet.from_content(row.version, row.content)
        except ValueError:
            continue
    return found


def _newest(conn: Connection, built_in: RuleSet) -> RuleSet | None:
    """Returns the rules in force when they are what was recorded last; None: record them."""
    wanted = _without_retracted(conn, built_in)
    row = conn.execute(
        "select version, digest, built_in from ruleset order by version desc limit 1"
    ).fetchone()
    if row is None:
        return None
    version, digest, number = row
    if digest == wanted.digest:
        return replace(wanted, version=version)
    if number is not None and number > built_in.version:
        msg = (
            f"the rules of this catalog (rule set {version}) come from a newer version of"
            f" Voyager: it has the built-in rules {number}, this one {built_in.version}; upgrade"
        )
        raise SettingMismatch(msg)
    return None


def _record(conn: Connection, built_in: RuleSet) -> RuleSet:
    wanted = _without_retracted(conn, built_in)
    row = conn.execute(
        "insert into ruleset (version, digest, content, built_in)"
        " select greatest(%(built_in)s, coalesce(max(version), 0) + 1), %(digest)s, %(content)s,"
        " %(built_in)s from ruleset returning version",
        {
            "digest": wanted.digest,
            "content": Jsonb(wanted.content()),
            "built_in": built_in.version,
        },
    ).fetchone()
    return replace(wanted, version=row[0] if row is not None else built_in.version)


def _without_retracted(conn: Connection, built_in: RuleSet) -> RuleSet:
    rows = conn.execute("select rule from rule_retraction limit 1000").fetchall()
    return built_in.without(*(rule for (rule,) in rows if rule in DROP_RULES))


def require_known(rule: str) -> None:
    """Returns when a rule exists.

    Raises:
        UnknownRuleError: there is no such rule.
    """
    if rule not in DROP_RULES:
        msg = f"there is no rule {rule[:60]!r}; there are {', '.join(DROP_RULES)}"
        raise UnknownRuleError(msg)
