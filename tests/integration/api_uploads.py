"""Uploads as overview lines, indexed by the real header pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from zlib import crc32

from tests.support import spans
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.spans import store_span
from voyager_core.domain.ranges import Span
from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass.build import build_span
from voyager_core.header_pass.parse import parse_span

POSTER = 'Joe "the <poster>" <joe@example.test>'


@dataclass(frozen=True)
class Upload:
    """A release that somebody posts: `files` archive volumes of `parts` articles each."""

    name: str
    files: int = 3
    parts: int = 4
    size_bytes: int = 740_123

    def articles(self) -> list[tuple[str, str, int]]:
        """Returns subject, message-id (without brackets) and size of each article."""
        made = []
        for file in range(1, self.files + 1):
            name = f"{self.name}.part{file:02}.rar"
            mark = f"{crc32(name.encode()):08x}"
            for part in range(1, self.parts + 1):
                counter = f"({part}/{self.parts})"
                subject = f'[{file}/{self.files}] - "{name}" yEnc {counter}'
                # Real ids hold characters that XML must escape.
                message_id = f"Part{part}of{self.parts}.{mark}&x@example.test"
                made.append((subject, message_id, self.size_bytes + part))
        return made

    @property
    def message_ids(self) -> set[str]:
        """The message-ids of all its articles."""
        return {message_id for _, message_id, _ in self.articles()}


def index_uploads(
    conn: Connection, uploads: Sequence[Upload], *, posted_at: datetime, group: str = spans.GROUP
) -> None:
    """Indexes uploads that were posted one after another, a minute apart."""
    lines = []
    for at, upload in enumerate(uploads):
        date = format_datetime(posted_at + timedelta(hours=at * 3))
        for subject, message_id, size in upload.articles():
            number = len(lines) + 1
            lines.append(
                f"{number}\t{subject}\t{POSTER}\t{date}\t<{message_id}>\t\t{size}\t900"
                f"\tXref: news.example.test {group}:{number}"
            )
    (range_id,) = spans.add_ranges(conn, group=group, size=100_000)
    span = Span(group, 1, 100_000)
    block = ("\r\n".join(lines) + "\r\n").encode()
    now = posted_at + timedelta(days=1)
    parsed = parse_span(span, [block], groups={group: 1}, now=now)
    store_span(
        conn,
        span,
        build_span(parsed, RuleSet(), now=now),
        range_id=range_id,
        read_lines=len(lines),
        versions=spans.VERSIONS,
    )
