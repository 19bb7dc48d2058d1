"""What is in a file depends on the lines alone, not on their order or their blocks."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import voyager_native
from tests.unit.native.lines import GROUP, line

SUBJECTS = [
    '[{i}/3] - "f{i}.rar" yEnc ({p}/{n})',
    '[{p}/{n}] - "one.bin" yEnc ({p}/{n})',
    '[{p}/{n}] - "two{p}.bin" yEnc ({p}/{n})',
    '[{i}/{n}] "three.r{i}" yEnc ({p}/{n}) ({p}/{n})',
    '"four.nfo" yEnc ({p}/0)',
    'text "five {i}.epub"',
    "random{i}{p}",
]


@st.composite
def lines_of_a_span(draw: st.DrawFn) -> list[bytes]:
    """Lines with few different files, parts and message-ids, so that everything collides."""
    count = draw(st.integers(1, 40))
    rows = []
    for number in draw(
        st.lists(st.integers(1, 5_000), min_size=count, max_size=count, unique=True)
    ):
        subject = draw(st.sampled_from(SUBJECTS)).format(
            i=draw(st.integers(0, 3)), p=draw(st.integers(0, 4)), n=draw(st.integers(0, 4))
        )
        message_id = draw(
            st.sampled_from(
                [
                    f"{draw(st.integers(0, 9))}@x",
                    f"part{draw(st.integers(1, 4))}of3.t@x",
                    f"u{number}@y",
                ]
            )
        )
        poster = draw(st.sampled_from(["a", "b", ""]))
        date = draw(st.sampled_from(["", "Sun, 25 Sep 2022 03:03:36 GMT", "26 Sep 2022 03:03:36"]))
        size = draw(st.sampled_from([0, 700, 740_000]))
        rows.append(
            line(number, subject, message_id=message_id, poster=poster, date=date, size=size)
        )
    return rows


def index(lines: list[bytes], step: int) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Returns files, articles and counts of rejects, each in an order of its own."""
    indexer = voyager_native.SpanIndexer(
        GROUP, 1, 4_000, groups={GROUP: 1}, now=1_900_000_000, keep_articles=True
    )
    for start in range(0, len(lines), step):
        indexer.feed(b"".join(lines[start : start + step]))
    tables = indexer.finish()
    rejects = pl.DataFrame(tables.rejects)
    return (
        pl.DataFrame(tables.files).sort("file_key"),
        pl.DataFrame(tables.articles).sort("number"),
        dict(rejects.select("reason", "count").iter_rows()),
    )


@settings(max_examples=300, deadline=None)
@given(lines_of_a_span(), st.randoms(use_true_random=False), st.integers(1, 9))
def test_order_and_blocks_change_nothing(lines, rng, step):
    files, articles, rejects = index(lines, len(lines))
    shuffled = list(lines)
    rng.shuffle(shuffled)
    other_files, other_articles, other_rejects = index(shuffled, step)
    assert_frame_equal(files, other_files)
    assert_frame_equal(articles, other_articles)
    assert rejects == other_rejects
    assert files["file_key"].is_unique().all()


@settings(max_examples=200, deadline=None)
@given(lines_of_a_span())
def test_every_article_is_in_one_file_or_has_one_reason(lines):
    files, articles, rejects = index(lines, len(lines))
    segments = [
        (key, part, message_id)
        for key, payload in files.select("file_key", "payload").iter_rows()
        for part, message_id, _ in pl.DataFrame(voyager_native.decode_segments(payload)).iter_rows()
    ]
    kept = articles.filter(pl.col("reason").is_null())
    assert sorted(segments) == sorted(kept.select("file_key", "part", "message_id").iter_rows())
    assert articles.height == len(lines) == kept.height + sum(rejects.values())
    assert files["parts_found"].sum() == kept.height
    assert len(set(segments)) == len(segments)


@settings(max_examples=100, deadline=None)
@given(lines_of_a_span())
def test_chunks_give_the_files_back(lines):
    files, _, _ = index(lines, len(lines))
    decoded = voyager_native.decode_chunk(voyager_native.encode_chunk(files))
    assert_frame_equal(pl.DataFrame(decoded.files), files)
