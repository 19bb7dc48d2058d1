"""Posts of one file that spans hold in pieces: no article is lost, and the cuts change nothing."""

from collections import Counter, defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import voyager_native
from tests.support.pieces import record
from tests.support.uploads import START, Upload, interleaved
from voyager_core.domain.generations import repost_key
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.fragments import merge_fragments, split_remnants
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_blocks, parse_span
from voyager_core.header_pass.postings import read_piece
from voyager_core.header_pass.reposts import new_record, tell_apart
from voyager_core.header_pass.retries import most_again, times_posted

GROUP = "alt.binaries.test"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = 5_000_000_001
TOTAL = 40
PLAIN = '"{name}" yEnc ({p}/{parts})'

UNCERTAIN = voyager_native.FILE_FLAGS["counter_uncertain"]
SEGMENTS = voyager_native.FILE_FLAGS["counter_is_segments"]

# What spans may say of one file whose counters have one total: whose the equal ones are.
KINDS = [(0,), (0, UNCERTAIN), (SEGMENTS, UNCERTAIN), (UNCERTAIN,)]

held = st.builds(
    dict,
    articles=st.dictionaries(st.integers(1, TOTAL), st.sampled_from("abc"), min_size=1),
    first=st.integers(1, 3000),
    hours=st.sampled_from([0.0, 1.0, 30.0]),
    number=st.integers(0, 2),
    generation=st.integers(0, 2),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(held, min_size=1, max_size=8),
    st.sampled_from(KINDS),
    st.sampled_from([None, 0.02, 0.1, 0.4]),
    st.randoms(use_true_random=False),
)
def test_no_article_is_lost_and_none_is_there_twice(pieces, kinds, share, chance):
    records = []
    for chunk, each in enumerate(pieces):
        flags = chance.choice(kinds)
        # Beside lines with a counter of the file, its equal counters are its number.
        equal = {"articles": {3: chance.choice("abc")}} if 0 in kinds and flags else {}
        records.append(record(chunk, flags=flags, **(each | equal)))
    there = {copy for each in records for copy in each.piece.segments.values()}
    tell_apart(records, share=share)
    kept = [
        (each.piece.row["base_key"], each.piece.row["flags"] & SEGMENTS, number, part, copy)
        for each in records
        for number, segments in each.kept.items()
        for part, copy in segments.items()
    ]
    gone = [copy for each in records for left in each.gone.values() for copy in left.values()]
    times = Counter([copy for *_, copy in kept] + gone)
    assert set(times) == there
    assert set(times.values()) == {1}
    assert share is not None or not gone
    # No post has a part of a file twice.
    assert len({tuple(place) for *place, _ in kept}) == len(kept)
    for each in records:
        own = [*each.kept.values(), *each.gone.values(), each.doubled]
        assert sum(map(len, own)) == len(each.piece.segments)


def group(posts, lossy):
    """Returns the lines of a file that is posted some times, with what is sent again of it.

    Returns:
        The lines; the numbers of each post by part; which post each message-id is of.
    """
    uploads, post_of = [], {}
    for number, (again, missing) in enumerate(posts):
        at = START + timedelta(minutes=9 * number)
        lost = frozenset((1, part) for part in missing) if lossy else frozenset()
        film = Upload("film", [("Some.Film.2010.mkv", TOTAL)], PLAIN, at=at, salt=f"{number}")
        uploads.append(replace(film, missing=lost))
        rest = frozenset((1, part) for part in range(1, TOTAL + 1) if part not in again)
        soon = at + timedelta(seconds=60)
        uploads.append(replace(film, at=soon, salt=f"again {number}", missing=rest))
        post_of |= {id_: number for each in uploads[-2:] for *_, id_, _ in each.articles()}
    text, _ = interleaved(uploads, first_number=FIRST, window=0)
    numbers = [defaultdict(list) for _ in posts]
    for line in text.decode().splitlines():
        number, subject, _, _, message_id, *_ = line.split("\t")
        part = int(subject.rpartition("(")[2].partition("/")[0])
        numbers[post_of[message_id.strip("<>")]][part].append(int(number))
    return text, numbers, post_of


def built(text, low, high):
    return build_span(
        parse_span(Span(GROUP, low, high), [text], groups={}, now=NOW), RuleSet(), now=NOW
    )


def kept(files):
    return files.filter(pl.col("dropped_by").is_null()).drop("dropped_by")


def told_apart(frames, key, post_of):
    """Returns the posts that settling makes of the files in chunks: parts, and of which post."""
    numbers = {repost_key(key, number): number for number in range(32)}
    rows = [(chunk, row) for chunk, frame in enumerate(frames) for row in frame.to_dicts()]
    records = [
        new_record(chunk, read_piece(row, place), numbers[row["release_key"]])
        for place, (chunk, row) in enumerate(rows)
    ]
    tell_apart(records, share=RuleSet().remnant_share)
    posts = defaultdict(set)
    for each in records:
        for number, segments in each.kept.items():
            for part, (message_id, _) in segments.items():
                article = (part, post_of[message_id])
                assert article not in posts[number]
                posts[number].add(article)
    return {number: frozenset(held) for number, held in posts.items()}


def is_told(numbers, low, high):
    """Tells whether a span shows of each article which post it is of (see docs/decisions/0008).

    A span with the end of a post and the beginning of the next one shows it where there are no
    others, many parts are there twice, and nothing that was sent again stands in between.

    Args:
        numbers: the article numbers of each post, by part, with those of what was sent again.
        low: the first number of the span.
        high: the last one.
    """
    inside = [
        {part: [at for at in held if low <= at <= high] for part, held in post.items()}
        for post in numbers
    ]
    there = [{part for part, held in post.items() if held} for post in inside]
    retried = [any(len(held) > 1 for held in post.values()) for post in inside]
    return all(
        len(numbers) == 2 and len(one & other) > TOTAL // 10 and not again
        for one, other, again in zip(there, there[1:], retried, strict=False)
        if one and other
    )


some = st.sets(st.integers(1, TOTAL), max_size=2)
one = st.sets(st.integers(1, TOTAL), max_size=1)


@settings(max_examples=60, deadline=None)
@given(
    posts=st.lists(st.tuples(one, some), min_size=1, max_size=3),
    lossy=st.booleans(),
    cuts=st.lists(st.integers(1, 150), max_size=5, unique=True),
    chance=st.randoms(use_true_random=False),
)
def test_cuts_change_no_post(posts, lossy, cuts, chance):
    """Of a retry and what it repeats either may be kept: pieces know no number of each part."""
    text, numbers, post_of = group(posts, lossy)
    parsed = parse_blocks(GROUP, [text], low=0, high=0, groups={}, now=NOW)
    uncut = kept(build_span(parsed, RuleSet(), now=NOW).files)
    key = uncut.filter(pl.col("generation") == 0)["release_key"][0]
    last = FIRST + text.count(b"\r\n") - 1
    starts = [FIRST, *(FIRST + cut for cut in sorted(cuts) if FIRST + cut <= last)]
    ends = [*(start - 1 for start in starts[1:]), last]
    assume(all(is_told(numbers, low, high) for low, high in zip(starts, ends, strict=True)))
    spans = [built(text, low, high) for low, high in zip(starts, ends, strict=True)]
    frames = [kept(each.files.filter(~pl.col("is_fragment"))) for each in spans]
    merged = merge_fragments(pl.concat([each.fragments for each in spans]))
    whole, _ = split_remnants(merged, RuleSet().remnant_share)
    frames.append(whole.select(frames[0].columns))
    chance.shuffle(frames)
    assert told_apart(frames, key, post_of) == told_apart([uncut], key, post_of)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sets(st.integers(1, TOTAL), min_size=1), min_size=1, max_size=4),
    st.sampled_from([TOTAL, 4 * TOTAL]),
)
def test_the_engine_deals_by_the_same_rule(posts, total):
    """What the engine deals as a post is no retry, whatever number of parts is announced."""
    uploads = [
        Upload(
            "film",
            [("Some.Film.2010.mkv", total)],
            PLAIN,
            at=START + timedelta(minutes=9 * number),
            salt=f"{number}",
            missing=frozenset((1, part) for part in range(1, total + 1) if part not in held),
        )
        for number, held in enumerate(posts)
    ]
    text, _ = interleaved(uploads, first_number=FIRST, window=0)
    parsed = parse_blocks(GROUP, [text], low=0, high=0, groups={}, now=NOW)
    files = build_span(parsed, RuleSet(), now=NOW).files.sort("generation")
    copies = sorted(Counter(part for held in posts for part in held).values(), reverse=True)
    assert len(files) == copies[0]
    count = times_posted(copies)
    assert files["dropped_by"][:count].null_count() == count
    behind = files["parts_found"][count:].to_list()
    assert all(found <= most_again(len(copies)) for found in behind)
    # Posts are numbered as they were dealt; `_posts` and `identity` rank by nothing else.
    key = identify_releases(parsed.files).sort("generation")["release_key"].to_list()
    assert key == [repost_key(key[0], number) for number in range(len(files))]
