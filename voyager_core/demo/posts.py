"""Turns the uploads into articles with numbers, as a news server holds them.

The same code makes the same articles on each start: the server that sends them and the check
that knows what must be found need not share anything but this module.
"""

import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from voyager_core.demo import content, styles, yenc
from voyager_core.demo.content import Note, Upload
from voyager_core.demo.styles import Slot

# 2024-03-01 19:00 UTC. A fixed date keeps the articles the same on each start.
FIRST_POST = 1_709_319_600
SERVER = "news.voyager.example"
# Milliseconds between two articles of an upload, and how far apart its connections get.
_PACE, _SPREAD = 400, 1500


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A newsgroup of the sample: where its article numbers begin, and whether it is indexed."""

    name: str
    first: int
    is_indexed: bool


# Numbers begin below a range's edge, in the middle of one, and above 2^32.
GROUPS = (
    GroupPlan(content.VIDEO, 101, is_indexed=True),
    GroupPlan(content.SOUNDS, 81_234_201, is_indexed=True),
    GroupPlan(content.MIXED, 5_300_000_301, is_indexed=True),
    GroupPlan(content.OVERFLOW, 1, is_indexed=False),
)


@dataclass(frozen=True, slots=True)
class Article:
    """An article as posted; `file` counts from 0 in its upload, and is None for a note.

    `text` holds headers and body with CR LF, without dot-stuffing and without the final dot.
    """

    message_id: str
    subject: bytes
    poster: bytes
    date: bytes
    newsgroups: tuple[str, ...]
    text: bytes
    lines: int
    upload: Upload | None = None
    file: int | None = None
    part: int = 0
    note: Note | None = None

    @property
    def size_bytes(self) -> int:
        """The size that the overview states: the whole article."""
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Group:
    """A newsgroup on the server: articles by number; numbers may have holes."""

    name: str
    low: int
    high: int
    articles: Mapping[int, Article]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that the sample news server holds."""

    groups: Mapping[str, Group]
    by_id: Mapping[str, Article]
    numbers: Mapping[str, Mapping[str, int]]
    uploads: tuple[Upload, ...]


@dataclass(slots=True)
class _Shelf:
    next_number: int
    articles: dict[int, Article] = field(default_factory=dict)


def build_corpus() -> Corpus:
    """Makes the articles and numbers them in the order of their arrival."""
    uploads = content.uploads()
    arrivals: list[tuple[int, str, int, Article | None, tuple[str, ...]]] = []
    for upload in uploads:
        arrivals += [
            (at, upload.slug, order, article, upload.groups)
            for order, (at, article) in enumerate(_post(upload))
        ]
    for order, note in enumerate(content.notes()):
        arrivals.append((note.starts_at * 1000, "", order, _note(note, order), (note.group,)))
    arrivals.sort(key=lambda arrival: arrival[:3])

    shelves = {plan.name: _Shelf(plan.first) for plan in GROUPS}
    by_id: dict[str, Article] = {}
    numbers: dict[str, dict[str, int]] = {}
    for _, _, _, article, groups in arrivals:
        for name in groups:
            shelf = shelves[name]
            if article is not None:
                shelf.articles[shelf.next_number] = article
                numbers.setdefault(article.message_id, {}).setdefault(name, shelf.next_number)
                by_id[article.message_id] = article
            shelf.next_number += 1
    found = {
        plan.name: Group(
            plan.name, plan.first, shelves[plan.name].next_number - 1, shelves[plan.name].articles
        )
        for plan in GROUPS
    }
    return Corpus(found, by_id, numbers, uploads)


def parts_of(size: int, article_size: int) -> int:
    """Returns how many articles a file of `size` bytes takes."""
    return max(1, -(-size // article_size))


def _post(upload: Upload) -> Iterator[tuple[int, Article | None]]:
    """Yields (milliseconds after the first post, article) in the order of sending.

    A lost article is None: it took a number, and the server no longer has it.
    """
    random = Random(f"voyager demo {upload.slug}")  # noqa: S311 - sample content, not a secret
    sent = upload.starts_at * 1000
    for index, (name, data) in enumerate(upload.files, start=1):
        tag = styles.file_tag(random)
        crc = binascii.crc32(data)
        parts = parts_of(len(data), upload.article_size)
        for part in range(1, parts + 1):
            sent += _PACE
            # Several connections post at once, so that numbers are not in the order of parts.
            arrived = sent + random.randrange(_SPREAD)
            slot = Slot(
                title=upload.title,
                poster=upload.poster,
                file=name,
                index=index,
                files=len(upload.files),
                part=part,
                parts=parts,
                size=len(data),
                posted_at=FIRST_POST + arrived // 1000,
                file_tag=tag,
                set_name=upload.set_name,
            )
            offset = (part - 1) * upload.article_size
            piece = data[offset : offset + upload.article_size]
            body = yenc.encode(yenc.Part(name, part, parts, offset, len(data), piece, crc))
            article = _article(upload, slot, body, random)
            yield arrived, None if (index, part) in upload.missing else article
            if (index, part) in upload.listed_twice:
                yield arrived + 1, article


def _article(upload: Upload, slot: Slot, body: bytes, random: Random) -> Article:
    style = upload.style
    message_id = style.message_id(slot, random)
    subject = style.subject(slot, random).encode()
    poster = style.poster(slot, random).encode()
    date = style.date(slot, random).encode()
    head = _head(poster, upload.groups, subject, message_id, date)
    return Article(
        message_id=message_id,
        subject=subject,
        poster=poster,
        date=date,
        newsgroups=upload.groups,
        text=head + body,
        lines=body.count(b"\n"),
        upload=upload,
        file=slot.index - 1,
        part=slot.part,
    )


def _note(note: Note, order: int) -> Article:
    slot_date = styles.long_date(FIRST_POST + note.starts_at).encode()
    message_id = f"note.{order}.{note.starts_at}@{SERVER}"
    body = note.text.replace("\n", "\r\n").encode() + b"\r\n"
    head = _head(note.poster, (note.group,), note.subject, message_id, slot_date)
    return Article(
        message_id=message_id,
        subject=note.subject,
        poster=note.poster,
        date=slot_date,
        newsgroups=(note.group,),
        text=head + body,
        lines=body.count(b"\n"),
        note=note,
    )


def _head(
    poster: bytes, groups: tuple[str, ...], subject: bytes, message_id: str, date: bytes
) -> bytes:
    return b"\r\n".join(
        (
            b"Path: " + SERVER.encode() + b"!not-for-mail",
            b"From: " + poster,
            b"Newsgroups: " + ",".join(groups).encode(),
            b"Subject: " + subject,
            b"Message-ID: <" + message_id.encode() + b">",
            b"Date: " + date,
            b"",
            b"",
        )
    )
