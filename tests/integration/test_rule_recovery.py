"""A rule that is taken back gives back exactly what it had dropped, once, come what may."""

import json
import random
import signal
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import psycopg
import pytest

from tests.support.indexing import GROUP, NOW, Group, indexer
from tests.support.newsserver import Rule
from tests.support.postgres import TEMPLATE, _database
from tests.support.recovering import candidates, contents, mixed, start_recovery
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.errors import SettingMismatch
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.recovery import recovered_totals, stale_spans
from voyager_core.catalog.rulecounts import list_rulesets, rule_samples
from voyager_core.catalog.rulesets import (
    UnknownRuleError,
    list_retractions,
    recorded_rulesets,
    restore_rule,
    retract_rule,
    rules_in_force,
)
from voyager_core.domain.blocklist import digest_of
from voyager_core.domain.rulesets import DISGUISED_PROGRAM, REPOST_REMNANT, RuleSet
from voyager_core.header_pass.recover import find_stale, recover_stretches, stale_versions
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.settle import merge_ready_fragments
from voyager_core.header_pass.tail import follow_tail

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
STRETCHES = [(GROUP, 0), (GROUP, 1), (GROUP, 2)]
BUILT_IN = RuleSet(sample_share=1.0)


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path, [Group(GROUP, mixed(1, 1200))]) as made:
        yield made


def in_force(it):
    with it.connect() as conn:
        return rules_in_force(conn, BUILT_IN)


def retract(it, rule=DISGUISED_PROGRAM):
    with it.connect() as conn:
        return retract_rule(conn, rule, note="too greedy", built_in=BUILT_IN)


def index(it, stretches=STRETCHES, rules=None):
    it.plan()
    with it.tools(rules=rules or in_force(it)) as tools:
        return list(index_stretches(tools, stretches))


def recover(it, stretches=STRETCHES, rule=DISGUISED_PROGRAM, rules=None):
    with it.tools(rules=rules or in_force(it)) as tools:
        return list(recover_stretches(tools, stretches, rule))


def outcome(it):
    """Returns the catalog's contents after fragments were merged; it must be sound."""
    with it.connect() as conn:
        merge_ready_fragments(conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
        assert check_catalog(conn) == []
        return contents(conn), candidates(conn)


fresh = contextmanager(lambda server: _database(server, TEMPLATE))


@pytest.fixture
def clean(postgres_server, tmp_path):
    """What the catalog holds when the rule never was in force."""
    with (
        fresh(postgres_server) as dsn,
        indexer(dsn, tmp_path / "clean", [Group(GROUP, mixed(1, 1200))]) as it,
    ):
        index(it, rules=BUILT_IN.without(DISGUISED_PROGRAM))
        return outcome(it)


def require_like(found, clean):
    for name, here in found[0].items():
        there = clean[0][name]
        assert [one for one in here if one not in there] == [
            one for one in there if one not in here
        ], name
        assert here == there, name
    # Both parts of a release may have had a best article of their own.
    assert found[1] >= clean[1]


def test_recovering_equals_never_having_had_the_rule(it, clean):
    index(it)
    with it.connect() as conn:
        assert {row.dropped for row in ranges_of(conn, GROUP)} != {0}
    asked = it.server.count("XOVER")
    now = retract(it)
    assert (now.version, now.dropped) == (2, ("blocked", "garbage", "repost_remnant"))
    with it.connect() as conn:
        assert [(each.index, each.ranges) for each in find_stale(conn, now)] == [
            (0, 1),
            (1, 1),
            (2, 1),
        ]
    reports = recover(it)
    assert [len(each.outcomes) for each in reports] == [1, 1, 1]
    assert all(each.recovered for report in reports for each in report.outcomes)
    assert it.server.count("XOVER") - asked == 7
    assert [len(each.outcomes) for each in recover(it)] == [0, 0, 0]
    require_like(outcome(it), clean)
    with it.connect() as conn:
        assert find_stale(conn, now) == []
        totals = recovered_totals(conn, DISGUISED_PROGRAM)
        assert [(each.version, each.ranges) for each in totals] == [(2, 3)]
        assert {row.dropped for row in ranges_of(conn, GROUP)} == {0}


def grow(it, group, cuts, before_step):
    """Lets the group grow from cut to cut; the tail follows with the rules given for each step."""
    lines = mixed(1, 1200)
    index(it, [(GROUP, 0)], rules=before_step(0))
    for number, (low, high) in enumerate(pairwise([1, *cuts, 1200]), 1):
        for line in lines[low:high]:
            group.add(line)
        with it.tools(rules=before_step(number)) as tools:
            assert not follow_tail(tools).failures


@pytest.mark.parametrize("seed", range(4))
def test_any_course_of_tail_retraction_and_recovery_ends_the_same(postgres_server, tmp_path, seed):
    """The group grows, the rule is retracted in between, and recoveries overlap the tail."""
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(2, 1200), 5))
    retracted_at = chance.randint(1, 6)
    first = mixed(1, 1)
    ends = []
    for retracted in (False, True):
        group = Group(GROUP, first)
        with (
            fresh(postgres_server) as dsn,
            indexer(dsn, tmp_path / f"{retracted}", [group]) as it,
        ):
            if not retracted:
                grow(it, group, cuts, lambda _: BUILT_IN.without(DISGUISED_PROGRAM))
                ends.append(outcome(it))
                continue
            old = in_force(it)

            def step(number, it=it, old=old):
                if number == retracted_at:
                    retract(it)
                if number < retracted_at:
                    return old
                if number > retracted_at and chance.random() < 0.5:
                    recover(it, [STRETCHES[0]])
                # A process that started before the retraction still uses the old rules.
                return chance.choice([old, in_force(it)])

            grow(it, group, cuts, step)
            recover(it, chance.sample(STRETCHES, 3))
            assert [len(each.outcomes) for each in recover(it)] == [0, 0, 0]
            ends.append(outcome(it))
    require_like(ends[1], ends[0])


def test_two_recoveries_at_the_same_time_add_everything_once(it, clean):
    index(it)
    retract(it)
    with it.tools(rules=in_force(it)) as one, it.tools(rules=in_force(it)) as other:
        # Both have read the ledger before either stores.
        first = recover_stretches(one, STRETCHES[:1], DISGUISED_PROGRAM)
        stale = stale_spans(
            other.conn, stale_versions(recorded_rulesets(other.conn), in_force(it)), GROUP, 0
        )
        next(first)
        (late,) = list(recover_stretches(other, STRETCHES[:1], DISGUISED_PROGRAM))
        assert late.outcomes == []
        from voyager_core.catalog.recovery import store_recovery
        from voyager_core.header_pass.build import build_files
        from voyager_core.header_pass.schemas import IDENTIFIED, empty

        nothing = build_files(empty(IDENTIFIED), now=NOW)
        refused = store_recovery(other.conn, stale[0], nothing, freed={}, versions=other.versions)
        assert not refused.stored
    recover(it)
    require_like(outcome(it), clean)


def wait(condition, what):
    event = threading.Event()
    for _ in range(600):
        if condition():
            return
        event.wait(0.05)
    raise AssertionError(f"{what} did not happen")


def waits_for_lock(dsn):
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation"
            " where c.relname = 'range_recovery' and not l.granted"
        ).fetchone()
    return row[0] > 0


def begin(it):
    process, arguments = start_recovery(it, STRETCHES, DISGUISED_PROGRAM)
    process.stdin.write(arguments + "\n")
    process.stdin.flush()
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait(10) == -signal.SIGKILL
    process.stdin.close()


def test_killed_in_the_middle_of_the_transaction_nothing_is_there_and_the_next_adds_it(it, clean):
    index(it)
    retract(it)
    with it.connect() as conn:
        before = contents(conn)
    with psycopg.connect(it.dsn) as lock:
        # All else is written by then, and nothing is committed.
        lock.execute("lock table range_recovery in exclusive mode")
        process = begin(it)
        wait(lambda: waits_for_lock(it.dsn), "the transaction")
        kill(process)
    with it.connect() as conn:
        # The server notices that its client is gone when it gets the lock.
        wait(
            lambda: (
                not conn.execute(
                    "select count(*) from pg_stat_activity where application_name = 'recovery'"
                ).fetchone()[0]
            ),
            "the end of the session",
        )
        assert contents(conn) == before
    assert [len(each.outcomes) for each in recover(it)] == [1, 1, 1]
    require_like(outcome(it), clean)


def test_killed_between_two_spans_the_next_goes_on_with_the_second(it, clean):
    index(it)
    retract(it)
    rule = Rule("XOVER", "stall", 9, argument="^501", times=None)
    it.server.rules.append(rule)
    process = begin(it)

    def first_is_recovered():
        with it.connect() as conn:
            return bool(recovered_totals(conn))

    wait(first_is_recovered, "the first span")
    kill(process)
    it.server.rules.remove(rule)
    assert [len(each.outcomes) for each in recover(it)] == [0, 1, 1]
    require_like(outcome(it), clean)


def test_rules_that_come_and_go_never_double_anything(it, clean):
    """A rule that was restored in between drops again, but what is stored stays stored."""
    index(it, STRETCHES[:2])
    retract(it)
    recover(it, STRETCHES[:1])
    with it.connect() as conn:
        restored = restore_rule(conn, DISGUISED_PROGRAM, built_in=BUILT_IN)
        assert restored.version == 3
        # The second stretch was not recovered yet, and now has nothing to recover.
        assert find_stale(conn, restored) == []
    index(it, STRETCHES[2:])
    changed = replace(BUILT_IN, version=2, program_types=("scr",))
    with it.connect() as conn:
        smaller = rules_in_force(conn, changed)
        assert smaller.version == 4
        assert {each.index for each in find_stale(conn, smaller)} == {1, 2}
    reports = recover(it, rules=smaller)
    assert [len(each.outcomes) for each in reports] == [0, 1, 1]
    with it.connect() as conn:
        last = retract_rule(conn, DISGUISED_PROGRAM, built_in=changed)
    recover(it, rules=last)
    require_like(outcome(it), clean)


def test_what_another_parser_had_kept_is_not_added_again(it, clean):
    """The span was read by a parser that saw the rule match less often."""
    index(it, rules=rules_of(it, program_types=("scr",)))
    with it.connect() as conn:
        content = json.dumps(BUILT_IN.content())
        conn.execute("update ruleset set content = %s where version = 1", [content])
        conn.execute("update span_drop set parser_version = 0")
        merge_ready_fragments(conn, now=NOW + timedelta(days=10_000), patience_seconds=0)
    retract(it)
    recover(it)
    require_like(outcome(it), clean)


def rules_of(it, **changes):
    with it.connect() as conn:
        return rules_in_force(conn, replace(BUILT_IN, **changes))


def test_another_rule_that_drops_the_same_files_keeps_them_out(it):
    """What the next rule would drop as well is counted under that one."""
    index(it)
    with it.connect() as conn:
        digests = frozenset({digest_of("film")})
        stricter = replace(BUILT_IN, version=2, blocked_digests=digests).without(DISGUISED_PROGRAM)
        now = rules_in_force(conn, stricter)
        before = contents(conn)
        assert {each.rule for each in find_stale(conn, now)} == {DISGUISED_PROGRAM}
    recover(it, rules=now)
    with it.connect() as conn:
        after = contents(conn)
        assert after["releases"] == before["releases"]
        assert {row[1] for row in after["counts"]} == {"blocked"}
        assert find_stale(conn, now) == []
        assert check_catalog(conn) == []


def test_versions_are_given_by_the_catalog_and_mean_one_set_of_rules(it):
    with it.connect() as conn:
        assert rules_in_force(conn, BUILT_IN).version == 1
        assert rules_in_force(conn, BUILT_IN).version == 1
        assert retract_rule(conn, REPOST_REMNANT, note="why", built_in=BUILT_IN).version == 2
        assert retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN).version == 2
        assert [(each.rule, each.note) for each in list_retractions(conn)] == [
            (REPOST_REMNANT, "why")
        ]
        newer = rules_in_force(conn, replace(BUILT_IN, version=7, remnant_share=0.2))
        assert (newer.version, newer.dropped) == (7, ("blocked", DISGUISED_PROGRAM, "garbage"))
        with pytest.raises(SettingMismatch, match="newer version of Voyager"):
            rules_in_force(conn, BUILT_IN)
        assert [row.version for row in list_rulesets(conn)] == [7, 2, 1]
        with pytest.raises(UnknownRuleError, match="no rule 'x'"):
            retract_rule(conn, "x")


def test_samples_show_the_file(it):
    index(it)
    with it.connect() as conn:
        samples = rule_samples(conn, DISGUISED_PROGRAM)
    details = [each.detail for each in samples]
    assert {each["name"].rsplit(".", 1)[1] for each in details} <= {"exe", "scr"}
    assert all(each["first_message_id"] for each in details)
