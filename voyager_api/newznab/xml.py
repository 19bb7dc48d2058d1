"""Writes XML 1.0 that the strictest Newznab readers accept.

Standard writers leave three things to the caller that clients trip over (NZ-3, NZ-4): characters
that XML 1.0 forbids, the order of attributes, and characters above U+FFFF, which the cleaning
step of Sonarr and its relatives deletes unless they are numeric references.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Attributes: TypeAlias = Iterable[tuple[str, str | int]]

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_BLANKS = re.compile("[\t\n\r\x85\u2028\u2029]+")
# Forbidden by XML 1.0, and also DEL, the C1 controls and the non-characters, which it allows, and
# what turns the text around it, by which the name of a file can hide how it ends.
_UNWANTED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_SPECIAL = re.compile("[&<>\"'\U00010000-\U0010ffff]")
_MARKUP = re.compile("[&<>\"']")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


def clean_line(text: str) -> str:
    """Returns the text as one line without what XML, a header or a reader cannot take."""
    if text.isascii() and text.isprintable():
        return text
    return _UNWANTED.sub("", _BLANKS.sub(" ", text))


def escape(text: str) -> str:
    """Returns the text as it stands in element content or a quoted attribute."""
    # Nearly every text of a feed, of which a page has thousands.
    if text.isascii() and text.isprintable() and _MARKUP.search(text) is None:
        return text
    return _SPECIAL.sub(_reference, clean_line(text))


def _reference(match: re.Match[str]) -> str:
    char = match.group()
    return _ENTITIES.get(char) or f"&#{ord(char)};"


class XmlWriter:
    """A document under construction; names are literal, texts and values are escaped.

    Attributes come out in the order given. Element and attribute names must come from code, never
    from data.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts = [_DECLARATION, "\n"]

    @contextmanager
    def element(self, name: str, attributes: Attributes = ()) -> Iterator[None]:
        """Opens an element whose children are written inside the `with` block."""
        self._parts.append(f"<{name}{_join(attributes)}>\n")
        yield
        self._parts.append(f"</{name}>\n")

    def leaf(self, name: str, text: str, attributes: Attributes = ()) -> None:
        """Writes an element that holds only text, which may be empty."""
        self._parts.append(f"<{name}{_join(attributes)}>{escape(text)}</{name}>\n")

    def empty(self, name: str, attributes: Attributes = ()) -> None:
        """Writes an element without content."""
        self._parts.append(f"<{name}{_join(attributes)}/>\n")

    def named(self, name: str, key: str, value: str) -> None:
        """Writes an element that holds only `name` and `value`; `key` is literal."""
        self._parts.append(f'<{name} name="{key}" value="{escape(value)}"/>\n')

    def to_bytes(self) -> bytes:
        """Returns the document in UTF-8; the declaration is at byte 0, no BOM."""
        return "".join(self._parts).encode()


def _join(attributes: Attributes) -> str:
    return "".join([f' {name}="{escape(str(value))}"' for name, value in attributes])
