"""Names made up with a fixed seed: as people and release groups write them, and as posters do.

The words are of the languages' own, put together at random; no name is of a work.
"""

import random
import string
import uuid
from collections.abc import Callable, Iterator

_TITLES = {
    "english": "silent harbour winter road stone river night garden broken crown last summer wild"
    " thunder iron bridge paper moon lost valley deep ocean secret storm golden bird cold light",
    "german": "der stille hafen winterreise das blaue licht unter wölfen schatten über dem fluss"
    " nachtzug kinder vom bahnhof eisblumen zwei frauen geheimnis sturmflut heimkehr",
    "dutch": "de stille kust het zwarte water onder vrienden dijk meisje van de overkant vreemde"
    " zomer bloed zweet en tranen schipper naast god",
    "french": "la maison du lac les enfants perdus un été à nantes sous la pluie rivière blanche"
    " le dernier voyage rêve éternel quartier nord",
    "spanish": "la casa del río corazón abierto los días perdidos sueños de verano noche en madrid"
    " el camino largo mañana será otro día",
    "italian": "la luna di carta il vento del sud una notte a torino ragazzi perduti giorni"
    " d'estate mare aperto il segreto",
    "portuguese": "a casa do rio coração selvagem noites brancas o último verão cidade sem sol"
    " irmãos do mar",
    "swedish": "den tysta stranden vinterns hjärta flickan från öland mörkret över sjön bröderna"
    " sommarnatt",
    "danish": "den lange sommer drengen fra havnen kærlighed og brød rejsen hjem broen under sneen",
    "finnish": "hiljainen ranta yön linnut talvisota kadonnut kesä punainen järvi kuningatar",
    "polish": "cichy port zimowa droga dziewczyna z miasta ostatnie lato czarna rzeka złote serce",
    "czech": "tichý přístav zimní cesta poslední léto černá řeka ztracený svět modré světlo",
    "hungarian": "csendes kikötő téli út utolsó nyár fekete folyó elveszett világ kék fény",
    "turkish": "sessiz liman kara nehir son yaz dünya mavi gök güneş yürek şehir çocuk",
    "romanian": "portul tăcut drumul iernii ultima vară râul negru lumea pierdută lumina",
    "croatian": "tiha luka zimski put posljednje ljeto crna rijeka izgubljeni svijet plavo",
    "romaji": "kaze no machi hoshi to umi tori no uta sakura no ki yoru no hana natsu kimi ga boku"
    " mahou shoujo tenshi monogatari",
    "russian": "тихая гавань зимняя дорога последнее лето чёрная река потерянный мир синий свет",
    "greek": "ήσυχο λιμάνι χειμωνιάτικος δρόμος τελευταίο καλοκαίρι μαύρο ποτάμι",
    "chinese": "静港 冬路 最后的夏天 黑河 失落的世界 蓝光 夜行列车",
    "japanese": "静かな港 冬の道 最後の夏 黒い川 失われた世界 青い光",
    "korean": "조용한 항구 겨울길 마지막 여름 검은 강 잃어버린 세계",
    "arabic": "الميناء الهادئ طريق الشتاء الصيف الأخير النهر الأسود",
}
_NUMBERS = [
    "1917",
    "300",
    "24",
    "1408",
    "1984",
    "2012",
    "42",
    "9-1-1",
    "21",
    "12",
    "13",
    "7",
    "88",
    "451",
    "2001",
    "1922",
    "11.22.63",
    "666",
    "1883",
]
_SHORT = [
    "It",
    "Up",
    "Us",
    "Ray",
    "Her",
    "Joy",
    "Gia",
    "Jaws",
    "Heat",
    "Dune",
    "Coco",
    "Luca",
    "Soul",
    "Tenet",
    "Rome",
    "Lost",
    "Dark",
    "Fargo",
]
_ACRONYMS = [
    "NCIS",
    "CSI",
    "FBI",
    "SWAT",
    "S.W.A.T.",
    "M.A.S.H",
    "F.E.A.R",
    "JAG",
    "ER",
    "SEAL",
    "BBC",
    "ITV",
    "R.I.P.D",
    "WWE",
    "UFC",
]
_GROUPS = [
    "GRP",
    "LOL",
    "DIMENSION",
    "ViTE",
    "RARBG",
    "NTb",
    "FLUX",
    "ROVERS",
    "iNTERNAL",
    "CtrlHD",
    "d3g",
    "TBS",
    "SiNNERS",
    "W4F",
    "x0r",
]
_LANGUAGES = [
    "German",
    "FRENCH",
    "Dutch",
    "iTALiAN",
    "SWEDiSH",
    "NORDiC",
    "MULTi",
    "SPANiSH",
    "DUBBED",
    "SUBBED",
    "PL",
]
_SOURCES = [
    "BluRay",
    "WEB-DL",
    "WEBRip",
    "WEB",
    "HDTV",
    "DVDRip",
    "BDRip",
    "DVDR",
    "HDRip",
    "AMZN.WEB-DL",
    "NF.WEB-DL",
]
_CODECS = ["x264", "x265", "H.264", "H264", "HEVC", "XviD", "AVC"]
_HEIGHTS = ["480p", "576p", "720p", "1080p", "2160p"]
_PROGRAMS = [
    "Studio",
    "Editor",
    "Manager",
    "Converter",
    "Player",
    "Suite",
    "Painter",
    "Recorder",
    "Backup",
    "Cleaner",
]
_TAILS = ["Incl.Keygen", "Cracked", "Multilingual", "x64", "Portable", "Regged", "READ.NFO"]
_GAMES = [
    "CODEX",
    "RELOADED",
    "SKiDROW",
    "PLAZA",
    "FLT",
    "RAZOR1911",
    "HOODLUM",
    "TiNYiSO",
    "DARKSiDERS",
]


def readable_names(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yields the kind and the text of names that say something."""
    chance = random.Random(seed)
    kinds: list[Callable[[random.Random], str]] = [
        *[_film] * 6,
        *[_episode] * 6,
        *[_bare] * 3,
        *[_album] * 3,
        _daily,
        _season,
        _anime,
        _anime,
        _track,
        _book,
        _magazine,
        _program,
        _game,
        _spaced_film,
        _spaced_film,
    ]
    for _ in range(count):
        kind = chance.choice(kinds)
        yield kind.__name__.removeprefix("_"), kind(chance)


def random_names(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yields the shape and the text of names that posters generate, every shape as often."""
    chance = random.Random(seed)
    shapes = [*_SHAPES.items()]
    for place in range(count):
        shape, make = shapes[place % len(shapes)]
        name = make(chance)
        if chance.random() < 0.5:
            name += chance.choice((".mkv", ".part01.rar", ".rar", ".7z.001", ".bin", ".mp4", ".10"))
        yield shape, name


def _title(chance: random.Random) -> list[str]:
    odds = chance.random()
    if odds < 0.04:
        return [chance.choice(_NUMBERS)]
    if odds < 0.08:
        return [chance.choice(_SHORT)]
    if odds < 0.12:
        return [chance.choice(_ACRONYMS), *_words(chance, 0, 2)]
    return _words(chance, 1, 5)


def _words(chance: random.Random, least: int, most: int) -> list[str]:
    listed = _TITLES[chance.choice(list(_TITLES))].split()
    words = [chance.choice(listed) for _ in range(chance.randint(least, most))]
    style = chance.random()
    if style < 0.7:
        return [word[:1].upper() + word[1:] for word in words]
    return [word.upper() for word in words] if style < 0.75 else words


def _dotted(chance: random.Random, parts: list[str]) -> str:
    text = chance.choice((".", ".", ".", "_", " ")).join(part for part in parts if part)
    return text.lower() if chance.random() < 0.1 else text


def _format(chance: random.Random) -> list[str]:
    height = chance.choice((*_HEIGHTS, *_HEIGHTS, ""))
    language = chance.choice((*_LANGUAGES, *[""] * 12))
    return [language, height, chance.choice(_SOURCES), chance.choice(_CODECS)]


def _year(chance: random.Random) -> str:
    return str(chance.randint(1930, 2026))


def _film(chance: random.Random) -> str:
    name = _dotted(chance, [*_title(chance), _year(chance), *_format(chance)])
    return f"{name}-{chance.choice(_GROUPS)}"


def _spaced_film(chance: random.Random) -> str:
    ending = chance.choice(("", " [1080p]", " 720p", ".mkv", ".avi", " DVDRip"))
    return f"{' '.join(_title(chance))} ({_year(chance)}){ending}"


def _episode(chance: random.Random) -> str:
    season, number = chance.randint(1, 30), chance.randint(1, 40)
    mark = chance.choice(
        (f"S{season:02}E{number:02}", f"{season}x{number:02}", f"s{season}e{number}")
    )
    shown = [*_title(chance), mark, *_words(chance, 0, 3)]
    if chance.random() < 0.2:
        return _dotted(chance, shown) + chance.choice(("", ".mkv", ".avi", ".mp4"))
    return f"{_dotted(chance, [*shown, *_format(chance)])}-{chance.choice(_GROUPS)}"


def _daily(chance: random.Random) -> str:
    day = f"{_year(chance)}.{chance.randint(1, 12):02}.{chance.randint(1, 28):02}"
    return f"{_dotted(chance, [*_title(chance), day, *_format(chance)])}-{chance.choice(_GROUPS)}"


def _season(chance: random.Random) -> str:
    mark = f"S{chance.randint(1, 20):02}"
    return f"{_dotted(chance, [*_title(chance), mark, *_format(chance)])}-{chance.choice(_GROUPS)}"


def _anime(chance: random.Random) -> str:
    listed = _TITLES["romaji"].split()
    title = " ".join(chance.choice(listed) for _ in range(chance.randint(1, 4))).title()
    crc = f"{chance.getrandbits(32):08X}"
    return (
        f"[{chance.choice(_GROUPS)}] {title} - {chance.randint(1, 60):02}"
        f" [{chance.choice(_HEIGHTS)}]{chance.choice(('', f'[{crc}]'))}"
        f"{chance.choice(('', '.mkv'))}"
    )


def _album(chance: random.Random) -> str:
    artist, album = "_".join(_title(chance)), "_".join(_title(chance))
    form = chance.randint(0, 3)
    if form == 0:
        source = chance.choice(("CD", "WEB", "VINYL", "2CD", "CDS"))
        return f"{artist}-{album}-{source}-{_year(chance)}-{chance.choice(_GROUPS)}"
    artist, album = artist.replace("_", " "), album.replace("_", " ")
    if form == 1:
        return f"{artist} - {album} ({_year(chance)}) [{chance.choice(('FLAC', 'MP3 320', 'V0'))}]"
    if form == 2:
        return f"{artist} - {album}"
    return f"{artist}-{album}-CD-FLAC-{_year(chance)}-{chance.choice(_GROUPS)}"


def _track(chance: random.Random) -> str:
    text = " ".join([*_words(chance, 1, 2), "-", *_words(chance, 1, 3)])
    return f"{chance.randint(1, 25):02} - {text}.{chance.choice(('mp3', 'flac', 'm4a'))}"


def _book(chance: random.Random) -> str:
    author, title = " ".join(_words(chance, 2, 3)), " ".join(_words(chance, 1, 5))
    year = chance.choice(("", f" ({_year(chance)})"))
    return f"{author} - {title}{year}.{chance.choice(('epub', 'pdf', 'mobi'))}"


def _magazine(chance: random.Random) -> str:
    month = chance.choice(["January", "March", "May", "October", "Juli", "Oktober", "Februari"])
    return f"{' '.join(_words(chance, 1, 3))} {month} {_year(chance)}{chance.choice(('', '.pdf'))}"


def _program(chance: random.Random) -> str:
    version = ".".join(str(chance.randint(0, 30)) for _ in range(chance.randint(1, 4)))
    title = ".".join([*_words(chance, 1, 2), chance.choice(_PROGRAMS)])
    return f"{title}.v{version}.{chance.choice(_TAILS)}-{chance.choice(_GROUPS)}"


def _game(chance: random.Random) -> str:
    return f"{'.'.join(_title(chance))}-{chance.choice(_GAMES)}"


def _bare(chance: random.Random) -> str:
    words = _words(chance, 2, 5)
    joint = chance.choice((" ", ".", "_"))
    return joint.join(words) + chance.choice(("", ".mkv", ".avi", ".pdf", ".rar"))


_LOWER_DIGITS = string.ascii_lowercase + string.digits
_ALL = string.ascii_letters + string.digits


def _of(alphabet: str, least: int, most: int) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(alphabet, k=chance.randint(least, most)))


def _hex(chance: random.Random) -> str:
    return "".join(chance.choices("0123456789abcdef", k=chance.choice((16, 20, 24, 32, 40, 64))))


def _upper_hex(chance: random.Random) -> str:
    return "".join(chance.choices("0123456789ABCDEF", k=chance.choice((16, 20, 32, 40))))


def _uuid(chance: random.Random) -> str:
    text = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    return chance.choice((text, text.upper(), text.replace("-", "")))


def _nyuu(chance: random.Random) -> str:
    letters = "".join(
        chance.choice(string.ascii_uppercase if place % 2 == 0 else string.ascii_lowercase)
        for place in range(24)
    )
    return f"{letters}-{chance.randint(1_400_000_000_000, 1_800_000_000_000)}"


def _timestamp(chance: random.Random) -> str:
    seconds = chance.randint(1_200_000_000, 1_800_000_000)
    return chance.choice(
        (
            f"{seconds}.{chance.randint(0, 99_999):05}",
            f"{seconds}{chance.randint(0, 999):03}",
            f"{seconds:x}{chance.getrandbits(32):08x}",
        )
    )


def _pronounceable(chance: random.Random) -> str:
    vowels, consonants = "aeiou", "bcdfghjklmnprstvwz"
    text = "".join(
        chance.choice(consonants) + chance.choice(vowels) for _ in range(chance.randint(6, 12))
    )
    return text + chance.choice(("", str(chance.randint(0, 999))))


def _run_together(chance: random.Random) -> str:
    listed = _TITLES["english"].split()
    words = "".join(chance.choice(listed) for _ in range(chance.randint(4, 6)))
    return words + chance.choice(("", str(chance.randint(0, 9_999))))


def _dotted_hex(chance: random.Random) -> str:
    return ".".join(
        "".join(chance.choices("0123456789abcdef", k=chance.randint(14, 30))) for _ in range(2)
    )


def _marked_random(chance: random.Random) -> str:
    """As the request groups write it: a number, a letter and a token."""
    return f"{chance.randint(10_000_000, 99_999_999)}-n-{''.join(chance.choices(_ALL, k=20))}"


_SHAPES: dict[str, Callable[[random.Random], str]] = {
    "hex": _hex,
    "hex in capitals": _upper_hex,
    "base36": _of(_LOWER_DIGITS, 12, 32),
    "base36 in capitals": _of(string.ascii_uppercase + string.digits, 12, 24),
    "base62": _of(_ALL, 12, 40),
    "letters": _of(string.ascii_letters, 12, 32),
    "small letters": _of(string.ascii_lowercase, 12, 32),
    "base64": lambda chance: "".join(chance.choices(_ALL + "-_", k=chance.randint(20, 40))),
    "uuid": _uuid,
    "nyuu": _nyuu,
    "ngPost": _of(_ALL, 13, 17),
    "timestamp": _timestamp,
    "pronounceable": _pronounceable,
    "words run together": _run_together,
    "dotted hex": _dotted_hex,
    "numbered": _marked_random,
    "letters and brackets": lambda chance: f"[{_hex(chance)}]",
    "digits": _of(string.digits, 8, 20),
}
