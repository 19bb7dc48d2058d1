"""Records of one key, told apart: every article ends in one post, or is dropped by a rule."""

from itertools import permutations

import voyager_native
from tests.support.pieces import record
from voyager_core.header_pass.reposts import tell_apart
from voyager_core.header_pass.retries import SHARE

UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]


def posted(parts, post="a"):
    return dict.fromkeys(parts, post)


def by_id(segments):
    return {message_id for message_id, _ in segments.values()}


def outcome(records, share=SHARE):
    """Returns the message-ids of each post, and those that are dropped, with how often."""
    tell_apart(records, share=share)
    posts: dict[int, set[str]] = {}
    for each in records:
        for number, segments in each.kept.items():
            posts.setdefault(number, set()).update(by_id(segments))
    gone = [id_ for each in records for left in each.gone.values() for id_ in sorted(by_id(left))]
    return [posts[number] for number in sorted(posts)], sorted(gone)


def ids(parts, post="a"):
    return {f"{part}-{post}@x" for part in parts}


def test_a_part_that_the_whole_lacks_stays():
    for order in permutations((0, 1)):
        records = [
            record(order[0], posted(range(1, 20))),
            record(order[1], posted([10, 11, 12, 25], "b"), first=2000, hours=0.1),
        ]
        # Of 20 parts three are there twice: that is no retry.
        posts, gone = outcome(records)
        assert posts == [ids(range(1, 20)), ids([10, 11, 12, 25], "b")]
        assert gone == []


def test_of_three_copies_each_is_kept_or_dropped_once():
    records = [
        record(0, posted(range(1, 41))),
        record(1, posted([5], "b"), first=2000, hours=0.1),
        record(2, posted([5], "c"), first=3000, hours=0.2),
    ]
    for order in permutations(records):
        posts, gone = outcome([*order])
        assert posts == [ids(range(1, 41))]
        assert gone == ["5-b@x", "5-c@x"]


def test_an_article_that_two_records_have_is_not_dropped():
    first = record(0, posted(range(1, 41)))
    both = record(1, {5: "a", 7: "b"}, first=2000, hours=0.1)
    posts, gone = outcome([first, both])
    assert posts == [ids(range(1, 41))]
    assert gone == ["7-b@x"]
    assert both.doubled == {5: ("5-a@x", 1000)}


def test_an_article_that_two_records_have_is_held_once_also_without_rules():
    records = [
        record(0, posted(range(1, 41))),
        record(1, posted(range(1, 41)), first=2000, hours=0.1),
    ]
    assert outcome(records, share=None) == ([ids(range(1, 41))], [])
    assert [len(each.doubled) for each in records] == [0, 40]


def test_a_record_with_articles_of_two_posts_is_parted():
    records = [
        record(0, posted(range(1, 31))),
        record(1, posted(range(31, 41)) | posted(range(1, 21), "b"), first=2000, hours=0.1),
        record(2, posted(range(21, 41), "b"), first=3000, hours=0.2),
    ]
    posts, gone = outcome(records)
    assert posts == [ids(range(1, 41)), ids(range(1, 41), "b")]
    assert gone == []


def test_undecided_counters_leave_no_record_out():
    records = [
        record(n, {12: post}, flags=UNCERTAIN, file_index=12, file_total=40, first=1000 * n + 1)
        for n, post in enumerate("ab")
    ]
    posts, gone = outcome(records)
    assert posts == [ids([12]), ids([12], "b")]
    assert gone == []
    assert [each.piece.row["parts_total"] for each in records] == [1, 1]


def test_a_lone_record_stays_as_it_is():
    alone = record(0, posted([1, 2]), number=1)
    other = record(1, posted([1, 2], "b"), number=1, name="other.mkv")
    assert outcome([alone, other]) == ([ids([1, 2]) | ids([1, 2], "b")], [])
    assert not alone.is_changed
    assert not other.is_changed
