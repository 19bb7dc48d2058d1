"""Writing NZB documents as SABnzbd and NZBGet need them.

Both take the file name from the first quoted text of the subject, drop segments without a
usable size, and trust the segment numbers; hence the rules below. Everything that posters
wrote is hostile until it is escaped.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import voyager_native
from voyager_core.catalog.releases import Release
from voyager_core.errors import PermanentError
from voyager_core.nzb.files import Decode, NzbFile, Report, files_of

EARLIEST = 946_684_800
"""2000-01-01: an earlier date of a file broke SABnzbd's queue."""

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE nzb PUBLIC "-//newzBin//DTD NZB 1.1//EN"'
    ' "http://www.newzbin.com/DTD/nzb/nzb-1.1.dtd">\n'
    '<nzb xmlns="http://www.newzbin.com/DTD/2003/nzb">\n'
)
_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Overrides and isolates: a job is named by the title, and its end must be seen.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_BLANKS = re.compile(r"[\t\n\r]+")
_QUOTED = re.compile(r'"([^"]*)"')
_COUNTER = re.compile(r"(?:\s*yenc)?\s*[(\[]\d+/\d+[)\]]\s*$", re.IGNORECASE)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


class EmptyNzbError(PermanentError):
    """No segment of the release can be put into an NZB."""


@dataclass(frozen=True, slots=True)
class Nzb:
    """An NZB and what it holds.

    Attributes:
        content: the document, UTF-8.
        report: what is in it and what was left out.
    """

    content: bytes
    report: Report


def build_nzb(
    release: Release,
    chunks: Sequence[bytes],
    *,
    passwords: Sequence[str] = (),
    category: str | None = None,
    decode: Decode | None = None,
) -> bytes:
    """Returns the NZB of a release; see `write_nzb`."""
    return write_nzb(release, chunks, passwords=passwords, category=category, decode=decode).content


def write_nzb(
    release: Release,
    chunks: Sequence[bytes],
    *,
    passwords: Sequence[str] = (),
    category: str | None = None,
    decode: Decode | None = None,
) -> Nzb:
    """Returns the NZB of a release with a report.

    Args:
        release: the release; its name becomes the title.
        chunks: all its chunks, in order.
        passwords: known passwords of its archives.
        category: such as `TV > HD`.
        decode: another way to read a chunk, for tests.

    Raises:
        EmptyNzbError: there is no segment to write.
        CorruptChunkError: a chunk cannot be decoded.
    """
    report = Report()
    files = files_of(chunks, decode or voyager_native.decode_chunk, report)
    if not files:
        msg = f"release {release.public_id} has no segment that an NZB can hold"
        raise EmptyNzbError(msg)
    lines = [_HEAD, " <head>\n"]
    metas = [("title", _TURNING.sub("", release.name)), ("category", category or "")]
    metas += [("password", password) for password in passwords]
    lines += [
        f'  <meta type="{kind}">{escape(text)}</meta>\n' for kind, text in metas if text.strip()
    ]
    lines.append(" </head>\n")
    fallback_date = int(release.posted_at.timestamp())
    for number, file in enumerate(files, start=1):
        lines += _file(file, number, release.groups, fallback_date)
    lines.append("</nzb>\n")
    return Nzb("".join(lines).encode(), report)


def escape(text: str) -> str:
    """Returns a text as XML content or attribute: escaped, without what XML cannot hold."""
    return _BLANKS.sub(" ", _ILLEGAL.sub("", text)).translate(_ESCAPES)


def subject_of(file: NzbFile, number: int = 1) -> str:
    """Returns a subject whose first quoted text is the file's name.

    The posted one when it is like that already, else one that is made up from the name.

    Args:
        file: the file.
        number: its place in the NZB, for a file of which nothing is known.
    """
    posted = _ILLEGAL.sub("", file.subject)
    quoted = _QUOTED.search(posted)
    name = file.name.strip()
    if quoted is not None and quoted[1].strip() and (not name or quoted[1].strip() == name):
        return posted
    if not name:
        name = _COUNTER.sub("", posted).strip() or f"file {number}"
    name = _BLANKS.sub(" ", _ILLEGAL.sub("", name)).replace('"', "'").strip() or f"file {number}"
    counter = _file_counter(file)
    total = max(file.parts_total, max(file.segments, default=1))
    return f'{counter}"{name}" yEnc (1/{total})'


def _file_counter(file: NzbFile) -> str:
    return (
        f"[{file.file_index}/{file.file_total}] - " if file.file_index and file.file_total else ""
    )


def _file(
    file: NzbFile, number: int, release_groups: Sequence[str], fallback_date: int
) -> list[str]:
    date = max(file.posted_at if file.posted_at is not None else fallback_date, EARLIEST)
    poster, subject = escape(file.poster), escape(subject_of(file, number))
    lines = [
        f' <file poster="{poster}" date="{date}" subject="{subject}">\n',
        "  <groups>\n",
    ]
    lines += [f"   <group>{escape(group)}</group>\n" for group in file.groups or release_groups]
    lines.append("  </groups>\n  <segments>\n")
    lines += [
        f'   <segment bytes="{segment.size_bytes}" number="{part}">'
        f"{segment.message_id.translate(_ESCAPES)}</segment>\n"
        for part, segment in sorted(file.segments.items())
    ]
    lines.append("  </segments>\n </file>\n")
    return lines
