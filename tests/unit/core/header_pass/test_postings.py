"""Pieces of files: retries, reposts and equal counters, decided on all spans together."""

from itertools import permutations

import polars as pl
import pytest

import voyager_native
from tests.support.pieces import piece
from voyager_core.header_pass.fragments import merge_fragments, split_remnants
from voyager_core.header_pass.postings import files_of, postings_of, read_piece
from voyager_core.header_pass.retries import SHARE, is_retry, most_again, retries
from voyager_core.header_pass.schemas import FRAGMENTS

UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]
SEGMENTS = voyager_native.FILE_FLAGS["counter_is_segments"]


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


def test_a_fill_of_parts_that_the_file_lacks_is_no_retry():
    # Days later, so that it is no piece of the file; nothing else has these parts.
    files = merged(piece(range(4, 41)), piece([1, 2, 3], first=9000, hours=60, post="b"))
    whole, gone = split_remnants(files, SHARE)
    assert ids(whole) == [posted(range(4, 41)), posted([1, 2, 3], "b")]
    assert gone.is_empty()


def test_files_of_one_base_do_not_make_retries_of_each_other():
    # One counter: file 3 is whole; of file 4 one part is there, posted twice.
    pieces = [
        piece(range(1, 10), total=9),
        piece([1], first=3000, total=9, file_index=4, file_key=78, post="b"),
        piece([1], first=4000, hours=0.2, total=9, file_index=4, file_key=78, post="c"),
    ]
    whole, gone = split_remnants(merged(*pieces), SHARE)
    assert whole.select("file_index", "parts_found").rows() == [(3, 9), (4, 1), (4, 1)]
    assert gone.is_empty()


def test_one_article_sent_again_is_kept_where_the_rule_is_not_in_force():
    files = merged(piece(range(1, 41)), piece([5], first=2000, hours=0.1, post="b"))
    whole, gone = split_remnants(files, None)
    assert whole["parts_found"].to_list() == [40, 1]
    assert gone.is_empty()
    whole, gone = split_remnants(files, 0.0)
    assert (whole["parts_found"].to_list(), gone["parts_found"].to_list()) == ([40], [1])


def test_lone_lines_of_one_file_of_one_segment_are_two_posts_of_it():
    lone = [
        piece([12], first=n, flags=UNCERTAIN, file_index=12, file_total=40, post=f"{n}", hours=n)
        for n in (1, 2)
    ]
    files = merged(*lone)
    assert files.select("parts_found", "parts_total", "generation").rows() == [(1, 1, 0), (1, 1, 1)]
    assert ids(files) == [posted([12], "1"), posted([12], "2")]


def test_pieces_keep_their_place_whatever_is_decided_of_them():
    rows = [
        piece([3], first=1, flags=UNCERTAIN, file_index=3, total=9),
        piece([1, 2], first=2, total=9),
        piece([4], first=3, flags=UNCERTAIN, file_index=4, total=9),
    ]
    some = [read_piece(row, place) for place, row in enumerate(rows)]
    for pieces in (some[:2], some, [some[0]]):
        found = [each for file in files_of(pieces) for each in postings_of(file)]
        places = [piece.place for posting in found for piece, _ in posting.shares]
        assert sorted(places) == [each.place for each in pieces]


def test_a_post_is_a_retry_by_one_rule_for_rows_and_postings():
    shares = (0.0, 0.03, SHARE, 0.25)
    for share in shares:
        rows = [
            (found, fullest, number)
            for fullest in (1, 2, 9, 10, 19, 20, 40, 99, 100, 1000)
            for found in range(1, min(fullest, 120) + 1)
            for number in (0, 1)
        ]
        frame = pl.DataFrame(rows, schema=["parts_found", "fullest", "generation"], orient="row")
        expected = [number > 0 and is_retry(found, most, share) for found, most, number in rows]
        assert frame.select(retries(share)).to_series().to_list() == expected
    # As the engine counts, in whole numbers.
    assert [most_again(parts) for parts in range(5000)] == [
        max(1, parts // 10) for parts in range(5000)
    ]
