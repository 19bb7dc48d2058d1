"""Pieces of files: retries, reposts and equal counters, decided on all spans together."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import polars as pl
import pytest

import voyager_native
from voyager_core.header_pass.fragments import merge_fragments
from voyager_core.header_pass.schemas import FRAGMENTS

START = datetime(2024, 5, 1, tzinfo=UTC)
UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]
SEGMENTS = voyager_native.FILE_FLAGS["counter_is_segments"]


def piece(parts, *, first=1000, total=40, post="a", hours=0.0, base=7, **values):
    """A fragment that holds these parts; `post` names the posting that the articles are of."""
    segments = pl.DataFrame(
        [(part, f"{part}-{post}@x", 1000) for part in sorted(parts)],
        schema={"part": pl.UInt32, "message_id": pl.String, "size_bytes": pl.UInt32},
        orient="row",
    )
    row = dict.fromkeys(FRAGMENTS)
    row |= {
        "file_key": base,
        "base_key": base,
        "generation": 0,
        "subject": f'[3/9] - "film.mkv" yEnc ({min(parts)}/{total})',
        "name": "film.mkv",
        "file_index": 3,
        "file_total": 9,
        "parts_total": total,
        "parts_found": len(parts),
        "size_bytes": 1000 * len(parts),
        "poster": "p",
        "poster_constant": True,
        "group": "alt.binaries.test",
        "groups": "alt.binaries.test",
        "first_posted_at": START + timedelta(hours=hours),
        "last_posted_at": START + timedelta(hours=hours, minutes=5),
        "first_number": first,
        "last_number": first + len(parts),
        "first_message_id": f"{min(parts)}-{post}@x",
        "flags": 0,
        "is_fragment": True,
        "reach_low": 1,
        "reach_high": 9999,
        "payload": voyager_native.encode_segments(segments),
        "release_key": 5,
        "session": 0,
        "release_rank": 1,
        "release_name": "film",
    }
    return row | values


def merged(*pieces):
    frame = pl.DataFrame(list(pieces), schema=dict(FRAGMENTS), orient="row")
    return merge_fragments(frame)


def ids(files):
    """The message-ids of each merged file."""
    return [
        set(pl.DataFrame(voyager_native.decode_segments(payload))["message_id"])
        for payload in files["payload"]
    ]


def posted(parts, post="a"):
    return {f"{part}-{post}@x" for part in parts}


def test_a_retry_in_one_span_leaves_the_file_whole():
    # The engine saw part 5 twice, and the copy as a posting of its own.
    pieces = [
        piece(range(1, 20)),
        piece([5], first=1005, post="again", generation=1, file_key=8),
        piece(range(20, 41), first=2000, hours=0.2),
    ]
    for order in permutations(pieces):
        files = merged(*order)
        assert files["parts_found"].to_list() == [40, 1]
        assert ids(files) == [posted(range(1, 41)), posted([5], "again")]
        assert files["file_key"].to_list() == [7, 8]


def test_a_retry_in_the_next_span_leaves_the_file_whole():
    files = merged(piece(range(1, 22)), piece(range(20, 41), first=2000, hours=0.2, post="b"))
    assert files["parts_found"].to_list() == [40, 2]
    # Each part with the copy that is nearer to the parts beside it.
    assert ids(files)[0] == posted(range(1, 21)) | posted(range(21, 41), "b")


def test_a_repost_is_a_file_of_its_own():
    pieces = [
        piece(range(1, 30)),
        piece(range(30, 41), first=2000),
        piece(range(1, 15), first=3000, hours=1, post="b"),
        piece(range(15, 41), first=4000, hours=1, post="b"),
    ]
    for order in permutations(pieces):
        files = merged(*order)
        assert ids(files) == [posted(range(1, 41)), posted(range(1, 41), "b")]
        assert files["file_key"].n_unique() == 2


def test_a_retry_days_later_is_a_repost():
    files = merged(piece(range(1, 41)), piece([5], first=9000, hours=100, post="b"))
    assert files["session"].to_list() == [0, 1]


def test_lone_lines_with_equal_counters_make_a_file_of_segments():
    lone = [
        piece([p], first=1000 * p, flags=UNCERTAIN, file_index=p, file_total=40) for p in (3, 9)
    ]
    some = piece(range(10, 30), first=20_000, flags=SEGMENTS, file_index=None, file_total=None)
    for pieces in permutations([*lone, some]):
        files = merged(*pieces)
        assert files.select("parts_found", "parts_total", "file_index").rows() == [(22, 40, None)]
        assert files["flags"].to_list() == [SEGMENTS]


def test_a_lone_line_with_equal_counters_is_a_file_of_one_segment():
    files = merged(piece([12], flags=UNCERTAIN, file_index=12, file_total=40))
    assert files.select("parts_found", "parts_total", "file_index", "file_total").rows() == [
        (1, 1, 12, 40)
    ]
    parts = pl.DataFrame(voyager_native.decode_segments(files["payload"][0]))["part"]
    assert parts.to_list() == [1]


def test_a_lone_line_joins_the_file_of_its_number():
    lone = piece([3], flags=UNCERTAIN, file_index=3, total=9)
    rest = piece([1, 2, 4, 5, 6, 7, 8, 9], first=2000, file_key=77, total=9)
    other = piece([1, 2], first=3000, file_key=78, file_index=4, total=9, post="other")
    for pieces in permutations([lone, rest, other]):
        files = merged(*pieces).sort("file_index")
        assert files.select("file_key", "file_index", "parts_found").rows() == [
            (77, 3, 9),
            (78, 4, 2),
        ]


@pytest.mark.parametrize("generation", [0, 1])
def test_a_posting_keeps_clear_of_the_key_of_an_earlier_one(generation):
    # Span 1 holds an earlier posting whole, under the base key, and the beginning of this one.
    files = merged(
        piece(range(1, 9), generation=generation, file_key=70 + generation),
        piece(range(9, 41), first=2000),
    )
    assert files["file_key"].to_list() == [70 + generation if generation else 7]
