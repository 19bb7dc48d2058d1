"""A rule is retracted while numbers of a span are still missing: nothing is doubled or torn."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.indexing import GROUP, NOW, Group, indexer
from tests.support.recovering import contents, mixed
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.holes import still_missing
from voyager_core.catalog.migrate import migrate
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.rulesets import retract_rule, rules_in_force
from voyager_core.domain.rulesets import DISGUISED_PROGRAM, RuleSet
from voyager_core.header_pass.late import AGAIN_AFTER, without_numbers
from voyager_core.header_pass.recover import recover_stretches
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.header_pass.tail import follow_tail

pytestmark = pytest.mark.postgres
BUILT_IN = RuleSet()
# Of programs that the rule drops, of films that it lets through, and between files.
LATE = {23, 24, 57, 58, 101, 140}
SECOND = {58, 140}


def shown(without):
    lines = dict(enumerate(mixed(1, 300), 1))
    return Group(GROUP, [lines[number] for number in sorted(lines) if number not in without])


def course(it, rules, *, retract):
    """Indexes with holes; some articles appear before the recovery, the others after it."""
    it.plan()
    with it.tools(rules=rules) as tools:
        list(index_stretches(tools, [(GROUP, 0)]))
    it.server.groups[GROUP] = shown(SECOND)
    if retract:
        with it.connect() as conn:
            (row,) = ranges_of(conn, GROUP)
            missing = still_missing(conn, row.range_id, 1, 60)
            assert missing == [(23, 24), (57, 58)]
            rules = retract_rule(conn, DISGUISED_PROGRAM, built_in=BUILT_IN)
        with it.tools(rules=rules) as tools:
            list(recover_stretches(tools, [(GROUP, 0)], DISGUISED_PROGRAM))
            assert check_catalog(tools.conn) == []
    for after, group in ((AGAIN_AFTER[0], shown(SECOND)), (timedelta(days=1), shown(()))):
        it.server.groups[GROUP] = group
        with it.tools(rules=rules) as tools:
            later = replace(tools, clock=lambda after=after: NOW + after)
            assert not follow_tail(later).failures
    with it.connect() as conn:
        merge_ready_fragments(conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
        assert check_catalog(conn) == []
        assert sum(row.lines for row in ranges_of(conn, GROUP)) == 300
        return contents(conn)


def test_late_articles_of_recovered_files_are_added_once(database, empty_database, tmp_path):
    migrate(empty_database)
    without = BUILT_IN.without(DISGUISED_PROGRAM)
    with indexer(empty_database, tmp_path / "clean", [shown(LATE)]) as it:
        clean = course(it, without, retract=False)
    with indexer(database, tmp_path / "it", [shown(LATE)]) as it:
        with it.connect() as conn:
            rules = rules_in_force(conn, BUILT_IN)
        found = course(it, rules, retract=True)
    assert found["fragments"] == clean["fragments"] == []
    assert found["segments"] == clean["segments"]
    assert found["releases"] == clean["releases"]


def test_lines_of_some_numbers_are_left_out_and_strange_blocks_stay_as_they_are():
    text = b"".join(b"%d\tsubject\r\n" % number for number in range(1, 9)) + b"x\ty\r\n"
    kept = without_numbers(text, [(2, 3), (7, 7)])
    assert [int(line.split(b"\t")[0]) for line in kept.splitlines()] == [1, 4, 5, 6, 8]
    assert without_numbers(b"\x1f\x8b\x00garbage", [(1, 2)]) == b"\x1f\x8b\x00garbage"
