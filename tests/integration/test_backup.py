"""A backup brings everything back: catalog and corpus, on another database."""

import fcntl
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.integration.test_analysis import capture
from tests.support.indexing import GROUP, Group, indexer
from tests.support.recovering import candidates, contents, mixed
from voyager_core.catalog.backup import (
    ABOUT,
    DUMP,
    BackupError,
    forget_old,
    make_backup,
    read_backup,
    restore_backup,
)
from voyager_core.catalog.checks import check_catalog
from voyager_core.catalog.connect import connect, ensure_database, with_database
from voyager_core.catalog.migrate import migrate
from voyager_core.cli import main
from voyager_core.storage.corpus import Corpus, blocks_in

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def it(database, tmp_path):
    with indexer(database, tmp_path, [Group(GROUP, mixed(1, 1200))]) as made:
        made.plan()
        capture(made)
        yield made


@pytest.fixture
def elsewhere(it):
    """The DSN of a database that does not exist yet."""
    name = f"restored_{it.dsn.rsplit('_', 1)[1]}"
    yield with_database(it.dsn, name)
    with psycopg.connect(it.dsn, autocommit=True) as conn:
        conn.execute(f"drop database if exists {name} with (force)")


def bytes_of(corpus):
    return [list(blocks_in(each.folder)) for each in Corpus(corpus).ranges()]


def test_what_was_backed_up_is_all_there_after_restoring_it(it, elsewhere, tmp_path):
    folder = make_backup(it.dsn, it.folder / "corpus", tmp_path / "backups", now=NOW)
    assert folder.name == "voyager-20260102T030405Z"
    about = read_backup(folder)
    assert (about.ranges, about.corpus_files > 0) == (3, True)
    with it.connect() as conn:
        before = contents(conn), candidates(conn)
        conn.execute("delete from candidate")  # What happens afterwards is not in it.
    restore_backup(elsewhere, tmp_path / "other" / "corpus", folder)
    with connect(elsewhere, application_name="test") as conn:
        assert (contents(conn), candidates(conn)) == before
        assert check_catalog(conn) == []
    assert bytes_of(tmp_path / "other" / "corpus") == bytes_of(it.folder / "corpus")
    assert sum(map(len, bytes_of(it.folder / "corpus"))) > 0


def test_a_database_that_holds_something_is_left_alone(it, tmp_path):
    folder = make_backup(it.dsn, it.folder / "corpus", tmp_path / "backups", now=NOW)
    with it.connect() as conn:
        before = contents(conn)
        with pytest.raises(BackupError, match="not empty"):
            restore_backup(it.dsn, tmp_path / "corpus2", folder)
        assert contents(conn) == before


@pytest.mark.parametrize("harm", ["cut", "flip", "about", "gone"])
def test_a_damaged_backup_is_refused_before_anything_is_made(it, elsewhere, tmp_path, harm):
    folder = make_backup(it.dsn, it.folder / "corpus", tmp_path / "backups", now=NOW)
    dump = folder / DUMP
    data = dump.read_bytes()
    if harm == "cut":
        dump.write_bytes(data[: len(data) // 2])
    elif harm == "flip":
        dump.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
    elif harm == "about":
        (folder / ABOUT).write_text('{"made_at": 1}')
    else:
        dump.unlink()
    with pytest.raises(BackupError, match=r"damaged|no backup"):
        restore_backup(elsewhere, tmp_path / "corpus2", folder)
    with psycopg.connect(it.dsn) as conn:
        name = elsewhere.rsplit("/", 1)[1].partition("?")[0]
        found = conn.execute("select 1 from pg_database where datname = %s", [name]).fetchone()
    assert found is None


def test_a_backup_that_fails_leaves_no_folder(it, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BackupError, match="cannot write"):
        make_backup(it.dsn, it.folder / "corpus", tmp_path / "file" / "sub", now=NOW)
    folder = tmp_path / "backups"
    make_backup(it.dsn, it.folder / "corpus", folder, now=NOW)
    with pytest.raises(BackupError):
        make_backup(it.dsn, it.folder / "corpus", folder, now=NOW)
    assert [each.name for each in folder.iterdir()] == ["voyager-20260102T030405Z"]


@pytest.fixture
def running(it, tmp_path):
    """A backup into `backups` that does not end, since its dump waits for a table."""
    folder = tmp_path / "backups"
    script = "import sys; from voyager_core.cli import main; sys.exit(main(sys.argv[1:]))"
    variables = {"VOYAGER_DATABASE_URL": it.dsn, "VOYAGER_CORPUS_DIR": str(tmp_path / "none")}
    with psycopg.connect(it.dsn) as holder:
        holder.execute("lock table candidate in access exclusive mode")
        process = subprocess.Popen(
            [sys.executable, "-c", script, "backup", str(folder)],
            env=variables,
            cwd=it.folder,
        )
        try:
            until(lambda: dumps(it))
            yield process
        finally:
            process.kill()
            process.wait()


def dumps(it):
    with it.connect() as conn:
        (count,) = conn.execute(
            "select count(*) from pg_stat_activity where application_name = 'pg_dump'"
            " and datname = current_database()"
        ).fetchone()
    return count


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def unfinished(folder):
    return sorted(each.name for each in folder.glob(".*"))


def test_a_killed_backup_ends_its_dump_and_the_next_one_cleans_up(it, running, tmp_path):
    folder = tmp_path / "backups"
    assert len(unfinished(folder)) == 1
    running.kill()
    running.wait()
    until(lambda: not dumps(it))


def test_what_killed_backups_left_goes_and_a_running_one_stays(it, elsewhere, running, tmp_path):
    folder = tmp_path / "backups"
    (mine,) = unfinished(folder)
    shutil.copytree(folder / mine, folder / ".voyager-20250101T000000Z.unfinished")
    (folder / ".voyager-20250102T000000Z.unfinished").mkdir()
    (folder / ".somebody.unfinished").mkdir()
    ensure_database(elsewhere)
    migrate(elsewhere)
    make_backup(elsewhere, it.folder / "none", folder, now=NOW)
    assert unfinished(folder) == [".somebody.unfinished", mine]
    running.kill()
    running.wait()
    make_backup(elsewhere, it.folder / "none", folder, now=NOW + timedelta(days=1))
    assert unfinished(folder) == [".somebody.unfinished"]


def test_a_second_backup_of_the_same_second_leaves_the_first_alone(
    it, elsewhere, running, tmp_path
):
    folder = tmp_path / "backups"
    (mine,) = unfinished(folder)
    same = datetime.strptime(mine, ".voyager-%Y%m%dT%H%M%SZ.unfinished").replace(tzinfo=UTC)
    ensure_database(elsewhere)
    migrate(elsewhere)
    with pytest.raises(BackupError, match="cannot write"):
        make_backup(elsewhere, it.folder / "none", folder, now=same)
    assert unfinished(folder) == [mine]


def test_what_another_backup_took_for_a_leftover_at_its_start_is_made_again(
    it, tmp_path, monkeypatch
):
    folder = tmp_path / "backups"
    lock, stolen = fcntl.flock, []

    def late(file, how):
        if not stolen:
            stolen.extend(unfinished(folder))
            shutil.rmtree(folder / stolen[0])
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    read_backup(make_backup(it.dsn, it.folder / "none", folder, now=NOW))
    assert len(stolen) == 1


def test_a_deletion_that_was_cut_short_leaves_nothing_that_counts_as_a_backup(
    it, tmp_path, monkeypatch
):
    folder = tmp_path / "backups"
    for day in range(2):
        make_backup(it.dsn, it.folder / "none", folder, now=NOW + timedelta(days=day))

    def dies(*_arguments, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", dies)
        with pytest.raises(KeyboardInterrupt):
            forget_old(folder, 1)
    assert [each.name for each in folder.glob("voyager-*")] == ["voyager-20260103T030405Z"]
    make_backup(it.dsn, it.folder / "none", folder, now=NOW + timedelta(days=2))
    assert unfinished(folder) == []


def test_only_the_newest_are_kept_and_never_fewer_than_one(it, tmp_path):
    folder = tmp_path / "backups"
    for day in range(3):
        make_backup(it.dsn, it.folder / "none", folder, now=NOW + timedelta(days=day))
    (folder / "voyager-of-somebody-else").mkdir()
    assert [each.name for each in forget_old(folder, 2)] == ["voyager-20260102T030405Z"]
    forget_old(folder, 0)
    left = sorted(each.name for each in folder.iterdir())
    assert left == ["voyager-20260104T030405Z", "voyager-of-somebody-else"]


def test_the_commands_back_up_and_restore(it, elsewhere, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(it.folder)
    monkeypatch.setenv("VOYAGER_DATABASE_URL", it.dsn)
    monkeypatch.setenv("VOYAGER_CORPUS_DIR", str(it.folder / "corpus"))
    assert main(["backup", str(tmp_path / "backups"), "--keep", "3"]) == 0
    (folder,) = (tmp_path / "backups").iterdir()
    monkeypatch.setenv("VOYAGER_DATABASE_URL", elsewhere)
    monkeypatch.setenv("VOYAGER_CORPUS_DIR", str(tmp_path / "corpus2"))
    assert main(["restore", str(folder)]) == 0
    assert main(["check", "catalog"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert Corpus(tmp_path / "corpus2").blocks.usage.used() > 0
    assert main(["restore", str(folder)]) == 1
    assert "not empty" in capsys.readouterr().err
