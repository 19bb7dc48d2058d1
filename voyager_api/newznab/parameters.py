"""Reads a request's parameters (NZ-1, NZ-10, NZ-22, NZ-24, NZ-32).

Everything arrives as bytes and is understood here, never by the web framework, so that a bad value
is answered in Newznab's own terms. Bad input raises `NewznabError` and nothing else.
"""

import re
from collections.abc import Iterable
from typing import Final, Self
from urllib.parse import unquote_to_bytes

from voyager_api.newznab.errors import incorrect_parameter
from voyager_api.newznab.xml import clean_line

_MAX_PAIRS: Final = 256
_MAX_TEXT: Final = 4000
_INTEGER: Final = re.compile(r"[0-9]{1,18}", re.ASCII)


class Parameters:
    """The parameters of one request: names in lower case, values clean, empty ones absent."""

    __slots__ = ("_values",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            key = clean_line(name).strip().lower().removesuffix("[]")
            text = clean_line(value).strip()
            if text:
                self._values.setdefault(key, []).append(text)

    @classmethod
    def from_query(cls, *queries: bytes) -> Self:
        """Reads query strings or form bodies as they came over the wire.

        Values that are not UTF-8 are read as Windows-1252, which old clients send. What exceeds
        256 parameters is ignored.
        """
        pairs = [
            part.partition(b"=")[::2]
            for query in queries
            for part in query.split(b"&")[:_MAX_PAIRS]
            if part
        ]
        return cls((decode(name), decode(value)) for name, value in pairs)

    def first(self, *names: str) -> str:
        """Returns the first value of the first of these names that has one, else ""."""
        for name in names:
            if values := self._values.get(name):
                return values[0]
        return ""

    def text(self, name: str) -> str:
        """Returns a free text.

        Raises:
            NewznabError: 201 when it is longer than any release name.
        """
        value = self.first(name)
        if len(value) > _MAX_TEXT:
            raise incorrect_parameter(name)
        return value

    def items(self, name: str) -> list[str]:
        """Returns the comma-separated items of every value of a name, without empty ones."""
        joined = ",".join(self._values.get(name, ()))
        return [item for part in joined.split(",") if (item := part.strip())]

    def integer(self, name: str) -> int | None:
        """Returns a number that is not negative, or None when it is absent.

        Raises:
            NewznabError: 201 for anything else.
        """
        value = self.first(name)
        if not value:
            return None
        if not _INTEGER.fullmatch(value):
            raise incorrect_parameter(name)
        return int(value)

    def has_any(self, names: Iterable[str]) -> bool:
        """Returns whether one of the names has a value."""
        return any(name in self._values for name in names)


class Form(Parameters):
    """The fields of a form, of which some are taken exactly as they were typed."""

    __slots__ = ("_typed",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._typed = dict(pairs)
        super().__init__(self._typed.items())

    def raw(self, name: str) -> str:
        """Returns a field as it was typed, such as a password with a blank at its end."""
        return self._typed.get(name, "")


def wants_json(parameters: Parameters) -> bool:
    """Returns whether `o=json` is asked for."""
    return parameters.first("o").lower() == "json"


def decode(encoded: bytes) -> str:
    """Returns a name or a value that is percent-encoded, in UTF-8 or else Windows-1252."""
    raw = unquote_to_bytes(encoded.replace(b"+", b" "))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")
