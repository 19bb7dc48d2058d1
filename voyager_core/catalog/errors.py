"""What can go wrong with the catalog.

```
TransientError
└── CatalogUnavailable    Postgres is down, restarting, or gave up on a lock or a deadline
    └── StatementTimeout  one statement took longer than it may
PermanentError
├── CatalogRefused        Postgres refuses the login, the database or a privilege
├── MigrationError        the schema and the code do not fit together
├── SettingMismatch       the catalog was created with another value
├── GroupError            a newsgroup's name or priority cannot be used
├── AccountError          an account's name or password cannot be used
├── SpanError             a span does not belong to its range
└── EmbeddedError         no PostgreSQL can be started here
```
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as pg

from voyager_core.errors import PermanentError, TransientError


class CatalogUnavailable(TransientError):  # noqa: N818 - named as a state, see the tree
    """Postgres cannot be reached, is starting, or gave up on a lock."""


class StatementTimeout(CatalogUnavailable):
    """A statement was stopped at its deadline."""


class CatalogRefused(PermanentError):  # noqa: N818 - named as a state, see the tree
    """Postgres refuses the login, the database or a privilege."""


class MigrationError(PermanentError):
    """The schema in the database and the code do not fit together."""


class SettingMismatch(PermanentError):  # noqa: N818 - named as a state, see the tree
    """The catalog was created with another value of a setting that never changes."""


class GroupError(PermanentError):
    """A newsgroup's name or priority cannot be used."""


class AccountError(PermanentError):
    """An account's name or password cannot be used, in words for its owner."""


class SpanError(PermanentError):
    """A span does not belong to the range that it was sent for."""


class EmbeddedError(PermanentError):
    """No PostgreSQL can be started here, with the reason."""


_REFUSED = (
    pg.InvalidAuthorizationSpecification,
    pg.InvalidCatalogName,
    pg.InsufficientPrivilege,
)


@contextmanager
def catalog_errors(doing: str) -> Iterator[None]:
    """Turns psycopg's errors into Voyager's inside the block.

    Args:
        doing: what is tried, for the message: `storing alt.binaries.x 1-2000000`.

    Raises:
        CatalogUnavailable: another try may succeed (connection lost, deadlock, lock timeout).
        StatementTimeout: the statement was stopped at its deadline.
        CatalogRefused: the login, the database or a privilege is refused.
    """
    try:
        yield
    except pg.QueryCanceled as error:
        msg = f"{doing}: stopped at the statement's deadline"
        raise StatementTimeout(msg) from error
    except _REFUSED as error:
        msg = f"{doing}: {first_line(error)}"
        raise CatalogRefused(msg) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        msg = f"{doing}: {first_line(error)}"
        if error.sqlstate is None and _is_refusal(str(error)):
            raise CatalogRefused(msg) from error
        raise CatalogUnavailable(msg) from error


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's text, or its class when there is none."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _is_refusal(text: str) -> bool:
    """Tells whether a failed connection was answered by a server that does not want it."""
    # A failed connection carries no SQLSTATE, only the server's words.
    return "password authentication failed" in text or (
        "database " in text and "does not exist" in text
    )
