"""Which of the texts that a release's subjects offer is its name.

A subject may hold a request, a title before the file's counter, the file's own name and a text
after it. What is taken is said by the rules of `best_name`, in their order.
"""

import re
from functools import lru_cache

from voyager_core.domain.names import SEPARATED, is_readable_name, words_of

_FULL_OF_DOTS = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9][\w'()&+,!.-]{7,}-[A-Za-z0-9_]{2,}(?![A-Za-z0-9])"
)
_PRESENTS = re.compile(r"^.*?(?:uploader[. _])?presents[-. _:]+", re.IGNORECASE)
# A blank inside a dotted name: `Some.Show.S01E02.DANiSH HDTV.x264-GRP`.
_GOES_BEFORE = re.compile(r"(?<![^\s\[(<>])[A-Za-z0-9][\w'()&+,!-]*\.[\w'()&+,!.-]* $")
_WORD_BEFORE = re.compile(r"\w $")
_CAPITALS = re.compile(r"[A-Z].*[A-Z].*[A-Z]")
_SITE = re.compile(
    r"(?:https?://|www\.)[\w./-]+"
    r"|(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.(?:net|org|com|info|ag|tk|biz|ws|eu|cc|to)(?!\w|[.-]\w|$)"
    r"|(?<![\w.-])[\w-]+\.(?:net|org|com|info|ag|biz|eu)$",
    re.IGNORECASE,
)
# What posters write around a title: their own name and verb, sizes, invitations.
_POSTER = re.compile(
    r"^(?:[\w.#-]+[ ._]){0,2}"
    r"(?:uppt|postet|posts?|presents|proudly[ ._]presents|uploads?|flood)[ ._:-]+"
    r"|[\[(]?(?<![\w.,])\d+(?:[.,]\d+)? ?[kmgt]i?b(?!\w)[\])]?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[<>|]+|\]\s*-*\s*\[|\)\s*-*\s*\[|\]\s*-*\s*\(|=-|-=)\s*")
_FRAMED = re.compile(r"[ =-]*[\[(] ?(?P<inner>[^\[\]]{8,})[\])](?:[ .-]|$)")
_TAG = re.compile(
    r"(?<![A-Za-z0-9])(?:s\d{1,4}(?:[ ._]?e\d{1,4})*|\d{1,2}x\d{2,3}|(?:19|20)\d\d"
    r"|(?:480|540|576|720|1080|2160)[pi]|[xh][. ]?26[45]|xvid|divx|hevc|dvd-?rip|dvdr|blu-?ray|hdtv"
    r"|pdtv|web-?(?:dl|rip)|bd-?rip|flac|german|french|dutch|dubbed)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_LISTED = re.compile(r"^[\[(]?\d{1,3}[\])]?(?:[ ._-]|$)(?!of )|[ ._-](?:0\d{1,2}|\d{1,3}-\d{1,3})$")
_SPACED = re.compile(r"[ ._]")
_LIST_NUMBER = re.compile(r"^0{2,3}-(?=.+-.+-(?:19|20)\d\d(?:-|$))")
_EPISODE = re.compile(r"(?<![a-z0-9])(?:s\d+[ ._]?e\d|\d+x\d\d)", re.IGNORECASE)
_TOKEN = re.compile(r"[a-z0-9]+")
_NOISE_WORDS = """
    repost reposted reup request requested req fill fills full par par2 pars yenc nzb mp3 kbps kb
    mb gb new neu neue post posts poster original thanks thnx thx to nmr flood the and for of by
    von bei presents presented proudly powered sponsored partner www http https com net org info
    usenet ssl news town pw password passwort file files part parts complete description
    beschreibung here is your you are enjoy have fun welcome team crew upload uploader uploaded
    sample cover pc misc other stuff great nice good old but sold divers rar zip nfo sfv private
    wtfnzb encryptnzb
"""
_NOISE = frozenset(_NOISE_WORDS.split())
_MOST_CHARACTERS = 400
_MOST_WORDS = 12
_TAG_WORTH = 2
_TITLE_WORDS = 3


@lru_cache(maxsize=16384)
def worth(text: str) -> int:
    """Returns how much a text says: its words and, twice, each year, episode or format."""
    text = text[:_MOST_CHARACTERS]
    if not text or not is_readable_name(text):
        return 0
    found = {
        word.lower()
        for token in SEPARATED.findall(text)
        for word in ((token,) if token.isalpha() else words_of(token, alone=False))
    }
    words = {word for word in found if len(word) > 1 and word not in _NOISE}
    return min(len(words), _MOST_WORDS) + _TAG_WORTH * len(_TAG.findall(text))


@lru_cache(maxsize=16384)
def scene_name(text: str, *, is_file: bool = False) -> str:
    """Returns the release name in scene form inside a text, or nothing.

    Such a name has no blanks, three or more parts, and a group after its last hyphen; two
    parts are enough before a group in capitals. Of several the one that says most is taken.

    Args:
        text: a title or a file name.
        is_file: whether it is a file name, where words in front belong to the name.
    """
    text = text[:_MOST_CHARACTERS]
    hyphens = text.count("-")
    if not hyphens or (hyphens < 3 and "." not in text and "_" not in text):
        return ""
    if "presents" in text.casefold():
        text = _PRESENTS.sub("", text)
    best = ""
    text = _without_sites(text)
    for match in _FULL_OF_DOTS.finditer(text):
        before = _GOES_BEFORE.search(text, 0, match.start())
        if before is None and is_file and _WORD_BEFORE.search(text, 0, match.start()):
            continue
        name = (before[0] if before else "") + match[0].strip("-._,")
        if name.count("(") != name.count(")"):
            name = name.strip("()")
        parts = [part for part in re.split(r"[._]", name) if part]
        pieces = [part for part in name.split("-") if part]
        is_name = len(parts) > 2 or len(pieces) > 3
        # A tag with a date is none.
        is_name = is_name and sum(not part.isdigit() for part in re.split(r"[._-]", name)) > 1
        is_name = is_name or (len(parts) == 2 and _CAPITALS.search(pieces[-1]) is not None)
        if is_name and "www." not in name.lower():
            best = max(best, name, key=lambda each: (bool(_TAG.search(each)), len(each)))
    return best if best and is_readable_name(best) else ""


@lru_cache(maxsize=16384)
def title_in(text: str) -> str:
    """Returns the part of a text that says most, without what posters write around a title."""
    text = _without_sites(text[:_MOST_CHARACTERS])
    framed = _FRAMED.match(text)
    if framed and worth(inner := _cleaned(framed["inner"])) > _TITLE_WORDS:
        return inner
    segments = [_cleaned(segment) for segment in _BETWEEN.split(text)]
    return max(segments, key=worth, default="")


def best_name(request: str, head: str, stem: str, *, is_shared_stem: bool, tail: str = "") -> str:
    """Returns the name of a release out of what its subjects offer.

    1. A request, unless it only says that something is posted again.
    2. A scene name: the title's, else the file's, else that after the file; one with a year,
       an episode or a format before one without.
    3. Both times, the file's own scene name where all files share it, the title states no
       episode, and the name holds every word of the title and more.
    4. A title in words where the files are many (tracks, pages), or where it says more than
       the file's name; else the file's name.
    5. Of random names the one before the counter, which stands over all files.

    Args:
        request: the name between the brackets of a request post.
        head: the text before the file counter.
        stem: the common name of the archive, or of the biggest file.
        is_shared_stem: whether the stem names the set and not one file of many.
        tail: the text after the file name.
    """
    if not (request or head or tail) and " " not in stem:
        return _LIST_NUMBER.sub("", stem)
    stem = _LIST_NUMBER.sub("", stem[:_MOST_CHARACTERS])
    own = scene_name(stem, is_file=True)
    named = request if worth(request) else _marked_first(scene_name(head), own) or scene_name(tail)
    if named:
        more = is_shared_stem and own and _says_more(own, named)
        return own if more else named
    title = title_in(head)
    if worth(title) and not _is_tagged(title, stem):
        is_one_of_many = not is_shared_stem and (not _TAG.search(stem) or _TAG.search(title))
        # Of equals a title of several words wins over what may be an abbreviation.
        is_equal = " " in title and not _SPACED.search(stem)
        if is_one_of_many or worth(title) + is_equal > _worth_of_file(stem):
            return title
    if worth(stem):
        return stem
    after = title_in(tail)
    random = _identifier(head) or (stem if is_shared_stem else "") or request or head or stem
    return after if worth(after) >= _TITLE_WORDS else random


def _marked_first(head: str, stem: str) -> str:
    if head and stem and not _TAG.search(head) and _TAG.search(stem):
        return stem
    return head or stem


def _says_more(own: str, named: str) -> bool:
    """Tells whether a file's name has the episode, and all else, of a title without one."""
    if _EPISODE.search(named):
        return False
    mine, theirs = (set(_TOKEN.findall(text.lower())) for text in (own, named))
    missing = theirs - mine
    # `s02` of a title is in `s02e05` of a file.
    missing = {word for word in missing if not any(_is_season_of(word, each) for each in mine)}
    return not missing and mine != theirs


def _is_season_of(season: str, episode: str) -> bool:
    return season[0] == "s" and season[1:].isdigit() and episode.startswith(f"{season}e")


def _is_tagged(title: str, stem: str) -> bool:
    """Tells a title that is the file's name after a tag, as some tools write it."""
    tag, _, rest = title.partition(" ")
    return rest.lower() == stem.lower() != "" and any(char.isdigit() for char in tag)


def _worth_of_file(stem: str) -> int:
    value = worth(stem)
    return min(value, 1) if _LISTED.search(stem) and not _TAG.search(stem) else value


def _identifier(head: str) -> str:
    is_one = len(head) > 5 and head.isalnum() and not head.isdigit() and head.lower() not in _NOISE
    return head if is_one else ""


def _without_sites(text: str) -> str:
    return _SITE.sub(" ", text) if "." in text else text


def _cleaned(segment: str) -> str:
    text = _POSTER.sub(" ", segment.strip()).strip(" -=~*#:,;.\"'")
    for opening, closing in ("()", "[]", "{}"):
        if text.startswith(opening) and text.endswith(closing) and text.count(opening) == 1:
            text = text[1:-1].strip()
        elif text.count(opening) != text.count(closing):
            text = text.strip(opening + closing).strip()
    return text
