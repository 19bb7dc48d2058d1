"""Files of newsgroups: one name a line, or what a server answers to LIST ACTIVE."""

import re
from dataclasses import dataclass

# `name high low flag`; the flag `=other` renames the group.
_ACTIVE = re.compile(r"(\S+)[ \t]+-?\d{1,20}[ \t]+-?\d{1,20}[ \t]+[^\s\d]\S*")
_STATUS = re.compile(r"215([ \t].*)?")
# No text has these; a picture or an archive has them within its first bytes.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class GroupFile:
    """What a file of newsgroups holds.

    Attributes:
        names: the groups in the order of the file, each once.
        unread: lines that are neither, as `line 3: what it says`.
    """

    names: list[str]
    unread: list[str]


def read_group_list(data: bytes) -> GroupFile | None:
    """Reads a file of newsgroups; None when it is no text.

    Empty lines, lines that begin with `#`, and the first and last line of a server's reply
    are passed over.
    """
    if _BINARY.search(data):
        return None
    names: dict[str, None] = {}
    unread: list[str] = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        line = raw.decode("utf-8", "backslashreplace").strip()
        if not line or line.startswith("#") or line == "." or _STATUS.fullmatch(line):
            continue
        active = _ACTIVE.fullmatch(line)
        name = active[1] if active else line
        if re.search(r"\s", name) or not _is_utf8(raw):
            unread.append(f"line {number}: {line}")
        else:
            names[name] = None
    return GroupFile(list(names), unread)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
