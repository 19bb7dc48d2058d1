"""Articles sent again, equal counters at the edge of a span, and blocks with garbage in them."""

import random

import pytest

import voyager_native
from tests.unit.native.lines import Indexed, line

UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]
IS_FILES = voyager_native.FILE_FLAGS["counter_is_files"]
IS_SEGMENTS = voyager_native.FILE_FLAGS["counter_is_segments"]


def posted(parts, *, total=41, first=100, post="a"):
    return [
        line(first + at, f'"a.bin" yEnc ({part}/{total})', message_id=f"{part}-{post}@x")
        for at, part in enumerate(parts)
    ]


def test_a_retry_leaves_the_file_whole_with_what_came_first():
    # The poster sent part 5 again a moment later: the numbers of half of the file are nearer to it.
    lines = [*posted(range(1, 11)), *posted([5], first=110, post="b")]
    lines += posted(range(11, 42), first=111)
    random.Random(1).shuffle(lines)
    found = Indexed(b"".join(lines))
    assert found.files["parts_found"].to_list() == [41, 1]
    assert found.parts(0) == [(part, f"{part}-a@x") for part in range(1, 42)]
    assert found.parts(1) == [(5, "5-b@x")]
    assert found.files["generation"].to_list() == [0, 1]


def test_a_repost_is_a_file_of_its_own_also_where_articles_are_lost():
    lines = posted([part for part in range(1, 42) if part != 7])
    lines += posted([part for part in range(1, 42) if part != 30], first=500, post="b")
    found = Indexed(b"".join(lines))
    assert found.files["parts_found"].to_list() == [40, 40]
    assert {id_[-3:] for _, id_ in found.parts(0)} == {"a@x"}
    assert {id_[-3:] for _, id_ in found.parts(1)} == {"b@x"}


@pytest.mark.parametrize("number", [1_050, 1_990])
def test_a_lone_equal_pair_near_an_edge_is_left_open(number):
    lone = line(number, '[12/240] - "r.bin" yEnc (12/240)')
    file = Indexed(lone, low=1_000, high=2_000).only()
    assert file["is_fragment"]
    assert (file["parts_total"], file["parts_found"]) == (240, 1)
    assert (file["file_index"], file["file_total"]) == (12, 240)
    assert file["flags"] & (UNCERTAIN | IS_FILES | IS_SEGMENTS) == UNCERTAIN
    assert file["reach_low"] < 1_000


def test_a_lone_equal_pair_far_from_the_edges_is_a_file():
    lone = line(500_000, '[12/240] - "r.bin" yEnc (12/240)')
    file = Indexed(lone, low=1, high=1_000_000).only()
    assert not file["is_fragment"]
    assert (file["parts_total"], file["file_index"]) == (1, 12)


def test_cut_lines_with_equal_counters_share_a_name_without_counters():
    rest = [line(1_001 + at, f'[2/5] - "f.rar" yEnc ({at}/5)') for at in (1, 3, 4, 5)]
    lone = line(990, '[2/5] - "f.rar" yEnc (2/5)')
    below = Indexed(lone, low=1, high=1_000).only()
    above = Indexed(b"".join(rest), low=1_001, high=3_000).only()
    assert below["base_key"] == above["base_key"]
    assert above["file_key"] != above["base_key"]
    whole = Indexed(lone + b"".join(rest)).only()
    assert whole["file_key"] == whole["base_key"] == above["file_key"]


def test_a_quote_that_closes_after_a_later_counter_is_no_name():
    subject = '63258-0[001/101] - "63258-2.0" yEnc (1/250) (1/250)(name.with.words.rar) [" (1/3)'
    said = voyager_native.parse_subject(subject)
    assert (said["part"], said["total"], said["name"]) == (1, 250, "63258-2.0")
    assert (said["file_index"], said["file_total"]) == (1, 101)


@pytest.mark.parametrize("garbage", [b"\x00\xff\x9c\x03garbage\r\n", b"\x78\x01\x00\r\n"])
def test_a_plain_block_that_begins_with_garbage_is_read_line_by_line(garbage):
    lines = b"".join(line(number, f'"a.bin" yEnc ({number}/3)') for number in (1, 2, 3))
    found = Indexed(garbage + lines)
    assert found.only()["parts_found"] == 3
    assert found.reports[0].error is None
    assert sum(found.rejects.values()) == 1


def test_a_damaged_block_is_still_one_undecodable_block():
    chance = random.Random(3)
    block = b"\x78\x01" + chance.randbytes(50_000)
    found = Indexed(block, line(1, '"a.bin" yEnc (1/1)'))
    assert found.rejects == {"undecodable_block": 1}
    assert found.only()["parts_found"] == 1
