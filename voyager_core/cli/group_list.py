"""Files of newsgroups: one name a line, or what a server answers to LIST ACTIVE."""

import re
from collections import Counter
from dataclasses import dataclass, field

from voyager_core.domain.newsgroups import name_problem

# `name high low flag`; the flag `=other` renames the group.
_ACTIVE = re.compile(r"(\S+)[ \t]+(-?\d{1,20})[ \t]+(-?\d{1,20})[ \t]+([^\s\d]\S*)")
_STATUS = re.compile(r"215([ \t].*)?")
# A picture, an archive or UTF-16 has one within its first bytes, a list of groups never.
_BINARY = b"\0"
_NO_FORM = "neither a name nor a line of LIST ACTIVE"
_NO_UTF8 = "no UTF-8"
_RENAMED = "renamed by the server"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class GroupFile:
    """What a file of newsgroups holds.

    Attributes:
        names: the groups, each once: the largest first where sizes are known, then those
            without a size in the order of the file.
        doubles: lines that name a group again.
        refused: lines that name no group, by reason.
        shown: the first refused lines, as `line 3: reason: what it says`.
    """

    names: list[str]
    doubles: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)


def read_group_list(data: bytes) -> GroupFile | None:
    """Reads a file of newsgroups; None when it is no text.

    Empty lines, lines that begin with `#`, and the first and last line of a server's reply
    are passed over. Whatever else is no name is counted under a reason.
    """
    if _BINARY in data:
        return None
    sizes: dict[str, int] = {}
    doubles, refused, shown = 0, Counter[str](), list[str]()
    lines = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))
    for number, raw in enumerate(lines, start=1):
        line = raw.decode("utf-8", "backslashreplace").strip(" \t")
        if not line or line.startswith("#") or line == "." or _STATUS.fullmatch(line):
            continue
        name, size, reason = _entry(line, raw)
        if reason is not None:
            refused[reason] += 1
            if len(shown) < _SHOWN:
                shown.append(f"line {number}: {reason}: {line}")
        elif name in sizes:
            doubles += 1
            sizes[name] = max(size, sizes[name])
        else:
            sizes[name] = size
    names = sorted(sizes, key=lambda name: -sizes[name])
    return GroupFile(names, doubles, refused, shown)


def _entry(line: str, raw: bytes) -> tuple[str, int, str | None]:
    """Returns the name, the size (-1: unknown) and why the line is refused."""
    active = _ACTIVE.fullmatch(line)
    name = active[1] if active else line
    if not _is_utf8(raw):
        return name, -1, _NO_UTF8
    if active is None and re.search(r"[ \t]", name):
        return name, -1, _NO_FORM
    if problem := name_problem(name):
        return name, -1, problem
    if active is None:
        return name, -1, None
    if active[4].startswith("="):
        return name, -1, _RENAMED
    return name, max(0, int(active[2]) - int(active[3]) + 1), None


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
