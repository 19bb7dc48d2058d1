"""`voyager folds`: which releases became part of others, and taking that back."""

import argparse

from voyager_core.cli.arguments import MAX_ID, limit, whole_number
from voyager_core.cli.output import shortened, table
from voyager_core.domain.folds import FOLD_VERSIONS
from voyager_core.settings import load_settings


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    folds = commands.add_parser("folds", help="releases that were found to be parts of others")
    actions = folds.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("list", help="the ledger, newest first")
    show.add_argument("--rule", choices=sorted(FOLD_VERSIONS), help="what one rule folded")
    show.add_argument("--limit", type=limit, default=20, help="most rows to show (default: 20)")
    show.set_defaults(run=_list)
    undo = actions.add_parser("undo", help="take a fold back; it is not folded again")
    undo.add_argument(
        "number", type=whole_number(1, MAX_ID), help="its number in `voyager folds list`"
    )
    undo.set_defaults(run=_undo)


def _list(options: argparse.Namespace) -> int:
    from voyager_core.catalog.folds import list_folds
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        entries = list_folds(conn, rule=options.rule, limit=options.limit)
    rows = [
        (
            entry.fold_id,
            f"{entry.rule} {entry.version}",
            f"{entry.folded_at:%Y-%m-%d %H:%M}",
            entry.files,
            shortened(entry.loser_name),
            shortened(entry.winner_name),
            "taken back" if entry.undone_at else "",
        )
        for entry in entries
    ]
    if not rows:
        print("nothing was folded")
        return 0
    print(table(("fold", "rule", "when", "files", "release", "part of", ""), rows))
    return 0


def _undo(options: argparse.Namespace) -> int:
    from voyager_core.catalog.folds import undo_fold
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        undo_fold(conn, options.number)
    print(f"fold {options.number} is taken back")
    return 0
