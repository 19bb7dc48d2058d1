"""The Newznab categories: their numbers and names.

Apart from the rules that file releases, so that the API starts without a library for frames.
"""

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
