"""Accounts of the web page, and the sessions of those who signed in."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg.rows import class_row

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import AccountError, catalog_errors
from voyager_core.domain.passwords import hash_password, needs_rehash, verify_password

SESSION_DAYS = 30
"""A session ends this long after it was last used."""

MAX_ACCOUNTS = 1000
_SEEN_STEP = timedelta(hours=1)
_NAME = re.compile(r"[^\W_][\w.@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in.

    Attributes:
        account_id: its number.
        name: what is typed to sign in; case counts.
        created_at: when it was made.
        last_login_at: when somebody last signed in with it, None = never.
    """

    account_id: int
    name: str
    created_at: datetime
    last_login_at: datetime | None


_COLUMNS = "account_id, name, created_at, last_login_at"


def has_accounts(conn: Connection) -> bool:
    """Tells whether anybody can sign in.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("looking for accounts"):
        row = conn.execute("select exists (select from account)").fetchone()
    return row is not None and bool(row[0])


def list_accounts(conn: Connection) -> list[Account]:
    """Returns the accounts by name.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("listing the accounts"):
        return (
            conn.cursor(row_factory=class_row(Account))
            .execute(f"select {_COLUMNS} from account order by name limit {MAX_ACCOUNTS}")
            .fetchall()
        )


def create_account(conn: Connection, name: str, password: str, *, first: bool = False) -> Account:
    """Makes an account.

    Args:
        conn: the catalog.
        name: 1 to 64 letters, digits and `. _ - + @`, beginning with a letter or digit.
        password: see `password_problem`.
        first: only if there is none yet, also when two try it at the same moment.

    Raises:
        AccountError: name or password cannot be used, the name is taken, or it is not the first.
        CatalogUnavailable: the database does not answer.
    """
    if not _NAME.fullmatch(name):
        msg = (
            "a name has 1 to 64 letters, digits and . _ - + @, and begins with a letter or a digit"
        )
        raise AccountError(msg)
    stored = _hashed(password)
    with catalog_errors(f"creating the account {name}"), conn.transaction():
        conn.execute("lock table account in share row exclusive mode")
        if first and has_accounts(conn):
            msg = "there is an account already; sign in with it"
            raise AccountError(msg)
        try:
            row = (
                conn.cursor(row_factory=class_row(Account))
                .execute(
                    "insert into account (name, password_hash) values (%s, %s)"
                    f" returning {_COLUMNS}",
                    [name, stored],
                )
                .fetchone()
            )
        except psycopg.errors.UniqueViolation as error:
            msg = f"there is an account named {name} already"
            raise AccountError(msg) from error
    assert row is not None
    return row


def set_password(conn: Connection, name: str, password: str) -> bool:
    """Gives an account another password and ends its sessions; False when there is none.

    Raises:
        AccountError: the password cannot be used.
        CatalogUnavailable: the database does not answer.
    """
    stored = _hashed(password)
    with catalog_errors(f"changing the password of {name}"), conn.transaction():
        row = conn.execute(
            "update account set password_hash = %s where name = %s returning account_id",
            [stored, name],
        ).fetchone()
        if row is not None:
            conn.execute("delete from web_session where account_id = %s", [row[0]])
    return row is not None


def remove_account(conn: Connection, name: str) -> bool:
    """Removes an account and its sessions; False when there is none.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"removing the account {name}"):
        return conn.execute("delete from account where name = %s", [name]).rowcount == 1


def stored_password(conn: Connection, name: str) -> tuple[Account, str] | None:
    """Returns an account with the stored form of its password, or None.

    Checking a password takes long, so that it is done without holding a connection.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if "\0" in name or len(name) > 64:
        return None
    with catalog_errors("reading an account"):
        row = conn.execute(
            f"select password_hash, {_COLUMNS} from account where name = %s limit 1", [name]
        ).fetchone()
    return None if row is None else (Account(*row[1:]), row[0])


def check_password(known: tuple[Account, str] | None, password: str) -> Account | None:
    """Returns the account when the password is its own; takes as long where there is none."""
    good = verify_password(None if known is None else known[1], password)
    return known[0] if good and known is not None else None


def open_session(conn: Connection, account: Account, password: str, *, now: datetime) -> str:
    """Begins a session and returns its token, which is stored only as a hash.

    Args:
        conn: the catalog.
        account: whose it is, after `check_password`.
        password: stored anew when it was stored with weaker parameters.
        now: the moment, in UTC.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    token = secrets.token_urlsafe(32)
    with catalog_errors(f"signing {account.name} in"), conn.transaction():
        conn.execute("delete from web_session where expires_at < %s", [now])
        row = conn.execute(
            "update account set last_login_at = %s where account_id = %s returning password_hash",
            [now, account.account_id],
        ).fetchone()
        if row is None:
            msg = f"the account {account.name} was removed"
            raise AccountError(msg)
        if needs_rehash(row[0]):
            conn.execute(
                "update account set password_hash = %s where account_id = %s",
                [hash_password(password), account.account_id],
            )
        conn.execute(
            "insert into web_session (session_hash, account_id, created_at, seen_at, expires_at)"
            " values (%s, %s, %s, %s, %s)",
            [_hash(token), account.account_id, now, now, now + timedelta(days=SESSION_DAYS)],
        )
    return token


def session_account(conn: Connection, token: str, *, now: datetime) -> Account | None:
    """Returns whose session a token is, and keeps it alive; None when it is none or over.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    if not token or len(token) > 100:
        return None
    hashed = _hash(token)
    with catalog_errors("looking up a session"):
        row = conn.execute(
            f"select s.seen_at, {_COLUMNS.replace('created_at', 'a.created_at')}"
            " from web_session s join account a using (account_id)"
            " where s.session_hash = %s and s.expires_at > %s limit 1",
            [hashed, now],
        ).fetchone()
        if row is None:
            return None
        if now - row[0] > _SEEN_STEP:
            conn.execute(
                "update web_session set seen_at = %s, expires_at = %s where session_hash = %s",
                [now, now + timedelta(days=SESSION_DAYS), hashed],
            )
    return Account(*row[1:])


def close_session(conn: Connection, token: str) -> None:
    """Ends a session.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("ending a session"):
        conn.execute("delete from web_session where session_hash = %s", [_hash(token)])


def close_other_sessions(conn: Connection, account: Account, token: str) -> int:
    """Ends an account's sessions but this one, and returns how many there were.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"ending the sessions of {account.name}"):
        return conn.execute(
            "delete from web_session where account_id = %s and session_hash <> %s",
            [account.account_id, _hash(token)],
        ).rowcount


def _hashed(password: str) -> str:
    try:
        return hash_password(password)
    except ValueError as error:
        raise AccountError(str(error)) from error


def _hash(token: str) -> bytes:
    # A token is random, so that no slow hash is needed.
    return hashlib.sha256(b"voyager-session\0" + token.encode("utf-8", "replace")).digest()
