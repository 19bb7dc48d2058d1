"""What is posted: made-up films, albums and books, each in the style of one posting tool.

Nothing here is copied from anywhere; titles, people and hosts are invented.
"""

from dataclasses import dataclass
from random import Random

from voyager_core.demo import media, styles
from voyager_core.demo.archives import (
    File,
    cut,
    numbered,
    rar_volumes,
    sevenzip_archive,
    sfv,
    tar_archive,
    zip_archive,
)
from voyager_core.demo.par2 import write_set
from voyager_core.demo.styles import Style

VIDEO = "alt.binaries.voyager.demo.video"
SOUNDS = "alt.binaries.voyager.demo.sounds"
MIXED = "alt.binaries.voyager.demo.mixed"
# Served, but not among the groups that the demo indexes: crossposts name such groups too.
OVERFLOW = "alt.binaries.voyager.demo.overflow"


@dataclass(frozen=True, slots=True)
class Upload:
    """Files that one person posts in one go.

    `starts_at` counts seconds from the first post of the sample; `missing` names articles that
    the news server lost, `listed_twice` those that it lists under a second number, each as
    (index of the file from 1, part).
    """

    slug: str
    title: str
    style: Style
    groups: tuple[str, ...]
    files: tuple[File, ...]
    poster: str
    starts_at: int
    article_size: int
    set_name: str = ""
    missing: frozenset[tuple[int, int]] = frozenset()
    listed_twice: frozenset[tuple[int, int]] = frozenset()
    is_readable: bool = True
    is_findable: bool = True


@dataclass(frozen=True, slots=True)
class Note:
    """An article that belongs to no file, and the reason under which it must be counted.

    With `raw_line`, the news server's overview line for it is that text after the number.
    """

    group: str
    starts_at: int
    subject: bytes
    poster: bytes
    text: str
    reason: str
    raw_line: bytes | None = None


def uploads() -> tuple[Upload, ...]:
    """Returns every upload of the sample."""
    return (*_films(), *_sounds(), *_books(), *_mixed())


def _with_parity(files: list[File], stem: str, *, slice_size: int) -> tuple[File, ...]:
    parity = write_set(files, slice_size=slice_size)
    return (
        *files,
        (f"{stem}.par2", parity.index),
        (f"{stem}.vol0+1.par2", parity.volume),
    )


def _episode(number: int, *, frames: int) -> tuple[str, list[File]]:
    title = f"The.Paper.Lighthouse.S01E{number:02d}.720p.WEB.h264-VGR"
    film = media.film(title, frames=frames)
    return title, [(f"{title}.avi", film)]


def _films() -> list[Upload]:
    first, first_files = _episode(1, frames=40)
    first_rars = numbered(
        first, rar_volumes(first_files, volume_size=230_000), "{stem}.part{n:02d}.rar"
    )
    first_note = media.nfo(first, note="A keeper counts ships that never land.")
    second, second_files = _episode(2, frames=30)
    second_rars = numbered(
        second, rar_volumes(second_files, volume_size=210_000), "{stem}.part{n}.rar"
    )
    third, third_files = _episode(3, frames=34)
    third_rars = numbered(
        "tpl103", rar_volumes(third_files, volume_size=190_000), "{stem}.part{n:02d}.rar"
    )
    glass = "Glass.Harbor.2019.1080p.BluRay.x264-VGR"
    packed = sevenzip_archive(
        [
            (f"{glass}.avi", media.film(glass, frames=36)),
            (f"{glass}.txt", media.text(glass, sentences=20).encode()),
        ]
    )
    glass_files = numbered(glass, cut(packed, 260_000), "{stem}.7z.{n:03d}")
    river = "Slow.River.2017.DOCU.720p.WEB.h264-VGR"
    ferry = "The.Old.Ferry.1962.DVDRip.XviD-VGR"
    ferry_files = [
        (f"{ferry}.avi", media.film(ferry, frames=14)),
        (f"{ferry}.sample.avi", media.film(f"{ferry} sample", frames=2)),
        (f"{ferry}.nfo", media.nfo(ferry, note="The last crossing of the season.")),
    ]
    concert = "Tin.Orchestra.Live.in.the.Harbour.2012.720p.MBLURAY.x264-VGR"
    concert_rars = numbered(
        concert,
        rar_volumes([(f"{concert}.avi", media.film(concert, frames=22))], volume_size=320_000),
        "{stem}.part{n}.rar",
    )
    return [
        Upload(
            slug="episode-1",
            title=first,
            style=styles.NYUU,
            groups=(VIDEO,),
            files=_with_parity(
                [*first_rars, (f"{first}.nfo", first_note), (f"{first}.sfv", sfv(first_rars))],
                first,
                slice_size=7168,
            ),
            poster="Mara Quill <mara@pier.example>",
            starts_at=0,
            article_size=7168,
        ),
        Upload(
            slug="glass",
            title=glass,
            style=styles.NGPOST,
            groups=(VIDEO,),
            files=_with_parity(glass_files, glass, slice_size=6400),
            poster="Qe7Lw20bTzYxR@ngPost.com",
            starts_at=40,
            article_size=6400,
        ),
        Upload(
            slug="episode-2",
            title=second,
            style=styles.CAMELSYSTEM,
            groups=(VIDEO,),
            files=_with_parity(second_rars, second, slice_size=5000),
            poster="CPP-user@domain.example (CPP-user)",
            starts_at=400,
            article_size=5000,
        ),
        Upload(
            slug="river",
            title=river,
            style=styles.NEWSUP,
            groups=(VIDEO,),
            # The slices of the parity are the articles, so that its one block repairs the lost one.
            files=_with_parity(
                [
                    (f"{river}.avi", media.film(river, frames=28)),
                    (f"{river}.nfo", media.nfo(river, note="Four seasons at one bend.")),
                ],
                river,
                slice_size=8000,
            ),
            poster="NewsUP <NewsUP@somewhere.example>",
            starts_at=430,
            article_size=8000,
            missing=frozenset({(1, 41)}),
        ),
        Upload(
            slug="episode-3",
            title=third,
            style=styles.REQUEST,
            groups=(VIDEO,),
            files=_with_parity(
                [*third_rars, ("tpl103.sfv", sfv(third_rars))], "tpl103", slice_size=4800
            ),
            poster="requests <bot@news.example>",
            starts_at=800,
            article_size=4800,
            set_name="10764",
        ),
        Upload(
            slug="concert",
            title=concert,
            style=styles.POWERPOST,
            groups=(VIDEO, SOUNDS),
            files=_with_parity(concert_rars, concert, slice_size=5120),
            poster="Yenc@power-post.example (Yenc-PP-A&A)",
            starts_at=830,
            article_size=5120,
        ),
        Upload(
            slug="ferry",
            title=ferry,
            style=styles.BANNER,
            groups=(VIDEO,),
            files=_with_parity(ferry_files, ferry, slice_size=6000),
            poster="yEncBin@Poster.example (yEncBin)",
            starts_at=1400,
            article_size=6000,
        ),
    ]


def _sounds() -> list[Upload]:
    album = "Tin Orchestra - Harbour Songs (2011)"
    titles = ("Morning Ferry", "Lantern Walk", "Copper Rain", "Signal Hill", "The Long Way Round",
              "Low Water", "Rope and Salt", "Last Light")  # fmt: skip
    songs = [
        (f"{number:02d} - {name}.wav", media.tune(f"{album}{name}", seconds=5))
        for number, name in enumerate(titles, start=1)
    ]
    songs.append(("cover.png", media.picture(album, width=96, height=96)))
    quiet = "Nora Field - Quiet Machines (2005)"
    machines = [
        (f"{number:02d} {name}.wav", media.tune(f"{quiet}{name}", seconds=4))
        for number, name in enumerate(
            ("Loom", "Copper Wire", "Turbine Hall", "Night Shift", "Clockwork"), start=1
        )
    ]
    return [
        Upload(
            slug="album",
            title=album,
            style=styles.JBINUP,
            groups=(SOUNDS,),
            files=(*songs, ("harbour songs.sfv", sfv(songs))),
            poster="harbourmaster <hm@pier.example>",
            starts_at=60,
            article_size=3000,
            listed_twice=frozenset({(3, 7)}),
        ),
        Upload(
            slug="machines",
            title=quiet,
            style=styles.UNQUOTED,
            groups=(SOUNDS,),
            files=tuple(machines),
            poster="n.f. <nf@loom.example>",
            starts_at=900,
            article_size=4000,
        ),
    ]


def _books() -> list[Upload]:
    pier = "Ada Brook - The Long Pier (2018) (epub)"
    pages = media.book("The Long Pier", "Ada Brook", seed=pier, chapters=4)
    book = Upload(
        slug="book",
        title=pier,
        style=styles.PLAIN,
        groups=(MIXED,),
        files=((f"{pier}.epub", pages),),
        poster="Ada's reader <reader@shelf.example>",
        starts_at=420,
        article_size=3000,
    )
    again = Upload(
        slug="book-again",
        title=pier,
        style=styles.PLAIN,
        groups=(MIXED,),
        files=book.files,
        poster=book.poster,
        starts_at=6 * 86_400,
        article_size=3000,
    )
    return [book, again]


def _mixed() -> list[Upload]:
    random = Random("voyager demo names")  # noqa: S311 - sample content, not a secret
    hidden = styles.hex_name(random)
    hidden_rars = numbered(
        hidden,
        rar_volumes(
            [("night.train.avi", media.film("night train", frames=20))], volume_size=150_000
        ),
        "{stem}.part{n:02d}.rar",
    )
    prefix = styles.hex_name(random)
    pieces = cut(zip_archive([("winter.avi", media.film("winter", frames=12))]), 70_000)
    scattered = tuple(
        (f"{styles.hex_name(random)}.{number}", piece)
        for number, piece in enumerate(pieces, start=1)
    )
    lone = styles.hex_name(random)
    moth = "Paper.Moth.2021.1080p.WEB.h264-VGR"
    atlas = "Harbour Atlas 2020"
    maps = [
        (f"sheet {number}.png", media.picture(f"{atlas}{number}", width=200, height=200))
        for number in range(1, 5)
    ]
    return [
        Upload(
            slug="hidden-set",
            title=hidden,
            style=styles.SCRAMBLED,
            groups=(MIXED,),
            files=_with_parity(hidden_rars, hidden, slice_size=4500),
            poster="",
            starts_at=20,
            article_size=4500,
            is_readable=False,
        ),
        Upload(
            slug="hidden-files",
            title=prefix,
            style=styles.HASH_PREFIX,
            groups=(MIXED,),
            files=scattered,
            poster="",
            starts_at=120,
            article_size=3600,
            set_name=prefix,
            is_readable=False,
        ),
        Upload(
            slug="lone",
            title=lone,
            style=styles.NYUU,
            groups=(MIXED,),
            files=((lone, media.film("lone", frames=6)),),
            poster="x7 <x7@night.example>",
            starts_at=500,
            article_size=5000,
            is_readable=False,
        ),
        Upload(
            slug="moth",
            title=moth,
            style=styles.PRIVATE,
            groups=(MIXED, OVERFLOW),
            files=(
                (f"{moth}.avi", media.film(moth, frames=18)),
                (f"{moth}.nfo", media.nfo(moth, note="It only flies at the printer's.")),
            ),
            poster="private <bot@night.example>",
            starts_at=300,
            article_size=6000,
        ),
        Upload(
            slug="atlas",
            title=atlas,
            style=styles.NYUU,
            groups=(MIXED,),
            files=((f"{atlas}.tar", tar_archive(maps)),),
            poster="Mara Quill <mara@pier.example>",
            starts_at=620,
            article_size=5000,
        ),
        Upload(
            slug="secret",
            title="",
            style=styles.SECRET,
            groups=(MIXED,),
            files=(("secret.bin", media.film("secret", frames=8)),),
            poster="",
            starts_at=340,
            article_size=5000,
            is_readable=False,
            is_findable=False,
        ),
    ]


def notes() -> tuple[Note, ...]:
    """Returns the odd articles between the uploads."""
    talk = media.text("talk", sentences=4)
    return (
        Note(MIXED, 60, b"which player shows these films", b"new here <new@pier.example>",
             talk, "no_counter"),
        Note(MIXED, 330, b"Re: which player shows these films", b"Mara Quill <mara@pier.example>",
             talk, "no_counter"),
        Note(MIXED, 345, b'"Usenet Index Post 1389796935 yEnc (01/01)"', b"index <i@news.example>",
             talk, "index_spam"),
        Note(SOUNDS, 400, b"thanks for the songs", "Jürgen <j@pier.example>".encode("latin-1"),
             talk, "no_counter"),
        Note(VIDEO, 405, b"broken", b"nobody", talk, "no_message_id",
             raw_line=b"a line that lost its fields\t\t\t\t\t\t"),
    )  # fmt: skip
