"""What can go wrong with a news server, as classes by category of reply.

```
NewsError
├── TransientNewsFailure (TransientError)
│   ├── ConnectFailed        name not found, connection refused, no route
│   ├── TooManyConnections   400, 502, or any reply that says so
│   ├── ServerTrouble        403, 503 and other temporary refusals
│   ├── NewsTimeout          no answer before the deadline
│   ├── Cut                  the connection ended inside a reply
│   ├── Garbage              bytes that are no NNTP, a stream that does not inflate
│   │   └── WrongOverview    whole, but not the overview that was asked for
│   └── ProtocolError        a well-formed reply that does not fit the command
└── PermanentNewsFailure (PermanentError)
    ├── AuthFailed           480, 481, 482
    ├── TlsFailed            the server's certificate is not accepted
    ├── GroupGone            411
    ├── ArticleMissing       430, 420, 423, 451
    ├── Unsupported          500, 501
    └── UnusableName         a group or message-id that cannot be sent
```

An empty range (423, 420, or a 224 without lines) is an answer, not an error.
Every message says what was asked, what came back and what to do; none holds a password.
"""

import re

from voyager_core.errors import PermanentError, TransientError, VoyagerError

_TOO_MANY = re.compile(
    r"too many|max(imum)?\b.*(connection|simultaneous|session|login)"
    r"|(connection|session)s?\b.*(limit|exceeded|max)|limit\b.*(connection|session)"
    r"|simultaneous",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"auth|passw|credential|log ?in|expired|suspend|invalid user|no such user", re.IGNORECASE
)
_IDLE = re.compile(r"idle|time[d ]*-?out|inactiv", re.IGNORECASE)


class NewsError(VoyagerError):
    """Base of everything that a news server, or the way to it, can do wrong.

    Attributes:
        code: the status code that the server sent; None when no reply was involved.
    """

    def __init__(self, message: str, *, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class TransientNewsFailure(NewsError, TransientError):  # noqa: N818 - a category, see the tree
    """The same command may succeed later, perhaps on another connection."""


class PermanentNewsFailure(NewsError, PermanentError):  # noqa: N818 - a category, see the tree
    """The same command fails until a person or another command changes something."""


class ConnectFailed(TransientNewsFailure):
    """No connection could be made."""


class TooManyConnections(TransientNewsFailure):
    """The server refuses this connection (400, 502, or a text that says so)."""


class ServerTrouble(TransientNewsFailure):
    """The server cannot answer now (403, 503)."""


class NewsTimeout(TransientNewsFailure):
    """The server did not answer, or stopped in the middle, for longer than allowed."""


class Cut(TransientNewsFailure):
    """The connection ended before the reply did."""


class Garbage(TransientNewsFailure):
    """What came back is no NNTP, or a compressed stream that does not inflate."""


class WrongOverview(Garbage):
    """A whole overview reply that does not answer the range that was asked for."""


class ProtocolError(TransientNewsFailure):
    """A well-formed reply that does not fit the command; the two sides have lost step."""


class AuthFailed(PermanentNewsFailure):
    """The server does not accept the user name or the password (480, 481, 482)."""


class TlsFailed(PermanentNewsFailure):
    """The server's certificate is not accepted, or it speaks no TLS on this port."""


class GroupGone(PermanentNewsFailure):
    """The server does not carry the group (411)."""


class ArticleMissing(PermanentNewsFailure):
    """The server does not have the article (430, 420, 423, 451)."""


class Unsupported(PermanentNewsFailure):
    """The server does not know the command, or not in this form (500, 501)."""


class UnusableName(PermanentNewsFailure):
    """A group name or message-id with blanks, control bytes or too many octets: never sent."""


def says_too_many(text: str) -> bool:
    """Tells whether a reply's text blames the number of connections.

    Servers say it with 400, 481, 482 and 502 alike, so the text decides.
    """
    return _TOO_MANY.search(text) is not None


# What a code means when the text does not say otherwise: class and advice.
_BY_CODE: dict[int, tuple[type[NewsError], str]] = {
    400: (TooManyConnections, "it is tried again later"),
    403: (ServerTrouble, "it is tried again later"),
    411: (GroupGone, "the group is not carried (any more); remove it or check its spelling"),
    420: (ArticleMissing, "the article is not on this server"),
    423: (ArticleMissing, "the article is not on this server"),
    430: (ArticleMissing, "the article is not on this server"),
    451: (ArticleMissing, "the article was taken down on this server"),
    480: (AuthFailed, "put user and password into the news URL"),
    481: (AuthFailed, "check user and password in the news URL, and that the account is active"),
    482: (AuthFailed, "check user and password in the news URL, and that the account is active"),
    483: (AuthFailed, "it wants an encrypted connection: use nntps:// in the news URL"),
    500: (Unsupported, "the server does not know this command"),
    501: (Unsupported, "the server does not know this form of the command"),
    502: (TooManyConnections, "it is tried again later"),
    503: (ServerTrouble, "it is tried again later"),
}
_UNFITTING = (ProtocolError, "that does not fit the command; the connection is opened again")


def refusal(*, asked: str, server: str, code: int, text: str, login: bool = False) -> NewsError:
    """Returns the error for a status code that refuses a command.

    Args:
        asked: the command as it may be shown (without a password).
        server: host and port, for the message.
        code: the status code.
        text: the rest of the status line.
        login: the command was part of logging in.

    Returns:
        An error of the class that fits; the caller raises it.
    """
    kind, advice = _BY_CODE.get(code, _UNFITTING)
    if says_too_many(text) and code in {400, 480, 481, 482, 502}:
        kind = TooManyConnections
        advice = "ask for fewer (?connections= in the news URL) or close other programs that use it"
    elif (login and code == 480) or (code == 502 and (login or _LOGIN.search(text))):
        kind, advice = _BY_CODE[481]
    elif code == 400 and _IDLE.search(text):
        kind, advice = Cut, "the connection was idle too long; it is opened again"
    said = text.strip()[:200]
    return kind(f"{server} answered {asked} with “{code} {said}”: {advice}", code=code)
