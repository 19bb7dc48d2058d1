"""The spool: whole blocks or none, what is missing, room, and what crashes leave behind."""

import errno
import itertools
import os
import random
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.core.storage.support import GROUP, data, facts, put, span, tree
from voyager_core.errors import PermanentError, TransientError
from voyager_core.storage import blocks, files
from voyager_core.storage.errors import BlockDamaged, BlockMissing, SpoolFull, StorageUnusable
from voyager_core.storage.spool import Spool


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


def numbers(spans):
    return [(each.low, each.high) for each in spans]


def block_file(spool, low, high):
    return next(spool.root.rglob(f"{low}-{high}.zz"))


def test_a_block_comes_back_as_it_was_written(spool):
    info = put(spool, 1, 100, stray_lines=2, lines=90)
    assert list(spool.blocks(span(1, 100))) == [data(1)]
    assert spool.infos(span(1, 100)) == [info]
    assert (info.facts.lines, info.holes, info.facts.stray_lines) == (90, 10, 2)
    assert info.facts.fetched_at == 1_900_000_000
    assert tree(spool.root) == [
        ".usage",
        f"{GROUP}/1-2000000/1-100.json",
        f"{GROUP}/1-2000000/1-100.zz",
    ]


def test_an_empty_spool_needs_no_folder(spool):
    assert spool.bytes_used() == 0
    assert numbers(spool.missing(span(1, 250), 100)) == [(1, 100), (101, 200), (201, 250)]
    assert spool.release(span(1, 250)) == 0
    assert spool.sweep() == 0


def test_blocks_end_at_multiples_of_the_block_size(spool):
    assert numbers(spool.missing(span(95, 310), 100)) == [
        (95, 100),
        (101, 200),
        (201, 300),
        (301, 310),
    ]


def test_a_span_that_grows_at_its_end_keeps_its_blocks(spool):
    put(spool, 1, 100)
    put(spool, 101, 130)
    assert numbers(spool.missing(span(1, 250), 100)) == [(131, 200), (201, 250)]
    put(spool, 131, 200)
    put(spool, 201, 250)
    assert spool.missing(span(1, 250), 100) == []
    assert list(spool.blocks(span(1, 250))) == [data(1), data(101), data(131), data(201)]


def test_blocks_that_reach_beyond_the_span_do_not_count(spool):
    put(spool, 1, 100)
    assert numbers(spool.missing(span(1, 50), 100)) == [(1, 50)]
    assert numbers(spool.missing(span(50, 150), 100)) == [(50, 100), (101, 150)]


def test_numbers_beyond_32_bits_lie_in_their_own_folder(spool):
    low = 4_611_686_018_000_000_001
    put(spool, low, low + 99_999)
    assert list(spool.blocks(span(low, low + 99_999))) == [data(low)]
    assert f"{GROUP}/4611686018000000001-4611686018002000000" in str(tree(spool.root))


def test_a_span_over_several_folders_is_covered(spool):
    put(spool, 1_999_901, 2_000_000)
    put(spool, 2_000_001, 2_000_100)
    assert len(list(spool.blocks(span(1_999_901, 2_000_100)))) == 2


def test_a_missing_block_is_named(spool):
    put(spool, 1, 100)
    with pytest.raises(BlockMissing, match="from number 101 on"):
        list(spool.blocks(span(1, 200)))


@pytest.mark.parametrize("harm", ["flip", "shorten", "empty", "no manifest", "torn manifest"])
def test_a_torn_block_is_missing_and_fetched_again(spool, harm):
    put(spool, 1, 100)
    put(spool, 101, 200)
    file = block_file(spool, 101, 200)
    manifest = file.with_suffix(".json")
    content = bytearray(file.read_bytes())
    if harm == "flip":
        content[500] ^= 1
        file.write_bytes(content)
    elif harm == "shorten":
        file.write_bytes(content[:-1])
    elif harm == "empty":
        file.write_bytes(b"")
    elif harm == "no manifest":
        manifest.unlink()
    else:
        manifest.write_bytes(manifest.read_bytes()[:40])
    other = Spool(spool.root)
    assert numbers(other.missing(span(1, 200), 100)) == [(101, 200)]
    with pytest.raises(BlockMissing):
        list(other.blocks(span(1, 200)))
    put(other, 101, 200)
    assert list(other.blocks(span(1, 200))) == [data(1), data(101)]


def test_a_block_that_is_torn_while_it_waits_is_noticed_when_it_is_read(spool):
    put(spool, 1, 100)
    reading = spool.blocks(span(1, 100))
    file = block_file(spool, 1, 100)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with pytest.raises(BlockDamaged, match="fetched again"):
        next(reading)
    assert numbers(spool.missing(span(1, 100), 100)) == [(1, 100)]


def test_manifests_of_other_versions_or_shapes_do_not_count(spool):
    put(spool, 1, 100)
    manifest = block_file(spool, 1, 100).with_suffix(".json")
    good = manifest.read_bytes()
    for bad in (
        b"",
        b"[]",
        b"null",
        b"{}",
        good.replace(b'"version": 1', b'"version": 2'),
        b"\xff",
    ):
        manifest.write_bytes(bad)
        assert len(spool.missing(span(1, 100), 100)) == 1
    manifest.write_bytes(good)
    assert spool.missing(span(1, 100), 100) == []


def test_blocks_of_another_server_are_fetched_again(spool):
    put(spool, 1, 100, server="other.invalid")
    put(spool, 101, 200)
    missing = spool.missing(span(1, 200), 100, server="news.test.invalid")
    assert numbers(missing) == [(1, 100)]
    assert len(tree(spool.root)) == 3


def test_hostile_group_names_stay_below_the_root(tmp_path):
    spool = Spool(tmp_path / "deep" / "spool")
    for group in ("../../x", "/etc", "a/b", "y" * 400, ".."):
        put(spool, 1, 10, group=group)
        assert list(spool.blocks(span(1, 10, group))) == [data(1)]
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"spool"}


# Room.


def test_bytes_used_follows_what_is_written_and_released(spool):
    put(spool, 1, 100, size=1000)
    put(spool, 101, 200, size=500)
    assert spool.bytes_used() == 1500
    put(spool, 101, 200, size=700)
    assert spool.bytes_used() == 1700
    assert spool.release(span(101, 200)) == 700
    assert spool.bytes_used() == 1000
    assert Spool(spool.root).bytes_used() == 1000
    assert spool.delete(span(1, 100)) == 1000
    assert spool.bytes_used() == 0
    assert tree(spool.root) == [".usage"]
    assert list(spool.root.iterdir()) == [spool.root / ".usage"]


def test_bytes_used_walks_the_folders_only_once(spool, monkeypatch):
    put(spool, 1, 100)
    monkeypatch.setattr("voyager_core.storage.usage.count_blocks", lambda _: pytest.fail("walked"))
    put(spool, 101, 200)
    spool.release(span(1, 100))
    assert spool.bytes_used() == 1000


def test_a_lost_or_torn_count_is_made_again(spool):
    put(spool, 1, 100)
    for content in (b"", b"17", b"x\n", b"-5\n"):
        (spool.root / ".usage").write_bytes(content)
        assert spool.bytes_used() == 1000
    (spool.root / ".usage").unlink()
    assert spool.bytes_used() == 1000


def test_a_count_that_fell_below_nothing_is_made_again(spool):
    put(spool, 1, 100)
    put(spool, 101, 200)
    (spool.root / ".usage").write_bytes(b"10\n")
    spool.release(span(1, 100))
    assert spool.bytes_used() == 1000


def test_a_block_over_the_cap_is_refused_whole(tmp_path):
    spool = Spool(tmp_path, max_bytes=2500)
    put(spool, 1, 100, size=1000)
    put(spool, 101, 200, size=1000)
    before = tree(tmp_path)
    with pytest.raises(SpoolFull, match="VOYAGER_SPOOL__MAX_BYTES"):
        put(spool, 201, 300, size=1000)
    assert tree(tmp_path) == before
    put(spool, 101, 200, size=1500)
    spool.release(span(1, 100))
    put(spool, 201, 300, size=1000)
    assert spool.bytes_used() == 2500
    with pytest.raises(SpoolFull):
        spool.check_room()


def test_a_disk_with_little_free_space_is_left_alone(tmp_path):
    spool = Spool(tmp_path, min_free_bytes=1 << 62)
    with pytest.raises(SpoolFull, match="to stay free"):
        put(spool, 1, 100)
    with pytest.raises(SpoolFull, match="to stay free"):
        spool.check_room()
    assert [path for path in tree(tmp_path) if path != ".usage"] == []


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, SpoolFull),
        (errno.EDQUOT, SpoolFull),
        (errno.EACCES, StorageUnusable),
        (errno.EROFS, StorageUnusable),
        (errno.EIO, TransientError),
    ],
)
@pytest.mark.parametrize("at", ["write", "fsync", "replace"])
def test_a_disk_that_fails_half_way_leaves_nothing(spool, monkeypatch, number, kind, at):
    put(spool, 1, 100)
    before = tree(spool.root)

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        if at == "replace":
            patch.setattr(files.Path, "replace", fail)
        else:
            patch.setattr(files.os, at, fail)
        with pytest.raises(kind) as caught:
            put(spool, 101, 200)
    assert tree(spool.root) == before
    assert spool.bytes_used() == 1000
    assert isinstance(caught.value, TransientError | PermanentError)
    assert str(spool.root) in str(caught.value)


def test_a_real_full_disk_is_a_full_spool(tmp_path):
    # A limit on file size stands in for a full disk; the child ignores its signal.
    script = """
import resource, signal, sys
from pathlib import Path
from tests.unit.core.storage.support import put, tree
from voyager_core.storage.errors import SpoolFull
from voyager_core.storage.spool import Spool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
spool = Spool(Path(sys.argv[1]))
put(spool, 1, 100)
before = tree(spool.root)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    put(spool, 101, 200, size=50000)
except SpoolFull:
    assert tree(spool.root) == before, tree(spool.root)
    sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == 7


def test_a_folder_that_cannot_be_made_needs_a_person(tmp_path):
    (tmp_path / "spool").write_text("a file")
    spool = Spool(tmp_path / "spool")
    for use in (lambda: put(spool, 1, 100), spool.bytes_used, spool.check_room, spool.sweep):
        with pytest.raises(StorageUnusable, match="check the folder"):
            use()


# Crashes and neighbours.


def test_a_writer_killed_at_any_moment_leaves_a_spool_that_resumes(tmp_path):
    command = [sys.executable, "-m", "tests.unit.core.storage.crashes", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def test_sweeping_removes_half_blocks_and_counts_anew(spool):
    put(spool, 1, 100)
    put(spool, 101, 200)
    put(spool, 201, 300)
    block_file(spool, 1, 100).with_suffix(".json").unlink()
    block_file(spool, 101, 200).unlink()
    (spool.root / ".usage").write_bytes(b"999999\n")
    assert spool.sweep() == 2
    assert spool.bytes_used() == 1000
    assert [name for name in tree(spool.root) if name != ".usage"] == [
        f"{GROUP}/1-2000000/201-300.json",
        f"{GROUP}/1-2000000/201-300.zz",
    ]


def test_sweeping_forgets_blocks_that_nobody_came_back_to(spool):
    put(spool, 1, 100)
    put(spool, 101, 200)
    os.utime(block_file(spool, 1, 100), (1_000_000_000, 1_000_000_000))
    assert spool.sweep(forget_before=999_999_999) == 0
    assert spool.sweep(forget_before=1_000_000_001) == 1
    assert numbers(spool.missing(span(1, 200), 100)) == [(1, 100)]
    assert spool.bytes_used() == 1000
    assert len(tree(spool.root)) == 3


def test_many_writers_count_together(tmp_path):
    spools = [Spool(tmp_path) for _ in range(4)]
    failures = []

    def write(spool, offset):
        try:
            for n in range(10):
                low = (offset * 10 + n) * 100 + 1
                put(spool, low, low + 99)
                if n % 3 == 0:
                    spool.release(span(low, low + 99))
        except BaseException as error:  # noqa: BLE001 - asserted on below
            failures.append(error)

    threads = [threading.Thread(target=write, args=(spool, n)) for n, spool in enumerate(spools)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert spools[0].bytes_used() == 4 * 6 * 1000
    assert spools[0].bytes_used() == blocks.count_blocks(tmp_path)


def test_the_same_block_written_twice_counts_once(tmp_path):
    threads = [threading.Thread(target=put, args=(Spool(tmp_path), 1, 100)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spool = Spool(tmp_path)
    assert spool.bytes_used() == 1000
    assert list(spool.blocks(span(1, 100))) == [data(1)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 25)), max_size=8),
    st.integers(1, 40),
    st.integers(0, 40),
    st.integers(1, 30),
)
def test_what_is_missing_and_what_is_there_make_the_span(tmp_path_factory, there, low, more, size):
    spool = Spool(tmp_path_factory.mktemp("spool"))
    for start, length in there:
        put(spool, start, start + length, size=50)
    wanted = span(low, low + more)
    missing = spool.missing(wanted, size)
    for each in missing:
        assert each.size <= size
        put(spool, each.low, each.high, size=50)
    assert spool.missing(wanted, size) == []
    infos = spool.infos(wanted)
    assert [info.low for info in infos][:1] == [low]
    assert all(one.high + 1 == other.low for one, other in itertools.pairwise(infos))
    assert infos[-1].high == low + more


def test_blocks_are_read_in_the_order_of_their_numbers(spool):
    lows = list(range(1, 2001, 100))
    random.Random(3).shuffle(lows)
    for low in lows:
        put(spool, low, low + 99)
    assert list(spool.blocks(span(1, 2000))) == [data(low) for low in sorted(lows)]
    assert facts(1, 2).server == spool.infos(span(1, 2000))[0].facts.server


def test_what_was_checked_is_forgotten_with_its_block(spool):
    for _ in range(3):
        for low in (1, 101, 201):
            put(spool, low, low + 99)
        assert spool.missing(span(1, 300), 100) == []
        spool.delete(span(1, 300))
    assert spool._blocks._verified == {}
