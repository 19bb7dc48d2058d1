"""Chunks and records give back exactly what went in, and damage is an error."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import voyager_native
from tests.unit.native.lines import Indexed, line

GOLDEN = Path(__file__).parents[2] / "golden" / "chunks"


@pytest.fixture
def files() -> pl.DataFrame:
    """Files of several kinds, one of them with holes and one posted twice."""
    lines = [
        line(at, f'[1/2] - "a.rar" yEnc ({at}/9)', message_id=f"part{at}of9.tok&$en@x.local")
        for at in (1, 2, 3, 5, 9)
    ]
    lines += [line(20 + at, f'Über "b.r{at:02}" (1/1)', date="") for at in range(4)]
    lines += [line(30 + at, '[3/7] "c.nfo" (1/1)', message_id=f"{at}@y") for at in range(2)]
    return Indexed(b"".join(lines)).files


def segments(payload: bytes) -> list[tuple[int, str, int]]:
    """Returns the segments of a record."""
    return list(pl.DataFrame(voyager_native.decode_segments(payload)).iter_rows())


def test_a_chunk_gives_back_files_and_segments(files):
    decoded = voyager_native.decode_chunk(voyager_native.encode_chunk(files))
    assert_frame_equal(pl.DataFrame(decoded.files), files)
    table = pl.DataFrame(decoded.segments)
    for row, payload in enumerate(files["payload"]):
        own = table.filter(pl.col("file") == row).drop("file")
        assert list(own.iter_rows()) == segments(payload)


def test_a_chunk_is_the_same_whatever_stands_beside_its_columns(files):
    more = files.with_columns(release_key=pl.lit(1), note=pl.lit("x")).select(
        [*sorted(files.columns, reverse=True), "release_key", "note"]
    )
    assert voyager_native.encode_chunk(more) == voyager_native.encode_chunk(files)
    assert voyager_native.encode_chunk(more.to_arrow()) == voyager_native.encode_chunk(files)


def test_chunks_are_made_per_release_and_rows_without_one_are_left_out(files):
    keys = [3, 1, None, 3, 1, 1, 3]
    keyed = files.with_columns(release_key=pl.Series(keys, dtype=pl.UInt64))
    chunks = pl.DataFrame(voyager_native.encode_chunks(keyed))
    assert chunks["release_key"].to_list() == [1, 3]
    for key, payload in chunks.iter_rows():
        own = keyed.filter(pl.col("release_key") == key).drop("release_key")
        assert payload == voyager_native.encode_chunk(own)


def test_signed_keys_of_the_catalog_are_the_same_bits(files):
    keyed = files.with_columns(release_key=pl.lit(-5, pl.Int64))
    chunks = pl.DataFrame(voyager_native.encode_chunks(keyed))
    assert chunks["release_key"].to_list() == [2**64 - 5]


def test_no_files_are_a_chunk_as_well(files):
    decoded = voyager_native.decode_chunk(voyager_native.encode_chunk(files.clear()))
    assert pl.DataFrame(decoded.files).is_empty()
    assert pl.DataFrame(decoded.segments).is_empty()


def test_a_missing_column_is_named(files):
    with pytest.raises(ValueError, match="no column poster"):
        voyager_native.encode_chunk(files.drop("poster"))
    with pytest.raises(ValueError, match="subject must hold strings"):
        voyager_native.encode_chunk(files.with_columns(subject=pl.lit(1)))
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        voyager_native.encode_chunk(42)


@pytest.mark.parametrize("at", [0, 1, 7, 40, -9, -1])
def test_a_changed_byte_is_noticed(files, at):
    for encoded, decode in (
        (voyager_native.encode_chunk(files), voyager_native.decode_chunk),
        (files["payload"][0], voyager_native.decode_segments),
    ):
        damaged = bytearray(encoded)
        damaged[at] ^= 0x10
        with pytest.raises(voyager_native.ChunkError):
            decode(bytes(damaged))


def test_cut_bytes_are_an_error(files):
    chunk = voyager_native.encode_chunk(files)
    for length in (0, 1, 8, 20, len(chunk) - 1):
        with pytest.raises(voyager_native.ChunkError):
            voyager_native.decode_chunk(chunk[:length])
    with pytest.raises(voyager_native.ChunkError):
        voyager_native.encode_chunk(files.with_columns(payload=pl.lit(b"\x01\x02\x03\x04\x05")))


def test_segments_are_encoded_in_any_order():
    rows = pl.DataFrame(
        {
            "part": [3, 1, 2],
            "message_id": ["c@x", "a@x", "b@x"],
            "size_bytes": [3, 1, 0],
        },
        schema={"part": pl.UInt32, "message_id": pl.String, "size_bytes": pl.UInt32},
    )
    record = voyager_native.encode_segments(rows)
    assert segments(record) == [(1, "a@x", 1), (2, "b@x", 0), (3, "c@x", 3)]
    with pytest.raises(voyager_native.ChunkError, match="ascend"):
        voyager_native.encode_segments(pl.concat([rows, rows]))


def test_records_of_one_file_are_merged_and_the_earlier_segment_stays():
    def record(*parts: int, tag: str) -> bytes:
        rows = {
            "part": list(parts),
            "message_id": [f"{part}{tag}@x" for part in parts],
            "size_bytes": [1] * len(parts),
        }
        return voyager_native.encode_segments(pl.DataFrame(rows))

    merged = voyager_native.merge_records([record(1, 4, tag="a"), record(2, 4, tag="b")])
    assert segments(merged) == [(1, "1a@x", 1), (2, "2b@x", 1), (4, "4a@x", 1)]
    assert segments(voyager_native.merge_records([])) == []


@pytest.mark.parametrize("sample", sorted(GOLDEN.glob("*.bin")), ids=lambda path: path.stem)
def test_every_version_ever_written_can_be_read(sample):
    decoded = voyager_native.decode_chunk(sample.read_bytes())
    wanted = json.loads(sample.with_suffix(".json").read_text())
    files = pl.DataFrame(decoded.files).drop("payload")
    assert json.loads(files.write_json()) == wanted["files"]
    assert [list(row) for row in pl.DataFrame(decoded.segments).iter_rows()] == wanted["segments"]


def test_the_present_version_has_a_sample():
    assert (GOLDEN / f"v{voyager_native.CODEC_VERSION}.bin").is_file()
