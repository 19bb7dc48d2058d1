"""A span that would hold too much ends early; each line counts in one of those that follow."""

import random
from datetime import UTC, datetime
from itertools import pairwise

import polars as pl
import pytest

import voyager_native
from tests.unit.native.lines import GROUP, line
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.parse import LIMITS, parse_parts, parse_span

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LAST = 300
ROOM = 100 << 20


def made(numbers=range(1, LAST + 1)):
    return [
        line(number, f'"file {number // 3}.bin" yEnc ({number % 3 + 1}/3)') for number in numbers
    ]


def blocks_of(lines, size):
    return [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]


def parts(blocks, *, files=20, room=ROOM, high=LAST):
    span = Span(GROUP, 1, high)
    return list(parse_parts(span, blocks, groups={}, now=NOW, limits=(files, room)))


def ids(files):
    return sorted(
        message_id
        for payload in files["payload"]
        for message_id in pl.DataFrame(voyager_native.decode_segments(payload))["message_id"]
    )


def sums(found):
    """Returns lines, kept lines, rejected ones by reason and all message-ids of some parts."""
    rejects = (
        pl.concat([parsed.rejects for _, parsed in found])
        .group_by("reason")
        .agg(pl.col("count").sum())
    )
    return (
        sum(parsed.stats["lines"] for _, parsed in found),
        sum(parsed.stats["kept"] for _, parsed in found),
        dict(rejects.iter_rows()),
        sorted(each for _, parsed in found for each in ids(parsed.files)),
    )


def whole(blocks, *, high=LAST):
    return sums([(None, parse_span(Span(GROUP, 1, high), blocks, groups={}, now=NOW))])


def test_parts_follow_each_other_and_hold_what_the_limit_allows():
    found = parts([b"".join(made())])
    spans = [span for span, _ in found]
    assert (spans[0].low, spans[-1].high) == (1, LAST)
    assert all(after.low == before.high + 1 for before, after in pairwise(spans))
    assert len(spans) == 6
    assert max(parsed.files.height for _, parsed in found) == 20
    assert sums(found) == whole([b"".join(made())])


@pytest.mark.parametrize("size", [1, 7, 50, 299, 300])
def test_where_a_span_ends_follows_from_the_lines_and_not_from_the_blocks(size):
    def spans(blocks):
        return [span for span, _ in parts(blocks)]

    assert spans(blocks_of(made(), size)) == spans([b"".join(made())])


@pytest.mark.parametrize("files", [1, 2, 17])
@pytest.mark.parametrize("size", [13, 300])
def test_lines_that_are_in_no_file_count_once_wherever_they_stand(files, size):
    chance = random.Random(files)
    lines = made()
    odd = [
        b"no overview line at all\r\n",
        line(1, "text").replace(b"1\t", b"x\t", 1),
        line(5_000, '"stray.bin" yEnc (1/1)'),
        line(10_000_000_000, '"far stray.bin" yEnc (1/1)'),
    ]
    for _ in range(40):
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(odd))
    # Numbers out of order stay within the block that they are of.
    for at in range(0, len(lines) - 1, 29):
        if at // size == (at + 1) // size:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
    blocks = blocks_of(lines, size)
    found = parts(blocks, files=files)
    assert len(found) > 1
    assert sums(found)[:2] == whole(blocks)[:2]
    assert sums(found)[2] == whole(blocks)[2]


def test_a_line_that_stands_behind_the_end_but_belongs_before_it_is_still_filed():
    lines = made()
    # The twentieth file begins with number 60; its second line comes after the third.
    moved = lines.pop(55)
    lines.insert(70, moved)
    found = parts([b"".join(lines)])
    assert sums(found) == whole([b"".join(lines)])


def test_one_number_that_is_there_without_end_is_counted_and_does_not_stop_the_rest():
    lines = [line(7, f'"file {at}.bin" yEnc (1/1)', message_id=f"{at}@e") for at in range(500)]
    found = parts([b"".join([*lines, *made(range(8, 60))])])
    lines_read, kept, rejected, _ = sums(found)
    assert lines_read == 552
    assert rejected == {"span_full": lines_read - kept}
    assert found[0][0].high == 7
    assert found[0][1].files.height <= 20 + 20 // 8 + 1
    assert found[-1][0].high == LAST


def test_the_greatest_number_first_leaves_nothing_to_end_and_still_bounds_the_span():
    lines = [line(LAST, '"last.bin" yEnc (1/1)'), *made(range(1, 200))]
    found = parts([b"".join(lines)])
    lines_read, kept, rejected, _ = sums(found)
    assert (len(found), lines_read) == (1, 200)
    assert rejected == {"span_full": lines_read - kept}


def test_what_its_texts_take_ends_a_span_as_well():
    lines = [line(at, f'"{at} {"x" * 1800}.bin" yEnc (1/2)') for at in range(1, LAST + 1)]
    block = b"".join(lines)
    assert len(parts([block], files=10**6, room=10 << 20)) == 1
    found = parts([block], files=10**6, room=1 << 20)
    assert len(found) > 2
    assert sums(found) == whole([block])


@pytest.mark.parametrize("total", [1, 10_000])
def test_copies_of_one_part_count_as_the_rows_that_they_are(total):
    lines = [line(at, f'"a.bin" yEnc (1/{total})') for at in range(1, 2001)]
    found = parts([b"".join(lines)], files=100, high=2000)
    assert len(found) > 4
    assert sum(parsed.files.height for _, parsed in found) == 2000


def test_files_at_the_end_are_fragments_like_those_of_any_span():
    found = parts([b"".join(made())])
    for span, parsed in found:
        again = parse_span(
            span, [b"".join(made(range(span.low, span.high + 1)))], groups={}, now=NOW
        )
        assert parsed.files.equals(again.files)


def test_usual_spans_do_not_end_early():
    overview = voyager_native.synthesize_overview("classic", 50_000, seed=1, block_lines=20_000)
    span = Span(overview.group, 1, 10**15)
    found = list(parse_parts(span, overview.blocks, groups=overview.groups, now=NOW))
    (one,) = found
    assert one[0] == span
    assert LIMITS[0] >= 2 * 30_000
    plain = parse_span(span, overview.blocks, groups=overview.groups, now=NOW)
    assert one[1].files.equals(plain.files)


def test_an_indexer_that_ended_takes_nothing_more():
    indexer = voyager_native.SpanIndexer(GROUP, 1, LAST, groups={}, now=0, limits=(5, ROOM))
    assert indexer.feed(b"".join(made())).ended_at == 12
    with pytest.raises(RuntimeError, match="ended at 12"):
        indexer.feed(b"".join(made()))
    assert indexer.finish().stats["lines"] == 12
