"""Made-up uploads that the edges of spans cut, and others beside them: what the folds join of them.

The truth is known, and there are as many cases as are wanted: the posts of one scene run at the
same time, half of them have a twin with the same total, tool and size of files.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta

import polars as pl

from tests.quality.passes import NOW
from tests.support.upload_styles import random_poster, title, token
from tests.support.uploads import START, Upload, interleaved
from voyager_core.domain.generations import REPOST_WINDOW
from voyager_core.domain.ranges import Span
from voyager_core.header_pass.fragments import merge_fragments
from voyager_core.header_pass.identity import identify_releases
from voyager_core.header_pass.parse import parse_span
from voyager_core.header_pass.schemas import FRAGMENTS

DARK = '[{i}/{n}] "{name}" yEnc ({p}/{parts})'
NAMED = '[{i:02d}/{n:02d}] - "{name}" yEnc ({p}/{parts})'
GROUPS = ("alt.binaries.one", "alt.binaries.two", "alt.binaries.three")
# Longer than what the header pass takes for the edge of a span.
_FILLERS = 700

Group = tuple[str, Sequence[Upload]]


def scenes(count: int, *, seed: int) -> Iterator[pl.DataFrame]:
    """Yields the files of each scene with their release (a number) and their true upload."""
    chance = random.Random(seed)
    for number in range(count):
        make = (_dark, _sets, _shattered)[number % 3]
        yield _read(make(chance, number), chance)


def _dark(chance: random.Random, number: int) -> list[Group]:
    """Uploads with a random name and poster for every file."""
    total, parts = chance.randint(4, 24), chance.randint(2, 5)
    uploads = []
    for twin in range(chance.choice((1, 2))):
        names = [(token(chance, 20), parts) for _ in range(total)]
        posters = [random_poster(chance) for _ in names]
        begin = START + timedelta(seconds=chance.randint(0, 120) + 90 * twin)
        uploads.append(
            Upload(
                f"dark{number}.{twin}",
                names,
                DARK,
                poster=lambda i, posters=posters: posters[i - 1],
                at=begin,
            )
        )
    return [(GROUPS[0], [*uploads, _filler(chance, number)])]


def _sets(chance: random.Random, number: int) -> list[Group]:
    """Albums without a head, each of one poster."""
    total = chance.randint(6, 18)
    uploads = []
    for twin in range(chance.choice((1, 2))):
        tracks = [(f"{n:02d} - {title(chance)}.mp3", 3) for n in range(1, total + 1)]
        poster = random_poster(chance) if twin == 0 or chance.random() < 0.7 else uploads[0].poster
        # One poster posts one after the other, several side by side.
        is_same = bool(uploads) and poster == uploads[0].poster
        begin = START + timedelta(seconds=60 * is_same + chance.randint(0, 60))
        uploads.append(Upload(f"set{number}.{twin}", tracks, NAMED, poster=poster, at=begin))
    return [(GROUPS[0], [*uploads, _filler(chance, number)])]


def _shattered(chance: random.Random, number: int) -> list[Group]:
    """Archives whose files went to several newsgroups, beside whole ones with the same stem."""
    total, stem = chance.randint(4, 15), token(chance, 32, "0123456789abcdef")
    files = [(f"{stem}.part{n:02d}.rar", 2) for n in range(1, total + 1)]
    homes = [chance.randrange(len(GROUPS)) for _ in files]
    again = chance.random() < 0.4
    found: list[Group] = []
    for place, group in enumerate(GROUPS):
        elsewhere = frozenset(
            (i, p) for i, home in enumerate(homes, 1) if home != place for p in (1, 2)
        )
        poster = random_poster(chance)
        uploads = [
            Upload(f"shatter{number}", files, NAMED, poster=poster, missing=elsewhere, salt=group)
        ]
        if again and place == 0:
            # The same stem weeks later is another upload.
            later = START + timedelta(days=30)
            uploads.append(Upload(f"again{number}", files[:-1], NAMED, total=total, at=later))
        found.append((group, [*uploads, _filler(chance, number)]))
    return found


def _filler(chance: random.Random, number: int) -> Upload:
    """Readable posts between which the others run."""
    name = f"{title(chance).replace(' ', '.')}.2019.1080p.WEB.x264-GRP"
    return Upload(f"filler{number}", [(f"{name}.mkv", _FILLERS)], '"{name}" yEnc ({p}/{parts})')


def _read(groups: Sequence[Group], chance: random.Random) -> pl.DataFrame:
    whole, cut, articles = [], [], []
    for group, uploads in groups:
        text, truth = interleaved(uploads, seed=chance.randrange(1 << 30), first_number=1)
        text = text.replace(b"alt.binaries.test:", f"{group}:".encode())
        dark = sorted(number for number, key in truth.items() if not key.startswith("filler"))
        starts = [1]
        if len(dark) > 2:
            # Through the middle of the uploads, seldom twice.
            cuts = chance.sample(dark[1:], min(len(dark) - 1, chance.choice((1, 1, 2))))
            starts += sorted(cuts)
        ends = [*(start - 1 for start in starts[1:]), len(truth)]
        for low, high in zip(starts, ends, strict=True):
            span = Span(group, low, max(low, high))
            parsed = parse_span(span, [text], groups={}, now=NOW, keep_articles=True)
            files = identify_releases(parsed.files)
            whole.append(files.filter(~pl.col("is_fragment")))
            cut.append(files.filter("is_fragment"))
            kept = parsed.articles.filter(pl.col("reason").is_null())
            keys = [truth[number] for number in kept["number"].to_list()]
            articles.append(kept.select("file_key", upload=pl.Series(keys, dtype=pl.String)))
    merged = merge_fragments(pl.concat(cut).select(list(FRAGMENTS)))
    files = pl.concat([*whole, merged.select(whole[0].columns)]).unique("file_key", keep="first")
    uploads_of = pl.concat(articles).unique("file_key", keep="first")
    # As the catalog numbers the posts of one key.
    files = files.sort("release_key", "first_posted_at").with_columns(
        _late=pl.col("first_posted_at").diff().over("release_key") > REPOST_WINDOW
    )
    files = files.with_columns(session=pl.col("_late").fill_null(value=False).cum_sum())
    release = pl.struct("release_key", "session").rank("dense").cast(pl.Int64)
    files = files.with_columns(release=release).join(uploads_of, on="file_key")
    return files.filter(~pl.col("upload").str.starts_with("filler"))
