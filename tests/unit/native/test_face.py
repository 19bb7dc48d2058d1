"""The face exports all of the compiled half, with types, and its tables fit every consumer."""

import subprocess
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import voyager_native
from tests.unit.native.lines import GROUP, line
from voyager_native import _native

TEXT = line(1, '"a.rar" yEnc (1/2)') + line(2, "hello")


def tables() -> voyager_native.SpanTables:
    """The tables of two lines."""
    indexer = voyager_native.SpanIndexer(GROUP, 0, 0, groups={}, now=2_000_000_000)
    indexer.feed(TEXT)
    return indexer.finish()


def test_face_exports_everything_that_is_compiled():
    compiled = {name for name in dir(_native) if not name.startswith("_")}
    assert compiled == set(voyager_native.__all__)
    assert all(getattr(voyager_native, name) is getattr(_native, name) for name in compiled)


@pytest.mark.slow
def test_types_are_those_of_the_compiled_half():
    command = [sys.executable, "-m", "mypy.stubtest", "voyager_native._native"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout


def test_an_optimised_build_does_not_warn_on_import():
    assert not voyager_native.DEBUG_BUILD
    command = [sys.executable, "-W", "error", "-c", "import voyager_native"]
    assert subprocess.run(command, check=False).returncode == 0


def test_a_debug_build_warns_on_import():
    script = (
        "import sys, types, warnings\n"
        "from voyager_native import _native\n"
        "fake = types.ModuleType('voyager_native._native')\n"
        "fake.__dict__.update(_native.__dict__, DEBUG_BUILD=True)\n"
        "sys.modules['voyager_native._native'] = fake\n"
        "del sys.modules['voyager_native']\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import voyager_native\n"
        "assert [w.category for w in caught] == [RuntimeWarning], caught\n"
    )
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_polars_pyarrow_and_duckdb_take_the_tables():
    frame = pl.DataFrame(tables().files)
    table = pa.table(tables().files)
    stream = pa.RecordBatchReader.from_stream(tables().files)
    relation = duckdb.from_arrow(stream).project("name, parts_total, epoch(first_posted_at)")
    assert frame["name"].to_list() == table["name"].to_pylist() == ["a.rar"]
    assert relation.fetchall() == [("a.rar", 2, 1664075016.0)]
    assert table.schema.field("first_posted_at").type == pa.timestamp("s", tz="UTC")
    assert table.schema.field("file_key").type == pa.uint64()
    assert table["first_posted_at"].to_pylist() == frame["first_posted_at"].to_list()


def test_an_unread_table_is_released_with_its_capsule():
    capsule = tables().files.__arrow_c_stream__()
    assert "arrow_array_stream" in repr(capsule)
    del capsule


def test_rejects_hold_samples():
    frame = pl.DataFrame(tables().rejects)
    assert frame.rows() == [("no_counter", 1, [line(2, "hello").strip()])]
    assert set(frame["reason"]) <= set(voyager_native.REJECT_REASONS)


def test_parse_subject_tells_what_the_grammar_finds():
    said = voyager_native.parse_subject('[03/25] - "f.r00" yEnc (1/12)')
    assert (said["part"], said["total"], said["name"]) == (1, 12, "f.r00")
    assert (said["file_index"], said["file_total"], said["ambiguous"]) == (3, 25, False)
    assert voyager_native.parse_subject(b"no counter")["part"] is None


def test_parse_lines_gives_the_fields():
    frame = pl.DataFrame(voyager_native.parse_lines(TEXT + b"garbage\r\n"))
    assert frame["number"].to_list() == [1, 2, None]
    assert frame["message_id"].to_list()[:2] == ["id1@example.invalid", "id2@example.invalid"]
    assert frame["reason"].to_list() == [None, None, "bad_line"]


def test_inflate_refuses_garbage():
    assert voyager_native.inflate(TEXT) == TEXT
    with pytest.raises(ValueError, match="neither"):
        voyager_native.inflate(b"\x78\x9c\x00\x01\x02")


def test_cpu_is_counted_per_stage():
    stats = tables().stats
    parts = stats["inflate_ns"] + stats["parse_ns"] + stats["finish_ns"]
    assert 0 < parts == stats["total_ns"]
    least = voyager_native.inflate_ns([TEXT, TEXT], repeats=3)
    assert len(least) == 2
    assert min(least) > 0
