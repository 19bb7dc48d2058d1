"""Posts of one key under other counters: two releases however the group is cut."""

from datetime import timedelta

import pytest

from tests.integration.test_reposts import course, read, releases
from tests.support.courses import LATER
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.catalog.checks import check_catalog
from voyager_core.domain.generations import repost_key
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.reposts import part_reposts

pytestmark = pytest.mark.postgres
NAME = "Other.Show.S02E03.720p-GRP"


def posts(*files):
    return [
        Upload(f"post{n}", each, at=START + timedelta(minutes=9 * n), salt=f"{n}")
        for n, each in enumerate(files)
    ]


def lines(upload):
    return len(interleaved([upload])[1])


FIRST, AGAIN = posts(volumes(NAME, 4, parts=6), volumes(NAME, 6, parts=6))
END = lines(FIRST)


@pytest.mark.parametrize(
    ("starts", "order"),
    [
        ((END + 1, END + lines(AGAIN) + 1), (0, 1, 2)),
        ((END + 1, END + lines(AGAIN) + 1), (2, 1, 0)),
        ((END + 20, END + lines(AGAIN) + 1), (0, 1, 2)),
        ((END + 20, END + lines(AGAIN) + 1), (1, 2, 0)),
        ((END - 10, END + lines(AGAIN) + 1), (1, 0, 2)),
        ((17, END + 9, END + 31, END + lines(AGAIN) + 1), (3, 1, 0, 2, 4)),
        ((END + lines(AGAIN) + 1,), (0, 1)),
    ],
)
def test_posts_with_other_counters_are_two_releases(catalog, starts, order):
    read(course(catalog, [FIRST, AGAIN], starts=starts), order)
    assert releases(catalog) == [
        (len(FIRST.files), lines(FIRST), 0),
        (len(AGAIN.files), lines(AGAIN), 0),
    ]
    assert check_catalog(catalog) == []
    keys = [
        key % (1 << 64)
        for (key,) in catalog.execute(
            "select release_key from release where name not like 'Later%' order by posted_at"
        ).fetchall()
    ]
    assert keys[1] == repost_key(keys[0], 1)
    noted = catalog.execute("select release_key, first_key, number from repost").fetchall()
    assert [(key % (1 << 64), first % (1 << 64), number) for key, first, number in noted] == [
        (keys[1], keys[0], 1)
    ]
    again = part_reposts(catalog, settle_after_seconds=0, now=LATER, rules=RuleSet())
    assert again == 0


def test_a_third_post_that_is_read_first_takes_its_place(catalog):
    every = posts(*(volumes(NAME, 4 + n, parts=6) for n in range(3)))
    read(course(catalog, every), (2, 1, 3, 0))
    assert releases(catalog) == [(len(each.files), lines(each), 0) for each in every]
    assert check_catalog(catalog) == []
