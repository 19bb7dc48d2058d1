"""`voyager groups` and `voyager ranges`: what is indexed, and how far."""

import argparse
from pathlib import Path

from voyager_core.cli.output import table
from voyager_core.errors import PermanentError
from voyager_core.settings import load_settings


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    groups = commands.add_parser("groups", help="add, list and remove newsgroups")
    actions = groups.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="index a newsgroup")
    add.add_argument("names", nargs="+", metavar="NAME")
    add.set_defaults(run=_add)
    load = actions.add_parser("import", help="add groups from a file, one name a line")
    load.add_argument("file", type=Path, help="names, or lines of LIST ACTIVE")
    load.set_defaults(run=_import)
    remove = actions.add_parser("remove", help="give a newsgroup no new work")
    remove.add_argument("names", nargs="+", metavar="NAME")
    remove.set_defaults(run=_remove)
    show = actions.add_parser("list", help="the groups by priority")
    show.add_argument("--all", action="store_true", help="removed ones too")
    show.set_defaults(run=_list)

    ranges = commands.add_parser("ranges", help="progress by group, or the ranges of one group")
    ranges.add_argument("group", nargs="?")
    ranges.add_argument("--retry", action="store_true", help="give parked ranges another chance")
    ranges.set_defaults(run=_ranges)


def _add(options: argparse.Namespace) -> int:
    return _add_names(options, options.names)


def _import(options: argparse.Namespace) -> int:
    try:
        text = options.file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        msg = f"the group list {options.file} cannot be read: {error.strerror}"
        raise PermanentError(msg) from error
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return _add_names(options, [words[0] for words in lines if words])


def _add_names(options: argparse.Namespace, names: list[str]) -> int:
    from voyager_core.catalog.groups import add_group
    from voyager_core.cli.session import catalog_session

    failed = 0
    with catalog_session(load_settings(options.env_file)) as conn:
        for name in names:
            try:
                group = add_group(conn, name)
            except PermanentError as error:
                print(f"not added: {error}")
                failed += 1
            else:
                print(f"{group.name} is indexed with priority {group.priority}")
    return 1 if failed else 0


def _remove(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import remove_group
    from voyager_core.cli.session import catalog_session

    failed = 0
    with catalog_session(load_settings(options.env_file)) as conn:
        for name in options.names:
            if remove_group(conn, name):
                print(f"{name} gets no new work; what is indexed stays")
            else:
                print(f"{name} is not indexed")
                failed += 1
    return 1 if failed else 0


def _list(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import list_groups
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        groups = list_groups(conn, active=None if options.all else True)
    if not groups:
        print("no groups yet; add one with `voyager groups add alt.binaries.…`")
        return 0
    rows = [
        (group.priority, group.name, group.state, _number(group.low), _number(group.high))
        for group in groups
    ]
    print(table(("priority", "group", "state", "low", "high"), rows))
    return 0


def _ranges(options: argparse.Namespace) -> int:
    from voyager_core.catalog.ranges import group_progress, ranges_of, unpark
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        if options.retry:
            print(f"{unpark(conn, options.group)} parked ranges are planned again")
        if options.group is None:
            progress = group_progress(conn)
            rows = [
                (
                    group.group,
                    group.ranges,
                    group.done,
                    group.parked,
                    _share(group.indexed, group.numbers),
                    _number(group.lines),
                )
                for group in progress
            ]
            print(table(("group", "ranges", "done", "parked", "indexed", "lines"), rows))
            return 0
        ranges = ranges_of(conn, options.group)
    shown = [
        (row.low, row.high, row.state, row.resume_at, row.lines, row.rejected, row.error or "")
        for row in ranges
    ]
    print(table(("low", "high", "state", "resumes at", "lines", "rejected", "error"), shown))
    return 0


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
