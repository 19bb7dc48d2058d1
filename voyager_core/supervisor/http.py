"""One HTTP request to a service of this installation."""

import urllib.error
import urllib.request
from http.client import HTTPException

from voyager_core.errors import TransientError, reason_of

_TIMEOUT_SECONDS = 30


class ClientError(TransientError):
    """The server does not answer, or answers something else than was asked for."""


def fetch(url: str, *, data: bytes | None = None, timeout_seconds: float | None = None) -> bytes:
    """Returns the body of a successful HTTP answer; `data` makes it a JSON POST.

    Raises:
        ClientError: no answer, or one that is no success.
    """
    request = urllib.request.Request(  # noqa: S310 - addresses of this installation
        url, data=data, headers={"Content-Type": "application/json"} if data else {}
    )
    try:
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=timeout_seconds or _TIMEOUT_SECONDS
        ) as answer:
            body: bytes = answer.read()
    except urllib.error.HTTPError as error:
        text = _beginning(error)
        msg = f"{url.partition('?')[0]} answers {error.code}: {text}"
        raise ClientError(msg) from error
    except (OSError, HTTPException) as error:
        msg = f"{url.partition('?')[0]} does not answer: {reason_of(error)}"
        raise ClientError(msg) from error
    return body


def _beginning(answer: urllib.error.HTTPError) -> str:
    try:
        return answer.read(500).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""
