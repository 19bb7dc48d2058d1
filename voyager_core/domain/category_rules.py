"""The category rules as one table: what a name must have, may have one of, and must not have.

The features are those of `category_words`; `picture`, `season`, `episode`, `dated` and
`game_group`, `anime_group` come from the name's form. A row holds for a name that has all of
`every`, one of `some` (where any are listed) and none of `without`; the first row wins.
"""

from typing import NamedTuple

from voyager_core.domain.category_words import VIDEO


class Row(NamedTuple):
    """One rule: the category, and the features that it asks for, separated by blanks."""

    category: int
    every: str = ""
    some: str = ""
    without: str = ""


_VIDEO = " ".join(VIDEO)
_FILM_WORDS = "film_sound subtitles"
_SHOWN = "codec resolution"
_SERIES = "season episode dated broadcast sport television season_words"

ROWS: tuple[Row, ...] = (
    # Adult.
    Row(6060, "xxx", "images"),
    Row(6050, "xxx", "pack"),
    Row(6045, "xxx uhd"),
    Row(6010, "xxx dvd"),
    Row(6020, "xxx wmv"),
    Row(6030, "xxx xvid"),
    Row(6040, "xxx", "codec resolution mp4"),
    Row(6070, "xxx"),
    # Books whose form is certain.
    Row(7030, "", "comic", without="codec music_scene"),
    Row(7030, "", "numbered_digital", without=f"{_VIDEO} music_scene sound lossless software"),
    Row(
        7030,
        "",
        "part_of",
        without=f"{_VIDEO} sound lossless software ebook pdf episode season album",
    ),
    Row(3030, "", "audiobook", without="codec"),
    Row(7040, "technical", "ebook", without="codec"),
    Row(7010, "ebook", "magazine month_year day", without="codec"),
    Row(7020, "ebook", without="codec"),
    # Consoles, by the machine's name.
    *(
        Row(category, feature, without="codec resolution lossless sound")
        for feature, category in (
            ("ps4", 1180),
            ("ps3", 1080),
            ("vita", 1120),
            ("psp", 1020),
            ("xbox360", 1050),
            ("xbox_one", 1140),
            ("wii_u", 1130),
            ("wiiware", 1060),
            ("wii", 1030),
            ("3ds", 1110),
            ("nds", 1010),
            ("xbox", 1040),
            ("console", 1090),
        )
    ),
    # Anime.
    Row(5070, "", "fansub numbered_picture crc anime_group", without="sound album"),
    Row(5070, "bracketed episode", without="season sound lossless album software"),
    Row(5070, "anime", _VIDEO + " episode season"),
    # Television.
    Row(5060, "sport", _VIDEO, without="season episode"),
    Row(5060, "sport season dated", _VIDEO, without="episode"),
    Row(5080, "documentary", f"{_SERIES}", without="sound lossless ebook pdf software iso"),
    *(
        row
        for has in ("season", "episode", "dated", "broadcast", "television", "season_words")
        for row in (
            Row(5045, f"{has} uhd", _VIDEO),
            Row(5030, f"{has} xvid", _VIDEO, without="uhd"),
            Row(5040, f"{has} hd", _VIDEO),
            Row(5040, f"{has} hd_source", _VIDEO, without="sd"),
            Row(5030, has, _VIDEO),
        )
    ),
    # Telephones, games and music, which never name a codec.
    Row(4070, "android", without=_SHOWN),
    Row(4060, "ios", without=_SHOWN),
    Row(4030, "mac", without=_SHOWN),
    Row(4040, "mobile", without=_SHOWN),
    Row(4050, "", "game_group game", without=_SHOWN),
    Row(3050, "podcast"),
    Row(3040, "", "lossless lossless_file", without=_SHOWN),
    Row(3010, "", "music_scene sound various audio_file", without=_SHOWN + " film_sound subtitles"),
    Row(3020, "concert", _VIDEO),
    Row(3020, "music_video", _VIDEO),
    # Books as PDF, programs.
    Row(7040, "pdf technical", without="codec"),
    Row(7010, "pdf", "magazine month_year day", without="codec"),
    Row(7020, "pdf", without="codec"),
    Row(4020, "iso", without=f"{_SHOWN} disc"),
    Row(4010, "", "software executable", without=f"{_SHOWN} {_FILM_WORDS}"),
    Row(4010, "version", without=f"{_VIDEO} {_FILM_WORDS}"),
    # Films: everything else with a picture.
    Row(2060, "stereo", "resolution stereo_layout"),
    Row(2045, "disc uhd"),
    Row(2050, "disc"),
    Row(2070, "dvd", without="hd uhd"),
    Row(2045, "uhd", _VIDEO),
    Row(2030, "xvid", without="uhd"),
    Row(2040, "hd", _VIDEO),
    Row(2040, "hd_source", _VIDEO, without="sd"),
    Row(2030, "", _VIDEO),
    # Names that only say where they belong, without a word about the format.
    Row(5030, "season"),
    Row(5030, "dated episode"),
    Row(5030, "", "television season_words", without="sound album"),
    Row(2030, "", _FILM_WORDS),
    Row(3010, "", "music_plain album sound_rate"),
    Row(4010, "", "software"),
)

WEAK_ROWS: tuple[Row, ...] = (
    Row(3010, "artist_title_year"),
    Row(5030, "dated", without="month_year magazine"),
    Row(7010, "", "month_year magazine"),
    Row(2020, "title_year"),
)
"""What a name only hints at; the newsgroup is believed before."""
