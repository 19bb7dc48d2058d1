"""Keeps keys out of logs: requests are logged with the secrets in their addresses blotted out."""

import logging
import re
from typing import Final

from starlette.types import Scope

from voyager_api.newznab.parameters import decode

SECRET_PARAMETERS: Final = frozenset({"apikey", "api_token", "r", "key", "password"})
_BLOT: Final = "REDACTED"
# A key that stands where none is read, such as behind `passkey=`; see catalog.keys.KEY_BYTES.
# Its digits may be encoded, and so may be what stands before it.
_KEY: Final = re.compile(
    r"(?:(?<![0-9a-f])|(?<=%[0-9a-f]{2})|(?<=%25[0-9a-f]{2})|(?<=%2525[0-9a-f]{2}))"
    r"(?:[0-9a-f]|%(?:25)*(?:3[0-9]|[46][1-6])){32}(?![0-9a-f])",
    re.IGNORECASE,
)
_SEPARATOR: Final = re.compile(r"([?&;\s])")
# A link in a parameter is encoded once more, and so is everything in a path.
_EQUALS: Final = re.compile("=|%(?:25)*3D", re.IGNORECASE)
_MAX_DECODINGS: Final = 4


def redact(address: str) -> str:
    """Returns an address or path without keys and the values of secret parameters.

    Names are compared as the API reads them: decoded, in lower case, with or without brackets;
    also inside links that are themselves values, and where `&` or `;` joins them to the path.
    """
    pieces = _SEPARATOR.split(address)
    return _KEY.sub(_BLOT, "".join(map(_redact_piece, pieces)))


def request_line(scope: Scope) -> str:
    """Returns method and address of a request, as a log may show them."""
    query = scope["query_string"].decode("latin-1")
    return f"{scope['method']} {redact(scope['path'] + (f'?{query}' if query else ''))}"


def _redact_piece(piece: str) -> str:
    begin = 0
    for equals in _EQUALS.finditer(piece):
        if _is_secret(piece[begin : equals.start()]):
            return piece[: equals.end()] + _BLOT
        begin = equals.end()
    return piece


def _is_secret(name: str) -> bool:
    for _ in range(_MAX_DECODINGS):
        name = decode(name.encode())
    plain = "".join(filter(str.isprintable, name))
    last = re.split(r"[?&;/]", plain)[-1]
    return last.strip().lower().removesuffix("[]") in SECRET_PARAMETERS


class RedactingFilter(logging.Filter):
    """Redacts every text that a log record is built from."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrites the arguments in place; the record is always kept."""
        if isinstance(record.args, tuple):
            record.args = tuple(redact(arg) if isinstance(arg, str) else arg for arg in record.args)
        return True


def install() -> None:
    """Puts the filter before uvicorn's access log; calling it again changes nothing."""
    logger = logging.getLogger("uvicorn.access")
    if not any(isinstance(existing, RedactingFilter) for existing in logger.filters):
        logger.addFilter(RedactingFilter())
