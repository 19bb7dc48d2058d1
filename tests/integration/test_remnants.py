"""Articles set aside while cut files were put together come back when their rule is retracted."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.indexing import GROUP, NOW, Group, indexer
from tests.support.postgres import TEMPLATE, _database
from tests.support.recovering import candidates, contents
from tests.support.uploads import Upload, interleaved
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.recovery import recovered_totals, stale_spans, store_recovery
from voyager_core.catalog.remnants import remnants_of
from voyager_core.catalog.rulecounts import rule_totals
from voyager_core.catalog.rulesets import (
    recorded_rulesets,
    restore_rule,
    retract_rule,
    rules_in_force,
)
from voyager_core.domain.rulesets import DISGUISED_PROGRAM, REPOST_REMNANT, RuleSet
from voyager_core.header_pass.build import build_files
from voyager_core.header_pass.recover import find_stale, recover_stretches, stale_versions
from voyager_core.header_pass.run import index_stretches
from voyager_core.header_pass.schemas import IDENTIFIED, empty
from voyager_core.header_pass.settle import merge_ready_fragments

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
BUILT_IN = RuleSet(sample_share=1.0)
STRETCHES = [(GROUP, 0), (GROUP, 1)]
LATER = NOW + timedelta(days=10_000)
fresh = contextmanager(lambda server: _database(server, TEMPLATE))


def lines():
    """Returns a file that the edge of a range cuts, and two of its parts sent again around it."""
    file = ("Some.Film.2010.mkv", 60)
    again = frozenset((1, part) for part in range(1, 61) if part not in {29, 33})
    uploads = [
        Upload("a", [file], '"{name}" yEnc ({p}/{parts})'),
        Upload("a", [file], '"{name}" yEnc ({p}/{parts})', salt="again", missing=again),
    ]
    text, _ = interleaved(uploads, first_number=971)
    return text.split(b"\r\n")[:-1]


@contextmanager
def indexed(dsn, folder, rules, *, merge=True, order=(0, 1)):
    with indexer(dsn, folder, [Group(GROUP, lines())], range_size=1000) as it:
        with it.connect() as conn:
            rules_in_force(conn, BUILT_IN)
        it.plan()
        for at in order:
            with it.tools(rules=rules) as tools:
                list(index_stretches(tools, [STRETCHES[at]]))
        if merge:
            with it.connect() as conn:
                merge_ready_fragments(conn, now=LATER, patience_seconds=0, rules=rules)
        yield it


def state(it):
    with it.connect() as conn:
        assert check_catalog(conn) == []
        found = contents(conn)
        assert found["fragments"] == []
        return found, candidates(conn), [row.lines for row in ranges_of(conn, GROUP)]


def recover(it, rule=REPOST_REMNANT):
    with it.connect() as conn:
        rules = rules_in_force(conn, BUILT_IN)
    with it.tools(rules=rules) as tools:
        return [
            each for report in recover_stretches(tools, STRETCHES, rule) for each in report.outcomes
        ]


@pytest.fixture
def clean(postgres_server, tmp_path):
    """What the catalog holds when the rule never was in force."""
    rules = BUILT_IN.without(REPOST_REMNANT)
    with fresh(postgres_server) as dsn, indexed(dsn, tmp_path / "clean", rules) as it:
        return state(it)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_retraction_brings_back_what_merging_set_aside(database, tmp_path, clean, order):
    with indexed(database, tmp_path, BUILT_IN, order=order) as it:
        with it.connect() as conn:
            (total,) = rule_totals(conn)
            assert (total.rule, total.articles, total.files) == (REPOST_REMNANT, 2, 1)
            assert check_catalog(conn) == []
            assert sum(row.lines for row in ranges_of(conn, GROUP)) == 62
            now = retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            (stale,) = find_stale(conn, now)
            assert (stale.rule, stale.articles, stale.files) == (REPOST_REMNANT, 2, 1)
        asked = it.server.count("XOVER")
        (outcome,) = recover(it)
        assert (outcome.stored, outcome.recovered) == (True, 2)
        # Nothing is read again for it.
        assert it.server.count("XOVER") == asked
        found = state(it)
        assert found[0] == clean[0]
        assert found[1] >= clean[1]
        assert sum(found[2]) == sum(clean[2])
        with it.connect() as conn:
            assert rule_totals(conn) == []
            assert find_stale(conn, now) == []
            (total,) = recovered_totals(conn)
            assert (total.rule, total.articles, total.files) == (REPOST_REMNANT, 2, 1)
            # Noted when the merge set it aside, since nothing else shows whose repost it is.
            assert conn.execute(
                "select f.files, p.number from repost p join release r using (release_key)"
                " join release f on f.release_key = p.first_key"
            ).fetchall() == [(1, 1)]
        assert recover(it) == []


def test_a_rule_that_comes_and_goes_brings_everything_back_once(database, tmp_path, clean):
    with indexed(database, tmp_path, BUILT_IN) as it:
        with it.connect() as conn:
            retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            back = restore_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            assert find_stale(conn, back) == []
        assert recover(it) == []
        with it.connect() as conn:
            retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
        assert [each.recovered for each in recover(it, "")] == [2]
        with it.connect() as conn:
            restore_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            again = retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            assert find_stale(conn, again) == []
        assert recover(it) == []
        assert state(it)[0] == clean[0]


def test_whoever_comes_second_adds_nothing(database, tmp_path, clean):
    with indexed(database, tmp_path, BUILT_IN) as it:
        with it.connect() as conn:
            now = retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            stale = stale_versions(recorded_rulesets(conn), now)
            spans = [span for place in STRETCHES for span in stale_spans(conn, stale, *place)]
        recover(it)
        with it.tools(rules=now) as tools:
            nothing = build_files(empty(IDENTIFIED), now=NOW)
            late = store_recovery(tools.conn, spans[0], nothing, freed={}, versions=tools.versions)
            assert not late.stored
        assert state(it)[0] == clean[0]


def test_a_smaller_share_brings_back_only_what_it_lets(database, tmp_path, clean):
    with indexed(database, tmp_path, BUILT_IN) as it:
        # Two articles of sixty: more than one, and more than a hundredth.
        smaller = replace(BUILT_IN, version=9, remnant_share=0.01)
        other = replace(BUILT_IN, version=8, remnant_share=0.05)
        for rules, freed in ((other, 0), (smaller, 2)):
            with it.connect() as conn:
                now = rules_in_force(conn, rules)
                assert len(find_stale(conn, now)) == 1
            with it.tools(rules=now) as tools:
                reports = list(recover_stretches(tools, STRETCHES, ""))
            outcomes = [each for report in reports for each in report.outcomes]
            assert [each.recovered for each in outcomes] == [freed]
            with it.connect() as conn:
                assert check_catalog(conn) == []
                assert find_stale(conn, now) == []
        assert state(it)[0] == clean[0]


def test_what_comes_back_is_counted_under_the_rule_that_had_dropped_it(database, tmp_path, clean):
    with indexed(database, tmp_path, BUILT_IN) as it:
        # The remnant's own rule goes, and another one that takes its name comes.
        other = replace(
            BUILT_IN.without(REPOST_REMNANT),
            version=8,
            media_types=("2010",),
            program_types=("mkv",),
        )
        neither = replace(BUILT_IN.without(REPOST_REMNANT), version=9)
        for rules, freed in ((other, 0), (neither, 2)):
            with it.connect() as conn:
                now = rules_in_force(conn, rules)
            with it.tools(rules=now) as tools:
                reports = list(recover_stretches(tools, STRETCHES, ""))
            outcomes = [each for report in reports for each in report.outcomes]
            assert [each.recovered for each in outcomes] == [freed]
        with it.connect() as conn:
            freed = {one.rule: (one.articles, one.files) for one in recovered_totals(conn)}
        assert {rule for rule, numbers in freed.items() if any(numbers)} == {DISGUISED_PROGRAM}
        assert freed[DISGUISED_PROGRAM] == (2, 1)
        assert state(it)[0] == clean[0]


def test_what_is_retracted_before_the_merge_is_never_set_aside(database, tmp_path, clean):
    rules = BUILT_IN
    with indexed(database, tmp_path, rules, merge=False) as it:
        with it.connect() as conn:
            now = retract_rule(conn, REPOST_REMNANT, built_in=BUILT_IN)
            merge_ready_fragments(conn, now=LATER, patience_seconds=0, rules=now)
            assert remnants_of(conn, 1) == []
            assert find_stale(conn, now) == []
        assert state(it)[0] == clean[0]
