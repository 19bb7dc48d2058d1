"""`voyager groups` and `voyager ranges`: what is indexed, and how far."""

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from voyager_core.cli.arguments import text, whole_number
from voyager_core.cli.output import printable, shortened, table
from voyager_core.errors import PermanentError
from voyager_core.settings import MOST_DAYS, load_settings

if TYPE_CHECKING:
    from voyager_core.catalog.groups import Newsgroup
    from voyager_core.catalog.progress import GroupStatus
    from voyager_core.catalog.ranges import RangeRow

MOST_GROUPS = 1_000_000
_NO_GROUPS = "no groups yet; add one with `voyager groups add alt.binaries.…`"


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    groups = commands.add_parser("groups", help="add, list and remove newsgroups")
    actions = groups.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="index a newsgroup")
    add.add_argument("names", nargs="+", type=text, metavar="NAME")
    _add_wish(add)
    add.set_defaults(run=_add)
    load = actions.add_parser("import", help="add groups from a file, the largest first")
    load.add_argument("file", type=Path, help="one name a line, or a reply to LIST ACTIVE")
    load.add_argument(
        "--most", type=whole_number(1, MOST_GROUPS), metavar="N", help="only the N largest"
    )
    load.set_defaults(run=_import)
    remove = actions.add_parser("remove", help="give a newsgroup no new work")
    remove.add_argument("names", nargs="+", type=text, metavar="NAME")
    remove.set_defaults(run=_remove)
    wish = actions.add_parser("backfill", help="how much history of newsgroups is wanted")
    wish.add_argument("names", nargs="*", type=text, metavar="NAME", help="default: all")
    _add_wish(wish)
    wish.set_defaults(run=_backfill)
    show = actions.add_parser("list", help="the groups by priority")
    show.add_argument("--all", action="store_true", help="removed ones too")
    show.set_defaults(run=_list)

    ranges = commands.add_parser("ranges", help="progress by group, or the ranges of one group")
    ranges.add_argument("group", nargs="?", type=text)
    ranges.add_argument("--retry", action="store_true", help="give parked ranges another chance")
    ranges.set_defaults(run=_ranges)


def _add_wish(parser: argparse.ArgumentParser) -> None:
    wish = parser.add_mutually_exclusive_group()
    wish.add_argument("--days", type=_days, metavar="N", help="history of so many days")
    wish.add_argument("--since", type=_date, metavar="DATE", help="history since 2020-12-31")


_days = whole_number(0, MOST_DAYS)


def _date(value: str) -> datetime:
    try:
        return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        msg = f"a date such as 2020-12-31, not {printable(value)[:40]!r}"
        raise argparse.ArgumentTypeError(msg) from None


def _import(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import import_groups
    from voyager_core.cli.group_list import read_group_list
    from voyager_core.cli.session import catalog_session

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
        what = f" ({shortened(found.shown[0])})" if found.shown else ""
        msg = f"{file} has neither names of newsgroups nor lines of LIST ACTIVE{what}"
        raise PermanentError(msg)
    names = found.names[: options.most]
    with catalog_session(load_settings(options.env_file)) as conn:
        done = import_groups(conn, names)
    print(f"{done.added} newsgroups added, {done.returned} indexed again, {done.kept} kept")
    if len(names) < len(found.names):
        print(f"{len(found.names) - len(names)} smaller ones left out")
    if found.doubles:
        print(f"{found.doubles} lines named a group again")
    for reason, count in found.refused.most_common():
        print(f"{count} lines refused: {reason}", file=sys.stderr)
    for line in found.shown:
        print(f"  {shortened(line)}", file=sys.stderr)
    return 1 if found.refused else 0


def _add(options: argparse.Namespace) -> int:
    from voyager_core.catalog.errors import GroupError
    from voyager_core.catalog.groups import add_group, set_backfill
    from voyager_core.cli.session import catalog_session

    failed = 0
    with catalog_session(load_settings(options.env_file)) as conn:
        for name in options.names:
            try:
                group = add_group(conn, name)
            except GroupError as error:
                print(f"not added: {printable(str(error))}", file=sys.stderr)
                failed += 1
            else:
                print(f"{printable(group.name)} is indexed with priority {group.priority}")
                if options.days is not None or options.since is not None:
                    set_backfill(conn, [name], days=options.days, since=options.since)
    return 1 if failed else 0


def _backfill(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import list_groups, set_backfill
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        names = options.names or [group.name for group in list_groups(conn)]
        found = set(set_backfill(conn, names, days=options.days, since=options.since))
    wish = "as much history as the settings say"
    if options.days is not None:
        wish = f"{options.days} days of history"
    elif options.since is not None:
        wish = f"history since {options.since:%Y-%m-%d}"
    print(f"{len(found)} newsgroups: {wish}, from the next planning on")
    unknown = [name for name in names if name not in found]
    for name in unknown:
        print(f"{shortened(name)} is not indexed", file=sys.stderr)
    return 1 if unknown else 0


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
        (
            group.priority,
            group.name,
            group.state,
            _number(group.low),
            _number(group.high),
            _wish(group),
        )
        for group in groups
    ]
    print(table(("priority", "group", "state", "low", "high", "history"), rows))
    for group in groups:
        if group.note and group.active:
            print(f"{printable(group.name)}: {printable(group.note)}", file=sys.stderr)
    return 0


def _wish(group: "Newsgroup") -> str:
    if group.backfill_since is not None:
        return f"since {group.backfill_since.astimezone(UTC):%Y-%m-%d}"
    return "" if group.backfill_days is None else f"{group.backfill_days} days"


def _ranges(options: argparse.Namespace) -> int:
    from voyager_core.catalog.groups import get_group
    from voyager_core.catalog.progress import group_status
    from voyager_core.catalog.ranges import ranges_of, unpark
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        if options.group is not None and get_group(conn, options.group) is None:
            msg = f"{shortened(options.group)} is not indexed; see `voyager groups list --all`"
            raise PermanentError(msg)
        if options.retry:
            print(f"{unpark(conn, options.group)} parked ranges are planned again")
        if options.group is None:
            print(_progress_table(group_status(conn)))
        else:
            print(_range_table(ranges_of(conn, options.group)))
    return 0


def _progress_table(progress: "list[GroupStatus]") -> str:
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
