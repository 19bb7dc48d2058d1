"""What the rules and the parser left out: counts per range, samples, and rule set versions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """What one rule dropped: articles and files, in how many ranges."""

    rule: str
    signature: str
    owner_group: str
    articles: int
    files: int
    ranges: int


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """What one rule dropped in one newsgroup."""

    group: str
    ranges: int
    articles: int
    files: int


@dataclass(frozen=True, slots=True)
class RejectTotal:
    """Overview lines that are in no file, for one reason, in how many ranges."""

    reason: str
    articles: int
    ranges: int


@dataclass(frozen=True, slots=True)
class RuleSample:
    """One dropped release, kept to judge the rule by.

    Attributes:
        rule: the rule's name.
        group: the newsgroup of the range.
        low: the first number of the range.
        release_key: unsigned, None when there is none.
        detail: what the header pass kept of it.
    """

    rule: str
    group: str
    low: int
    release_key: int | None
    detail: Any


@dataclass(frozen=True, slots=True)
class RulesetRow:
    """A version of the rule set that was in use."""

    version: int
    digest: str
    content: Any
    recorded_at: datetime


def rule_totals(conn: Connection, group: str | None = None) -> list[RuleTotal]:
    """Returns what each rule dropped, in one newsgroup or in all, most articles first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up the rules"):
        return (
            conn.cursor(row_factory=class_row(RuleTotal))
            .execute(
                "select c.rule, c.signature, c.owner_group, sum(c.articles)::bigint as articles,"
                " sum(c.files)::bigint as files, count(distinct c.range_id) as ranges"
                " from range_rule_count c join range r using (range_id)"
                " join newsgroup n using (newsgroup_id)"
                " where %(group)s::text is null or n.name = %(group)s"
                " group by c.rule, c.signature, c.owner_group"
                " order by articles desc, c.rule, c.signature, c.owner_group limit 10000",
                {"group": group},
            )
            .fetchall()
        )


def rule_groups(conn: Connection, rule: str, *, limit: int = 100) -> list[RuleGroup]:
    """Returns what a rule dropped by newsgroup, most articles first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"adding up {rule} by newsgroup"):
        return (
            conn.cursor(row_factory=class_row(RuleGroup))
            .execute(
                'select n.name as "group", count(distinct c.range_id) as ranges,'
                " sum(c.articles)::bigint as articles, sum(c.files)::bigint as files"
                " from range_rule_count c join range r using (range_id)"
                " join newsgroup n using (newsgroup_id) where c.rule = %s"
                " group by n.name order by articles desc, n.name limit %s",
                [rule, max(0, min(limit, 10_000))],
            )
            .fetchall()
        )


def reject_totals(conn: Connection, group: str | None = None) -> list[RejectTotal]:
    """Returns the lines in no file by reason, of one newsgroup or of all, most first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("adding up the rejected lines"):
        return (
            conn.cursor(row_factory=class_row(RejectTotal))
            .execute(
                "select c.reason, sum(c.articles)::bigint as articles, count(*) as ranges"
                " from reject_count c join range r using (range_id)"
                " join newsgroup n using (newsgroup_id)"
                " where %(group)s::text is null or n.name = %(group)s"
                " group by c.reason order by articles desc, c.reason limit 10000",
                {"group": group},
            )
            .fetchall()
        )


def rule_samples(conn: Connection, rule: str, *, limit: int = 100) -> list[RuleSample]:
    """Returns samples of what a rule dropped, newest first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading samples of {rule}"):
        rows = conn.execute(
            "select s.rule, n.name, r.low, s.release_key, s.detail"
            " from rule_sample s join range r using (range_id)"
            " join newsgroup n using (newsgroup_id)"
            " where s.rule = %s order by s.rule_sample_id desc limit %s",
            [rule, max(0, min(limit, 10_000))],
        ).fetchall()
    return [
        RuleSample(name, group, low, None if key is None else key % (1 << 64), detail)
        for name, group, low, key, detail in rows
    ]


def list_rulesets(conn: Connection) -> list[RulesetRow]:
    """Returns the versions of the rule set that were in use, newest first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("listing the rule sets"):
        return (
            conn.cursor(row_factory=class_row(RulesetRow))
            .execute(
                "select version, digest, content, recorded_at from ruleset"
                " order by version desc limit 1000"
            )
            .fetchall()
        )
