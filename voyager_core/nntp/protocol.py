"""Replies out of received bytes, without any I/O.

A `ReplyReader` is told what was asked (`expect`), is fed bytes in whatever pieces they
arrive, and hands back whole replies. How the bytes are cut into pieces makes no difference.
"""

import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from voyager_core.nntp.errors import Cut, Garbage, TransientNewsFailure, UnusableName
from voyager_core.nntp.framing import TERMINATOR, Body, Frame, Limits, TextFrame
from voyager_core.nntp.overview_frame import OverviewFrame

if TYPE_CHECKING:
    from voyager_core.nntp.inflating import Encoding

# RFC 3977 §3.1: 512 octets with the line end; servers send longer texts all the same.
MAX_STATUS_BYTES = 4096
_STATUS = re.compile(rb"([1-5]\d\d)(?:[ \t](.*))?", re.DOTALL)
_MARKER = re.compile(r"\[COMPRESS=GZIP\]\s*\Z", re.IGNORECASE)
# Octets that cannot stand in an argument: blanks and control bytes.
_BREAKS_A_LINE = re.compile(r"[\x00-\x20\x7f]")


class BodyForm(Enum):
    """What follows the status line of a reply that has a body."""

    NONE = "none"
    TEXT = "text"
    LIST = "list"
    OVERVIEW = "overview"


@dataclass(frozen=True, slots=True)
class Request:
    """A command, and what its reply may look like.

    Attributes:
        line: the command without its line end.
        shown: the command as messages show it (without a password).
        form: the form of the body; LIST and OVERVIEW may come compressed.
        body_codes: status codes that a body follows.
        compressed: the body is compressed without a marker in the status line (XZVER).
        limits: what the body may grow to.
        unread: a compressed body may be taken without inflating it, where a reply on the same
            connection has shown that the terminator comes behind the stream.
    """

    line: bytes = field(repr=False)
    shown: str
    form: BodyForm = BodyForm.NONE
    body_codes: frozenset[int] = frozenset()
    compressed: bool = False
    limits: Limits = field(default_factory=Limits)
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply.

    Attributes:
        code: the status code.
        text: the rest of the status line.
        body: what followed it; None when nothing does.
    """

    code: int
    text: str
    body: Body | None = None


class ReplyReader:
    """Cuts the bytes of one connection into replies.

    Attributes:
        failure: why no further reply can come; the connection is of no more use.
    """

    def __init__(self) -> None:
        self.failure: TransientNewsFailure | None = None
        self._asked: deque[Request] = deque()
        self._buffer = b""
        self._status: tuple[int, str] | None = None
        self._frame: Frame | None = None
        self._dot_skipped = False
        self._secrets: tuple[str, ...] = ()
        # The form of a body that was read and had its terminator behind the stream.
        self._behind: Encoding | None = None

    def hide(self, *secrets: str) -> None:
        """Names what no message may show, whatever the server repeats."""
        self._secrets = secrets

    @property
    def waiting(self) -> bool:
        """Whether a reply is outstanding."""
        return bool(self._asked)

    @property
    def begun(self) -> bool:
        """Whether bytes of the outstanding reply have arrived."""
        stray = TERMINATOR.startswith(self._buffer)
        return bool(self._asked) and (self._status is not None or not stray)

    @property
    def lacks_only_terminator(self) -> bool:
        """Whether the outstanding reply is whole but for a terminator that has not come."""
        return self._frame is not None and self._frame.lacks_only_terminator

    def expect(self, request: Request) -> None:
        """Announces a command whose reply comes after those announced before."""
        self._asked.append(request)

    def feed(self, data: bytes) -> list[Reply]:
        """Takes the next bytes; returns the replies that they complete.

        Never raises: bytes that are no reply to what was asked end in `failure`.
        """
        replies: list[Reply] = []
        if self.failure is not None:
            # What inflates to gigabytes goes on for a while after it was found out.
            return replies
        rest: bytes | None = data
        try:
            while self._asked:
                rest = self._advance(rest or b"")
                if rest is None:
                    return replies
                replies.append(self._finish())
        except Garbage as error:
            msg = f"the reply to {self._asked[0].shown} is garbage: {error}"
            self.failure = type(error)(msg)
            self.failure.__cause__ = error
            return replies
        if rest:
            self._keep_unasked(rest)
        return replies

    def end(self) -> None:
        """Takes the end of the stream: an outstanding reply ends in `failure`."""
        if self._asked and self.failure is None:
            where = "inside" if self.begun else "before"
            msg = f"the connection ended {where} the reply to {self._asked[0].shown}"
            self.failure = Cut(msg)

    def _advance(self, data: bytes) -> bytes | None:
        """Takes bytes of the outstanding reply; returns what follows it once it is whole."""
        rest: bytes | None = data
        if self._status is None:
            rest = self._read_status(data)
        if rest is None or self._frame is None:
            return rest
        return self._frame.feed(rest)

    def _read_status(self, data: bytes) -> bytes | None:
        """Reads a status line; returns what follows it, or None while it is not whole."""
        self._buffer += data
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                if len(self._buffer) > MAX_STATUS_BYTES:
                    msg = f"no line end within {MAX_STATUS_BYTES} bytes"
                    raise Garbage(msg)
                return None
            line, rest = self._buffer[:end].removesuffix(b"\r"), self._buffer[end + 1 :]
            # Some servers send one more dot line behind a compressed body.
            if line != b"." or self._dot_skipped:
                break
            self._dot_skipped = True
            self._buffer = rest
        match = _STATUS.fullmatch(line)
        if match is None or len(line) > MAX_STATUS_BYTES:
            msg = f"{self._quoted(line)} is no status line"
            raise Garbage(msg)
        text = (match[2] or b"").decode("utf-8", "replace")
        self._status = int(match[1]), text
        self._frame = self._begin_body(self._asked[0], *self._status)
        self._buffer = b""
        return rest

    def _quoted(self, data: bytes) -> str:
        """Returns the beginning of what came, without passwords that the server repeats."""
        for secret in self._secrets:
            data = data.replace(secret.encode(), b"...")
        return repr(data[:60])

    def _begin_body(self, request: Request, code: int, text: str) -> Frame | None:
        if code not in request.body_codes or request.form is BodyForm.NONE:
            return None
        # Only lists and overviews come compressed: the status line of an article repeats its
        # message-id, which a poster chose.
        marked = _MARKER.search(text) is not None
        if request.form is BodyForm.OVERVIEW:
            return OverviewFrame(
                request.limits,
                compressed=marked or request.compressed,
                unread=self._behind if request.unread else None,
            )
        if request.form is BodyForm.LIST and marked:
            return OverviewFrame(request.limits, compressed=True)
        return TextFrame(request.limits)

    def _finish(self) -> Reply:
        code, text = self._status or (0, "")
        body = self._frame.body() if self._frame else None
        asked = self._asked.popleft()
        if body is not None and asked.form is BodyForm.OVERVIEW:
            self._behind = body.encoding if body.terminator_behind else None
        self._status = self._frame = None
        self._dot_skipped = False
        return Reply(code, text, body)

    def _keep_unasked(self, data: bytes) -> None:
        """Keeps a stray dot line; anything else means that the two sides lost step."""
        self._buffer += data
        if not TERMINATOR.startswith(self._buffer):
            msg = f"{self._quoted(self._buffer)} came though nothing was asked"
            self.failure = Garbage(msg)


def check_argument(argument: str, *, what: str, max_bytes: int = 460) -> bytes:
    """Returns an argument as it goes over the wire.

    Raises:
        UnusableName: it is empty or too long, or a blank or control byte would end it early.
    """
    try:
        encoded = argument.encode()
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or len(encoded) > max_bytes or _BREAKS_A_LINE.search(argument):
        msg = f"{what} {argument[:80]!r} cannot be sent to a news server; it is left out"
        raise UnusableName(msg)
    return encoded


def unstuff(text: bytes) -> bytes:
    """Returns the lines of a body without the dots that the protocol doubled."""
    if text.startswith(b"."):
        text = text[1:]
    return text.replace(b"\r\n.", b"\r\n")
