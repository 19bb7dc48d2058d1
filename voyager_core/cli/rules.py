"""`voyager rules`: which rules are in force, what they drop, and what another set would do."""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voyager_core.cli.arguments import limit, text
from voyager_core.cli.output import json_text, printable, readable_size, table
from voyager_core.errors import PermanentError, reason_of
from voyager_core.settings import load_settings

if TYPE_CHECKING:
    from voyager_core.catalog.connect import Connection
    from voyager_core.domain.rulesets import RuleSet
    from voyager_core.header_pass.rule_diff import RuleDiff

_SPECS = (
    "a rule set: a version number of `voyager rules list`, `in-force`, `built-in`, "
    "`without:RULE[,RULE]` (those in force, less these), or a JSON file with the fields to change"
)


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command and its actions."""
    rules = commands.add_parser("rules", help="what rules keep out of the catalog")
    rules.set_defaults(run=_list, json=False)
    actions = rules.add_subparsers(dest="action", metavar="ACTION")
    show_all = actions.add_parser("list", help="the rules, their versions, and what they dropped")
    show_all.set_defaults(run=_list)
    show = actions.add_parser("show", help="what one rule drops, with samples")
    show.add_argument("rule", type=text, metavar="NAME")
    show.add_argument("--limit", type=limit, default=20, help="most samples (default: 20)")
    show.set_defaults(run=_show)
    diff = actions.add_parser(
        "diff", help="what one rule set would change against another, on captured ranges"
    )
    diff.add_argument("before", type=text, metavar="A", help=_SPECS)
    diff.add_argument("after", type=text, metavar="B", help="another one")
    diff.add_argument("--group", type=text, help="only captured ranges of this newsgroup")
    diff.add_argument("--limit", type=limit, default=20, help="most rows of a table (default: 20)")
    diff.set_defaults(run=_diff)
    retract = actions.add_parser(
        "retract", help="take a rule back; what it had dropped is brought back by a backfill"
    )
    retract.add_argument("rule", type=text, metavar="NAME")
    retract.add_argument("--note", type=text, default="", help="why, for those who come after")
    retract.add_argument("--dry-run", action="store_true", help="only say what would be read again")
    retract.set_defaults(run=_retract)
    restore = actions.add_parser("restore", help="put a retracted rule in force again")
    restore.add_argument("rule", type=text, metavar="NAME")
    restore.set_defaults(run=_restore)
    for action in (show_all, show, diff, retract, restore):
        action.add_argument("--json", action="store_true", help="print one JSON object")


def _list(options: argparse.Namespace) -> int:
    from voyager_core.catalog.rulecounts import list_rulesets, reject_totals, rule_totals
    from voyager_core.catalog.rulesets import list_retractions, rules_in_force
    from voyager_core.cli.session import catalog_session
    from voyager_core.domain.rulesets import DROP_RULES, RULE_TEXTS
    from voyager_core.header_pass.recover import find_stale

    with catalog_session(load_settings(options.env_file)) as conn:
        now = rules_in_force(conn)
        retracted = {each.rule: each for each in list_retractions(conn)}
        totals, rejects = rule_totals(conn), reject_totals(conn)
        stale = find_stale(conn, now)
        versions = list_rulesets(conn)
    rules = [
        {
            "rule": rule,
            "state": "in force" if rule in now.dropped else "retracted",
            "note": retracted[rule].note if rule in retracted else "",
            "drops": RULE_TEXTS.get(rule, ""),
            "articles": sum(each.articles for each in totals if each.rule == rule),
            "files": sum(each.files for each in totals if each.rule == rule),
            "stale_ranges": sum(each.ranges for each in stale if each.rule == rule),
        }
        for rule in DROP_RULES
    ]
    if options.json:
        found = {
            "rules_version": now.version,
            "digest": now.digest,
            "rules": rules,
            "versions": [
                {"version": row.version, "digest": row.digest, "recorded_at": str(row.recorded_at)}
                for row in versions
            ],
            "rejected": {each.reason: each.articles for each in rejects},
        }
        print(json_text(found))
        return 0
    print(f"rule set {now.version} is in force ({now.digest[:12]})\n")
    names = ("rule", "state", "articles", "files", "stale_ranges", "drops")
    print(table([name.replace("_", " ") for name in names], _rows(rules, names)))
    if rejects:
        print("\nlines that are in no file, which no rule decides on:\n")
        print(
            table(
                ("reason", "ranges", "lines"), [(r.reason, r.ranges, r.articles) for r in rejects]
            )
        )
    print("\nrule sets that were in force:\n")
    recorded = [
        (row.version, row.digest[:12], f"{row.recorded_at:%Y-%m-%d %H:%M}") for row in versions
    ]
    print(table(("version", "digest", "since"), recorded))
    return 0


def _show(options: argparse.Namespace) -> int:
    from voyager_core.catalog.recovery import recovered_totals
    from voyager_core.catalog.rulecounts import rule_groups, rule_samples, rule_totals
    from voyager_core.catalog.rulesets import require_known, rules_in_force
    from voyager_core.cli.session import catalog_session
    from voyager_core.domain.rulesets import DROP_RULES, LOOKS_AT, RULE_TEXTS
    from voyager_core.header_pass.recover import find_stale

    rule = options.rule
    with catalog_session(load_settings(options.env_file)) as conn:
        totals = [each for each in rule_totals(conn) if each.rule == rule]
        if rule not in DROP_RULES and not totals:
            require_known(rule)
        now = rules_in_force(conn)
        samples = rule_samples(conn, rule, limit=options.limit)
        found: dict[str, Any] = {
            "rule": rule,
            "drops": RULE_TEXTS.get(rule, ""),
            "state": "in force" if rule in now.dropped else "not in force",
            "looks_at": {name: now.content()[name] for name in LOOKS_AT.get(rule, ())},
            "counts": [asdict(each) for each in totals],
            "groups": [asdict(each) for each in rule_groups(conn, rule, limit=options.limit)],
            "stale": [asdict(each) for each in find_stale(conn, now) if each.rule == rule],
            "recovered": [asdict(each) for each in recovered_totals(conn, rule)],
            "samples": [asdict(each) for each in samples],
        }
    if rule == "blocked":
        # The digests say nothing to a person.
        found["looks_at"] = {"blocked_digests": len(now.blocked_digests)}
    if options.json:
        print(json_text(found, default=str))
        return 0
    print(f"{rule} ({found['state']}): {found['drops']}")
    for name, value in found["looks_at"].items():
        print(f"  {name}: {' '.join(value) if isinstance(value, list) else value}")
    _print("counts", found["counts"], ("signature", "owner_group", "ranges", "articles", "files"))
    _print("newsgroups", found["groups"], ("group", "ranges", "articles", "files"))
    _print("stale", found["stale"], ("group", "index", "ranges", "articles", "files"))
    _print("brought back", found["recovered"], ("version", "ranges", "articles", "files"))
    if samples:
        print(f"\nsamples (about 1 % of what it drops; the newest {len(samples)}):")
    for each in samples:
        _print_sample(each.group, each.detail)
    return 0


def _print_sample(group: str, detail: Any) -> None:
    if not isinstance(detail, dict):
        print(f"\n  {printable(str(detail))}")
        return
    print(f"\n  {printable(str(detail.get('name')))}")
    counted = f"{detail.get('parts_found')} of {detail.get('parts_total')} parts"
    size = readable_size(int(detail.get("size_bytes") or 0))
    print(f"    {counted}, {size}, in {group} at {detail.get('first_number')}")
    for name in ("subject", "poster", "groups", "release_name", "first_message_id"):
        print(f"    {name.replace('_', ' ')}: {printable(str(detail.get(name)))}")
    for one in detail.get("candidates", []):
        print(f"    worth reading: {one['kind']} <{printable(one['message_id'])}>")


def _diff(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.rule_diff import diff_rules
    from voyager_core.storage.corpus import Corpus

    settings = load_settings(options.env_file)
    before, after = _rule_sets((options.before, options.after), options)
    corpus = Corpus(settings.corpus_path)
    captured = [each for each in corpus.ranges() if options.group in {None, each.span.group}]
    if not captured:
        msg = (
            f"no captured range in {corpus.root}: mark some with `voyager corpus mark GROUP` "
            "or `voyager corpus sweep 20`"
        )
        raise PermanentError(msg)
    found = diff_rules(captured, before, after)
    if options.json:
        print(json_text(_as_json(found, before, after), default=str))
        return 0
    _print_diff(found, options.limit)
    return 0


def _print_diff(found: "RuleDiff", most: int) -> None:
    print(f"{found.ranges} captured ranges, {found.lines:,} lines")
    _print("dropped", found.counts.to_dicts(), tuple(found.counts.columns))
    if found.releases.is_empty() and found.files.is_empty():
        print("\nno release and no file differs")
        return
    changes = ", ".join(f"{count} {change}" for change, count in found.changes.items())
    print(f"\nreleases: {changes or 'none differs'}; files that differ: {len(found.files)}")
    names = ("change", "name_before", "name_after", "category_before", "category_after")
    more = ("files_before", "files_after", "group")
    _print("releases", found.releases.head(most).to_dicts(), (*names, *more))
    columns = ("change", "name", "parts_found", "dropped_before", "dropped_after", "group")
    _print("files", found.files.head(most).to_dicts(), columns)


def _as_json(found: "RuleDiff", before: "RuleSet", after: "RuleSet") -> dict[str, object]:
    return {
        "before": {"version": before.version, "digest": before.digest},
        "after": {"version": after.version, "digest": after.digest},
        "ranges": found.ranges,
        "lines": found.lines,
        "changes": found.changes,
        "releases": found.releases.to_dicts(),
        "files": found.files.to_dicts(),
        "counts": found.counts.to_dicts(),
    }


def _retract(options: argparse.Namespace) -> int:
    from voyager_core.catalog.rulecounts import rule_totals
    from voyager_core.catalog.rulesets import require_known, retract_rule, rules_in_force
    from voyager_core.cli.session import catalog_session
    from voyager_core.header_pass.recover import find_stale

    rule = options.rule
    with catalog_session(load_settings(options.env_file)) as conn:
        if options.dry_run:
            require_known(rule)
            now = rules_in_force(conn)
            totals = [each for each in rule_totals(conn) if each.rule == rule]
            numbers = [
                sum(getattr(each, name) for each in totals) for name in ("articles", "files")
            ]
            ranges = max((each.ranges for each in totals), default=0)
        else:
            now = retract_rule(conn, rule, note=options.note)
            stale = [each for each in find_stale(conn, now) if each.rule == rule]
            numbers = [sum(getattr(each, name) for each in stale) for name in ("articles", "files")]
            ranges = sum(each.ranges for each in stale)
    articles, files = numbers
    if options.json:
        found = {"rule": rule, "rules_version": now.version, "dry_run": options.dry_run}
        print(json_text({**found, "ranges": ranges, "articles": articles, "files": files}))
        return 0
    stale_text = f"{articles:,} articles of {files:,} files in {ranges:,} ranges"
    if options.dry_run:
        print(f"{printable(rule)} dropped {stale_text}; nothing was changed")
        return 0
    print(f"{rule} is retracted; rule set {now.version} is in force")
    if ranges:
        print(f"stale: {stale_text}")
        print(
            "the sensor recover_stale_rules starts a backfill of exactly these in half a minute, "
            "where Dagster runs; see the partitions of rule_recovery",
            file=sys.stderr,
        )
    else:
        print("it had dropped nothing, so nothing is read again")
    return 0


def _restore(options: argparse.Namespace) -> int:
    from voyager_core.catalog.rulesets import restore_rule
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        now = restore_rule(conn, options.rule)
    if options.json:
        print(json_text({"rule": options.rule, "rules_version": now.version}))
        return 0
    print(f"{options.rule} is in force from now on (rule set {now.version})")
    return 0


def _rule_sets(specs: Sequence[str], options: argparse.Namespace) -> "tuple[RuleSet, RuleSet]":
    """Returns the rule sets that two arguments mean; the catalog is asked only when needed."""
    from voyager_core.cli.session import catalog_session
    from voyager_core.domain.rulesets import RuleSet

    if all(spec == "built-in" for spec in specs):
        return RuleSet(), RuleSet()
    with catalog_session(load_settings(options.env_file)) as conn:
        before, after = (_rule_set(conn, spec) for spec in specs)
    return before, after


def _rule_set(conn: "Connection", spec: str) -> "RuleSet":
    from voyager_core.catalog.rulesets import recorded_rulesets, rules_in_force
    from voyager_core.domain.rulesets import RuleSet

    if spec == "built-in":
        return RuleSet()
    if spec.isascii() and spec.isdigit():
        recorded = recorded_rulesets(conn)
        if int(spec[:9]) not in recorded:
            msg = f"no usable rule set has version {spec[:20]}; see `voyager rules list`"
            raise PermanentError(msg)
        return recorded[int(spec[:9])]
    now = rules_in_force(conn)
    if spec in {"in-force", "now"}:
        return now
    try:
        if spec.startswith("without:"):
            return now.without(*spec.removeprefix("without:").split(","))
        changes = json.loads(Path(spec).read_text(encoding="utf-8"))
        if not isinstance(changes, dict):
            msg = f"{printable(spec)} is no rule set: it holds no JSON object of fields"
            raise PermanentError(msg)
        return RuleSet.from_content(now.version, {**now.content(), **changes})
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{printable(spec)} is no rule set: {reason_of(error, Path(spec))}"
        raise PermanentError(msg) from error


def _print(title: str, rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    if rows:
        print(f"\n{title}:\n")
        print(table([name.replace("_", " ") for name in names], _rows(rows, names)))


def _rows(rows: Iterable[dict[str, Any]], names: Sequence[str]) -> list[tuple[object, ...]]:
    return [tuple("-" if row[name] is None else row[name] for name in names) for row in rows]
