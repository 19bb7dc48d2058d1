"""Uploads as overview lines: made-up posts in the styles of real posting tools."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

START = datetime(2024, 5, 1, 12, tzinfo=UTC)


@dataclass
class Upload:
    """One upload: its files, and how its subjects look.

    Attributes:
        key: names the upload in the truth.
        files: name and number of parts of each file, in the order of posting.
        subject: with {i} {n} {name} {p} {parts} and format specs.
        poster: the From; a function of the file's number for rotating ones.
        first: the number of the first file (0 where an NZB or nfo counts as 0).
        total: N of the counter; the number of files when absent.
        at: when the first article is posted.
        part_bytes: size of an article.
    """

    key: str
    files: Sequence[tuple[str, int]]
    subject: str = '[{i:02d}/{n:02d}] - "{name}" yEnc ({p}/{parts})'
    poster: str | Callable[[int], str] = "Someone <someone@example.invalid>"
    first: int = 1
    total: int | None = None
    at: datetime = START
    part_bytes: int = 740_000
    salt: str = ""
    missing: frozenset[tuple[int, int]] = field(default_factory=frozenset)

    def articles(self) -> Iterator[tuple[str, str, datetime, str, int]]:
        """Yields subject, From, date, message-id and size of every article."""
        total = self.total if self.total is not None else len(self.files)
        moment = self.at
        for i, (name, parts) in enumerate(self.files, self.first):
            for p in range(1, parts + 1):
                moment += timedelta(seconds=0.4)
                if (i, p) in self.missing:
                    continue
                subject = self.subject.format(i=i, n=total, name=name, p=p, parts=parts)
                poster = self.poster if isinstance(self.poster, str) else self.poster(i)
                local = random.Random(f"{self.key}{self.salt}{i}-{p}").randbytes(12).hex()
                size = self.part_bytes if p < parts or parts == 1 else self.part_bytes // 2
                yield subject, poster, moment, f"{local}@example.invalid", size


def interleaved(
    uploads: Iterable[Upload], *, seed: int = 0, first_number: int = 5_000_000_001, window: int = 4
) -> tuple[bytes, dict[int, str]]:
    """Returns the lines of uploads as a server would number them, and the upload of each number.

    Articles of uploads that run at the same time mix, and arrive a little out of order.
    """
    chance = random.Random(seed)
    articles = [
        (
            moment + timedelta(seconds=chance.random() * window),
            upload.key,
            subject,
            poster,
            id_,
            size,
        )
        for upload in uploads
        for subject, poster, moment, id_, size in upload.articles()
    ]
    articles.sort(key=lambda each: each[0])
    lines, truth = [], {}
    for number, (moment, key, subject, poster, id_, size) in enumerate(articles, first_number):
        date = format_datetime(moment.replace(microsecond=0), usegmt=True)
        xref = f"Xref: news.example.invalid alt.binaries.test:{number}"
        lines.append(f"{number}\t{subject}\t{poster}\t{date}\t<{id_}>\t\t{size}\t5700\t{xref}\r\n")
        truth[number] = key
    return "".join(lines).encode(), truth


def volumes(stem: str, count: int, *, parts: int = 3, parity: int = 3) -> list[tuple[str, int]]:
    """Returns the files of a RAR set in the new naming with its parity files."""
    width = len(str(count))
    files = [(f"{stem}.part{n:0{width}d}.rar", parts) for n in range(1, count + 1)]
    files.append((f"{stem}.par2", 1))
    files += [(f"{stem}.vol{(1 << n) - 1:02d}+{1 << n:02d}.par2", n + 1) for n in range(parity)]
    return files


def old_volumes(stem: str, count: int, *, parts: int = 3) -> list[tuple[str, int]]:
    """Returns the files of a scene set: nfo, sfv, sample, subtitles, .rar, .r00 … and parity."""
    files = [(f"{stem}.nfo", 1), (f"{stem}.sfv", 1), (f"{stem}-sample.mkv", 2)]
    files += [(f"{stem}.subs.rar", 1), (f"{stem}.subs.sfv", 1), (f"{stem}.rar", parts)]
    files += [(f"{stem}.r{n:02d}", parts) for n in range(count - 1)]
    files += [(f"{stem}.par2", 1), (f"{stem}.vol00+1.par2", 1), (f"{stem}.vol01+2.PAR2", 2)]
    return files
