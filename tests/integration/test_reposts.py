"""Posts of one key in different spans: told apart when releases settle, as one span tells them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.courses import LAST, LATER, Course
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.ranges import plan
from voyager_core.catalog.releases import get_release, public_id
from voyager_core.domain.generations import repost_key
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.header_pass import reposts
from voyager_core.header_pass.postings import postings_of
from voyager_core.header_pass.reposts import part_reposts
from voyager_core.header_pass.settle import merge_ready_fragments

pytestmark = pytest.mark.postgres
SET = volumes("Other.Show.S02E03.720p-GRP", 4, parts=6)
FILM = [("Some.Film.2010.720p-GRP.mkv", 40)]
ALONE = '"{name}" yEnc ({p}/{parts})'


def course(conn, uploads, *, rules=None, starts=()):
    """A group of these uploads one after the other, each in a range of its own."""
    uploads = [
        *uploads,
        Upload("later", [("Later.Film.2012.mkv", LAST)], at=START + timedelta(days=10)),
    ]
    text, truth = interleaved(uploads, first_number=1, window=0)
    made = Course(conn, text.splitlines(keepends=True), rules or RuleSet())
    changes = (n for n in range(2, len(truth) + 1) if truth[n] != truth[n - 1])
    starts = [1, *(starts or changes)]
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


def all_but(*parts):
    return frozenset((1, part) for part in range(1, 41) if part not in parts)


def retried():
    rest = all_but(17)
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


def test_parts_that_only_a_later_record_has_stop_nobody(catalog):
    # Both come to rest alone: what is between them was not planned yet.
    first = frozenset((1, part) for part in range(20, 41))
    rest = all_but(10, 11, 12, 25)
    later = START + timedelta(minutes=9)
    uploads = [
        Upload("film", FILM, ALONE, missing=first),
        Upload("other", [("Other.Film.2011.mkv", 30)], at=START + timedelta(minutes=5)),
        Upload("again", FILM, ALONE, at=later, salt="again", missing=rest),
        Upload("later", [("Later.Film.2012.mkv", LAST)], at=START + timedelta(days=10)),
    ]
    text, _ = interleaved(uploads, first_number=1, window=0)
    made = Course(catalog, text.splitlines(keepends=True), RuleSet())
    made.plan([(1, 19)])
    assert made.read(made.ranges()[0], 19)
    assert merge_ready_fragments(catalog, now=LATER, patience_seconds=0).files == 1
    (newsgroup_id,) = catalog.execute("select newsgroup_id from newsgroup").fetchone()
    plan(catalog, newsgroup_id, [(20, 49), (50, 53), (54, 55)])
    for row in made.ranges()[1:]:
        assert made.read(row, row.high)
    made.end()
    # Three of 20 parts twice is no retry; no article is lost.
    assert releases(catalog) == [(1, 19, 0), (1, 30, 0), (1, 4, 0)]
    assert check_catalog(catalog) == []
    unsettled = "select count(*) from release where settled_at is null and name not like 'Later%'"
    assert catalog.execute(unsettled).fetchone() == (0,)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 1, 0, 3)])
def test_articles_that_two_spans_hold_are_counted_once(catalog, order):
    between = Upload("other", [("Other.Film.2011.mkv", 3)], at=START + timedelta(minutes=5))
    # The server numbered the same articles again.
    again = Upload("film", FILM, ALONE, at=START + timedelta(minutes=9))
    read(course(catalog, [Upload("film", FILM, ALONE), between, again]), order)
    assert sorted(releases(catalog)) == [(1, 3, 0), (1, 40, 0)]
    assert check_catalog(catalog) == []
    rows = catalog.execute("select reason, sum(articles)::int from reject_count group by reason")
    assert rows.fetchall() == [("duplicate", 40)]
    assert catalog.execute("select sum(dropped)::int from range").fetchone() == (0,)


def test_a_retry_beside_an_article_that_is_held_already_keeps_its_candidate(catalog):
    archive = [("Some.Film.2010.rar", 40)]
    at = START + timedelta(minutes=9)
    uploads = [
        Upload("film", archive, ALONE),
        Upload("film", archive, ALONE, at=at, missing=all_but(1)),
        Upload("film", archive, ALONE, at=at, salt="again", missing=all_but(7)),
    ]
    read(course(catalog, uploads, starts=(41, 43)), (0, 1, 2))
    assert releases(catalog) == [(1, 40, 0)]
    assert check_catalog(catalog) == []
    rows = catalog.execute(
        "select c.kind, c.part from candidate c join release r using (release_id)"
        " where r.name not like 'Later%' and c.kind = 'archive_first'"
    ).fetchall()
    assert set(rows) == {("archive_first", 1)}
    assert catalog.execute("select segments from remnant").fetchall() == [(1,)]


def test_a_release_that_cannot_be_told_apart_stops_nobody(catalog, caplog, monkeypatch):
    posts = [
        Upload(f"post{n}", SET, at=START + timedelta(minutes=30 + 9 * n), salt=f"{n}")
        for n in (0, 1)
    ]

    def strange(pieces):
        if pieces[0].row["name"].startswith("Other"):
            raise KeyError(25)
        return postings_of(pieces)

    monkeypatch.setattr(reposts, "postings_of", strange)
    read(course(catalog, [*retried(), *posts]), range(5))
    segments = sum(parts for _, parts in SET)
    assert releases(catalog) == [(1, 40, 0), (2 * len(SET), 2 * segments, 0)]
    assert "is left as it is: KeyError(25)" in caplog.text
    assert check_catalog(catalog) == []
    unsettled = "select count(*) from release where settled_at is null and name not like 'Later%'"
    assert catalog.execute(unsettled).fetchone() == (0,)


def test_each_copy_of_a_part_is_kept_or_set_aside(catalog):
    retries = retried()
    third = replace(retries[1], key="third", salt="third", at=START + timedelta(minutes=4))
    read(course(catalog, [*retries, third]), (2, 0, 1, 3))
    assert releases(catalog) == [(1, 40, 0)]
    kept = catalog.execute("select file->>'first_message_id' from remnant").fetchall()
    assert len(set(kept)) == len(kept) == 2
    assert catalog.execute("select sum(dropped)::int from range").fetchone() == (2,)
    assert check_catalog(catalog) == []
