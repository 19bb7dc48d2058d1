"""What the text before a file's counter is worth as the name of a set.

A head may name the release (`Some.Show.S01E02-GRP [03/25]`), name it in plain words, carry
an id that no other post has, or be the poster's banner, which stands over many releases.
Only what the words themselves show is judged here, so that the same head is graded alike
wherever a group is cut; heads that turn out to be shared are handled by the identity.
"""

from functools import lru_cache

import polars as pl

import voyager_native

BANNER = 0
"""Says nothing about the release: empty, an advertisement, a word such as `Film`."""
WORDS = 1
"""Plain words; may be a title, may be the poster's phrase."""
NAME = 2
"""Names one release: a scene name, an episode, an id or a random token."""

_SITE = r"(?i)(?:https?://|www\.)[^\s\])>]+|[\w-]+(?:\.[\w-]+)*\.(?:net|org|com|info|ag|tk|biz|ws|eu)(?:\b|$)"
_PHRASES = (
    r"(?i)\b(?:partner(?:s)?(?:\s+(?:of|von))?|power(?:e?d)\s+by|powered|sponsor(?:ed)?(?:\s+(?:by|von))?"
    r"|proudly|presents?|presented(?:\s+by)?|pr[äa]sentiert|brought\s+to\s+you(?:\s+by)?|posted\s+by|uploaded\s+by"
    r"|upp?ed\s+by|uploader|poster|thanks?(?:\s+to)?|(?:as\s+)?requested|re-?post|re-?up|req(?:uest)?s?|fill|flood"
    r"|only\s+(?:for|the\s+best)|the\s+best\s+4\s+you|have\s+fun|enjoy|welcome|usenet|secretusenet|ssl-?news|newsconnection"
    r"|town|efnet|full|private|wtfnzb|encryptnzb|n3wz|description|beschreibung|here(?:'s|\s+is)?|your\s+file|new|old|retail|scans?"
    r"|team|crew|group|elite|nzb|yenc|par2?|rar|files?|pack(?:age)?|upload|archive)\b"
)
_KINDS = (
    r"(?i)\b(?:films?|movies?|series?|serien?|shows?|tv|hdtv|hd|sd|uhd|4k|3d|1080p|720p|2160p|dvd|bluray|x264|x265|videos?|clips?|music|musik"
    r"|mp3s?|flac|albums?|audio|sounds?|e?books?|comics?|magazines?|games?|apps?|software|0day|xxx|docus?|dokus?|anime|cartoons?"
    r"|pics?|pictures?|images?|misc|other|open|german|english|dutch|french|stuff|great|nice|good|cool|the|a|an|of|von|and|for|from|to|in|my|by|more)\b"
)
_RANDOM_ID = (
    r"(?i)(?:^|[^a-z0-9])(?:\d{5,}|[0-9a-f]{10,}|[a-z]+\d+[a-z]+\d[a-z0-9]{4,}|\d+[a-z]+\d+[a-z][a-z0-9]{4,})"
    r"(?:[^a-z0-9]|$)"
)
_EPISODE = r"(?i)(?:^|[^a-z0-9])(?:s\d{1,4}[ ._-]?e\d{1,4}|\d{1,2}x\d{2,3})(?:[^a-z0-9]|$)"
_SCENE = (
    r"[A-Za-z0-9']+(?:[._][A-Za-z0-9()'+&,]+){3,}-[A-Za-z0-9_]{2,}"
    r"|[A-Za-z0-9]+(?:_[A-Za-z0-9()'+&,]+){2,}-[A-Za-z0-9_-]{2,}"
)
_DOTTED = r"^\s*[^\s]+(?:[._][^\s._]+){3,}\s*$"
_NAMED = f"(?:{_RANDOM_ID})|(?:{_SCENE})|(?:{_DOTTED})"
_NO_REQUEST = r"(?i)^(?:re-?post(?:ed)?|fills?|full|pars?|par2)$"


def grades(heads: pl.Series) -> pl.Series:
    """Returns BANNER, WORDS or NAME for each head (UInt8)."""
    return pl.DataFrame(_rules().grades(heads.to_frame("head"), "head")).to_series()


def squeezed(texts: pl.Series) -> pl.DataFrame:
    """Returns `text` in the form in which heads are compared, and `id`, a number for each."""
    return pl.DataFrame(_rules().squeezed(texts.to_frame("text"), "text"))


def squeezed_requests(requests: pl.Series) -> pl.DataFrame:
    """Returns what `squeezed` does; a request that only says that something is posted is empty."""
    return pl.DataFrame(_rules().requests(requests.to_frame("text"), "text"))


@lru_cache(maxsize=1)
def _rules() -> voyager_native.HeadRules:
    return voyager_native.HeadRules(
        nothing=[_SITE, _PHRASES],
        kinds=_KINDS,
        least_letters=3,
        named=_EPISODE,
        named_bare=_NAMED,
        separators=r"[\s._]+",
        edges=" -[](){}<>",
        no_request=_NO_REQUEST,
    )
