"""What can be the name of a newsgroup."""

import re
import unicodedata

MAX_NAME_BYTES = 255

# A partition key is `group/000012`, the spool has a folder of the group's name, and a wildmat
# of LIST ACTIVE gives these characters a meaning.
_FORBIDDEN = re.compile(r"[\s/\\,*?!\[\]:]")


def name_problem(name: str) -> str | None:
    """Returns why no newsgroup can have this name; None when one can.

    The texts are few, so that refusals can be counted by them.
    """
    if not name:
        return "empty"
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return "too long"
    if any(unicodedata.category(character) in _UNSEEN for character in name):
        return "control or invisible characters"
    if _FORBIDDEN.search(name):
        return "blanks, slashes or wildcards"
    # RFC 5536 3.1.4: components are not empty; servers take such a group for another one.
    if not all(name.split(".")):
        return "an empty part between dots"
    return None


# Controls, format characters such as zero-width spaces and bidirectional marks, surrogates,
# private use, unassigned, line and paragraph separators: two names that look alike.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
