"""`voyager backup` and `voyager restore`: catalog and corpus."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from voyager_core.cli.arguments import whole_number
from voyager_core.cli.output import readable_size
from voyager_core.settings import load_settings


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    backup = commands.add_parser("backup", help="write catalog and corpus into a new folder")
    backup.add_argument("folder", type=Path, help="where the folder is made")
    backup.add_argument(
        "--keep", type=whole_number(1, 1_000_000), help="delete older backups there beyond so many"
    )
    backup.set_defaults(run=_backup)
    restore = commands.add_parser("restore", help="put a backup into an empty database")
    restore.add_argument("folder", type=Path, help="the backup's own folder")
    restore.set_defaults(run=_restore)


def _backup(options: argparse.Namespace) -> int:
    from voyager_core.catalog.backup import forget_old, make_backup, read_backup
    from voyager_core.catalog.connect import database_dsn
    from voyager_core.cli.session import catalog_session

    settings = load_settings(options.env_file)
    with catalog_session(settings):
        now = datetime.now(UTC)  # noqa: TID251 - the command's own clock
        made = make_backup(database_dsn(settings), settings.corpus_path, options.folder, now=now)
    about = read_backup(made)
    print(
        f"{made}: catalog {readable_size(about.dump_bytes)} ({about.releases:,} releases, "
        f"{about.ranges:,} ranges), corpus {readable_size(about.corpus_bytes)}"
    )
    if options.keep is not None:
        for gone in forget_old(options.folder, options.keep):
            print(f"deleted {gone}")
    return 0


def _restore(options: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from voyager_core.catalog.backup import read_backup, restore_backup
    from voyager_core.catalog.connect import database_dsn
    from voyager_core.catalog.embedded import embedded_postgres
    from voyager_core.catalog.migrate import migrate
    from voyager_core.storage.corpus import Corpus

    settings = load_settings(options.env_file)
    read_backup(options.folder)
    with embedded_postgres(settings) if settings.database_url is None else nullcontext():
        dsn = database_dsn(settings)
        about = restore_backup(dsn, settings.corpus_path, options.folder)
        applied = migrate(dsn)
    if about.corpus_files:
        Corpus(settings.corpus_path).blocks.sweep()
    print(f"restored {about.releases:,} releases and {about.ranges:,} ranges of {about.made_at}")
    for name in applied:
        print(f"applied {name}")
    print("`voyager check catalog` compares it with its chunks")
    return 0
