"""Groups, water marks and overview blocks, as values."""

import re
from dataclasses import dataclass

from voyager_core.nntp.errors import WrongOverview
from voyager_core.nntp.framing import Body
from voyager_core.nntp.inflating import Encoding, Inflater

# Article numbers are unsigned 63-bit in the catalog; larger ones are poisoned lines.
MAX_NUMBER = (1 << 63) - 1
# zlib of nothing: what an empty range is stored as.
EMPTY_BLOCK = bytes.fromhex("789c030000000001")
_LINE_NUMBER = re.compile(rb"^(\d{1,20})\t", re.MULTILINE)
_ACTIVE = re.compile(rb"(\S+)[ \t]+(-?\d{1,20})[ \t]+(-?\d{1,20})[ \t]+(\S)[^\r\n]*")


@dataclass(frozen=True, slots=True)
class GroupMarks:
    """A newsgroup and the article numbers that the server has of it.

    Attributes:
        name: the group.
        low: lowest article number (the low water mark).
        high: highest article number; below `low` when the group is empty.
        flag: `y` posting allowed, `n` not, `m` moderated, others as the server has them; empty
            when the reply has none (GROUP).
        count: articles that the server estimates; None when the reply has none (LIST ACTIVE).
    """

    name: str
    low: int
    high: int
    flag: str = ""
    count: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the server has no article of the group."""
        return self.high < self.low or self.high == 0 or self.count == 0


@dataclass(frozen=True, slots=True)
class OverviewBlock:
    """The overview of a range of article numbers.

    Attributes:
        group: the group that was asked.
        low: first number asked for.
        high: last number asked for.
        raw: the stream as received, without status line and without a terminator behind it;
            plain replies are compressed (zlib, level 1) so that a block is always compressed.
        encoding: how `raw` is compressed.
        lines: lines in it; fewer than numbers asked for are holes.
        first_number: article number of the first line; None when there is none.
        last_number: article number of the last line; None when there is none.
        text_bytes: size of the text.
        wire_bytes: bytes received for it.
        stray_lines: lines with a number outside the range, when few enough to be left in (the
            engine counts and rejects them); 0 when the ends of the block gave no reason to look.
        unread: only the beginning was inflated: whether the stream is whole, its lines, last number
            and size of the text are not known.
    """

    group: str
    low: int
    high: int
    raw: bytes
    encoding: Encoding
    lines: int
    first_number: int | None = None
    last_number: int | None = None
    text_bytes: int = 0
    wire_bytes: int = 0
    stray_lines: int = 0
    unread: bool = False

    @property
    def asked(self) -> int:
        """How many article numbers were asked for."""
        return self.high - self.low + 1


def empty_block(group: str, low: int, high: int) -> OverviewBlock:
    """Returns the block of a range without articles (423, 420, an empty 224)."""
    return OverviewBlock(group, low, high, EMPTY_BLOCK, Encoding.ZLIB, 0)


def check_block(
    group: str, low: int, high: int, body: Body, *, wire_bytes: int | None = None
) -> OverviewBlock:
    """Returns the block in a reply's body when it answers the range that was asked for.

    Only the number of lines and the first and last article number are looked at. When those
    do not fit, all numbers are: a few stray lines are left to the engine, which rejects them
    by name, so that one poisoned line cannot hold up a range for ever. Of a body that was not
    read the first number alone has to fit.

    Args:
        group: the group that was asked.
        low: first number asked for.
        high: last number asked for.
        body: the body of the reply.
        wire_bytes: bytes received for the reply, where the connection itself is compressed.

    Raises:
        WrongOverview: the lines belong to another range or are no overview lines.
    """
    if body.unread:
        return _unread_block(group, low, high, body, wire_bytes)
    if body.lines == 0 and body.text_bytes == 0:
        return empty_block(group, low, high)
    encoding = body.encoding or Encoding.ZLIB
    stray = 0
    fits = (
        body.first_number is not None
        and body.last_number is not None
        and low <= body.first_number <= body.last_number <= high
        and body.lines <= high - low + 1
    )
    if not fits:
        stray = _count_stray(group, low, high, body, encoding)
    return OverviewBlock(
        group=group,
        low=low,
        high=high,
        raw=body.data,
        encoding=encoding,
        lines=body.lines,
        first_number=body.first_number,
        last_number=body.last_number,
        text_bytes=body.text_bytes,
        wire_bytes=body.wire_bytes if wire_bytes is None else wire_bytes,
        stray_lines=stray,
    )


def _unread_block(
    group: str, low: int, high: int, body: Body, wire_bytes: int | None
) -> OverviewBlock:
    first = body.first_number
    if body.encoding is None or first is None or not low <= first <= high:
        msg = (
            f"the overview of {group} {low}-{high} came back with lines from number {first} on; "
            "it is asked for again on a new connection"
        )
        raise WrongOverview(msg)
    return OverviewBlock(
        group=group,
        low=low,
        high=high,
        raw=body.data,
        encoding=body.encoding,
        lines=0,
        first_number=first,
        wire_bytes=body.wire_bytes if wire_bytes is None else wire_bytes,
        unread=True,
    )


def _count_stray(group: str, low: int, high: int, body: Body, encoding: Encoding) -> int:
    text = b"".join(Inflater(encoding).feed(body.data))
    numbers = {int(match) for match in _LINE_NUMBER.findall(text)}
    inside = sum(1 for number in numbers if low <= number <= high)
    # Repeated numbers count as stray as well: they are lines more than the range can have.
    stray = body.lines - inside
    if inside == 0 or stray > max(8, body.lines // 100):
        got = f"numbers {min(numbers)}-{max(numbers)}" if numbers else "no overview lines"
        msg = (
            f"the overview of {group} {low}-{high} came back with {body.lines} lines, {inside} of "
            f"them in the range ({got}); it is asked for again on a new connection"
        )
        raise WrongOverview(msg)
    return stray


def parse_group(name: str, text: str) -> GroupMarks | None:
    """Returns the marks in the text of a 211 reply to GROUP; None when it cannot be read."""
    fields = text.split()
    if len(fields) < 3 or not all(re.fullmatch(r"\d{1,20}", part, re.ASCII) for part in fields[:3]):
        return None
    count, low, high = (int(part) for part in fields[:3])
    if max(low, high) > MAX_NUMBER:
        return None
    return GroupMarks(name, low, high, count=count)


def parse_active(text: bytes) -> tuple[list[GroupMarks], int]:
    """Reads the lines of LIST ACTIVE: `name high low flag`.

    Returns:
        The groups, and how many lines could not be read (no UTF-8, no numbers).
    """
    groups: list[GroupMarks] = []
    unread = 0
    for line in text.split(b"\n"):
        stripped = line.strip(b"\r")
        if not stripped or stripped == b".":
            continue
        match = _ACTIVE.fullmatch(stripped)
        if match is None:
            unread += 1
            continue
        high, low = int(match[2]), int(match[3])
        try:
            name, flag = match[1].decode(), match[4].decode()
        except UnicodeDecodeError:
            unread += 1
            continue
        if max(low, high) > MAX_NUMBER:
            unread += 1
            continue
        groups.append(GroupMarks(name, max(low, 0), max(high, 0), flag))
    return groups, unread


def wildmat(pattern: str, name: str) -> bool:
    """Tells whether a group matches a wildmat (RFC 3977 §4): the last matching part decides."""
    matched = False
    for part in pattern.split(","):
        wanted = not part.startswith("!")
        expression = "".join(
            ".*" if char == "*" else "." if char == "?" else re.escape(char)
            for char in part.removeprefix("!")
        )
        if re.fullmatch(expression, name, re.DOTALL):
            matched = wanted
    return matched
