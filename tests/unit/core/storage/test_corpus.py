"""The corpus: captured ranges stay, are described, and are read instead of fetched."""

import json

import pytest

from tests.unit.core.storage.support import GROUP, data, put, span, tree
from voyager_core.storage.corpus import Corpus, blocks_in
from voyager_core.storage.errors import BlockDamaged, BlockMissing
from voyager_core.storage.spool import Spool


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", corpus=Corpus(tmp_path / "corpus"))


def test_captured_blocks_move_to_the_corpus(spool):
    put(spool, 1, 100)
    put(spool, 101, 200)
    assert spool.release(span(1, 200), capture=True) == 2000
    assert spool.bytes_used() == 0
    assert tree(spool.root) == [".usage"]
    folder = f"{GROUP}/1-2000000"
    assert tree(spool.corpus.root) == [
        ".usage",
        f"{folder}/1-100.json",
        f"{folder}/1-100.zz",
        f"{folder}/101-200.json",
        f"{folder}/101-200.zz",
        f"{folder}/range.json",
    ]


def test_captured_blocks_need_no_news_server(spool):
    put(spool, 1, 100)
    spool.release(span(1, 100), capture=True)
    assert spool.missing(span(1, 100), 100) == []
    assert list(spool.blocks(span(1, 100))) == [data(1)]
    assert spool.release(span(1, 100), capture=True) == 0
    assert list(spool.blocks(span(1, 100))) == [data(1)]


def test_captured_blocks_of_another_server_do_not_stand_in(spool):
    put(spool, 1, 100, server="other.invalid")
    spool.release(span(1, 100), capture=True)
    assert len(spool.missing(span(1, 100), 100, server="news.test.invalid")) == 1
    put(spool, 1, 100)
    assert [
        info.facts.server for info in spool.infos(span(1, 100), server="news.test.invalid")
    ] == ["news.test.invalid"]


def test_a_captured_range_is_described(spool):
    put(spool, 1, 1_000_000, lines=999)
    spool.release(span(1, 1_000_000), capture=True)
    captured = list(spool.corpus.ranges())
    assert [(str(each.span), each.lines, each.blocks, each.complete) for each in captured] == [
        (f"{GROUP} 1-1000000", 999, 1, False)
    ]
    put(spool, 1_000_001, 2_000_000, lines=1)
    spool.release(span(1_000_001, 2_000_000), capture=True)
    (captured,) = spool.corpus.ranges()
    assert (captured.span, captured.lines, captured.complete) == (span(1, 2_000_000), 1000, True)
    assert list(blocks_in(captured.folder)) == [data(1), data(1_000_001)]


def test_ranges_come_in_order(spool):
    for group, low in (("alt.b", 1), ("alt.a", 10_000_001), ("alt.a", 4_000_001), ("../x", 1)):
        put(spool, low, low + 9, group=group)
        spool.release(span(low, low + 9, group), capture=True)
    assert [str(each.span) for each in spool.corpus.ranges()] == [
        "../x 1-10",
        "alt.a 4000001-4000010",
        "alt.a 10000001-10000010",
        "alt.b 1-10",
    ]


def test_a_gap_ends_what_a_range_covers(spool):
    put(spool, 1, 100)
    put(spool, 201, 300)
    spool.release(span(1, 300), capture=True)
    (captured,) = spool.corpus.ranges()
    assert (captured.span, captured.blocks) == (span(1, 100), 1)


def test_a_folder_that_is_no_range_is_named(tmp_path):
    with pytest.raises(BlockMissing, match="no captured range"):
        list(blocks_in(tmp_path))
    (tmp_path / "range.json").write_text("[]")
    with pytest.raises(BlockMissing, match="no captured range"):
        list(blocks_in(tmp_path))


def test_a_damaged_block_of_a_range_is_named(spool):
    put(spool, 1, 100)
    spool.release(span(1, 100), capture=True)
    (captured,) = spool.corpus.ranges()
    file = captured.folder / "1-100.zz"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(BlockDamaged):
        list(blocks_in(captured.folder))


def test_a_full_corpus_keeps_the_pass_going(tmp_path, caplog):
    spool = Spool(tmp_path / "spool", corpus=Corpus(tmp_path / "corpus", max_bytes=1500))
    put(spool, 1, 100)
    put(spool, 101, 200)
    assert spool.release(span(1, 200), capture=True) == 2000
    assert "not captured" in caplog.text
    assert spool.corpus.blocks.usage.used() == 1000
    (captured,) = spool.corpus.ranges()
    assert captured.span == span(1, 100)


def test_capturing_without_a_corpus_says_so(tmp_path, caplog):
    spool = Spool(tmp_path)
    put(spool, 1, 100)
    assert spool.release(span(1, 100), capture=True) == 1000
    assert "no corpus folder" in caplog.text


def test_the_description_is_plain_json(spool):
    put(spool, 1, 100)
    spool.release(span(1, 100), capture=True)
    fields = json.loads((spool.corpus.root / GROUP / "1-2000000" / "range.json").read_text())
    assert fields == {
        "group": GROUP,
        "low": 1,
        "high": 100,
        "lines": 100,
        "blocks": 1,
        "complete": False,
    }
