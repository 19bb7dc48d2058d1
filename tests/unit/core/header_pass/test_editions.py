"""Posts of one release under other counters: two releases, wherever their files say so."""

from datetime import timedelta

import pytest

from tests.support.upload_styles import random_poster
from tests.support.uploads import START, Upload, interleaved, old_volumes, volumes
from tests.unit.core.test_identity import releases_of, wrong
from voyager_core.header_pass.editions import Named, editions

NAME = "Some.Show.S02E03.720p.HDTV.x264-GRP"
COUNTED = '[{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
HEADED = f"{NAME} {COUNTED}"
ALONE = '"{name}" yEnc ({p}/{parts})'


def post(key, files, *, subject=COUNTED, minutes=0, poster="a <a@b.invalid>", missing=()):
    at = START + timedelta(minutes=minutes)
    return Upload(key, files, subject, poster=poster, at=at, salt=key, missing=frozenset(missing))


@pytest.mark.parametrize("subject", [COUNTED, HEADED, ALONE])
@pytest.mark.parametrize(
    ("files", "again"),
    [
        (volumes(NAME, 6), volumes(NAME, 8)),
        (volumes(NAME, 6), volumes(NAME, 6, parts=5)),
        (old_volumes(NAME, 9), [(f"{NAME}.nzb", 1), *old_volumes(NAME, 9)]),
        (old_volumes(NAME, 9), old_volumes(NAME, 9, parts=4)),
        ([(f"{NAME}.mkv", 30)], [(f"{NAME}.mkv", 41)]),
    ],
    ids=["more files", "bigger parts", "one file more", "smaller articles", "one file"],
)
def test_posts_after_each_other_are_two(files, again, subject):
    if subject == ALONE and {*files} <= {*again}:
        pytest.skip("without counters these are reposts of the same files, and others")
    assert (
        wrong([post("a", files, subject=subject), post("b", again, subject=subject, minutes=9)])
        == set()
    )


@pytest.mark.parametrize("again", [volumes(NAME, 6, parts=5, parity=4), volumes(NAME, 6, parts=4)])
def test_posts_of_two_people_at_once_are_two(again):
    files = [(name, 2 + parts) for name, parts in volumes(NAME, 6)]
    both = [post("a", files), post("b", again, minutes=0.02, poster="c <c@d.invalid>")]
    assert wrong(both) == set()


def test_three_posts_are_three_and_a_repost_of_one_is_a_fourth():
    posts = [post(f"{n}", volumes(NAME, 5 + n), minutes=9 * n) for n in range(3)]
    again = post("again", volumes(NAME, 6), minutes=40)
    assert wrong([*posts, again]) == set()


def test_the_first_post_keeps_the_key_that_it_has_alone():
    first, again = post("a", volumes(NAME, 6)), post("b", volumes(NAME, 8), minutes=9)
    (alone,) = set(releases_of(interleaved([first])[0]).values())
    text, truth = interleaved([first, again])
    found = releases_of(text)
    assert {found[number] for number in truth if truth[number] == "a"} == {alone}


@pytest.mark.parametrize(
    "apart",
    [
        [(f"{NAME}-sample.mkv", 2), (f"{NAME}-sample.par2", 1)],
        [(f"{NAME}.part2.rar", 7), (f"{NAME}.part3.rar", 7)],
    ],
    ids=["sample with a counter of its own", "files that were replaced"],
)
def test_a_part_of_a_release_is_no_post_of_it(apart):
    uploads = [
        post("a", volumes(NAME, 6), subject=HEADED),
        post("a", apart, subject=HEADED, minutes=3),
    ]
    uploads[1].salt = "apart"
    assert wrong(uploads) == set()


def test_files_of_one_name_in_one_post_are_one_release():
    posts = [Upload("a", [("test", 4)] * 9, HEADED, poster=random_poster)]
    posts[0].poster = "a <a@b.invalid>"
    assert wrong(posts) == set()


def test_an_order_of_articles_tells_posts_apart_that_nothing_else_does():
    files = [
        Named(name, ((name, parts), 0), 0, 0, None, first)
        for first, (name, parts) in enumerate(
            [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("d", 2), ("b", 2), ("c", 2)]
        )
    ]
    assert editions(files) == [0, 0, 0, 1, 1, 1, 1]
    assert editions(files[::-1]) == [1, 1, 1, 1, 0, 0, 0]


def test_no_files_are_no_post():
    assert editions([]) == []
