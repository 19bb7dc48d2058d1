"""The spool in S3-compatible storage, on moto's server on loopback."""

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import MemoryStore

from tests.unit.core.storage.support import GROUP, SERVER, data, facts, put, span
from voyager_core.errors import SettingsError
from voyager_core.storage.corpus import Corpus
from voyager_core.storage.errors import BlockDamaged, BlockMissing, SpoolFull, StorageUnusable
from voyager_core.storage.objects import BlockObjects, open_store
from voyager_core.storage.spool import Spool, Throttle


@pytest.fixture(scope="module")
def server():
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    yield "http://{}:{}".format(*moto.get_host_and_port())
    moto.stop()


@pytest.fixture
def url(server, monkeypatch, request):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    bucket = f"bucket-{abs(hash(request.node.name))}"
    store, _ = open_store(f"s3://{bucket}?endpoint={server}")
    # Making a bucket is no part of obstore; a PUT on the bucket is what does it.
    import urllib.request

    asked = urllib.request.Request(f"{server}/{bucket}", method="PUT")
    urllib.request.urlopen(asked).close()
    assert list(obstore.list(store)) == []
    return f"s3://{bucket}/spool/a?endpoint={server}"


@pytest.fixture
def spool(url):
    return Spool.at(url)


def test_blocks_are_written_found_and_read_by_another_process(url, spool):
    put(spool, 1, 100)
    put(spool, 101, 200, size=5000)
    other = Spool.at(url)
    assert [info.span for info in other.infos(span(1, 200))] == [span(1, 100), span(101, 200)]
    assert list(other.blocks(span(1, 200), server=SERVER)) == [data(1), data(101, 5000)]
    assert other.infos(span(1, 100))[0].facts == facts(1, 100)
    assert other.covers(span(1, 200))
    assert not other.covers(span(1, 201))
    assert other.missing(span(1, 300), 100) == [span(201, 300)]


def test_a_span_over_folders_and_a_group_with_an_odd_name(spool):
    odd = "alt.ü%2F.bin+x"
    put(spool, 1_999_901, 2_000_000, group=odd)
    put(spool, 2_000_001, 2_000_100, group=odd)
    found = spool.infos(span(1_999_901, 2_000_100, odd))
    assert [info.low for info in found] == [1_999_901, 2_000_001]
    assert len(list(spool.blocks(span(1_999_901, 2_000_100, odd)))) == 2
    assert spool._blocks.infos(span(1_999_901, 400_000_000, odd))[1].low == 2_000_001
    assert spool.missing(span(1_999_901, 2_000_100, GROUP), 2_000_000) != []


def test_released_blocks_are_gone_and_captured_ones_are_in_the_corpus(url, tmp_path):
    spool = Spool.at(url, corpus=Corpus(tmp_path))
    put(spool, 1, 100)
    put(spool, 101, 200)
    assert spool.release(span(1, 100)) == 1000
    with pytest.raises(BlockMissing):
        list(spool.blocks(span(1, 100)))
    assert spool.release(span(101, 200), capture=True) == 1000
    # Read from the corpus from now on.
    assert list(spool.blocks(span(101, 200))) == [data(101)]
    assert spool.bytes_used() == 0


def test_the_cap_counts_what_other_processes_wrote(url):
    one, other = Spool.at(url, max_bytes=4000), Spool.at(url, max_bytes=4000)
    put(one, 1, 100)
    put(other, 101, 200)
    put(one, 201, 300)
    with pytest.raises(SpoolFull, match="s3://bucket"):
        put(Spool.at(url, max_bytes=4000), 301, 400)
    other.delete(span(101, 200))
    put(Spool.at(url, max_bytes=4000), 301, 400)


def test_a_torn_or_foreign_object_is_no_block(url, spool):
    info = put(spool, 1, 100)
    store, _ = open_store(url)
    (entry,) = [each for batch in obstore.list(store) for each in batch]
    body = bytes(obstore.get(store, entry["path"]).bytes())
    for wrong in (b"", b"x", body[:-1], body + b"x", b"VYB1\xff\xff\xff\xff" + body[8:], body[:40]):
        obstore.put(store, entry["path"], wrong)
        assert not spool.covers(span(1, 100))
        assert spool.missing(span(1, 100), 100) == [span(1, 100)]
    obstore.put(store, entry["path"], body[:-1] + bytes([body[-1] ^ 1]))
    with pytest.raises(BlockDamaged):
        list(spool.blocks(span(1, 100)))
    assert not spool.covers(span(1, 100))
    assert info.size_bytes == 1000
    obstore.put(store, f"{entry['path'].rpartition('/')[0]}/notes.txt", b"x")
    put(spool, 1, 100)
    assert len(spool.infos(span(1, 100))) == 1


def test_old_blocks_are_swept(spool):
    put(spool, 1, 100)
    assert spool.sweep() == 0
    assert spool.sweep(forget_before=0) == 0
    assert spool.sweep(forget_before=4_000_000_000) == 1
    assert spool.bytes_used() == 0


def test_a_storage_that_is_not_there_or_has_no_bucket_is_an_error_to_act_on(server, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with pytest.raises(StorageUnusable, match="no-such-bucket"):
        put(Spool.at(f"s3://no-such-bucket/x?endpoint={server}"), 1, 100)


@pytest.mark.parametrize(
    "wrong",
    [
        "s3://",
        "s3://key:secret@bucket/x",
        "s3://bucket/x?endpont=http://127.0.0.1",
        "ftp://host/x",
        "gopher://",
    ],
)
def test_a_url_that_cannot_be_used_is_named_without_its_secrets(wrong):
    with pytest.raises(SettingsError, match="VOYAGER_SPOOL__URL") as caught:
        Spool.at(wrong)
    assert "secret" not in str(caught.value)


def test_a_folder_is_given_by_path_or_by_url(tmp_path):
    for place in (tmp_path / "a b", (tmp_path / "c d").as_uri()):
        put(Spool.at(place), 1, 100)
        assert Spool.at(place).covers(span(1, 100))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a b", "c d"]


def test_reading_is_slowed_down_to_a_number_of_bytes_a_second():
    now, slept = [0.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    throttle = Throttle(1000, monotonic=lambda: now[0], sleep=sleep)
    for _ in range(4):
        throttle.take(500)
    assert slept == [0.5, 0.5, 0.5]
    now[0] = 100.0
    # A pause is no credit for a burst.
    throttle.take(1000)
    throttle.take(1)
    assert slept[3:] == [1.0]


def test_the_sum_of_sizes_is_asked_for_again_after_some_seconds():
    now = [0.0]
    store = MemoryStore()
    blocks = BlockObjects(store, "memory", max_bytes=None, clock=lambda: now[0])
    assert blocks.used() == 0
    obstore.put(store, "g/1-2000000/1-2.zz", b"xx")
    assert blocks.used() == 0
    now[0] = 6.0
    assert blocks.used() == 2
