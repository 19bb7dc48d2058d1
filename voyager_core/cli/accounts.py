"""`voyager users`: who may sign in on the web page."""

import argparse
import getpass
import sys

from voyager_core.cli.arguments import text
from voyager_core.cli.output import printable, table
from voyager_core.errors import PermanentError
from voyager_core.settings import load_settings


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    users = commands.add_parser("users", help="who may sign in on the web page")
    actions = users.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make an account; the password is asked for")
    add.add_argument("name", type=text)
    add.set_defaults(run=_add)
    password = actions.add_parser("password", help="give an account another password")
    password.add_argument("name", type=text)
    password.set_defaults(run=_password)
    show = actions.add_parser("list", help="the accounts")
    show.set_defaults(run=_list)
    remove = actions.add_parser("remove", help="remove an account and sign it out everywhere")
    remove.add_argument("name", type=text)
    remove.set_defaults(run=_remove)


def _add(options: argparse.Namespace) -> int:
    from voyager_core.catalog.accounts import create_account
    from voyager_core.cli.session import catalog_session

    settings = load_settings(options.env_file)
    password = _typed_password()
    with catalog_session(settings) as conn:
        account = create_account(conn, options.name, password)
    print(f"{account.name} can sign in")
    return 0


def _password(options: argparse.Namespace) -> int:
    from voyager_core.catalog.accounts import set_password
    from voyager_core.cli.session import catalog_session

    settings = load_settings(options.env_file)
    password = _typed_password()
    with catalog_session(settings) as conn:
        known = set_password(conn, options.name, password)
    return _told(options.name, known=known, done="has a new password and is signed out everywhere")


def _list(options: argparse.Namespace) -> int:
    from voyager_core.catalog.accounts import list_accounts
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        accounts = list_accounts(conn)
    if not accounts:
        print("no accounts yet; make one with `voyager users add NAME`")
        return 0
    rows = [
        (
            account.name,
            f"{account.created_at:%Y-%m-%d}",
            f"{account.last_login_at:%Y-%m-%d %H:%M}" if account.last_login_at else "never",
        )
        for account in accounts
    ]
    print(table(("name", "made", "last signed in"), rows))
    return 0


def _remove(options: argparse.Namespace) -> int:
    from voyager_core.catalog.accounts import remove_account
    from voyager_core.cli.session import catalog_session

    with catalog_session(load_settings(options.env_file)) as conn:
        known = remove_account(conn, options.name)
    return _told(options.name, known=known, done="is removed")


def _told(name: str, *, known: bool, done: str) -> int:
    if not known:
        msg = f"there is no account {printable(name)}; `voyager users list` shows them"
        raise PermanentError(msg)
    print(f"{printable(name)} {done}")
    return 0


def _typed_password() -> str:
    """Returns the password: typed twice at a terminal, else the first line of the input.

    Raises:
        PermanentError: the two differ, or there is none.
    """
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password = getpass.getpass("password: ")
    if getpass.getpass("once more: ") != password:
        msg = "the two passwords differ; nothing was changed"
        raise PermanentError(msg)
    return password
