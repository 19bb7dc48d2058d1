"""`replay` on made-up lines: inputs of every form, totals, errors."""

import gzip
import zlib

import polars as pl
import pytest

from tests.support.uploads import Upload, interleaved, volumes
from voyager_core.domain.ranges import Span
from voyager_core.header_pass import replay as module
from voyager_core.header_pass.replay import ReplayError, replay

GROUP = "alt.binaries.test"
UPLOADS = [
    Upload("a", volumes("Some.Show.S01E02.720p.HDTV.x264-GRP", 4)),
    Upload("b", [("Film.mkv.exe", 3)]),
    Upload("c", [("Some.Film.2010.mkv", 9)]),
]


@pytest.fixture
def text():
    return interleaved(UPLOADS)[0] + b"17\tnoise\tx\ty\t<other@x>\t\t10\t1\t\r\nbroken\r\n"


def test_plain_and_gzip_files_give_the_same(text, tmp_path):
    plain, packed = tmp_path / "a.over", tmp_path / "b.over.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    assert replay([plain], group=GROUP) == replay([packed], group=GROUP)


def test_totals_add_up(text, tmp_path):
    path = tmp_path / "a.over"
    path.write_bytes(text)
    totals = replay([path], group=GROUP)
    assert totals["lines"] == totals["kept"] + sum(totals["rejected"].values())
    assert totals["rejected"] == {"bad_line": 1, "no_counter": 1}
    assert totals["dropped"] == {"disguised_program": 3}
    assert totals["releases"] == 2


def test_dropped_files_have_no_release(text, tmp_path):
    path = tmp_path / "a.over"
    path.write_bytes(text)
    replay([path], group=GROUP, out=tmp_path / "out")
    files = pl.read_parquet(tmp_path / "out" / "files.parquet")
    dropped = files.filter(pl.col("dropped_by").is_not_null())
    assert dropped.select("name", "release_key").rows() == [("Film.mkv.exe", None)]
    counts = pl.read_parquet(tmp_path / "out" / "rule_counts.parquet")
    assert set(counts["rule"]) == {"disguised_program", "no_counter", "bad_line"}


def test_small_blocks_change_nothing(text, tmp_path, monkeypatch):
    path = tmp_path / "a.over"
    path.write_bytes(text)
    expected = replay([path], group=GROUP)
    monkeypatch.setattr(module, "BLOCK_BYTES", 97)
    assert replay([path], group=GROUP) == expected


def test_later_session_has_a_key_of_its_own(tmp_path):
    from datetime import timedelta

    from tests.support.uploads import START

    again = Upload("b", UPLOADS[0].files, salt="x", at=START + timedelta(days=4))
    path = tmp_path / "a.over"
    path.write_bytes(interleaved([UPLOADS[0], again])[0])
    replay([path], group=GROUP, out=tmp_path / "out")
    releases = pl.read_parquet(tmp_path / "out" / "releases.parquet")
    files = pl.read_parquet(tmp_path / "out" / "files.parquet")
    assert releases["release_key"].n_unique() == 2
    assert set(files["release_key"]) == set(releases["release_key"])


def test_captured_range_is_replayed_within_its_bounds(text, tmp_path):
    from voyager_core.storage.blocks import BlockFacts, BlockFolder
    from voyager_core.storage.corpus import Corpus

    lines, truth = interleaved([UPLOADS[2]], first_number=2_000_001)
    span = Span(GROUP, 2_000_001, 2_000_000 + 6)
    kept = b"".join(line for line in lines.splitlines(keepends=True)[:6])
    facts = BlockFacts("zlib", 6, span.low, span.high, len(kept), "news.example.invalid", 1)
    source = BlockFolder(tmp_path / "spool", max_bytes=None)
    info = source.write(span, zlib.compress(kept), facts)
    corpus = Corpus(tmp_path / "corpus")
    assert corpus.keep(source, [info]) > 0
    (captured,) = corpus.ranges()
    totals = replay([captured.folder], group=GROUP, out=tmp_path / "out")
    assert (totals["lines"], totals["fragments"], totals["releases"]) == (6, 1, 0)
    assert len(truth) == 9


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"1\tx\r\n")[:-6], b"\x1f\x8b\x00garbage"],
    ids=["cut off", "no gzip"],
)
def test_broken_gzip_is_an_error_that_names_the_file(content, tmp_path):
    path = tmp_path / "broken.over.gz"
    path.write_bytes(content)
    with pytest.raises(ReplayError, match=r"broken\.over\.gz"):
        replay([path], group=GROUP)


def test_missing_input_is_an_error(tmp_path):
    with pytest.raises(ReplayError, match=r"absent\.over"):
        replay([tmp_path / "absent.over"], group=GROUP)


def test_unusable_output_folder_is_an_error(text, tmp_path):
    path = tmp_path / "a.over"
    path.write_bytes(text)
    with pytest.raises(ReplayError, match="cannot write"):
        replay([path], group=GROUP, out=path / "inside-a-file")


def test_binary_garbage_is_counted(tmp_path):
    path = tmp_path / "garbage.over"
    path.write_bytes(bytes(range(256)) * 50)
    totals = replay([path], group=GROUP)
    assert totals["kept"] == 0
    assert totals["lines"] == sum(totals["rejected"].values()) > 0


def test_empty_file_is_no_error(tmp_path):
    path = tmp_path / "empty.over"
    path.write_bytes(b"")
    assert replay([path], group=GROUP, out=tmp_path / "out")["lines"] == 0
    assert pl.read_parquet(tmp_path / "out" / "releases.parquet").is_empty()
