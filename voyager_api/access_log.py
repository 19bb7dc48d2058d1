"""Keeps keys out of logs: requests are logged with the secrets in their addresses blotted out."""

import logging
import re
from typing import Final
from urllib.parse import unquote_plus

SECRET_PARAMETERS: Final = frozenset({"apikey", "api_token", "r", "key", "password"})
_BLOT: Final = "REDACTED"
_SEPARATOR: Final = re.compile("([?&])")


def redact(address: str) -> str:
    """Returns an address or path without the values of secret query parameters.

    Names are compared as the API reads them: decoded, in lower case, with or without brackets.
    """
    # Some indexers' links join parameters to the path with `&` alone, so both count.
    pieces = _SEPARATOR.split(address)
    for index in range(2, len(pieces), 2):
        name, equals, _ = pieces[index].partition("=")
        plain = "".join(filter(str.isprintable, unquote_plus(name)))
        if equals and plain.strip().lower().removesuffix("[]") in SECRET_PARAMETERS:
            pieces[index] = f"{name}={_BLOT}"
    return "".join(pieces)


class RedactingFilter(logging.Filter):
    """Redacts every text that a log record is built from."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrites the arguments in place; the record is always kept."""
        if isinstance(record.args, tuple):
            record.args = tuple(
                redact(arg) if isinstance(arg, str) and "=" in arg else arg for arg in record.args
            )
        return True


def install() -> None:
    """Puts the filter before uvicorn's access log; calling it again changes nothing."""
    logger = logging.getLogger("uvicorn.access")
    if not any(isinstance(existing, RedactingFilter) for existing in logger.filters):
        logger.addFilter(RedactingFilter())
