"""Commands whose replies have a body, and what these may grow to."""

from voyager_core.nntp.framing import Limits
from voyager_core.nntp.protocol import BodyForm, Request

# An overview line is 250 to 500 bytes; the engine takes subjects up to 64 KB.
_LINE_BYTES = 16 << 10

CAPABILITIES = Request(
    b"CAPABILITIES",
    "CAPABILITIES",
    BodyForm.TEXT,
    frozenset({101}),
    limits=Limits(text_bytes=1 << 20),
)
"""Asked before the login, of whoever answers there."""


def overview_request(verb: str, low: int, high: int, *, unread: bool = False) -> Request:
    """Returns the command for the overview of article numbers: XOVER, OVER or XZVER."""
    asked = high - low + 1
    shown = f"{verb} {low}-{high}"
    return Request(
        shown.encode(),
        shown,
        BodyForm.OVERVIEW,
        frozenset({224}),
        compressed=verb == "XZVER",
        unread=unread,
        limits=Limits(
            text_bytes=max(64 << 20, asked * _LINE_BYTES),
            # A server that ignores the range would send the whole group.
            lines=asked + max(1000, asked // 10),
        ),
    )
