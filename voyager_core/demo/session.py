"""One reader's conversation with the sample news server: a command line in, a reply out.

No sockets here. Source: RFC 3977 (NNTP), RFC 4643 (AUTHINFO), and the de facto
`XFEATURE COMPRESS GZIP` of the big providers.
"""

import fnmatch
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from voyager_core.demo.posts import SERVER, Article, Corpus, Group

_RANGE = re.compile(r"(\d{1,20})(?:(-)(\d{1,20})?)?", re.ASCII)
_UNSAFE = bytes.maketrans(b"\t\r\n\x00", b"    ")
_END = b".\r\n"
# Commands that a reader may send before it has logged in.
_OPEN: Final = frozenset({"AUTHINFO", "CAPABILITIES", "DATE", "HELP", "MODE", "QUIT"})


class Compressed(Enum):
    """Whether overview replies are compressed, and on which side of the stream the dot is."""

    NO = "no"
    DOT_AFTER = "GZIP"
    DOT_INSIDE = "GZIP TERMINATOR"


@dataclass(frozen=True, slots=True)
class Login:
    """The user and password that the server asks for."""

    user: str
    password: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes to send, and whether the connection ends with them."""

    data: bytes
    closes: bool = False


def overview_line(article: Article, number: int, numbers: Mapping[str, int]) -> bytes:
    """Returns the line of an XOVER reply, without its line end.

    Args:
        article: what is described.
        number: its number in the group that was asked for.
        numbers: its number in every group that it was posted to, for the Xref.
    """
    start = b"%d\t" % number
    if article.note is not None and article.note.raw_line is not None:
        return start + article.note.raw_line
    places = " ".join(f"{group}:{place}" for group, place in numbers.items())
    fields = (
        article.subject,
        article.poster,
        article.date,
        b"<" + article.message_id.encode() + b">",
        b"",
        b"%d" % article.size_bytes,
        b"%d" % article.lines,
        f"Xref: {SERVER} {places}".encode(),
    )
    return start + b"\t".join(field.translate(_UNSAFE) for field in fields)


class Session:
    """The state of one connection: login, selected group, compression."""

    def __init__(
        self, corpus: Corpus, clock: Callable[[], datetime], *, login: Login | None = None
    ) -> None:
        """Begins a conversation.

        Args:
            corpus: what the server holds.
            clock: the time in UTC, for DATE.
            login: who may read; None lets everybody in (any name is accepted).
        """
        self._corpus = corpus
        self._clock = clock
        self._login = login
        self._user: str | None = None
        self._is_in = login is None
        self._group: Group | None = None
        self._current: int | None = None
        self._compressed = Compressed.NO
        self._commands: dict[str, Callable[[list[str]], bytes]] = {
            "CAPABILITIES": self._capabilities,
            "MODE": self._mode,
            "DATE": self._date,
            "HELP": self._help,
            "AUTHINFO": self._authinfo,
            "XFEATURE": self._xfeature,
            "LIST": self._list,
            "GROUP": self._select,
            "LISTGROUP": self._listgroup,
            "OVER": self._over,
            "XOVER": self._over,
            "ARTICLE": lambda words: self._article(words, 220, lambda text: text),
            "HEAD": lambda words: self._article(words, 221, _head),
            "BODY": lambda words: self._article(words, 222, _body),
            "STAT": lambda words: self._article(words, 223, None),
            "POST": lambda _: b"440 this server takes no posts\r\n",
        }

    def greeting(self) -> bytes:
        """Returns what the server says first."""
        return f"201 {SERVER} sample posts of Voyager, no posting\r\n".encode()

    def handle(self, line: bytes) -> Reply:
        """Returns the reply to one command line."""
        words = line.decode("utf-8", "replace").split()
        if not words:
            return Reply(b"500 no command\r\n")
        command = words[0].upper()
        if command == "QUIT":
            return Reply(b"205 bye\r\n", closes=True)
        handler = self._commands.get(command)
        if handler is None:
            return Reply(b"500 unknown command\r\n")
        if not self._is_in and command not in _OPEN:
            return Reply(b"480 authentication required\r\n")
        return Reply(handler(words[1:]))

    def _capabilities(self, _: list[str]) -> bytes:
        lines = [
            "VERSION 2",
            "IMPLEMENTATION Voyager sample posts",
            "READER",
            "LIST ACTIVE NEWSGROUPS OVERVIEW.FMT",
            "OVER",
            "XFEATURE-COMPRESS GZIP TERMINATOR",
        ]
        if not self._is_in:
            lines.append("AUTHINFO USER")
        return b"101 capabilities follow\r\n" + _text(line.encode() for line in lines)

    def _mode(self, words: list[str]) -> bytes:
        if [word.upper() for word in words] != ["READER"]:
            return b"501 only MODE READER\r\n"
        return b"201 no posting\r\n"

    def _date(self, _: list[str]) -> bytes:
        return self._clock().strftime("111 %Y%m%d%H%M%S\r\n").encode()

    def _help(self, _: list[str]) -> bytes:
        known = " ".join(sorted({*self._commands, "QUIT"}))
        return b"100 commands follow\r\n" + _text([known.encode()])

    def _authinfo(self, words: list[str]) -> bytes:
        kind = words[0].upper() if words else ""
        if len(words) != 2 or kind not in {"USER", "PASS"}:
            return b"501 AUTHINFO USER name, AUTHINFO PASS password\r\n"
        if kind == "USER":
            self._user = words[1]
            return b"381 password required\r\n"
        if self._user is None:
            return b"482 send the user first\r\n"
        if self._login is not None and self._login != Login(self._user, words[1]):
            return b"481 wrong user or password\r\n"
        self._is_in = True
        return b"281 welcome\r\n"

    def _xfeature(self, words: list[str]) -> bytes:
        asked = " ".join(words).upper().removeprefix("COMPRESS ")
        if asked not in {Compressed.DOT_AFTER.value, Compressed.DOT_INSIDE.value}:
            return b"501 only XFEATURE COMPRESS GZIP [TERMINATOR]\r\n"
        self._compressed = Compressed(asked)
        return b"290 feature enabled\r\n"

    def _list(self, words: list[str]) -> bytes:
        kind = words[0].upper() if words else "ACTIVE"
        matches = _wildmat(words[1]) if len(words) > 1 else lambda _: True
        groups = [group for name, group in sorted(self._corpus.groups.items()) if matches(name)]
        if kind == "ACTIVE":
            lines = [f"{group.name} {group.high} {group.low} n" for group in groups]
        elif kind == "NEWSGROUPS":
            lines = [f"{group.name}\tSample posts of Voyager" for group in groups]
        elif kind == "OVERVIEW.FMT":
            lines = ["Subject:", "From:", "Date:", "Message-ID:", "References:", ":bytes",
                     ":lines", "Xref:full"]  # fmt: skip
        else:
            return b"503 no such list\r\n"
        return b"215 list follows\r\n" + _text(line.encode() for line in lines)

    def _select(self, words: list[str]) -> bytes:
        group = self._corpus.groups.get(words[0]) if words else None
        if group is None:
            return b"411 no such group\r\n"
        self._group = group
        self._current = min(group.articles, default=None)
        counts = f"{len(group.articles)} {group.low} {group.high} {group.name}"
        return f"211 {counts}\r\n".encode()

    def _listgroup(self, words: list[str]) -> bytes:
        if words:
            reply = self._select(words[:1])
        elif self._group is not None:
            reply = self._select([self._group.name])
        else:
            return b"412 no group selected\r\n"
        if self._group is None or not reply.startswith(b"211"):
            return reply
        numbers = self._numbers(words[1] if len(words) > 1 else "1-")
        if numbers is None:
            return b"501 no range of numbers\r\n"
        return reply + _text(b"%d" % number for number in numbers)

    def _over(self, words: list[str]) -> bytes:
        if self._group is None:
            return b"412 no group selected\r\n"
        if words:
            numbers = self._numbers(words[0])
        else:
            numbers = [self._current] if self._current is not None else []
        if numbers is None:
            return b"501 no range of numbers\r\n"
        if not numbers:
            return b"423 no articles in that range\r\n"
        articles = self._group.articles
        lines = b"".join(
            _stuffed_line(
                overview_line(
                    articles[number], number, self._corpus.numbers[articles[number].message_id]
                )
            )
            for number in numbers
        )
        if self._compressed is Compressed.NO:
            return b"224 overview follows\r\n" + lines + _END
        start = b"224 overview follows [COMPRESS=GZIP]\r\n"
        if self._compressed is Compressed.DOT_INSIDE:
            return start + zlib.compress(lines + _END)
        return start + zlib.compress(lines) + _END

    def _article(self, words: list[str], code: int, part: Callable[[bytes], bytes] | None) -> bytes:
        number, article = 0, None
        if words and words[0].startswith("<"):
            article = self._corpus.by_id.get(words[0][1:-1])
            if article is None:
                return b"430 no such article\r\n"
        else:
            if self._group is None:
                return b"412 no group selected\r\n"
            wanted = _number(words[0]) if words else self._current
            if wanted is None:
                return b"501 no article number\r\n" if words else b"420 no current article\r\n"
            article = self._group.articles.get(wanted)
            if article is None:
                return b"423 no article with that number\r\n"
            number = self._current = wanted
        status = f"{code} {number} <{article.message_id}>\r\n".encode()
        return status if part is None else status + _stuffed(part(article.text)) + _END

    def _numbers(self, asked: str) -> list[int] | None:
        """Returns the numbers of the selected group in `n`, `n-` or `n-m`; None for no range."""
        match = _RANGE.fullmatch(asked)
        if match is None or self._group is None:
            return None
        low = int(match[1])
        high = low if match[2] is None else int(match[3]) if match[3] else self._group.high
        first, last = max(low, self._group.low), min(high, self._group.high)
        articles = self._group.articles
        return [number for number in range(first, last + 1) if number in articles]


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,20}", text, re.ASCII) else None


def _wildmat(pattern: str) -> Callable[[str], bool]:
    """Returns a test for `pattern,!pattern,…`: the last one that matches decides."""
    rules = [
        (not one.startswith("!"), re.compile(fnmatch.translate(one.removeprefix("!"))))
        for one in pattern.split(",")
    ]

    def matches(name: str) -> bool:
        verdicts = [wanted for wanted, rule in rules if rule.match(name)]
        return bool(verdicts) and verdicts[-1]

    return matches


def _text(lines: Iterable[bytes]) -> bytes:
    return b"".join(_stuffed_line(line) for line in lines) + _END


def _stuffed_line(line: bytes) -> bytes:
    return (b"." + line if line.startswith(b".") else line) + b"\r\n"


def _stuffed(text: bytes) -> bytes:
    stuffed = text.replace(b"\r\n.", b"\r\n..")
    return b"." + stuffed if stuffed.startswith(b".") else stuffed


def _head(text: bytes) -> bytes:
    return text.partition(b"\r\n\r\n")[0] + b"\r\n"


def _body(text: bytes) -> bytes:
    return text.partition(b"\r\n\r\n")[2]
