"""Posts of one key in different spans: told apart when releases settle, as one span tells them."""

from datetime import timedelta

import pytest

from tests.support.courses import LAST, LATER, Course
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.releases import get_release, public_id
from voyager_core.domain.generations import repost_key
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.header_pass.reposts import part_reposts

pytestmark = pytest.mark.postgres
SET = volumes("Other.Show.S02E03.720p-GRP", 4, parts=6)
FILM = [("Some.Film.2010.720p-GRP.mkv", 40)]
ALONE = '"{name}" yEnc ({p}/{parts})'


def course(conn, uploads, *, rules=None):
    """A group of these uploads one after the other, each in a range of its own."""
    uploads = [
        *uploads,
        Upload("later", [("Later.Film.2012.mkv", LAST)], at=START + timedelta(days=10)),
    ]
    text, truth = interleaved(uploads, first_number=1, window=0)
    made = Course(conn, text.splitlines(keepends=True), rules or RuleSet())
    starts = [1, *(n for n in range(2, len(truth) + 1) if truth[n] != truth[n - 1])]
    made.plan(list(zip(starts, [*(n - 1 for n in starts[1:]), len(truth)], strict=True)))
    return made


def read(made, order):
    rows = made.ranges()
    for place in order:
        assert made.read(rows[place], rows[place].high)
    made.end()


def releases(conn):
    return conn.execute(
        "select files, segments, generation from release where name not like 'Later%'"
        " order by posted_at, files desc"
    ).fetchall()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_two_posts_of_one_key_in_two_spans_are_two_releases(catalog, order):
    posts = [
        Upload(f"post{n}", SET, at=START + timedelta(minutes=9 * n), salt=f"{n}") for n in (0, 1)
    ]
    read(course(catalog, posts), order)
    segments = sum(parts for _, parts in SET)
    assert releases(catalog) == [(len(SET), segments, 0)] * 2
    assert check_catalog(catalog) == []
    keys = [
        key % (1 << 64)
        for (key,) in catalog.execute(
            "select release_key from release where name not like 'Later%' order by posted_at"
        ).fetchall()
    ]
    # The first post keeps the key that every span stated.
    assert keys[1] == repost_key(keys[0], 1)
    assert get_release(catalog, public_id(keys[0], 0)).files == len(SET)
    again = part_reposts(catalog, settle_after_seconds=0, now=LATER, rules=RuleSet())
    assert again == 0


def retried():
    rest = frozenset((1, part) for part in range(1, 41) if part != 17)
    later = START + timedelta(minutes=2)
    return [
        Upload("film", FILM, ALONE),
        Upload("retry", FILM, ALONE, at=later, salt="again", missing=rest),
    ]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_a_retry_that_a_cut_separates_from_its_file_is_set_aside(catalog, order):
    read(course(catalog, retried()), order)
    assert releases(catalog) == [(1, 40, 0)]
    assert check_catalog(catalog) == []
    assert catalog.execute("select sum(dropped)::int from range").fetchone() == (1,)
    kept = catalog.execute("select segments, file->>'fullest' from remnant").fetchall()
    assert kept == [(1, "40")]


def test_without_the_rule_a_retry_is_a_release_of_its_own(catalog):
    read(course(catalog, retried(), rules=RuleSet().without(REPOST_REMNANT)), (0, 1, 2))
    assert releases(catalog) == [(1, 40, 0), (1, 1, 0)]
    assert check_catalog(catalog) == []


def test_candidates_go_with_their_post(catalog):
    posts = [
        Upload(f"post{n}", SET, at=START + timedelta(minutes=9 * n), salt=f"{n}") for n in (0, 1)
    ]
    read(course(catalog, posts), (1, 0, 2))
    rows = catalog.execute(
        "select r.posted_at, count(*), count(distinct c.kind) from candidate c"
        " join release r using (release_id) where r.name not like 'Later%'"
        " group by r.release_id, r.posted_at order by 1"
    ).fetchall()
    assert [row[1:] for row in rows] == [(2, 2), (2, 2)]


def test_a_damaged_chunk_stops_nobody(catalog, caplog):
    posts = [
        Upload(f"post{n}", SET, at=START + timedelta(minutes=9 * n), salt=f"{n}") for n in (0, 1)
    ]
    made = course(catalog, posts)
    for row in made.ranges():
        assert made.read(row, row.high)
    catalog.execute("update chunk set payload = 'broken' where low = 1")
    made.end()
    assert "is left as it is" in caplog.text
    unsettled = "select count(*) from release where settled_at is null and name not like 'Later%'"
    assert catalog.execute(unsettled).fetchone() == (0,)
