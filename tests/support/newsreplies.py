"""What the scripted news server says: made-up groups, replies as bytes, and their faults.

The faults are described at the top of `tests.support.newsserver`.
"""

import gzip
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

CRLF = b"\r\n"
DOT = b".\r\n"


@dataclass
class Rule:
    """A fault; see the top of `tests.support.newsserver`."""

    on: str
    do: str
    value: Any = None
    connection: int | None = None
    argument: str | None = None
    skip: int = 0
    times: int | None = 1
    acted: int = 0

    def takes(self, verb: str, argument: str, connection: int) -> bool:
        if self.on not in {"*", verb} or (self.on == "*" and verb == "connect"):
            return False
        if self.connection is not None and self.connection != connection:
            return False
        if self.argument is not None and not re.search(self.argument, argument):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None and self.acted >= self.times:
            return False
        self.acted += 1
        return True


class Group:
    """A group and its overview lines (bytes without line end, number first)."""

    def __init__(
        self,
        name: str,
        lines: Iterable[bytes] | Callable[[int], bytes | None] = (),
        *,
        low: int | None = None,
        high: int | None = None,
        flag: str = "y",
    ) -> None:
        self.name = name
        self.flag = flag
        self._make = lines if callable(lines) else None
        self._lines = [] if callable(lines) else list(lines)
        self._numbers = [int(line.split(b"\t", 1)[0]) for line in self._lines]
        self.low = low if low is not None else (self._numbers[0] if self._numbers else 1)
        self.high = high if high is not None else (self._numbers[-1] if self._numbers else 0)

    @property
    def count(self) -> int:
        return max(0, self.high - self.low + 1) if self._make else len(self._numbers)

    def overview(self, low: int, high: int) -> list[bytes]:
        """Returns the lines of the numbers `low … high`."""
        if self._make:
            numbers = range(max(low, self.low), min(high, self.high) + 1)
            return [line for number in numbers if (line := self._make(number)) is not None]
        first, last = bisect_left(self._numbers, low), bisect_right(self._numbers, high)
        return self._lines[first:last]

    def add(self, line: bytes) -> None:
        """Appends a line; its number must be above all others."""
        self._lines.append(line)
        self._numbers.append(int(line.split(b"\t", 1)[0]))
        self.high = self._numbers[-1]


def made_line(number: int, *, group: str = "alt.binaries.test") -> bytes:
    """Returns a plausible overview line for an article number, always the same."""
    file, part = divmod(number, 50)
    return (
        b'%d\t[%d/99] - "file-%d.rar" yEnc (%d/50)\tjoe <joe@test.invalid>\t'
        b"Wed, 01 Jan 2025 %02d:%02d:00 GMT\t<part%dof50.%x@test.invalid>\t\t740000\t5700\t"
        b"Xref: news.test.invalid %s:%d"
    ) % (
        number,
        file % 99 + 1,
        file,
        part + 1,
        number // 60 % 24,
        number % 60,
        part + 1,
        number * 2654435761 % (1 << 64),
        group.encode(),
        number,
    )


def made_lines(low: int, count: int, *, group: str = "alt.binaries.test") -> list[bytes]:
    """Returns plausible overview lines for consecutive article numbers."""
    return [made_line(number, group=group) for number in range(low, low + count)]


@dataclass
class Answer:
    """A reply before it is put on the wire."""

    status: bytes
    lines: list[bytes] | None = None
    kind: str = "text"
    form: str | None = None
    terminator: str | None = None
    level: int = 1
    marked: bool = True
    garbage: bytes | None = None
    damage: float | None = None
    stray_dot: bool = False

    def wire(self) -> bytes:
        if self.lines is None:
            return self.status + CRLF + (DOT if self.stray_dot else b"")
        text = b"".join(b"." * line.startswith(b".") + line + CRLF for line in self.lines)
        status, body = self.status, text + DOT
        if self.form not in {None, "plain"}:
            inside = self.terminator in {"inside", "both"}
            behind = self.terminator in {"behind", "both"}
            body = _compress(text + DOT * inside, self.form, self.level) + DOT * behind
            if self.form == "yenc":
                body = _compress(text, "yenc", self.level)
            elif self.marked:
                status += b" [COMPRESS=GZIP]"
        if self.garbage is not None:
            body = self.garbage
        if self.damage is not None:
            place = min(int(len(body) * self.damage), len(body) - 1)
            body = body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :]
        return status + CRLF + body + (DOT if self.stray_dot else b"")


def _compress(text: bytes, form: str | None, level: int) -> bytes:
    if form == "gzip":
        return gzip.compress(text, level, mtime=0)
    if form == "zlib":
        return zlib.compress(text, level)
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15)
    raw = deflater.compress(text) + deflater.flush()
    return raw if form == "deflate" else yenc_block(raw)


def yenc_block(data: bytes) -> bytes:
    """Returns bytes as the yEnc block of an XZVER reply (Astraweb's form)."""
    rows = []
    for start in range(0, len(data), 128):
        row = bytearray()
        for byte in data[start : start + 128]:
            shifted = (byte + 42) & 0xFF
            if shifted in b"\0\n\r=":
                row += bytes([0x3D, (shifted + 64) & 0xFF])
            else:
                row.append(shifted)
        rows.append(b"." * row.startswith(b".") + bytes(row))
    head = b"=ybegin line=128 size=-1"
    tail = b"=yend crc32=%08x" % zlib.crc32(data)
    return CRLF.join([head, *rows, tail]) + CRLF + DOT


def apply_rule(rule: Rule, answer: Answer) -> None:
    """Changes a reply as a rule wants it."""
    value = rule.value
    if rule.do == "damage":
        answer.damage = value
    elif rule.do == "garbage":
        answer.garbage = value
    elif rule.do == "form":
        answer.form = value
        answer.terminator = answer.terminator or "behind"
    elif rule.do == "stored":
        answer.level = 0
    elif rule.do == "terminator":
        answer.terminator = value
    elif rule.do == "unmarked":
        answer.marked = False
    elif rule.do == "stray_dot":
        answer.stray_dot = True
    elif answer.lines:
        _change_lines(rule.do, value, answer)


def _change_lines(do: str, value: Any, answer: Answer) -> None:
    lines = answer.lines or []
    if do == "more":
        last = int(lines[-1].split(b"\t", 1)[0])
        answer.lines = lines + [_renumbered(lines[-1], last + n + 1) for n in range(value)]
    elif do == "fewer":
        answer.lines = lines[: max(0, len(lines) - value)]
    elif do == "shift":
        answer.lines = [_renumbered(line, int(line.split(b"\t", 1)[0]) + value) for line in lines]
    elif do == "twice":
        answer.lines = [line for line in lines for _ in range(2)]
    elif do == "poison":
        answer.lines = [*lines, value]


def _renumbered(line: bytes, number: int) -> bytes:
    return b"%d\t" % number + line.split(b"\t", 1)[1]
