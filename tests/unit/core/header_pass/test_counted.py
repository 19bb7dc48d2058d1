"""Uploads of one poster that have nothing but a counter, and much alike: told apart or left."""

import random
from datetime import timedelta

import pytest

from tests.support.upload_styles import token
from tests.support.uploads import START, Upload, interleaved
from tests.unit.core.test_identity import releases_of, wrong

COUNTED = '[{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'


def tracks(key, count=11):
    chance = random.Random(key)
    return [(f"{n:02d}-{token(chance, 6)}_song.flac", 3) for n in range(1, count + 1)]


def album(key, around, *, seconds=0.0):
    """An album; `around` are files that every album of the poster has."""
    first = [(name, 1) for name in around]
    at = START + timedelta(seconds=seconds)
    return Upload(key, [*first, *tracks(key)], COUNTED, poster="al <a@b.invalid>", at=at)


def mixed(uploads, *, window):
    """Returns the sets of uploads that share a release."""
    text, truth = interleaved(uploads, window=window)
    held = {}
    for number, release in releases_of(text).items():
        held.setdefault(release, set()).add(truth[number])
    return [keys for keys in held.values() if len(keys) > 1]


@pytest.mark.parametrize("around", [["cover.jpg"], ["00-info.nfo", "folder.jpg"], []])
def test_albums_after_each_other_are_two_though_their_covers_have_one_name(around):
    assert wrong([album("a", around), album("b", around, seconds=60)]) == set()


def test_albums_in_other_spans_have_other_keys_though_their_covers_have_one_name():
    keys = set()
    for key in "ab":
        text, _ = interleaved([album(key, ["cover.jpg"])])
        keys.update(releases_of(text).values())
    assert len(keys) == 2


def test_the_same_album_again_is_one_repost():
    first = album("a", ["cover.jpg"])
    again = album("a", ["cover.jpg"], seconds=120)
    again.key, again.salt = "again", "again"
    assert wrong([first, again]) == set()


@pytest.mark.parametrize("around", [["cover.jpg"], []])
def test_albums_side_by_side_are_told_apart_by_their_progress(around):
    uploads = [album("a", around), album("b", around, seconds=4)]
    text, truth = interleaved(uploads, window=0)
    found = releases_of(text)
    assert not {found[n] for n in truth if truth[n] == "a"} & {
        found[n] for n in truth if truth[n] == "b"
    }
    assert wrong(uploads[:1]) == set()


@pytest.mark.parametrize("around", [["cover.jpg"], []])
@pytest.mark.parametrize(("seconds", "window"), [(0, 0.1), (0, 4), (1, 1), (3.6, 4)])
def test_albums_that_cannot_be_told_apart_are_not_mixed(around, seconds, window):
    uploads = [album("a", around), album("b", around, seconds=seconds)]
    assert mixed(uploads, window=window) == []
