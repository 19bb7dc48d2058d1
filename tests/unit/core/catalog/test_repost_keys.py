"""The files of a span or a merge tell which key stands for what was posted again."""

from datetime import timedelta

import polars as pl
import pytest

from tests.support.courses import GROUP, NOW
from tests.support.uploads import START, Upload, interleaved, volumes
from voyager_core.catalog.repost_keys import reposts_of
from voyager_core.domain.generations import repost_key
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.recover import freed_by
from voyager_core.header_pass.schemas import BUILT_FILES

ALONE = '"{name}" yEnc ({p}/{parts})'


def parsed(*uploads):
    text, truth = interleaved(uploads, first_number=1, window=0)
    return parse_span(Span(GROUP, 1, len(truth)), [text], groups={}, now=NOW)


def posts(count, *, every=timedelta(minutes=9), files=None):
    files = files or volumes("Other.Show.S02E03.720p-GRP", 4, parts=6)
    return [Upload(f"post{n}", files, at=START + n * every, salt=f"{n}") for n in range(count)]


def files_of(*rows):
    """Returns files by base key, generation, session and release key."""
    names = ("base_key", "generation", "session", "release_key")
    every = [dict.fromkeys(BUILT_FILES) | dict(zip(names, row, strict=True)) for row in rows]
    return pl.DataFrame(every, schema=dict(BUILT_FILES), orient="row")


def again(first, *numbers):
    return {repost_key(first, number): (first, number) for number in numbers}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_span_tells_of_every_repost(count):
    built = build_span(parsed(*posts(count)), RuleSet(), now=NOW)
    keys = set(built.releases["release_key"])
    (first,) = (key for key in keys if count == 1 or repost_key(key, 1) in keys)
    assert reposts_of(built.files) == again(first, *range(1, count))
    assert len(keys) == count


def test_a_post_after_days_is_no_repost():
    built = build_span(parsed(*posts(2, every=timedelta(days=4))), RuleSet(), now=NOW)
    assert reposts_of(built.files) == {}


def test_each_session_has_its_first_post():
    rows = [(1, 0, 0, 7), (1, 1, 0, repost_key(7, 1)), (1, 2, 1, 7), (1, 3, 1, repost_key(7, 1))]
    assert reposts_of(files_of(*rows)) == again(7, 1)


def test_a_repost_that_a_rule_drops_hides_no_later_one():
    rows = [(1, 0, 0, 7), (1, 1, 0, None), (1, 2, 0, repost_key(7, 2))]
    assert reposts_of(files_of(*rows)) == again(7, 2)


def test_the_rest_of_a_retry_may_come_before_the_first_post():
    rows = [(1, 0, 0, repost_key(7, 2)), (1, 1, 0, 7), (1, 2, 0, repost_key(7, 1))]
    assert reposts_of(files_of(*rows)) == again(7, 1, 2)


def test_the_first_post_may_lie_in_another_frame():
    first, second = files_of((1, 0, 0, 7)), files_of((1, 1, 0, repost_key(7, 1)))
    assert reposts_of(second) == {}
    assert reposts_of(second, first) == again(7, 1)
    assert reposts_of(first.select("release_key"), second.drop("session")) == {}
    assert reposts_of() == {}


def test_what_a_rule_gives_back_is_known_beside_what_the_catalog_has():
    film = [("Some.Film.2010.720p-GRP.mkv", 40)]
    rest = frozenset((1, part) for part in range(1, 41) if part != 17)
    later = START + timedelta(minutes=2)
    span = parsed(
        Upload("film", film, ALONE),
        Upload("retry", film, ALONE, at=later, salt="again", missing=rest),
        *posts(1),
    )
    freed = freed_by(
        span.files.with_columns(is_fragment=pl.lit(value=False)),
        before=[RuleSet()],
        rules=RuleSet().without(REPOST_REMNANT),
        now=NOW,
        stored=lambda _: set(),
        other_parser=False,
    )
    (key,) = freed.built.releases["release_key"]
    (first,) = (
        first
        for first in set(build_span(span, RuleSet(), now=NOW).releases["release_key"])
        if repost_key(first, 1) == key
    )
    assert reposts_of(freed.built.files) == again(first, 1)
