"""HTTP below the protocol: lengths, gzip, ETags, and headers in exact case.

Bodies are whole and carry Content-Length: NZBGet speaks HTTP/1.0 and cannot read chunks (NZ-16).
They are compressed here, in the thread of the route, so that a large NZB holds up nobody else.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from isal import igzip
from starlette.responses import Response

XML: Final = "application/xml; charset=utf-8"
RSS: Final = "application/rss+xml; charset=utf-8"
JSON: Final = "application/json; charset=utf-8"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"

_LEAST_TO_COMPRESS: Final = 500
_Q_ZERO: Final = re.compile(r"q=0(\.0*)?", re.ASCII)

# Addresses carry keys, so no page may hand its own on; answers are never run as something else.
_ALWAYS: Final = (
    (b"X-Content-Type-Options", b"nosniff"),
    (b"Referrer-Policy", b"no-referrer"),
    (b"X-Robots-Tag", b"noindex, nofollow"),
)

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, before HTTP's own business.

    Attributes:
        headers: further ones, in the case that they keep on the wire.
        cacheable: True = an ETag is sent and `If-None-Match` is answered with 304.
    """

    body: bytes
    media_type: str
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()
    cacheable: bool = False


class _RawResponse(Response):
    """A response whose headers are exactly those given; Starlette would lower their case."""

    def __init__(self, body: bytes, status: int, headers: Headers) -> None:
        super().__init__(body, status_code=status)
        self.raw_headers = list(headers)


def respond(answer: Answer, request_headers: Mapping[str, str]) -> Response:
    """Returns the response to one request: compressed, or 304, as its headers allow.

    Args:
        answer: what the route made.
        request_headers: of the request, names in lower case or case-insensitive.
    """
    headers = [*answer.headers, *_ALWAYS, (b"Vary", b"Accept-Encoding")]
    body = answer.body
    packed = len(body) >= _LEAST_TO_COMPRESS and accepts_gzip(
        request_headers.get("accept-encoding", "")
    )
    if answer.cacheable:
        tag = hashlib.sha256(body).hexdigest()[:32]
        headers.append((b"ETag", f'"{tag}{"-gzip" if packed else ""}"'.encode()))
        headers.append((b"Cache-Control", b"private, no-cache"))
        if answer.status == 200 and _names(request_headers.get("if-none-match", ""), tag):
            return _RawResponse(b"", 304, headers)
    elif not any(name.lower() == b"cache-control" for name, _ in answer.headers):
        headers.append((b"Cache-Control", b"no-store"))
    if packed:
        body = igzip.compress(body, mtime=0)
        headers.append((b"Content-Encoding", b"gzip"))
    headers.append((b"Content-Type", answer.media_type.encode()))
    headers.append((b"Content-Length", str(len(body)).encode()))
    return _RawResponse(body, answer.status, headers)


def accepts_gzip(accept_encoding: str) -> bool:
    """Returns whether an Accept-Encoding header allows gzip, by name or else by `*`."""
    allowed: dict[str, bool] = {}
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        allowed[coding.strip()] = not _Q_ZERO.fullmatch(weight.strip())
    return next((allowed[name] for name in ("gzip", "x-gzip", "*") if name in allowed), False)


def _names(if_none_match: str, tag: str) -> bool:
    candidates = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return any(part in {"*", f'"{tag}"', f'"{tag}-gzip"'} for part in candidates)


def json_bytes(document: object) -> bytes:
    """Returns a document as compact JSON."""
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode()
