"""What file names say: the stem that the files of one upload share, and the kind of each file.

Everything here goes over whole columns of names. The patterns keep to what the Rust regex engine
knows (no look-around); anchored at the end and without captures they cost 20 to 60 ns a name,
against 400 ns with a capture.
"""

from collections.abc import Callable

import polars as pl

_TEMPORARY = r"\.(?:te?mp|bak|filepart)"
# .vol127+128.par2, .vol001-003.par2, .vol-07.par2, _vol3+4.PAR2, .vol0+1-Repost.par2, .7z.001.par2
_PAR2 = (
    r"(?:[._ -]+vol(?:ume)?[._ -]?\d+(?:\s?[+-]\s?\d+)?)?"
    r"(?:[._ -](?:repost|fix|fill))?\.par2(?:\.par2)?"
)
_RECOVERY = r"vol(?:ume)?[._ -]?\d+(?:\s?[+-]\s?\d+)?(?:[ ._-][A-Za-z]+)?\.par2"
_PAR1 = r"\.(?:par|p\d\d)"
_VOLUME = (
    r"(?:\.part[._ ]?\d{1,4}(?:\.(?:rar|7z|zip|exe|r\d\d))?|\.[r-z]\d{2,3}"
    r"|\.(?:7z|zip|rar|tar|gz|c)[._]?\d{2,4}"
    r"|\.(?:mkv|mp4|avi|wmv|mpe?g|ts|iso|img|bin|m4v)\.\d{3})"
)
# Only as the end of the whole name: `show.101.part01.rar` is episode 101.
_NUMBERED = r"\.(?:\d{3}|0\d{3})"
_NUMBERED_RANDOM = r"^(?:[0-9A-Fa-f]{16,}|[A-Za-z0-9]{20,})\.\d{1,4}$"
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
_SEPARATORS = r"[\s._]+"

_LONE_ARCHIVE = r"\.(?:rar|zip|7z|ace|arj|tar|t?gz)"
_FIRST_VOLUME = r"\.part0*1(?:\.(?:rar|exe))?|\.(?:7z|zip|rar)[._]0*1|\.0{1,3}1"
_SIDECAR = r"nfo|sfv|nzb|srr|srs|md5|sha\d*|diz|txt|url|html?|xml|log|m3u8?|jpe?g|png|gif|bmp"
_TRACK = r"mp[23]|flac|ogg|opus|m4[ab]|aac|wav|ape|wv|wma|mpc"
_DISC_PART = r"m?2?ts|vob|ifo|bup|clpi|mpls|bdmv|bdjo|jar|crt|otf|idx|sub|srt|sup|cue"
_BOOK = r"epub|mobi|azw3?|pdf|cb[rz7t]|djvu|lit|fb2|docx?|rtf"


def display_stem(name: pl.Series) -> pl.Series:
    """Returns names without volume, parity, archive, media and role endings, in their own case.

    `Some.Show.part01.rar`, `Some.Show.vol03+04.par2`, `Some.Show-sample.mkv` all give `Some.Show`.
    A name that would vanish keeps what it had.
    """
    # The volumes of an archive are alike from here on, and there are ten times fewer texts.
    return once(_cut(name.str.strip_chars(' "'), f"{_VOLUME}|{_NUMBERED}"), _without_endings)


def _without_endings(stem: pl.Series) -> pl.Series:
    for ending in (_TEMPORARY, _PAR2, _PAR1, _VOLUME, _VOLUME):
        stem = _cut(stem, ending)
    numbered = stem.str.contains(_NUMBERED_RANDOM)
    if numbered.any():
        stem = _cut(stem, r"\.\d{1,4}").zip_with(numbered, stem)
    for ending in (_EXTENSION, _EXTENSION, _ROLE_AFTER, _VOLUME, _EXTENSION, _ROLE_AFTER):
        stem = _cut(stem, ending)
    without_role = stem.str.replace(_ROLE_BEFORE, "")
    stem = without_role.zip_with(without_role != "", stem)
    stem = _cut(stem, r"[_ .-]+www[._][a-zA-Z0-9._-]+")
    plain = stem.str.strip_chars(" \t._-")
    return plain.zip_with(plain != "", stem)


def key_form(stem: pl.Series) -> pl.Series:
    """Returns stems in the form in which they are compared: lower case, separators alike."""
    return stem.str.to_lowercase().str.replace_all(_SEPARATORS, ".")


def once(texts: pl.Series, work_out: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Returns what `work_out` makes of each text, worked out once for a distinct one."""
    distinct = texts.unique()
    found = pl.DataFrame({"text": distinct, "found": work_out(distinct)})
    return texts.to_frame("text").join(found, on="text", how="left", maintain_order="left")["found"]


def is_par2(name: pl.Series) -> pl.Series:
    """Tells parity files."""
    return _ends(name, _PAR2)


def is_par2_index(name: pl.Series) -> pl.Series:
    """Tells parity files without recovery blocks, as far as their names show it."""
    return is_par2(name) & ~_ends(name, _RECOVERY)


def is_member(name: pl.Series) -> pl.Series:
    """Tells names that belong to a set by their form: volumes, parity, archives, pieces."""
    plain = _cut(name.str.strip_chars(' "'), _TEMPORARY)
    return _ends(
        plain, f"{_PAR2}|{_PAR1}|{_VOLUME}|{_NUMBERED}|{_LONE_ARCHIVE}"
    ) | plain.str.contains(_NUMBERED_RANDOM)


def is_lone_archive(name: pl.Series) -> pl.Series:
    """Tells archives that may be whole in themselves (`.rar`, `.zip`)."""
    return _ends(name, _LONE_ARCHIVE) & ~_ends(name, f"{_VOLUME}|{_NUMBERED}")


def is_archive_start(name: pl.Series) -> pl.Series:
    """Tells the first volume of an archive, as far as names show it."""
    return _ends(name, _FIRST_VOLUME) | is_lone_archive(name)


def is_extra(name: pl.Series) -> pl.Series:
    """Tells files about a sample, a proof or subtitles, parity and archives of them included."""
    return name.str.contains(r"(?i-u)(?:^|[._ -])(?:samples?|proof|subs?|vobsubs?|covers?)[._ -]")


def volume_number(name: pl.Series) -> pl.Series:
    """Returns the number in a volume's name (0 without one), to tell the last volume."""
    number = name.str.extract(
        r"(?i-u)\.(?:part|7z\.|zip\.|rar\.|[r-z])?0*(\d{1,4})(?:\.\w{2,4})?$", 1
    )
    return number.cast(pl.UInt32, strict=False).fill_null(0)


def is_sidecar(name: pl.Series) -> pl.Series:
    """Tells small companions: descriptions, checksums, NZBs, pictures."""
    return _ends(name, rf"\.(?:{_SIDECAR})")


def is_track(name: pl.Series) -> pl.Series:
    """Tells sound files, of which an upload holds many with names of their own."""
    return _ends(name, rf"\.(?:{_TRACK})")


def is_piece(name: pl.Series) -> pl.Series:
    """Tells files that are nothing by themselves: tracks, pictures, parts of a disc."""
    return _ends(name, rf"\.(?:{_TRACK}|{_SIDECAR}|{_DISC_PART})")


def is_book(name: pl.Series) -> pl.Series:
    """Tells books and magazines, which are posted in floods and stand alone."""
    return _ends(name, rf"\.(?:{_BOOK})")


def _cut(text: pl.Series, ending: str) -> pl.Series:
    """Removes an ending, unless nothing would be left."""
    cut = text.str.replace(f"(?i-u)(?:{ending})$", "")
    return cut.zip_with(cut != "", text)


def _ends(text: pl.Series, ending: str) -> pl.Series:
    return text.str.contains(f"(?i-u)(?:{ending})$")
