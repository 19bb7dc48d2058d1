"""Whatever the course of indexing, the catalog ends with what one reading of the group gives."""

import os
import random
from contextlib import contextmanager
from functools import partial

import pytest

from tests.support.courses import Course, articles_of, disturbed, made, outcome, whole
from tests.support.postgres import TEMPLATE, _database
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import connect
from voyager_core.domain.rulesets import RuleSet

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
fresh = contextmanager(lambda server: _database(server, TEMPLATE))

SEEDS = range(int(os.environ.get("VOYAGER_TEST_COURSES", "8")))


def ends(server, lines, run, names):
    with fresh(server) as dsn, connect(dsn, application_name="test") as conn:
        run(Course(conn, lines, RuleSet()))
        assert check_catalog(conn) == []
        dropped = conn.execute("select coalesce(sum(dropped), 0) from range").fetchone()
        return outcome(conn, names), dropped[0]


@pytest.mark.parametrize("late", [False, True], ids=["reposts", "late articles"])
@pytest.mark.parametrize("seed", SEEDS)
def test_any_course_ends_as_one_reading_does(postgres_server, seed, late):
    """Cuts, order, spans sent twice, retries; reposts, or articles that arrive late."""
    chance = random.Random(seed)
    lines = made(chance, again=not late)
    # Which of two equal articles of a retry is kept may depend on which came late.
    names = articles_of(lines) if late else {}
    expected = ends(postgres_server, lines, whole, names)
    run = partial(disturbed, chance=chance, late=late)
    found = ends(postgres_server, lines, run, names)
    assert found == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_posts_under_other_counters_end_as_one_reading_tells_them(postgres_server, seed):
    chance = random.Random(seed + 1_000)
    lines = made(chance, again=True, recounted=True)
    expected = ends(postgres_server, lines, whole, {})
    found = ends(postgres_server, lines, partial(disturbed, chance=chance, late=False), {})
    assert found == expected
