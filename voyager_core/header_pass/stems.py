"""What file names say: the stem that the files of one upload share, and the kind of each file.

The tables of this module are the rules; the native core compiles them once and asks them of whole
columns (`voyager_native.StemRules`), all endings of a name in one walk from its last byte. The
patterns keep to what the Rust regex engine knows (no look-around).
"""

from functools import lru_cache

import polars as pl

import voyager_native

_TEMPORARY = r"\.(?:te?mp|bak|filepart)"
# .vol127+128.par2, .vol001-003.par2, .vol-07.par2, _vol3+4.PAR2, .vol0+1-Repost.par2, .7z.001.par2
_PAR2 = (
    r"(?:[._ -]+vol(?:ume)?[._ -]?\d+(?:\s?[+-]\s?\d+)?)?"
    r"(?:[._ -](?:repost|fix|fill))?\.par2(?:\.par2)?"
)
_PAR1 = r"\.(?:par|p\d\d)"
_PIECE = (
    r"(?:\.part[._ ]?\d{1,4}(?:\.(?:rar|7z|zip|exe|r\d\d))?|\.[rt-z]\d{2,3}"
    r"|\.(?:7z|zip|rar|tar|gz|c)[._]?\d{2,4}"
    r"|\.(?:mkv|mp4|avi|wmv|mpe?g|ts|iso|img|bin|m4v)\.\d{3})"
)
# `.s00` follows `.r99` at the end of a whole name; before another ending it is a season.
_VOLUME = rf"(?:{_PIECE}|\.(?-i:s)\d{{2,3}})"
_CAPITALS_VOLUME = r"^([^a-z]+)\.S[0-9]{2,3}$"
# Only as the end of the whole name: `show.101.part01.rar` is episode 101.
_NUMBERED = r"\.(?:\d{3}|0\d{3})"
_NUMBERED_RANDOM = r"^([0-9A-Fa-f]{16,}|[A-Za-z0-9]{20,})\.\d{1,4}$"
_EXTENSION = (
    r"\.(?:rar|zip|7z|tar|t?gz|bz2|xz|ace|arj|lzh|cab|exe|msi|appimage|deb|rpm|jar|apk|ipa|dmg"
    r"|pkg|iso|img|bin|cue|nrg|mdf|mds|ccd|sub|idx|srt|ass|ssa|smi|sup|nfo|sfv|srr|srs|nzb|md5"
    r"|sha\d*|diz|txt|jpe?g|png|gif|bmp|webp|tiff?|mkv|mp4|m4v|avi|wmv|mov|mpe?g|m?ts|m2ts|vob"
    r"|ifo|bup|flv|webm|ogm|rmvb|divx|mp[23]|flac|ogg|opus|m4[ab]|aac|wav|ape|wv|ac3|dts|wma|mka"
    r"|epub|mobi|azw3?|pdf|cb[rz7t]|djvu|lit|docx?|rtf|torrent|url|html?|xml|log|m3u8?|pls|clpi"
    r"|mpls|bdmv)"
)
_ROLE_AFTER = (
    r"[._ -]+[\[(]?(?:samples?|proof|subs?|subtitles?|subpack|vobsubs?|covers?|screens?|nfofix"
    r"|samplefix|nfo|sfv|par2?|extras?|thumbs?|folder|front|back)[\])]?"
)
_ROLE_BEFORE = r"(?i-u)^[\[(]?(?:samples?|proof|subs?|covers?|screens?)[\])]?[._ -]+"
_SITE_AFTER = r"(?i-u)[_ .-]+www[._][a-zA-Z0-9._-]+$"
_SEPARATORS = r"[\s._]+"

LETTER = r"[\p{L}\p{N}]"
"""A letter or digit of any script."""
_LONE_ARCHIVE = r"\.(?:rar|zip|7z|ace|arj|tar|t?gz)"
_FIRST_VOLUME = r"\.part0*1(?:\.(?:rar|exe))?|\.(?:7z|zip|rar)[._]0*1|\.0{1,3}1"
_SIDECAR = r"nfo|sfv|nzb|srr|srs|md5|sha\d*|diz|txt|url|html?|xml|log|m3u8?|jpe?g|png|gif|bmp"
_TRACK = r"mp[23]|flac|ogg|opus|m4[ab]|aac|wav|ape|wv|wma|mpc"
_DISC_PART = r"m?2?ts|vob|ifo|bup|clpi|mpls|bdmv|bdjo|jar|crt|otf|idx|sub|srt|sup|cue"
_BOOK = r"epub|mobi|azw3?|pdf|cb[rz7t]|djvu|lit|fb2|docx?|rtf"

ENDINGS = {
    "temporary": _TEMPORARY,
    "par2": _PAR2,
    "par1": _PAR1,
    "piece": _PIECE,
    "volume": _VOLUME,
    "numbered": _NUMBERED,
    "extension": _EXTENSION,
    "role_after": _ROLE_AFTER,
    "lone_archive": _LONE_ARCHIVE,
    "first_volume": _FIRST_VOLUME,
    "sidecar": rf"\.(?:{_SIDECAR})",
    "track": rf"\.(?:{_TRACK})",
    "disc_part": rf"\.(?:{_DISC_PART})",
    "book": rf"\.(?:{_BOOK})",
}
"""Ends of names, whatever the case of their letters."""
PATTERNS = {
    "capitals_volume": _CAPITALS_VOLUME,
    "numbered_random": _NUMBERED_RANDOM,
    "role_before": _ROLE_BEFORE,
    "site_after": _SITE_AFTER,
}
"""Patterns of names; the first group is what stays, else all but the match."""
VOLUMES = ["volume", "numbered"]
"""Of these the longest is cut first; what follows is cut from what is left."""
TITLE_VOLUMES = ["piece", "numbered"]
"""The same of titles that may hold the name of a file."""
CUTS = [
    *("temporary", "par2", "par1", "piece", "piece", "numbered_random"),
    *("extension", "extension", "role_after", "piece", "extension", "role_after"),
    *("role_before", "site_after"),
]
"""What is cut after each other; nothing is cut of which nothing would be left."""
MEMBERS = ["par2", "par1", *VOLUMES, "lone_archive", "numbered_random"]
"""What the names of the members of a set end with."""
KINDS_BY_ENDING: dict[str, tuple[list[str], list[str]]] = {
    "_is_lone_archive": (["lone_archive"], VOLUMES),
    "_is_start": (["first_volume"], []),
    "_is_par2": (["par2"], []),
    "_is_sidecar": (["sidecar"], []),
    "_is_track": (["track"], []),
    "_is_piece": (["disc_part", "track", "sidecar"], []),
    "_is_book": (["book"], []),
}
"""Kinds of files: those with one of the first endings and none of the second."""


KINDS = ("_is_par2", "_is_start", "_is_sidecar")
"""What is asked of a file's name once its release is known."""


def with_kinds(files: pl.DataFrame) -> pl.DataFrame:
    """Returns files with the `KINDS` of their names."""
    return files.hstack(features(files["name"]).select(KINDS))


def features(names: pl.Series, *, is_file: bool = True) -> pl.DataFrame:
    """Returns what names say, one row a name, in their order.

    Args:
        names: any number of times each.
        is_file: whether they are names of files, and not titles that may hold one.

    Returns:
        `name`; `_shown` (as `display_stem`), `_stem` (as `key_form`), and a number for each
        (`_shown_id`, `_stem_id`); `_is_specific`, whether the stem identifies an upload; and
        `_is_KIND` for the kinds of this module.
    """
    told = pl.DataFrame(_rules(is_file=is_file).describe(names.to_frame("name"), "name"))
    return told.select(
        names.alias("name"),
        pl.exclude("_is_specific", "_is_start"),
        _is_specific=pl.col("_is_specific") & ~pl.col("_is_track"),
        _is_start=pl.col("_is_start") | pl.col("_is_lone_archive"),
    )


def display_stem(name: pl.Series, *, is_file: bool = True) -> pl.Series:
    """Returns names without volume, parity, archive, media and role endings, in their own case.

    `Some.Show.part01.rar`, `Some.Show.vol03+04.par2`, `Some.Show-sample.mkv` all give `Some.Show`.
    A name that would vanish keeps what it had.

    Args:
        name: the names.
        is_file: whether they are names of files, and not titles that may hold one.
    """
    return features(name, is_file=is_file)["_shown"]


def key_form(stem: pl.Series) -> pl.Series:
    """Returns stems in the form in which they are compared: lower case, separators alike."""
    text = pl.col("text")
    form = text.str.to_lowercase().str.replace_all(_SEPARATORS, ".")
    return stem.to_frame("text").select(form).to_series()


def is_extra(name: pl.Series) -> pl.Series:
    """Tells files about a sample, a proof or subtitles, parity and archives of them included."""
    return name.str.contains(r"(?i-u)(?:^|[._ -])(?:samples?|proof|subs?|vobsubs?|covers?)[._ -]")


def volume_number(name: pl.Series) -> pl.Series:
    """Returns the number in a volume's name (0 without one), to tell the last volume."""
    number = name.str.extract(
        r"(?i-u)\.(?:part|7z\.|zip\.|rar\.|[r-z])?0*(\d{1,4})(?:\.\w{2,4})?$", 1
    )
    return number.cast(pl.UInt32, strict=False).fill_null(0)


@lru_cache(maxsize=2)
def _rules(*, is_file: bool) -> voyager_native.StemRules:
    return voyager_native.StemRules(
        endings=ENDINGS,
        patterns=PATTERNS,
        around=' "',
        transient="temporary",
        members=MEMBERS,
        volumes=VOLUMES if is_file else TITLE_VOLUMES,
        cuts=["capitals_volume", *CUTS] if is_file else CUTS,
        edges=" \t._-",
        separators=_SEPARATORS,
        specific_length=8,
        kinds=KINDS_BY_ENDING,
    )
