"""The words by which a release name shows what it is: the vocabulary of the category rules."""

import re


def _words(listed: str) -> re.Pattern[str]:
    """Compiles words that stand alone; `~` is any one separator, or none."""
    joined = "|".join(listed.replace("~", "[ ._-]?").split())
    return re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", re.IGNORECASE)


CODEC = _words("[xh]~26[3-6] avc hevc xvid divx av1 mpeg-?2 vc-?1 wmv9?")
RESOLUTION = _words(
    r"(?:480|540|576|720|1080|1440|2160|4320)[pi](?:50|60)? [1-7]\d{2,3}[x*]\d{3,4} 4k uhd"
)
SOURCE = _words(
    """
    blu-?ray bdrip brrip bdremux mbluray bd25 bd50 bd5 bd9 hddvd dvd dvdr dvd-?rip dvd[59] dvdscr
    screener web web-?dl web-?rip web-?mux dlmux hdtv pdtv dsr dsrip tvrip satrip dvbrip hdrip
    hdcam camrip cam telesync telecine hdts hdtc vhsrip vhs ppv r5 remux
    """
)
BROADCAST = _words("hdtv pdtv dsr tvrip satrip dvbrip 1080i hdtvrip")
UHD = _words("2160[pi] uhd 4k 4320p")
HD_PICTURE = _words(r"(?:720|1080|1440)[pi](?:50|60)? 1280[x*]\d{3} 1920[x*]\d{3,4}")
HD_SOURCE = _words("blu-?ray mbluray web-?dl web-?rip web-?mux")
SD_PICTURE = _words("480[pi] 540[pi] 576[pi] xvid divx")

XXX = _words("xxx onlyfans siterip brazzers naughtyamerica realitykings bangbros")
IMAGES = _words("image-?sets? jpe?g pics picset")
COMIC = _words("cb[rz7t] c2c comics? manga digital~zone")
DIGITAL_COMIC = re.compile(r"(?<!\d)\d{2,3}(?!\d).*[(. ]digital[). ]", re.IGNORECASE)
AUDIOBOOK = _words("audio-?books? unabridged abridged m4b h[öo]rbuch")
EBOOK = _words("epub mobi azw3? e-?books? fb2 djvu")
PDF = _words("pdf")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
MAGAZINE = _words(
    rf"""
    magazines? weekly monthly newspaper issue~\d+ revista zeitschrift
    {_MONTH}~(?:\d\d~)?(?:19|20)\d\d (?:19|20)\d\d~\d\d~\d\d
    """
)
TECHNICAL = _words(
    r"""
    \d+(?:st|nd|rd|th)~edition programming handbook textbook o'?reilly apress packt wrox springer
    wiley engineering statistics mathematics manning no~starch
    """
)
CONSOLES = [
    (_words("ps4"), 1180),
    (_words("ps3"), 1080),
    (_words("psv ps-?vita vita"), 1120),
    (_words("psp"), 1020),
    (_words("x360 xbox~360 xbla"), 1050),
    (_words("xbox~one xb1 xbox~series~[xs]? xsx"), 1140),
    (_words("wii~u"), 1130),
    (_words("wiiware"), 1060),
    (_words("wii"), 1030),
    (_words("3ds"), 1110),
    (_words("nds"), 1010),
    (_words("xbox"), 1040),
    (
        _words(
            """
            nsw nintendo~switch switch~(?:nsp|xci) nsp xci ps5 ps2 psx gba gbc ngc n64 dreamcast
            gamecube
            """
        ),
        1090,
    ),
]
ANIME_GROUP = re.compile(
    r"^\[[^\]]{2,40}\].*[ ._]-[ ._]?\d{1,4}(?:v\d)?(?!\d)"
    r"|[ ._]-[ ._]\d{2,4}(?:v\d)?[ ._]?\[(?:480|720|1080)p\]|-ANi[A-Za-z0-9]*$"
)
CRC_TAG = re.compile(r"[\[(][0-9A-Fa-f]{8}[\])]")
ANIME = _words("anime subsplease horriblesubs erai-raws")
SPORT = _words(
    """
    nhl nba wnba nfl mlb mls ufc wwe aew wwf tna njpw bellator motogp moto[23] nascar indycar
    formula~[1234e] f1 wrc wtcc dtm superbikes? epl premier~league la~liga bundesliga serie~a
    champions~league uefa fifa atp wta wimbledon roland~garros pga nrl afl super~rugby six~nations
    olympics? tour~de~france grand~prix super~bowl world~cup boxing world~series~of~fighting
    """
)
DOCUMENTARY = _words("docu doc documentary dokumentation doku national~geographic")
ANDROID = _words("android apk")
IOS = _words("iphone ipad ipod ios")
MAC = _words("mac~os(?:~x)? osx os~x dmg")
MOBILE = _words("symbian s60v?\\d* pocketpc windows~mobile blackberry")
GAME_GROUP = re.compile(
    r"-(?:codex|rune|tenoke|flt|fairlight|razor1911|skidrow|reloaded|prophet|cpy|plaza|hoodlum"
    r"|darksiders|simplex|tinyiso|postmortem|hi2u|deviance|vitality|procyon|chronos|doge|goldberg"
    r"|unleashed|i_know|outlaws|inlaws|bat|dinobytes|theta|ali213|3dm|dodi|fitgirl|elamigos|kaos)$",
    re.IGNORECASE,
)
GAME = _words("fitgirl dodi~repack gog r\\.?g~mechanics elamigos steam~rip")
PODCAST = _words("podcasts? radio~show")
LOSSLESS = _words("flac ape alac lossless 24-?bit wavpack dsd(?:64|128)? sacd")
MUSIC_VIDEO = re.compile(
    r"(?<![A-Za-z0-9])(?:mbluray|mdvdr?|concert|live[ ._](?:in|at|from)|unplugged)(?![A-Za-z0-9])"
    r"|^[^-]{2,80}-[^-]{2,120}-(?:[^-]{2,20}-){0,3}(?:dvdrip-)?[xh]26[45]-(?:19|20)\d\d-",
    re.IGNORECASE,
)
MUSIC_SCENE = re.compile(
    r"-\(?(?:\d{0,2}cd|\d?cd[sm]|cdr|cdep|web|webflac|vinyl|vls|lp|ep|sat|cable|dab|fm|bootleg"
    r"|tape|cassette|digital|promo|retail|mixtape|dvda|12inch|7inch)"
    r"[a-z0-9]*\)?-(?:.*-)?(?:\d\d-\d\d-)?(?:19|20)\d\d(?:-|$)",
    re.IGNORECASE,
)
MUSIC_PLAIN = re.compile(r"^[^-]{2,60}-[^-]{2,80}-(?:[^-]{2,20}-)?(?:19|20)\d\d-[A-Za-z0-9]{2,12}$")
MP3 = _words("mp3 (?:128|160|192|224|256|320)~k(?:bps)? v0 vbr discograph(?:y|ie) m4a ogg")
VARIOUS = re.compile(r"^VA[ ._]?-", re.IGNORECASE)
ISO = _words("iso")
SOFTWARE = re.compile(
    r"(?<![A-Za-z0-9])(?:key-?gen|keymaker|crack(?:ed)?|patch(?:ed)?|serial|x64|x86"
    r"|win(?:all|dows|32|64)?|multilingual|multilanguage|portable|linux|incl|regged"
    r"|retail[ ._]v\d|setup|activator|plugin|vsti?|v\d{1,4}(?:\.\d+)+[a-z]?|v\d{1,3}[ ._]\d+)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
STEREO = _words("3d h-?sbs half~(?:ou|sbs) h-?ou")
STEREO_LAYOUT = _words("h-?sbs half~(?:ou|sbs) h-?ou")
BLURAY_DISC = _words("complete~(?:uhd~)?blu-?ray bd25 bd50 bdmv")
DVD = _words("dvdr dvd-r dvd[59] ntsc~dvd pal~dvd")
WMV = _words("wmv9?")
XVID = _words("xvid divx")
MP4 = _words("mp4")
PACK = _words("pack siterip megapack collection")
MEDIA_SUFFIX = re.compile(
    r"\.(?:mkv|mp4|avi|m4v|mov|mpe?g|ts|m2ts|wmv|rar|zip|7z|nzb|par2|nfo|sfv|r\d\d|\d{3}"
    r"|part\d+(?:\.rar)?)$",
    re.IGNORECASE,
)
VIDEO_FILE = re.compile(r"\.(?:mkv|mp4|avi|m4v|mov|mpe?g|ts|m2ts|wmv|vob)$", re.IGNORECASE)
AUDIO_FILE = re.compile(r"\.(?:mp3|ogg|m4a|aac|wma)$", re.IGNORECASE)
PROGRAM_FILE = re.compile(r"\.(?:exe|msi|appimage|deb|rpm|jar)$", re.IGNORECASE)

HEX = re.compile(r"[0-9a-fA-F]{16,}")
ONE_TOKEN = re.compile(r"[A-Za-z0-9]{12,}")
LETTERS = re.compile(r"[A-Za-z]{5,}")
CLASS_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")
