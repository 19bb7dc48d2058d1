"""A catalog of made-up releases, as large as asked for, filled in minutes.

Names have the words of real ones: titles from a long-tailed vocabulary, a season and an episode
or a year, and the few words that nearly every name shares. They are the same for the same seed.
"""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.groups import add_group
from voyager_core.domain.tokens import token_hashes

NOW = datetime(2026, 11, 1, tzinfo=UTC)
GROUPS = ("alt.binaries.teevee", "alt.binaries.moovee", "alt.binaries.boneless", "alt.binaries.x")
RESOLUTIONS = ("1080p",) * 45 + ("720p",) * 35 + ("2160p",) * 10 + ("480p",) * 5 + ("",) * 5
SOURCES = ("WEB-DL",) * 40 + ("WEB",) * 20 + ("BluRay",) * 20 + ("HDTV",) * 15 + ("DVDRip",) * 5
CODECS = ("x264",) * 40 + ("H.264",) * 30 + ("x265",) * 15 + ("HEVC",) * 10 + ("XviD",) * 5
EXTRAS = ("",) * 70 + ("GERMAN",) * 10 + ("MULTi",) * 6 + ("REPACK",) * 4 + ("AAC2.0",) * 10
_SYLLABLES = tuple(a + b for a in "bcdfghjklmnprstvwz" for b in ("a", "e", "i", "o", "u"))
_COLUMNS = (
    "release_key, generation, newsgroup_id, category, posted_at, last_posted_at, listed_at,"
    " changed_at, settled_at, files, files_expected, segments, segments_expected, size_bytes,"
    " season, season_last, episode, episode_last, aired_on, year, password, has_par2,"
    " is_readable, group_ids, tok, name, poster"
)
_TYPES = [
    *("int8", "int2", "int4", "int4"),
    *["timestamptz"] * 5,
    *("int4", "int4", "int4", "int8", "int8"),
    *["int4"] * 4,
    *("date", "int2", "int2", "bool", "bool", "int4[]", "int4[]", "text", "text"),
]


class Names:
    """Makes names; the same seed gives the same ones."""

    def __init__(self, seed: int = 1) -> None:
        made = random.Random(20_26)
        self.words = [
            "".join(made.choice(_SYLLABLES) for _ in range(1 + at % 4)).capitalize()
            for at in range(60_000)
        ]
        self.shows = [self._title(made, 1 + made.randrange(4)) for _ in range(20_000)]
        self.films = [self._title(made, 1 + made.randrange(4)) for _ in range(60_000)]
        self.posters = [f"poster{at} <p{at}@example.test>" for at in range(500)]
        self.crews = [f"{self.words[made.randrange(5000)].upper()}" for _ in range(300)]
        self.rng = random.Random(seed)

    def _title(self, rng: random.Random, length: int) -> str:
        return ".".join(self.words[int(60_000 * rng.random() ** 3)] for _ in range(length))

    def pick(self, among: list[str]) -> str:
        """Returns one of a list, the first ones by far the most often."""
        return among[int(len(among) * self.rng.random() ** 3)]

    def tags(self) -> str:
        """Returns resolution, source, codec and crew."""
        rng = self.rng
        parts = [rng.choice(EXTRAS), rng.choice(RESOLUTIONS), rng.choice(SOURCES)]
        parts.append(rng.choice(CODECS))
        return ".".join(part for part in parts if part) + "-" + self.pick(self.crews)

    def release(self) -> dict[str, Any]:  # noqa: PLR0911 - one kind of release after another
        """Returns what a name says: name, category, and where there are some season and so on."""
        rng, kind = self.rng, self.rng.random()
        if kind < 0.52:
            season, episode = 1 + int(20 * rng.random() ** 3), rng.randrange(1, 25)
            high = 1.02 if rng.random() < 0.02 else 1
            last = episode + 1 if high > 1 else episode
            place = f"S{season:02}E{episode:02}" + (f"E{last:02}" if last > episode else "")
            if rng.random() < 0.04:
                episode = last = None  # type: ignore[assignment]
                place = f"S{season:02}"
            title = self._title(rng, 2) + "." if rng.random() < 0.3 else ""
            return {
                "name": f"{self.pick(self.shows)}.{place}.{title}{self.tags()}",
                "category": rng.choice((5040, 5040, 5040, 5030, 5045)),
                "season": season,
                "episode": episode,
                "episode_last": last,
            }
        if kind < 0.55:
            day = date(2012, 1, 1) + timedelta(days=rng.randrange(5400))
            name = f"{self.pick(self.shows[:500])}.{day:%Y.%m.%d}.{self._title(rng, 2)}"
            return {"name": f"{name}.{self.tags()}", "category": 5040, "aired_on": day}
        if kind < 0.75:
            year = 2026 - int(60 * rng.random() ** 3)
            name = f"{self.pick(self.films)}.{year}.{self.tags()}"
            category = rng.choice((2040, 2040, 2040, 2030, 2045))
            return {"name": name, "category": category, "year": year}
        if kind < 0.85:
            year = 2026 - int(60 * rng.random() ** 3)
            name = f"{self._title(rng, 2)} - {self._title(rng, 3)} ({year}) FLAC"
            return {"name": name, "category": rng.choice((3010, 3040)), "year": year}
        if kind < 0.9:
            name = f"{self._title(rng, 2)} - {self._title(rng, 4)} EPUB"
            return {"name": name, "category": rng.choice((7020, 7030, 7010))}
        if kind < 0.92:
            return {"name": f"{self._title(rng, 3)} v{rng.randrange(9)}", "category": 4010}
        return {"name": f"{rng.getrandbits(128):032x}", "category": 8020}


def rows(count: int, first: int = 0, *, seed: int = 1) -> Iterator[tuple[Any, ...]]:
    """Yields rows of the table `release`, posted over ten years, the last one last."""
    names = Names(seed)
    rng = names.rng
    span = timedelta(days=3650)
    for at in range(count):
        values = names.release()
        name, season, episode = values["name"], values.get("season"), values.get("episode")
        posted = NOW - span * (1 - at / count)
        # The last two percent were found as they came, everything before by indexing history.
        found = posted + timedelta(minutes=rng.randrange(90)) if at > 0.98 * count else NOW
        segments = rng.randrange(10, 9000)
        settled = None if at > 0.999 * count else found
        readable = values["category"] != 8020
        yield (
            ((first + at) * 0x9E3779B97F4A7C15 + seed) % (1 << 63), 0, 1 + at % len(GROUPS),
            values["category"], posted, posted, found, found, settled,
            9, 9, segments, segments if rng.random() < 0.95 else segments + 7,
            segments * 740_000, season, season, episode, values.get("episode_last"),
            values.get("aired_on"), values.get("year"), -1, True, readable,
            [1 + at % len(GROUPS)], token_hashes(name), name, names.pick(names.posters),
        )  # fmt: skip


def fill(conn: Connection, count: int, *, seed: int = 1) -> None:
    """Adds releases by COPY, without their chunks, and brings indexes and statistics up to date."""
    for name in GROUPS:
        add_group(conn, name)
        conn.execute("insert into group_name (name) values (%s) on conflict do nothing", [name])
    indexes = conn.execute(
        "select indexname, indexdef from pg_indexes where tablename = 'release'"
        " and indexdef not like 'CREATE UNIQUE%'"
    ).fetchall()
    empty = conn.execute("select not exists (select from release)").fetchone()
    rebuild = bool(empty and empty[0])
    if rebuild:
        for name, _ in indexes:
            conn.execute(f"drop index {name}")
    with conn.cursor() as cursor:
        statement = f"copy release ({_COLUMNS}) from stdin (format binary)"
        with cursor.copy(statement) as copy:
            copy.set_types(_TYPES)
            for row in rows(count, seed=seed):
                copy.write_row(row)
    if rebuild:
        for _, definition in indexes:
            conn.execute(definition)
    conn.execute("vacuum analyze release")
