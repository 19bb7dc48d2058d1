"""The files of real posts come out exactly: every part, every message-id, every byte."""

import gzip
import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import voyager_native

POSTS = [
    "big-buck-bunny-nyuu",
    "cpp-split-zip-double-counter",
    "newztoolz-test-mp3",
    "ngpost-appimage-10missing-ids",
    "ngpost-appimage-ssl11",
    "ngpost-appimage-ssl3",
    "ngpost-qt-unified-obfuscated",
    "random-poster-mkv-par2-2026",
    "reftestnzb-100MB-nyuu",
    "sabnzbd-mix-no-ext-nyuu",
    "teevee-request-274596",
    "ubuntu-16.04.1-server-obfuscated",
    "ubuntu-mate-16.04.2-newsup",
]


def index(text: bytes, group: str, blocks: int = 1) -> voyager_native.SpanTables:
    """Feeds a text in some blocks, cut at line ends."""
    indexer = voyager_native.SpanIndexer(
        group, 0, 0, groups={group: 1}, now=1_900_000_000, keep_articles=True
    )
    lines = text.splitlines(keepends=True)
    step = -(-len(lines) // blocks)
    for start in range(0, len(lines), step):
        indexer.feed(b"".join(lines[start : start + step]))
    return indexer.finish()


def segments_of(files: pl.DataFrame) -> list[list[tuple[int, str, int]]]:
    """Returns part, message-id and size of the segments of each file."""
    return [
        list(pl.DataFrame(voyager_native.decode_segments(payload)).iter_rows())
        for payload in files["payload"]
    ]


def by_message_id(text: bytes) -> dict[str, list[bytes]]:
    """The fields of each line by message-id."""
    rows = [row.split(b"\t") for row in text.splitlines()]
    return {row[4].strip(b"<>").decode(): row for row in rows}


@pytest.mark.parametrize("post", POSTS)
def test_files_of_a_post_are_exactly_right(shared_data: Path, post: str):
    text = gzip.decompress((shared_data / "overview" / f"{post}.over.gz").read_bytes())
    truth = json.loads((shared_data / "overview" / f"{post}.truth.json").read_text())
    tables = index(text, "alt.binaries.test", blocks=3)
    files = pl.DataFrame(tables.files)
    wanted = Counter(
        (each["name"], each["poster"], each["parts_total"], each["parts_present"], each["bytes"])
        for each in truth["files"]
    )
    columns = ["name", "poster", "parts_total", "parts_found", "size_bytes"]
    assert Counter(files.select(columns).iter_rows()) == wanted
    assert tables.stats["rejected"] == 0
    lines = by_message_id(text)
    for file, segments in zip(files.iter_rows(named=True), segments_of(files), strict=True):
        assert [part for part, _, _ in segments] == sorted({part for part, _, _ in segments})
        for part, message_id, size in segments:
            row = lines.pop(message_id)
            assert int(row[6]) == size
            assert f"({part}/{file['parts_total']})".encode() in row[1]
            assert file["name"].encode() in row[1]
    assert not lines


def test_the_mixed_group_comes_apart_exactly(shared_data: Path):
    folder = shared_data / "overview"
    text = gzip.decompress((folder / "mixed-boneless.over.gz").read_bytes())
    truth = pl.read_csv(
        gzip.decompress((folder / "mixed-boneless.truth.tsv.gz").read_bytes()), separator="\t"
    ).with_columns(pl.col("article").cast(pl.UInt64))
    tables = index(text, "alt.binaries.boneless", blocks=7)
    found = pl.DataFrame(tables.articles)
    joined = truth.filter(pl.col("state") != "missing").join(
        found, left_on="article", right_on="number", how="full", coalesce=True
    )
    assert joined.height == found.height == 21_420
    duplicates = joined.filter(pl.col("state") == "dup")
    assert duplicates["reason"].to_list() == ["duplicate"] * 40
    kept = joined.filter(pl.col("state") == "ok")
    assert kept["reason"].null_count() == kept.height
    assert kept.filter(pl.col("part") != pl.col("part_right")).is_empty()
    true_files = kept.group_by("release", "file").agg(pl.col("file_key").n_unique())
    assert true_files["file_key"].to_list() == [1] * true_files.height
    assert (
        kept.group_by("file_key").agg(pl.struct("release", "file").n_unique())["release"].to_list()
        == [1] * true_files.height
    )


def test_spans_of_the_mixed_group_hold_the_same_articles_as_the_whole(shared_data: Path):
    text = gzip.decompress((shared_data / "overview/mixed-boneless.over.gz").read_bytes())
    lines = text.splitlines(keepends=True)
    whole = pl.DataFrame(index(text, "alt.binaries.boneless").files)
    pieces: Counter[int] = Counter()
    for start in range(0, len(lines), 5_000):
        part = index(b"".join(lines[start : start + 5_000]), "alt.binaries.boneless")
        for key, count in pl.DataFrame(part.files).select("file_key", "parts_found").iter_rows():
            pieces[key] += count
    # A duplicate whose twin lies in another span is not known as one.
    expected = Counter(dict(whole.select("file_key", "parts_found").iter_rows()))
    assert pieces.keys() == expected.keys()
    assert 0 <= pieces.total() - expected.total() <= 3
