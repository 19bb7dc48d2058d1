"""Renders templates and serves the files beside them."""

import re
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from voyager_api import responses
from voyager_api.newznab.xml import clean_line
from voyager_api.responses import Answer

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PAGE_HEADERS: Final = (
    (b"Content-Security-Policy", CONTENT_SECURITY_POLICY.encode()),
    (b"X-Frame-Options", b"DENY"),
    (b"Cross-Origin-Opener-Policy", b"same-origin"),
    (b"Cross-Origin-Resource-Policy", b"same-origin"),
)
_SCRIPT: Final = "text/javascript; charset=utf-8"
_STATIC_TYPES: Final = {
    "htmx.min.js": _SCRIPT,
    "voyager.css": "text/css; charset=utf-8",
    "voyager.js": _SCRIPT,
    "voyager.svg": "image/svg+xml",
}
# Direction overrides, isolates, zero-width and tag characters: names come from strangers.
_DECEIVING: Final = re.compile(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
LONGEST_NAME: Final = 300
"""Characters of a name that lists and headings show."""

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def render(
    template: str,
    *,
    status: int = 200,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    **values: Any,
) -> Answer:
    """Returns a page; every value is escaped by the template engine."""
    html = _environment().get_template(template).render(values)
    return Answer(
        html.encode("utf-8", "replace"),
        responses.HTML,
        status=status,
        headers=_PAGE_HEADERS + headers,
    )


def static_file(name: str) -> Answer | None:
    """Returns a file that pages refer to, or None when there is none of that name."""
    media_type = _STATIC_TYPES.get(name)
    if media_type is None:
        return None
    return Answer(_static(name), media_type, headers=_PAGE_HEADERS, cacheable=True)


@cache
def _static(name: str) -> bytes:
    return (files("voyager_api.web") / "static" / name).read_bytes()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("voyager_api.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_undeceiving,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["size"] = size_text
    environment.filters["number"] = number_text
    environment.filters["shown"] = shown_name
    environment.filters["brief"] = brief_name
    environment.filters["counted"] = counted
    return environment


def size_text(size_bytes: int) -> str:
    """Returns a size in decimal units, such as `4.3 GB`."""
    value = float(size_bytes)
    for unit in _UNITS:
        if value < 999.95 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def number_text(number: int) -> str:
    """Returns a number with its thousands apart."""
    return f"{number:,}".replace(",", "\u202f")


def age_text(moment: datetime, now: datetime) -> str:
    """Returns how long ago something was, in the largest unit that says enough."""
    seconds = max(0, int((now - moment).total_seconds()))
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            if unit == "day" and count >= 730:
                return f"{count // 365} years ago"
            return f"{count} {unit}{'s' if count != 1 else ''} ago"
    return "just now"


def counted(number: int, what: str) -> str:
    """Returns a number of things, such as `1 file` or `2 files`."""
    return f"{number_text(number)} {what}{'' if number == 1 else 's'}"


def shown_name(name: str) -> str:
    """Returns a name as a page can show it: in one line, and not empty."""
    return _DECEIVING.sub("", clean_line(name)).strip() or "(no name)"


def brief_name(name: str) -> str:
    """Returns a name as a list or a heading can show it, its end cut off when it is very long."""
    text = shown_name(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _undeceiving(value: object) -> object:
    """Takes out of whatever a template shows what would turn or hide the text around it."""
    return _DECEIVING.sub("", value) if type(value) is str else value
