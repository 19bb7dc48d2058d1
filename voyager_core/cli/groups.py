"""`voyager groups` and `voyager ranges`: what is indexed, and how far."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from voyager_core.cli.arguments import text
from voyager_core.cli.output import printable, shortened, table
from voyager_core.errors import PermanentError
from voyager_core.settings import load_settings

if TYPE_CHECKING:
    from voyager_core.catalog.ranges import GroupProgress, RangeRow

_NO_GROUPS = "no groups yet; add one with `voyager groups add alt.binaries.…`"


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    groups = commands.add_parser("groups", help="add, list and remove newsgroups")
    actions = groups.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="index a newsgroup")
    add.add_argument("names", nargs="+", type=text, metavar="NAME")
    add.set_defaults(run=_add)
    load = actions.add_parser("import", help="add groups from a file, one name a line")
    load.add_argument("file", type=Path, help="names, or lines of LIST ACTIVE")
    load.set_defaults(run=_import)
    remove = actions.add_parser("remove", help="give a newsgroup no new work")
    remove.add_argument("names", nargs="+", type=text, metavar="NAME")
    remove.set_defaults(run=_remove)
    show = actions.add_parser("list", help="the groups by priority")
    show.add_argument("--all", action="store_true", help="removed ones too")
    show.set_defaults(run=_list)

    ranges = commands.add_parser("ranges", help="progress by group, or the ranges of one group")
    ranges.add_argument("group", nargs="?", type=text)
    ranges.add_argument("--retry", action="store_true", help="give parked ranges another chance")
    ranges.set_defaults(run=_ranges)


def _add(options: argparse.Namespace) -> int:
    return _add_names(options, options.names)


def _import(options: argparse.Namespace) -> int:
    from voyager_core.cli.group_list import read_group_list

    file = printable(str(options.file))
    try:
        found = read_group_list(options.file.read_bytes())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        msg = f"the group list {file} cannot be read: {reason}"
        raise PermanentError(msg) from error
    if found is None:
        msg = f"{file} is no text; nothing was added"
        raise PermanentError(msg)
    if not found.names:
        what = f" ({shortened(found.unread[0])})" if found.unread else ""
        msg = f"{file} has neither names of newsgroups nor lines of LIST ACTIVE{what}"
        raise PermanentError(msg)
    code = _add_names(options, found.names)
    for line in found.unread:
        print(f"neither a name nor a line of LIST ACTIVE: {shortened(line)}", file=sys.stderr)
    return 1 if found.unread else code


def _add_names(options: argparse.Namespace, names: list[str]) -> int:
    from voyager_core.catalog.errors import GroupError
    from voyager_core.catalog.groups import add_group
    from voyager_core.cli.session import catalog_session

    failed = 0
    with catalog_session(load_settings(options.env_file)) as conn:
        for name in names:
            try:
                group = add_group(conn, name)
            except GroupError as error:
                print(f"not added: {printable(str(error))}", file=sys.stderr)
                failed += 1
            else:
                print(f"{printable(group.name)} is indexed with priority {group.priority}")
    return 1 if failed else 0


def _remove(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import remove_group
    from voyager_core.cli.session import catalog_session

    failed = 0
    with catalog_session(load_settings(options.env_file)) as conn:
        for name in options.names:
            if remove_group(conn, name):
                print(f"{printable(name)} gets no new work; what is indexed stays")
            else:
                print(f"{shortened(name)} is not indexed", file=sys.stderr)
                failed += 1
    return 1 if failed else 0


def _list(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import list_groups
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        groups = list_groups(conn, active=None if options.all else True)
    if not groups:
        print(_NO_GROUPS)
        return 0
    rows = [
        (group.priority, group.name, group.state, _number(group.low), _number(group.high))
        for group in groups
    ]
    print(table(("priority", "group", "state", "low", "high"), rows))
    return 0


def _ranges(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import get_group
    from voyager_core.catalog.ranges import group_progress, ranges_of, unpark
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        if options.group is not None and get_group(conn, options.group) is None:
            msg = f"{shortened(options.group)} is not indexed; see `voyager groups list --all`"
            raise PermanentError(msg)
        if options.retry:
            print(f"{unpark(conn, options.group)} parked ranges are planned again")
        if options.group is None:
            print(_progress_table(group_progress(conn)))
        else:
            print(_range_table(ranges_of(conn, options.group)))
    return 0


def _progress_table(progress: "list[GroupProgress]") -> str:
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
    if not rows:
        return _NO_GROUPS
    return table(("group", "ranges", "done", "parked", "indexed", "lines"), rows)


def _range_table(ranges: "list[RangeRow]") -> str:
    rows = [
        (row.low, row.high, row.state, row.resume_at, row.lines, row.rejected, row.error or "")
        for row in ranges
    ]
    if not rows:
        return "no ranges yet; they are planned once the server's water marks are known"
    return table(("low", "high", "state", "resumes at", "lines", "rejected", "error"), rows)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
