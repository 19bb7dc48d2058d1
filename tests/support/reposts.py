"""Uploads that are posted again, in ranges that a test chooses."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl

import voyager_native
from tests.support.courses import LAST, Course
from tests.support.uploads import START, Upload, interleaved
from voyager_core.catalog.connect import Connection
from voyager_core.domain.rulesets import RuleSet

ALONE = '"{name}" yEnc ({p}/{parts})'
_LATER = Upload("later", [("Later.Film.2012.mkv", LAST)], at=START + timedelta(days=10))


def posts(names: Sequence[str], first: int, count: int, *, parts: int = 3) -> list[Upload]:
    """Returns so many posts of files of one name each, from the one with this number on."""
    return [
        Upload(
            f"{name} {number}",
            [(name, parts)],
            ALONE,
            at=START + timedelta(minutes=number),
            salt=f"{number}",
        )
        for number in range(first, first + count)
        for name in names
    ]


def course(
    conn: Connection, ranges: Sequence[Sequence[Upload]], *, rules: RuleSet | None = None
) -> Course:
    """Returns a planned group; each of the ranges holds these uploads, each later than the last.

    One more range follows, with a later film, so that what is in the others can settle.
    """
    every = [
        replace(upload, key=f"{place} {upload.key}")
        for place, some in enumerate([*ranges, [_LATER]])
        for upload in some
    ]
    text, truth = interleaved(every, first_number=1, window=0)
    place_of = {number: int(key.split(" ")[0]) for number, key in truth.items()}
    assert list(place_of.values()) == sorted(place_of.values())
    starts = [n for n in place_of if place_of.get(n - 1) != place_of[n]]
    made = Course(conn, text.splitlines(keepends=True), rules or RuleSet())
    made.plan(list(zip(starts, [*(n - 1 for n in starts[1:]), len(truth)], strict=True)))
    return made


def read(made: Course, *places: int) -> None:
    """Reads ranges by their place, all of them when none is given."""
    rows = made.ranges()
    for place in places or range(len(rows)):
        assert made.read(rows[place], rows[place].high)


def articles(conn: Connection) -> list[str]:
    """Returns the message-ids of all chunks, as often as they are there, in order."""
    return sorted(
        message_id
        for (payload,) in conn.execute("select payload from chunk").fetchall()
        for message_id in pl.DataFrame(voyager_native.decode_chunk(payload).segments)["message_id"]
    )


def sent(made: Course) -> list[str]:
    """Returns the message-ids of all lines of a group, in order."""
    return sorted(line.split(b"\t")[4].strip(b"<>").decode() for line in made.lines)


def of_name(conn: Connection, name: str) -> list[tuple[Any, ...]]:
    """Returns unsigned key, files and segments of the releases of a name, by time of posting."""
    rows = conn.execute(
        "select release_key, files, segments from release where name = %s order by posted_at",
        [name],
    ).fetchall()
    return [(key % (1 << 64), *rest) for key, *rest in rows]
