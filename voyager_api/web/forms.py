"""What keeps forms honest: cookies and form tokens.

A form carries a token made from the visitor's cookie. Another site can make a browser send the
cookie but cannot read it, so that it cannot know the token.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final

SESSION_COOKIE: Final = "voyager_session"
VISIT_COOKIE: Final = "voyager_visit"
"""Given to visitors without a session, for the token of the form that signs them in."""

_PAIR: Final = re.compile(r"\s*([A-Za-z0-9_-]{1,64})=([A-Za-z0-9_-]{1,128})\s*", re.ASCII)
_MAX_COOKIES: Final = 50


def read_cookies(header: str) -> dict[str, str]:
    """Returns the cookies that could be Voyager's own; of a name given twice the first."""
    cookies: dict[str, str] = {}
    for pair in header.split(";")[:_MAX_COOKIES]:
        if match := _PAIR.fullmatch(pair):
            cookies.setdefault(match[1], match[2])
    return cookies


def cookie_header(
    name: str, value: str, *, path: str, is_secure: bool, max_age_seconds: int
) -> bytes:
    """Returns the value of Set-Cookie; an age of 0 removes the cookie."""
    parts = [
        f"{name}={value}",
        f"Path={path or '/'}",
        f"Max-Age={max_age_seconds}",
        "HttpOnly",
        "SameSite=Lax",
    ]
    if is_secure:
        parts.append("Secure")
    return "; ".join(parts).encode()


def new_token() -> str:
    """Returns 256 random bits in letters that a cookie can hold."""
    return secrets.token_urlsafe(32)


def form_token(cookie: str) -> str:
    """Returns the token that a visitor's forms carry."""
    return hmac.new(cookie.encode(), b"voyager-form", hashlib.sha256).hexdigest()


def is_own_form(*, cookie: str, token: str, origin: str, fetch_site: str, base: str) -> bool:
    """Tells whether a form was sent from one of Voyager's own pages.

    Args:
        cookie: of the visitor, "" for none.
        token: as the form carries it.
        origin: the Origin header, "" for none; `null` comes from pages that hide theirs.
        fetch_site: the Sec-Fetch-Site header, "" for none.
        base: scheme, host and port (and prefix) of this server as it knows itself.
    """
    if not cookie or not hmac.compare_digest(form_token(cookie).encode(), token.encode()):
        return False
    if fetch_site in {"cross-site", "same-site"}:
        return False
    # A proxy that ends TLS may leave the scheme out of what is known here.
    own = base.partition("://")[2].partition("/")[0]
    return origin in {"", "null"} or origin.partition("://")[2] == own or bool(fetch_site)


def safe_path(text: str) -> str:
    """Returns a path on this server to go on with, `/` for anything else."""
    is_path = text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if is_path and text.isprintable() and len(text) < 2000 else "/"
