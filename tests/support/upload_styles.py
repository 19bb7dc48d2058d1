"""Posting styles: for each the uploads that one poster would make, with made-up names."""

import random
import string
from collections.abc import Callable
from datetime import datetime, timedelta

from tests.support.uploads import Upload, old_volumes, volumes

_WORDS = [
    *("river", "stone", "paper", "garden", "silver", "window", "market", "engine", "harbor"),
    *("winter", "forest", "signal", "bridge", "copper", "valley", "mirror", "planet", "castle"),
    *("summer", "thunder", "velvet"),
]
_ALNUM = string.ascii_letters + string.digits

Style = Callable[[random.Random, str, datetime], list[Upload]]


def token(chance: random.Random, length: int, alphabet: str = _ALNUM) -> str:
    """A random text, as obfuscating tools make them."""
    return "".join(chance.choices(alphabet, k=length))


def title(chance: random.Random) -> str:
    """Three words with dots."""
    return ".".join(word.capitalize() for word in chance.sample(_WORDS, 3))


def scene_name(chance: random.Random) -> str:
    """The name of an episode or film in scene form."""
    group = token(chance, 4, string.ascii_uppercase)
    season, episode, year = chance.randint(1, 9), chance.randint(1, 20), chance.randint(1990, 2020)
    middle = chance.choice(
        [f"S{season:02d}E{episode:02d}.720p.HDTV.x264", f"{year}.1080p.BluRay.x264"]
    )
    return f"{title(chance)}.{middle}-{group}"


def random_poster(chance: random.Random) -> str:
    """A From that no other upload has."""
    name = token(chance, 14)
    return f"{name} <{name}@{token(chance, 6)}.{token(chance, 3)}>"


def _parity(stem: str, count: int) -> list[tuple[str, int]]:
    return [(f"{stem}.par2", 1)] + [(f"{stem}.vol{n:02d}+{n:02d}.par2", 2) for n in range(1, count)]


def request_post(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A request bot: id, channel, name; scene files; the NZB posted apart with its own counter."""
    name, number = scene_name(chance), chance.randint(10_000, 400_000)
    head = f"[{number}]-[FULL]-[#a.b.teevee@EFNet]-[ {name} ]-"
    files = old_volumes(name.lower(), chance.randint(3, 9))
    return [
        Upload(key, files, head + '[{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})', at=at),
        Upload(
            key,
            [(f"{name}.nzb", 1)],
            head + '[1/1] - "{name}" yEnc (1/1)',
            at=at + timedelta(seconds=60),
        ),
    ]


def title_is_not_the_file_name(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A scene name before the counter, abbreviated file names."""
    stem = f"{token(chance, 4, string.ascii_lowercase)}-{token(chance, 5, string.ascii_lowercase)}"
    subject = scene_name(chance) + ' [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, old_volumes(stem, 5), subject, at=at)]


def banner(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """An advertisement before the counter of every upload."""
    subject = (
        "[ TOWN ]-[ www.town.example ]-[ partner of www.news.info ] [{i:02d}/{n}]"
        ' - "{name}" - 1,45 GB yEnc ({p}/{parts})'
    )
    files = volumes(scene_name(chance), chance.randint(3, 4))
    return [Upload(key, files, subject, poster="Town <town@town.invalid>", at=at)]


def phrase(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A poster's phrase that looks like a title and stands over every upload."""
    files = volumes(" ".join(title(chance).split(".")), 3)
    subject = 'The Night Owls [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster="owls <o@owls.invalid>", at=at)]


def random_names(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Random names, a From of its own, no head."""
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts}) 46101356'
    files = volumes(token(chance, 24), 5)
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def one_poster_without_head(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Readable names, the same From for everything."""
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts}) 46101356'
    files = volumes(scene_name(chance), 4)
    return [Upload(key, files, subject, poster="Fix <fix@fix.invalid>", at=at)]


def random_video_readable_parity(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """One big file under a random name beside readable parity files."""
    stem = scene_name(chance)
    files = [(f"{token(chance, 32)}.mkv", 30)]
    files += [(f"{stem}.vol-{n:02d}.par2", n) for n in range(1, 8)]
    subject = '[{i}/{n}] - "{name}" yEnc  5524123647 ({p}/{parts})'
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def readable_video_random_parity(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A readable video, parity under 32 hex digits, another From for every file."""
    prefix, parity = token(chance, 15), token(chance, 32, "0123456789abcdef")
    files = [(f"{scene_name(chance)}.mkv", 30), *_parity(parity, 7)]
    posters = [
        f"{prefix}{token(chance, 11)}@{token(chance, 8)}.{token(chance, 3)}" for _ in range(9)
    ]
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster=lambda i: posters[i], at=at)]


def hash_with_numbers(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """`<hash>.10`, `<hash>.11`, … without any counter of files."""
    stem = token(chance, 32, "0123456789abcdef")
    files = [(f"{stem}.{n}", 3) for n in range(10, 30)]
    files += [(f"{stem}.par2", 1), (f"{stem}.vol001+02.par2", 2)]
    return [Upload(key, files, '"{name}" yEnc ({p}/{parts})', poster=random_poster(chance), at=at)]


def hash_before_counter(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A hash glued to the counter, every file under another hash."""
    digits = "0123456789abcdef"
    files = [(f"{token(chance, 32, digits)}.{n}", 3) for n in range(10, 22)]
    subject = token(chance, 32, digits) + '[{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def album_under_its_title(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Tracks, a cover and parity under the title of the album."""
    files = [(f"{n:02d} - {' '.join(chance.sample(_WORDS, 2))}.mp3", 3) for n in range(1, 12)]
    files += [("cover.jpg", 1), ("album.par2", 1), ("album.vol00+1.par2", 1)]
    head = f"Some Singer - {title(chance).replace('.', ' ')} (2004) - "
    subject = head + '[{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster="al <a@b.invalid>", at=at)]


def album_without_head(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Tracks and a picture, nothing but the counter in common."""
    count = chance.randint(9, 15)
    files = [(f"{n:02d} - {' '.join(chance.sample(_WORDS, 2))}.flac", 3) for n in range(1, count)]
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts}) 3412312'
    return [Upload(key, [*files, ("folder.jpg", 1)], subject, poster="alb <a@b.invalid>", at=at)]


def album_under_banner(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Tracks, nfo and parity under a site's name."""
    name = f"{title(chance).replace('.', '_')}-CD-FLAC-2004-{token(chance, 3, 'ABCDEFGH')}"
    files = [(f"00-{name.lower()}.nfo", 1), (f"00-{name.lower()}.m3u", 1)]
    files += [(f"{n:02d}-{'_'.join(chance.sample(_WORDS, 2))}.flac", 3) for n in range(1, 10)]
    files += [(f"{name}.par2", 1), (f"{name}.vol00+1.par2", 1)]
    subject = '(www.forum.info) - [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster="tt <t@t.invalid>", at=at)]


def disc_structure(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A disc: the same names in every upload."""
    files = [(f"{n:05d}.{kind}", 1) for kind in ("clpi", "mpls") for n in range(8)]
    files += [("index.bdmv", 1), ("MovieObject.bdmv", 1)]
    files += [(f"{n:05d}.m2ts", 9) for n in range(8)]
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts}) 342312'
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def name_in_brackets(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """The name in a bracket, empty quotes."""
    name = scene_name(chance)
    subject = '[PRiVATE]-[WtFnZb]-[{name}]-[{i}/{n}] - "" yEnc  4288754174 ({p}/{parts})'
    files = [(f"{name}.mkv", 20), *_parity(name, 5)]
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def single_file(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """One file without a counter of files."""
    return [Upload(key, [(f"{scene_name(chance)}.mkv", 12)], '"{name}" yEnc ({p}/{parts})', at=at)]


def archive_without_counter(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """A scene set whose files are not counted."""
    files = old_volumes(scene_name(chance), 6)
    subject = '"{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster="q <q@q.invalid>", at=at)]


def nzb_posted_after(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """The NZB last, as `[01/01]`."""
    stem = f"{scene_name(chance)}.mkv"
    subject = '[{i:02d}/{n:02d}] - "{name}" ({p}/{parts})'
    poster = "NewsUP <NewsUP@somewhere.invalid>"
    return [
        Upload(key, volumes(stem, 6), subject, poster=poster, at=at),
        Upload(key, [(f"{stem}.nzb", 1)], subject, poster=poster, at=at + timedelta(seconds=90)),
    ]


def nzb_as_number_zero(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """The NZB as `[00/N]`."""
    name = scene_name(chance)
    files = volumes(name, 5)
    subject = name + ' [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, [(f"{name}.nzb", 1), *files], subject, first=0, total=len(files), at=at)]


def book_flood(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Books under one counter, each a release of its own."""
    uploads = []
    for n in range(1, 13):
        author, book = chance.sample(_WORDS, 2), chance.sample(_WORDS, 3)
        name = f"{' '.join(author).title()} - {' '.join(book).title()}.epub"
        subject = f'[{n}/12] - "{{name}}" yEnc ({{p}}/{{parts}})'
        moment = at + timedelta(seconds=n)
        poster = "books <b@b.invalid>"
        uploads.append(Upload(f"{key}.{n}", [(name, 2)], subject, poster=poster, at=moment))
    return uploads


def season_pack(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Several archives under one title and counter."""
    show = title(chance)
    files = [each for n in range(1, 4) for each in volumes(f"{show}.S01E{n:02d}.720p.HDTV-GRP", 3)]
    subject = show.replace(".", " ") + ' Season One [{i:02d}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster="sp <s@p.invalid>", at=at)]


def season_of_videos(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """Episodes as plain videos under one counter."""
    show = title(chance)
    files = [(f"{show}.S01E{n:02d}.720p.HDTV-GRP.mkv", 12) for n in range(1, 9)]
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


def split_7z(chance: random.Random, key: str, at: datetime) -> list[Upload]:
    """`.7z.001` … with parity of the archive."""
    stem = token(chance, 32)
    files = [(f"{stem}.7z.{n:03d}", 5) for n in range(1, 9)]
    files += [(f"{stem}.7z.par2", 1), (f"{stem}.7z.vol1+1.par2", 1)]
    subject = '[{i}/{n}] - "{name}" yEnc ({p}/{parts})'
    return [Upload(key, files, subject, poster=random_poster(chance), at=at)]


STYLES: tuple[Style, ...] = (
    request_post,
    title_is_not_the_file_name,
    banner,
    phrase,
    random_names,
    one_poster_without_head,
    random_video_readable_parity,
    readable_video_random_parity,
    hash_with_numbers,
    hash_before_counter,
    album_under_its_title,
    album_without_head,
    album_under_banner,
    disc_structure,
    name_in_brackets,
    single_file,
    archive_without_counter,
    nzb_posted_after,
    nzb_as_number_zero,
    book_flood,
    season_pack,
    season_of_videos,
    split_7z,
)
