"""What must be found in the sample posts, told by what was posted and by nothing else."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from voyager_core.demo.content import Upload
from voyager_core.demo.posts import GROUPS, Article, Corpus, parts_of


@dataclass(frozen=True, slots=True)
class Segment:
    """An article of a file: its part from 1, message-id without brackets, overview bytes."""

    part: int
    message_id: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """A file as posted: how many parts it has, and those that the server still holds."""

    name: str
    parts: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class ExpectedRelease:
    """An upload that must be one release.

    `title` is None when nobody could know it; `groups` begins with the one that owns it.
    """

    slug: str
    title: str | None
    style: str
    groups: tuple[str, ...]
    files: tuple[ExpectedFile, ...]

    @property
    def segments(self) -> Iterator[Segment]:
        """Every article that the server holds of it."""
        for file in self.files:
            yield from file.segments

    @property
    def missing(self) -> int:
        """How many of its articles the server has lost."""
        return sum(file.parts - len(file.segments) for file in self.files)


@dataclass(frozen=True, slots=True)
class Truth:
    """Everything that is expected.

    Attributes:
        releases: in the order of posting.
        lines: overview lines that the server sends, by group.
        counted: articles that are in no file of the group, by group and reason.
    """

    releases: tuple[ExpectedRelease, ...]
    lines: Mapping[str, int]
    counted: Mapping[str, Mapping[str, int]]
    priorities: Mapping[str, int] = field(default_factory=dict)


def expected(corpus: Corpus) -> Truth:
    """Returns what an indexer of the indexed groups must find in the corpus."""
    indexed = [plan.name for plan in GROUPS if plan.is_indexed]
    releases = [
        _release(upload, corpus, indexed) for upload in corpus.uploads if upload.is_findable
    ]
    return Truth(
        releases=tuple(releases),
        lines={name: len(corpus.groups[name].articles) for name in indexed},
        counted={name: _counted(corpus, name, indexed) for name in indexed},
        priorities={name: number for number, name in enumerate(indexed, start=1)},
    )


def owner_of(newsgroups: tuple[str, ...], indexed: list[str]) -> str:
    """Returns the group that a crosspost belongs to: the first of the indexed ones."""
    return next(name for name in indexed if name in newsgroups)


def _release(upload: Upload, corpus: Corpus, indexed: list[str]) -> ExpectedRelease:
    owner = owner_of(upload.groups, indexed)
    held: dict[int, list[Segment]] = {}
    for article in corpus.by_id.values():
        if article.upload is upload and article.file is not None:
            segment = Segment(article.part, article.message_id, article.size_bytes)
            held.setdefault(article.file, []).append(segment)
    files = tuple(
        ExpectedFile(
            name=name,
            parts=parts_of(len(data), upload.article_size),
            segments=tuple(sorted(held.get(at, ()), key=lambda segment: segment.part)),
        )
        for at, (name, data) in enumerate(upload.files)
    )
    others = tuple(name for name in upload.groups if name != owner)
    return ExpectedRelease(
        slug=upload.slug,
        title=upload.title if upload.is_readable else None,
        style=upload.style.name,
        groups=(owner, *others),
        files=files,
    )


def _counted(corpus: Corpus, group: str, indexed: list[str]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for article in corpus.groups[group].articles.values():
        reason = _reason(article, group, indexed, is_again=article.message_id in seen)
        seen.add(article.message_id)
        if reason is not None:
            counts[reason] += 1
    return dict(sorted(counts.items()))


def _reason(article: Article, group: str, indexed: list[str], *, is_again: bool) -> str | None:
    if article.note is not None:
        return article.note.reason
    if article.upload is None:
        return "no_counter"
    if not article.upload.is_findable:
        return "random_subject"
    owner = owner_of(article.newsgroups, indexed)
    if owner != group:
        return f"crosspost:{owner}"
    return "duplicate" if is_again else None
