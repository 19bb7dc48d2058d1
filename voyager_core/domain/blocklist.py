"""Subjects that hint at the abuse of minors: told by words that stand nowhere in clear.

The list holds digests of single words and of pairs of neighbouring words, salted so that no
table of digests gives the words back. A text is compared in a normal form: lower case, without
accents, digits that stand for letters read as those. Whoever has a list of their own adds its
digests (`digest_of`) to the rule set.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache

# Written so that no reader takes it for a command.
SALT = "voyager\x20block\x20list\x202"

# Which digits and signs posters write for which letters.
_LETTERS = str.maketrans("013457@$", "oieastas")
_TOKEN = re.compile(r"[a-z0-9@$]+")
_DIGIT = re.compile(r"[0-9@$]")

# 64 bits of a SHA-256 each: of words and of pairs, and of the first words of pairs.
_DIGESTS = """
    09d2cdd0ea79af9f 0cddc9d5bcf7ffe4 11d2d84a092d923c 11ef2eff89e15a04
    155c191214e69a90 16d58db388ca7d77 1ab00c2e4af9974f 1cc1a3fd4ab0e244
    28a0a9fe78bdef0c 28feb4afe22a8f49 2a367fd4572bc944 318ffa8abfa8fdfa
    34a12422fc9da4cf 35cf5f64f966e6c5 3732894b924cbc32 38d1a2b5c8e3db6c
    3b5b2c2e6a0e950c 4156615343058f52 461e123a16ce1f7c 4ee4ab5b890868f5
    501e1ffddb0df72c 536c2e544882b078 54ad53b47599d834 55e1aea04cfaa1d2
    55e8c4427671bc79 5ebcd630a835009c 60488051ed4d48f6 61a1188a55f57926
    6e1bb0aa472df571 6e73ecf122267286 75f932b183ee3b48 7c50c81d1930b9f1
    81d36b10948cd958 85cc2d2c1b9a6007 8b725b299b89b8a6 8d34dadb0842d5e6
    91fad8837260f5a0 9bc00bdb48dbc9e6 a2f3719591a3a05e a86e9698c4790425
    a91c9cb6cf4555ef ad70f8d2741b735e b371d3e70a02dad4 b3790cddd78ba86c
    b9a2f93f96042d75 babedea74c6cd563 c021e467532949ae c1b6e4bccaa287d8
    dfb48d5fe500652e e075754b38087510 e27a3a14410111d1 e4847567065a89b2
    e5c7eb9dd03044c9 ea944364004b9d94 eb5734c5e6a448a4 ed9817d13441b8ac
    f07ee5732ab68ffe ffdc5b30ac760ba7
"""
_HALVES = """
    0737807c3bb9bd8f 2ea81ddbffb530b1 6bb27b42c22ce835 ad9598cf816a9589
    dee04f26604c77b4 e33e483757ea3f1f f20b48906136a62f
"""

BLOCKED_DIGESTS = frozenset(_DIGESTS.split())
"""Digests of words and pairs that are blocked by default."""
BLOCKED_HALVES = frozenset(_HALVES.split())
"""Digests of the words with which a blocked pair begins."""


@lru_cache(maxsize=131_072)
def digest_of(text: str) -> str:
    """Returns the digest of a word in lower case, or of two with a blank between them."""
    return hashlib.sha256(f"{SALT}\n{text}".encode("utf-8", "replace")).hexdigest()[:16]


def half_digest_of(word: str) -> str:
    """Returns the digest of the first word of a pair."""
    return digest_of(f"half {word}")


def tokens_of(text: str) -> list[list[str]]:
    """Returns the words of a text in normal form, each in every way in which it may be read."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    readings: list[list[str]] = []
    for token in _TOKEN.findall("".join(c for c in plain if not unicodedata.combining(c))):
        ways = [token]
        if _DIGIT.search(token):
            ways += [token.translate(_LETTERS), _DIGIT.sub("", token)]
        readings.append([way for way in dict.fromkeys(ways) if way])
    return readings


def is_blocked(text: str, digests: frozenset[str], halves: frozenset[str]) -> bool:
    """Tells whether a text has a blocked word or pair."""
    before: list[str] = []
    for ways in tokens_of(text):
        if any(digest_of(way) in digests for way in ways):
            return True
        if any(digest_of(f"{first} {way}") in digests for first in before for way in ways):
            return True
        before = [way for way in ways if half_digest_of(way) in halves]
    return False
