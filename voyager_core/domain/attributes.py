"""Where release names state languages and group.

They are stored with the release, so that a client may be told them, and nobody has to read
names again.
"""

SEPARATOR = ", "

# What a title says of a language is no fact: only what comes from the token before the first
# year, episode or format on is looked at.
AFTER_TITLE = (
    r"( [^ ]+ (?:(?:19|20)\d\d|s\d{1,4}(?:e\d+)*|\d{1,2}x\d{2,3}|\d{3,4}[pi]|ac3|dts|dl"
    r"|dubbed|subbed|web|bluray|hdtv|dvdrip|bdrip|webrip|hdrip|xvid|x264|x265|h264|h265) .*)$"
)
ENDING = r"(?i)(?:\.(?:mkv|mp4|avi|m4v|ts|mp3|flac|epub|pdf|nzb|rar|iso))$"
REPOSTED = (
    r"(?i)(?:[-. _](?:rp|pre|scrambled|obfus[a-z]{0,10}|asrequested|rakuv[a-z0-9]{0,16}"
    r"|altezachen|postbot|xpost|sample|repackpost|\d|nzbgeek|english|repost|int"
    r"|alternativetorequested|chamele0n|whiterev|z0ids3n|4p|4planet|buymore|gerov|disjoint"
    r"|news|sub|nlsubs)|[. ]ingebakken[. ]subs|[-_ ]?\[[^\]]{2,16}\])$"
)
AFTER_HYPHEN = r"-([A-Za-z0-9_]{2,24})$"
FRAMED = r"[^ ][ ._-]?\[([A-Za-z0-9]{2,16})\]$"
# `(1080p BluRay x265 Group)`
LAST_IN_BRACKETS = (
    r"(?i)[\[(][^\[\]()]*(?:[xh]\.?26[45]|hevc|webrip)[^\[\]()]*[ -]([a-z0-9]{2,20})[\])]$"
)
IN_FRONT = r"^\[([^\[\] .][^\[\].]{1,28})\]"
# `WEB-DL`, `DTS-HD` and a year end in no group's name, and `[1080p]` or a checksum are none.
NO_TEAM = (
    r"(?i)^(?:dl|hd|ma|rip|ray|es|ex|x|subs?|720p|1080p|2160p|480p|\d+|\d+bit|x26[45]|flac|mp3"
    r"|v0|[0-9a-f]{8}|hi10p|xq|aac)$"
)
