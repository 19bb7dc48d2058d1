"""Books in an upload: part of it where its counters and parity say so, apart in floods."""

import random
from datetime import timedelta

import pytest

from tests.support.upload_styles import random_poster, token
from tests.support.uploads import START, Upload
from tests.unit.core.test_identity import wrong

COUNTED = '[{i}/{n}] - "{name}" yEnc ({p}/{parts})'


def parity(stem, count=3):
    return [(f"{stem}.par2", 1), *((f"{stem}.vol{n}+1.par2", 2) for n in range(count))]


def one_poster(_key):
    return "Reader <reader@example.invalid>"


def poster_a_file(key):
    return lambda i: random_poster(random.Random(f"{key}{i}"))


def posted(key, files, posters, *, minutes=0, total=None):
    at = START + timedelta(minutes=minutes)
    return Upload(key, files, COUNTED, poster=posters(key), at=at, total=total)


@pytest.mark.parametrize("posters", [one_poster, poster_a_file])
@pytest.mark.parametrize(
    "files",
    [
        [("Weekly 23 Feb.pdf", 9), *parity("Some.Weekly-23.February.2019")],
        [*parity("Some.Weekly-23.February.2019"), ("Weekly 23 Feb.pdf", 9)],
        [(f"{token(random.Random(1), 32)}.pdf", 9), *parity("Some.Weekly-23.February.2019")],
        [*((f"{word} vol.pdf", 3) for word in ("Stone", "River", "Paper")), *parity("Reader.2019")],
        [("Jane Writer - Road.epub", 3), ("cover.jpg", 1), ("metadata.opf", 1)],
        [*((f"{n:02d} - Song {n}.flac", 4) for n in range(1, 9)), ("booklet.pdf", 2)],
    ],
    ids=["pdf first", "pdf last", "random pdf", "pack with parity", "folder", "booklet"],
)
def test_books_are_of_the_upload_that_counts_them(files, posters):
    assert wrong([posted("u", files, posters)]) == set()


@pytest.mark.parametrize("posters", [one_poster, poster_a_file])
def test_uploads_of_a_book_each_under_one_counter_stay_apart(posters):
    uploads = [
        posted(
            f"u{n}", [(f"Weekly {n}.pdf", 5), *parity(f"Some.Weekly.{n}.2019")], posters, minutes=n
        )
        for n in range(1, 7)
    ]
    assert wrong(uploads) == set()


@pytest.mark.parametrize("posters", [one_poster, poster_a_file])
@pytest.mark.parametrize("own", [parity, lambda _: []])
def test_a_flood_of_books_stays_apart(own, posters):
    names = ["River Stone", "Paper Garden", "Silver Window", "Market Engine"]
    files = [(name, each) for name in names for each in [(f"{name}.pdf", 4), *own(name)]]
    flood = [
        Upload(
            name,
            [each],
            COUNTED,
            poster=posters(f"{name}{n}"),
            first=n,
            total=len(files),
            at=START + timedelta(seconds=5 * n),
        )
        for n, (name, each) in enumerate(files, 1)
    ]
    assert wrong(flood) == set()


def test_books_with_parity_of_their_own_names_stay_apart_under_one_counter():
    files = []
    for n in range(1, 5):
        files += [(f"Weekly {n}.pdf", 4), *parity(f"Some.Weekly.{n}.2019", 1)]
    flood = posted("flood", files, one_poster)
    assert wrong([flood]) == {"flood"}


def test_a_book_is_no_part_of_an_upload_that_is_cut():
    files = [("Weekly 23 Feb.pdf", 9), *parity("Some.Weekly-23.February.2019")]
    cut = posted("cut", files, one_poster, total=40)
    assert wrong([cut]) == {"cut"}
