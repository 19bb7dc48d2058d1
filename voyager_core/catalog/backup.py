"""Backup and restore: the catalog by pg_dump, the corpus as it is, and what both are made of.

A backup is a folder that appears whole or not at all. Dagster's own database is not part of it:
which ranges are indexed is in the catalog, and Dagster's history can be made again from nothing.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from psycopg.conninfo import conninfo_to_dict

from voyager_core.catalog.connect import connect, ensure_database
from voyager_core.catalog.migrate import check_schema
from voyager_core.catalog.postgres_programs import RunAs, find_programs
from voyager_core.errors import PermanentError, reason_of

DUMP = "catalog.dump"
CORPUS = "corpus"
ABOUT = "backup.json"
PREFIX = "voyager-"
_UNFINISHED = ".unfinished"

_PASSWORD = "PGPASSWORD"  # noqa: S105 - the variable's name
_VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": _PASSWORD}


class BackupError(PermanentError):
    """A backup cannot be made or used; the text says why."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds.

    Attributes:
        made_at: when, as ISO text.
        migrations: names of the migrations of the catalog.
        ranges: ranges in the ledger.
        releases: releases in the catalog.
        dump_bytes: size of the dump.
        dump_sha256: its checksum.
        corpus_files: files of the corpus.
        corpus_bytes: their size.
    """

    made_at: str
    migrations: Sequence[str]
    ranges: int
    releases: int
    dump_bytes: int
    dump_sha256: str
    corpus_files: int
    corpus_bytes: int


def make_backup(dsn: str, corpus: Path, folder: Path, *, now: datetime) -> Path:
    """Writes a backup into a new folder below `folder`; returns it.

    Nothing has to be stopped: the dump is of one moment, and blocks of the corpus never change.
    What killed backups left in `folder` is deleted.

    Raises:
        BackupError: pg_dump fails, or the folder cannot be written to.
        CatalogUnavailable: the database does not answer.
    """
    target = folder / f"{PREFIX}{now:%Y%m%dT%H%M%SZ}"
    try:
        _delete_leftovers(folder)
        with _appearing(target) as unfinished:
            dump = unfinished / DUMP
            with connect(dsn, application_name="voyager backup") as conn:
                check_schema(conn)
                row = conn.execute(
                    "select (select count(*) from range), (select count(*) from release)"
                ).fetchone()
                migrations = [
                    name for (name,) in conn.execute("select name from schema_migration order by 1")
                ]
            _run(dsn, "pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
            files, size = _copy_corpus(corpus, unfinished / CORPUS)
            ranges, releases = row or (0, 0)
            about = Backup(
                now.isoformat(), migrations, ranges, releases,
                dump.stat().st_size, _sha256(dump), files, size,
            )  # fmt: skip
            (unfinished / ABOUT).write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")
    except OSError as error:
        msg = f"cannot write the backup to {target}: {reason_of(error, target)}"
        raise BackupError(msg) from error
    return target


def read_backup(folder: Path) -> Backup:
    """Returns what a backup holds, after its dump was compared with its checksum.

    Raises:
        BackupError: the folder is no backup, or its dump is damaged.
    """
    try:
        about = Backup(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
        found = _sha256(folder / DUMP)
    except (OSError, ValueError, TypeError) as error:
        msg = f"{folder} is no backup: {reason_of(error)}"
        if inside := sorted(each.name for each in folder.glob(f"{PREFIX}*")):
            msg = f"{folder} holds backups and is none itself; name one, such as {inside[-1]}"
        raise BackupError(msg) from error
    if found != about.dump_sha256:
        msg = f"{folder / DUMP} is damaged: its checksum is not the one of {ABOUT}"
        raise BackupError(msg)
    return about


def restore_backup(dsn: str, corpus: Path, folder: Path) -> Backup:
    """Puts a backup into an empty database and the corpus beside it; returns what it holds.

    The catalog is restored in one transaction. Blocks that the corpus has already stay.

    Raises:
        BackupError: the backup is damaged, the database is not empty, or pg_restore fails.
        CatalogUnavailable: the database does not answer.
    """
    about = read_backup(folder)
    ensure_database(dsn)
    with connect(dsn, application_name="voyager restore") as conn:
        row = conn.execute(
            "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname = 'public' and c.relkind in ('r', 'p')"
        ).fetchone()
    if row is None or row[0]:
        msg = "the database is not empty: restore into a new one, and point Voyager at it then"
        raise BackupError(msg)
    _run(
        dsn, "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner",
        "--dbname", str(conninfo_to_dict(dsn).get("dbname", "")), str(folder / DUMP),
    )  # fmt: skip
    try:
        _copy_corpus(folder / CORPUS, corpus)
    except OSError as error:
        why = reason_of(error, corpus)
        msg = f"the catalog is restored, and the corpus cannot be written to {corpus}: {why}"
        raise BackupError(msg) from error
    with connect(dsn, application_name="voyager restore") as conn:
        found = conn.execute("select count(*) from range").fetchone()
    # Ranges may have been planned between the count and the dump; none can be missing.
    if found is None or found[0] < about.ranges:
        msg = f"the restored catalog has {found and found[0]} ranges, of {about.ranges}"
        raise BackupError(msg)
    return about


def forget_old(folder: Path, keep: int) -> list[Path]:
    """Deletes the oldest backups below a folder until so many are left; returns these.

    Raises:
        BackupError: one cannot be deleted.
    """
    found = sorted(each for each in folder.glob(f"{PREFIX}*") if (each / ABOUT).is_file())
    gone = found[: max(0, len(found) - max(1, keep))]
    try:
        for each in gone:
            # Half of it must not pass for a backup, and the next one deletes the rest.
            half = each.replace(_unfinished(each))
            shutil.rmtree(half)
    except OSError as error:
        msg = f"an old backup cannot be deleted: {reason_of(error)}"
        raise BackupError(msg) from error
    return gone


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """Yields a folder that becomes `target` when the block ends well, and else is deleted.

    Its dump is locked for as long: the lock ends with the process, however that ends.

    Raises:
        OSError: of the operating system; both are there already, for example.
    """
    if target.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    unfinished = _unfinished(target)
    with _begin(unfinished):
        try:
            yield unfinished
            unfinished.replace(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _begin(unfinished: Path) -> IO[bytes]:
    """Makes the folder; returns its dump, empty and locked."""
    unfinished.mkdir(parents=True)
    with suppress(FileNotFoundError):
        file = (unfinished / DUMP).open("wb")
        # Where nothing can be locked, nothing is taken for a leftover either.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
    # Another backup that starts at this moment took it for a leftover before it was locked.
    return _begin(unfinished)


def _delete_leftovers(folder: Path) -> None:
    """Deletes what backups below a folder left whose processes were killed."""
    for each in folder.glob(f".{PREFIX}*{_UNFINISHED}"):
        with suppress(OSError), (each / DUMP).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(each)


def _unfinished(target: Path) -> Path:
    return target.with_name(f".{target.name}{_UNFINISHED}")


def _run(dsn: str, program: str, *arguments: str) -> None:
    """Runs a program of Postgres on a database; the password goes through its environment."""
    parts = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
    variables = {_VARIABLES[name]: value for name, value in parts.items() if name in _VARIABLES}
    variables["PGDATABASE"] = parts.get("dbname", "")
    path = find_programs().bindir / program
    if not path.is_file():
        msg = f"{program} is not in {path.parent}: install PostgreSQL's client programs"
        raise BackupError(msg)
    base = {"PATH": os.defpath, "LC_ALL": "C"}
    done = subprocess.run(  # noqa: S603 - a program of Postgres
        # Without the starter nobody waits for what it does.
        RunAs("self").command(path, *arguments, death_signal=signal.SIGTERM),
        env=base | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()[-5:]
        msg = f"{program} failed: {' '.join(said)}"
        raise BackupError(msg)


def _copy_corpus(source: Path, target: Path) -> tuple[int, int]:
    """Copies blocks that are not there, each whole; returns files and bytes of the source."""
    files = size = 0
    for file in sorted(source.rglob("*")) if source.is_dir() else ():
        if not file.is_file() or file.name.startswith("."):
            continue
        place = target / file.relative_to(source)
        files, size = files + 1, size + file.stat().st_size
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        new = place.with_name(f".{place.name}.new")
        shutil.copy2(file, new)
        new.replace(place)
    return files, size


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
