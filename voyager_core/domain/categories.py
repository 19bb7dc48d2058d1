"""Newznab categories: their numbers and names, and the one that a release name asks for.

The numbers are the standard ones of the protocol. A release gets one category, by the
first rule that fits its name; the class of the picture (SD, HD, UHD) is preferred to
source and codec, because that is what clients ask for by default.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from voyager_core.domain import category_words as words
from voyager_core.domain.episodes import Episode, parse_episode

CATEGORIES_VERSION = 1
"""Raised with every change that moves names: a moved release changes what clients see."""

CATEGORY_NAMES: dict[int, str] = {
    1000: "Console",
    1010: "NDS",
    1020: "PSP",
    1030: "Wii",
    1040: "XBox",
    1050: "XBox 360",
    1060: "Wiiware",
    1070: "XBox 360 DLC",
    1080: "PS3",
    1090: "Other",
    1110: "3DS",
    1120: "PS Vita",
    1130: "WiiU",
    1140: "XBox One",
    1180: "PS4",
    2000: "Movies",
    2010: "Foreign",
    2020: "Other",
    2030: "SD",
    2040: "HD",
    2045: "UHD",
    2050: "BluRay",
    2060: "3D",
    2070: "DVD",
    2080: "WEB-DL",
    2090: "x265",
    3000: "Audio",
    3010: "MP3",
    3020: "Video",
    3030: "Audiobook",
    3040: "Lossless",
    3050: "Other",
    3060: "Foreign",
    4000: "PC",
    4010: "0day",
    4020: "ISO",
    4030: "Mac",
    4040: "Mobile-Other",
    4050: "Games",
    4060: "Mobile-iOS",
    4070: "Mobile-Android",
    5000: "TV",
    5010: "WEB-DL",
    5020: "Foreign",
    5030: "SD",
    5040: "HD",
    5045: "UHD",
    5050: "Other",
    5060: "Sport",
    5070: "Anime",
    5080: "Documentary",
    5090: "x265",
    6000: "XXX",
    6010: "DVD",
    6020: "WMV",
    6030: "XviD",
    6040: "x264",
    6045: "UHD",
    6050: "Pack",
    6060: "ImageSet",
    6070: "Other",
    6080: "SD",
    6090: "WEB-DL",
    7000: "Books",
    7010: "Mags",
    7020: "EBook",
    7030: "Comics",
    7040: "Technical",
    7050: "Other",
    7060: "Foreign",
    8000: "Other",
    8010: "Misc",
    8020: "Hashed",
}

MISC = 8010
HASHED = 8020


def parent_category(category: int) -> int:
    """Returns the main category of a number, itself for a main category."""
    return category // 1000 * 1000


def subcategories(category: int) -> list[int]:
    """Returns the numbers below a main category, in order."""
    return [number for number in CATEGORY_NAMES if parent_category(number) == category != number]


def category_label(category: int) -> str:
    """Returns the name with its parent's, such as `TV > HD`; empty for an unknown number."""
    name = CATEGORY_NAMES.get(category, "")
    parent = CATEGORY_NAMES.get(parent_category(category), "")
    return name if category == parent_category(category) or not name else f"{parent} > {name}"


def category_of(
    name: str, *, is_readable: bool = True, group: str = "", episode: Episode | None = None
) -> int:
    """Returns the category of a release.

    Args:
        name: the release's name.
        is_readable: false for a random name, which says nothing.
        group: the newsgroup, asked only when the name says nothing.
        episode: what `parse_episode` says of the name, where that is known already.
    """
    if not is_readable:
        return HASHED
    text = _Text.of(name[:512], episode)
    for rule in _RULES:
        category = rule(text)
        if category:
            return category
    return _of_group(group) or MISC


@dataclass(frozen=True, slots=True)
class _Text:
    """A name with what several rules ask about it."""

    name: str
    has_codec: bool
    has_video: bool
    episode: Episode

    @classmethod
    def of(cls, name: str, episode: Episode | None) -> "_Text":
        has_codec = bool(words.CODEC.search(name))
        has_video = has_codec or bool(
            words.RESOLUTION.search(name)
            or words.SOURCE.search(name)
            or words.STEREO_LAYOUT.search(name)
            or words.VIDEO_FILE.search(name)
        )
        return cls(name, has_codec, has_video, episode or parse_episode(name))


def _hashed(text: _Text) -> int:
    return HASHED if _looks_hashed(text.name) else 0


def _looks_hashed(name: str) -> bool:
    while (cut := words.MEDIA_SUFFIX.sub("", name)) != name:
        name = cut
    if words.HEX.fullmatch(name):
        return True
    if not words.ONE_TOKEN.fullmatch(name) or sum(char.isdigit() for char in name) < 3:
        return False
    changes = len(words.CLASS_CHANGES.findall(name))
    return changes > len(name) * 0.25 or not words.LETTERS.search(name)


def _xxx(text: _Text) -> int:
    name = text.name
    if not words.XXX.search(name):
        return 0
    for pattern, category in (
        (words.IMAGES, 6060),
        (words.PACK, 6050),
        (words.UHD, 6045),
        (words.DVD, 6010),
        (words.WMV, 6020),
        (words.XVID, 6030),
    ):
        if pattern.search(name):
            return category
    return (
        6040 if text.has_codec or words.RESOLUTION.search(name) or words.MP4.search(name) else 6070
    )


def _comic(text: _Text) -> int:
    if text.has_codec:
        return 0
    if words.COMIC.search(text.name):
        return 7030
    return 7030 if not text.has_video and words.DIGITAL_COMIC.search(text.name) else 0


def _audiobook(text: _Text) -> int:
    return 3030 if words.AUDIOBOOK.search(text.name) else 0


def _ebook(text: _Text) -> int:
    if text.has_codec or not words.EBOOK.search(text.name):
        return 0
    return _kind_of_book(text)


def _kind_of_book(text: _Text) -> int:
    if words.MAGAZINE.search(text.name) and not words.TECHNICAL.search(text.name):
        return 7010
    return 7040 if words.TECHNICAL.search(text.name) else 7020


def _console(text: _Text) -> int:
    if text.has_codec:
        return 0
    return next((number for pattern, number in words.CONSOLES if pattern.search(text.name)), 0)


def _anime(text: _Text) -> int:
    name = text.name
    if words.ANIME_GROUP.search(name) or (name.startswith("[") and words.CRC_TAG.search(name)):
        return 5070
    return 5070 if text.has_video and words.ANIME.search(name) else 0


def _television(text: _Text) -> int:
    name = text.name
    is_sport = bool(words.SPORT.search(name))
    if not text.has_video or not (
        text.episode.is_marked or is_sport or words.BROADCAST.search(name)
    ):
        return 0
    if is_sport and not text.episode.episode:
        return 5060
    if words.DOCUMENTARY.search(name):
        return 5080
    return _picture(name, uhd=5045, hd=5040, sd=5030)


def _picture(name: str, *, uhd: int, hd: int, sd: int) -> int:
    if words.UHD.search(name):
        return uhd
    if words.HD_PICTURE.search(name):
        return hd
    return hd if words.HD_SOURCE.search(name) and not words.SD_PICTURE.search(name) else sd


def _mobile_and_games(text: _Text) -> int:
    name = text.name
    if text.has_codec or words.RESOLUTION.search(name):
        return 0
    for pattern, category in (
        (words.ANDROID, 4070),
        (words.IOS, 4060),
        (words.MAC, 4030),
        (words.MOBILE, 4040),
        (words.GAME_GROUP, 4050),
        (words.GAME, 4050),
    ):
        if pattern.search(name):
            return category
    return 0


def _audio(text: _Text) -> int:
    name = text.name
    if words.PODCAST.search(name):
        return 3050
    if not text.has_codec and not words.RESOLUTION.search(name):
        if words.LOSSLESS.search(name):
            return 3040
        if words.MUSIC_SCENE.search(name) or words.MP3.search(name) or words.VARIOUS.search(name):
            return 3010
        if words.AUDIO_FILE.search(name):
            return 3010
    return 3020 if text.has_video and words.MUSIC_VIDEO.search(name) else 0


def _pdf(text: _Text) -> int:
    return _kind_of_book(text) if not text.has_codec and words.PDF.search(text.name) else 0


def _software(text: _Text) -> int:
    if text.has_codec or words.RESOLUTION.search(text.name):
        return 0
    if words.ISO.search(text.name):
        return 4020
    if words.SOFTWARE.search(text.name) or words.PROGRAM_FILE.search(text.name):
        return 4010
    return 0


def _film(text: _Text) -> int:
    name = text.name
    if not text.has_video:
        return 0
    if words.STEREO.search(name) and (
        words.RESOLUTION.search(name) or words.STEREO_LAYOUT.search(name)
    ):
        return 2060
    if words.BLURAY_DISC.search(name):
        return 2045 if words.UHD.search(name) else 2050
    if words.DVD.search(name) and not words.HD_PICTURE.search(name):
        return 2070
    return _picture(name, uhd=2045, hd=2040, sd=2030)


def _bare(text: _Text) -> int:
    """Takes names that only say where they belong, without a word about the format."""
    if text.episode.season:
        return 5030
    return 3010 if words.MUSIC_PLAIN.search(text.name) else 0


_RULES: tuple[Callable[[_Text], int], ...] = (
    _hashed,
    _xxx,
    _comic,
    _audiobook,
    _ebook,
    _console,
    _anime,
    _television,
    _mobile_and_games,
    _audio,
    _pdf,
    _software,
    _film,
    _bare,
)

_GROUP_HINTS: list[tuple[re.Pattern[str], int]] = [
    (re.compile(r"lossless|flac"), 3040),
    (re.compile(r"audiobook"), 3030),
    (re.compile(r"sounds?\b|\bmp3|music"), 3010),
    (re.compile(r"e-?books?|\bebook"), 7020),
    (re.compile(r"comics|manga"), 7030),
    (re.compile(r"magazines?"), 7010),
    (re.compile(r"anime"), 5070),
    (re.compile(r"erotica|\bsex|xxx|porn"), 6070),
    (re.compile(r"teevee|multimedia\.tv|\btv\b|hdtv"), 5050),
    (re.compile(r"moovee|movies?|dvd|x264"), 2020),
    (re.compile(r"games|\bgame"), 4050),
    (re.compile(r"\bmac\b"), 4030),
    (re.compile(r"warez|0-?day|apps|software"), 4010),
]


def _of_group(group: str) -> int:
    return next((number for pattern, number in _GROUP_HINTS if pattern.search(group)), 0)
