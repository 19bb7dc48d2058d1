"""File names for any group, and files that are whole or not there."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voyager_core.storage.files import (
    TemporaryFile,
    folder_name,
    locked,
    remove_leftovers,
    write_file,
)


@pytest.mark.parametrize("group", ["alt.binaries.boneless", "alt.binaries.hdtv+x264_de-misc", "a"])
def test_ordinary_groups_keep_their_name(group):
    assert folder_name(group) == group


HOSTILE = [
    "../../x",
    "..",
    ".",
    "/etc/passwd",
    ".hidden",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    "con:x",
    "%2e",
]


@pytest.mark.parametrize("group", [*HOSTILE, "x" * 300, "ü" * 200, "a~b", "\udcff"])
def test_any_group_has_one_folder_directly_below_the_root(group, tmp_path):
    name = folder_name(group)
    assert len(os.fsencode(name)) <= 255
    folder = tmp_path / name
    folder.mkdir()
    assert folder.resolve().parent == tmp_path.resolve()
    assert not name.startswith(".")


@settings(deadline=None)
@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_groups_have_different_folders(one, other):
    assert (folder_name(one) == folder_name(other)) == (one == other)


def test_a_group_without_a_name_is_refused():
    with pytest.raises(ValueError, match="without a name"):
        folder_name("")


def test_a_file_is_replaced_as_a_whole(tmp_path):
    file = tmp_path / "a" / "b"
    write_file(file, b"one")
    write_file(file, b"two two")
    assert file.read_bytes() == b"two two"
    assert [path.name for path in file.parent.iterdir()] == ["b"]


def test_an_unpublished_file_leaves_nothing(tmp_path):
    temporary = TemporaryFile(tmp_path / "x")
    temporary.write(b"half", sync=False)
    temporary.discard()
    temporary.discard()
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path):
    living = TemporaryFile(tmp_path / "alt.a" / "living")
    living.write(b"in work", sync=False)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from voyager_core.storage.files import TemporaryFile\n"
        "TemporaryFile(Path(sys.argv[1])).write(b'torn', sync=False); os._exit(9)"
    )
    dead = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "alt.a" / "dead")], check=False
    )
    assert dead.returncode == 9
    assert len(list((tmp_path / "alt.a").iterdir())) == 2
    assert remove_leftovers(tmp_path) == 1
    living.publish()
    assert [path.name for path in (tmp_path / "alt.a").iterdir()] == ["living"]


def test_a_folder_that_was_removed_meanwhile_is_made_again(tmp_path):
    file = tmp_path / "alt.a" / "x"
    write_file(file, b"one")
    file.unlink()
    file.parent.rmdir()
    write_file(file, b"two")
    assert file.read_bytes() == b"two"


def test_a_lock_keeps_others_out(tmp_path):
    with locked(tmp_path / "lock") as handle:
        os.write(handle, b"x")
        script = (
            "import fcntl, sys; file = open(sys.argv[1])\n"
            "try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
            "except BlockingIOError: sys.exit(3)"
        )
        command = [sys.executable, "-c", script, str(tmp_path / "lock")]
        assert subprocess.run(command, check=False).returncode == 3
    assert subprocess.run(command, check=False).returncode == 0
