"""Who looks at a page, what that person may see, and the page in its frame.

Without any account the pages are open to this machine itself, and to nobody else. With one,
everybody signs in. `VOYAGER_API__LOGIN=off` leaves the question to a proxy in front.
"""

import ipaddress
import logging
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

from fastapi import Request, Response

from voyager_api import responses
from voyager_api.access_log import request_line
from voyager_api.deps import Services, get_services
from voyager_api.newznab.errors import NewznabError
from voyager_api.newznab.links import is_loopback
from voyager_api.newznab.parameters import Parameters
from voyager_api.web import forms
from voyager_api.web.pages import render
from voyager_api.web.views import UNREACHABLE
from voyager_core.catalog.accounts import SESSION_DAYS, Account, has_accounts, session_account
from voyager_core.catalog.connect import Connection
from voyager_core.errors import VoyagerError

logger = logging.getLogger(__name__)

STALE_FORM: Final = "This page had become too old, or was opened elsewhere. Please try again."
_DAY_SECONDS: Final = 86_400
# A forwarded request comes from elsewhere, whatever its socket says.
_FORWARDED: Final = ("forwarded", "via", "x-real-ip", "cf-connecting-ip")
_FORWARDED_PREFIX: Final = "x-forwarded-"
# In the scope of a request that named scheme and host in its first line, as one to a proxy does.
ABSOLUTE_ADDRESS: Final = "voyager.absolute_address"

_PROBLEMS: Final = {
    404: ("No such page", "There is nothing at this address."),
    405: ("Not a page", "This address only takes what forms send."),
    500: ("That failed", "The log of Voyager says why."),
    503: (UNREACHABLE.title, UNREACHABLE.text),
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks for a page.

    Attributes:
        account: the one that is signed in, None = nobody.
        cookie: the session's or the visit's token, which form tokens are made from.
        is_new: the cookie has yet to be given.
        may_read: may see releases and fetch NZBs.
        may_set_up: may make the first account.
        has_accounts: somebody can sign in.
        login: whether signing in means anything here.
    """

    account: Account | None
    cookie: str
    is_new: bool
    may_read: bool
    may_set_up: bool
    has_accounts: bool
    login: bool


def visitor_of(request: Request, services: Services, conn: Connection) -> Visitor:
    """Returns who asks.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    cookies = forms.read_cookies(request.headers.get("cookie", ""))
    session = cookies.get(forms.SESSION_COOKIE, "")
    account = session_account(conn, session, now=services.now()) if session else None
    login = services.settings.api.login == "on"
    known = account is not None or has_accounts(conn)
    here = is_local(request)
    cookie = session if account is not None else cookies.get(forms.VISIT_COOKIE, "")
    return Visitor(
        account=account,
        cookie=cookie or forms.new_token(),
        is_new=not cookie,
        may_read=not login or account is not None or (not known and here),
        may_set_up=login and not known and here,
        has_accounts=known,
        login=login,
    )


def is_local(request: Request) -> bool:
    """Tells whether a person at this machine itself asks, by its own name.

    The name counts, because another site can let its own name lead here (DNS rebinding).
    """
    if request.client is None or _is_forwarded(request):
        return False
    try:
        peer = ipaddress.ip_address(request.client.host.partition("%")[0])
    except ValueError:
        return False
    named = urlsplit(f"//{request.headers.get('host', '')}").netloc
    host = named.rpartition(":")[0] if not named.endswith("]") and ":" in named else named
    mapped = getattr(peer, "ipv4_mapped", None)
    return (mapped or peer).is_loopback and is_loopback(host)


def _is_forwarded(request: Request) -> bool:
    """Tells whether a proxy sent a request.

    nginx as it comes says so in no header, and names the address that it asks; but it speaks
    HTTP/1.0, which no browser does.
    """
    if request.scope["http_version"] == "1.0" or ABSOLUTE_ADDRESS in request.scope:
        return True
    return any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name in request.headers)


def turned_away(request: Request, services: Services, visitor: Visitor) -> Response | None:
    """Returns the answer to somebody who may not see a page; None to those who may."""
    if visitor.may_read:
        return None
    if visitor.has_accounts:
        here = request.scope["path"]
        if query := request.scope["query_string"].decode("latin-1"):
            here += f"?{query}"
        path = f"/login?next={quote(here, safe='')}"
        if request.headers.get("hx-request") == "true":
            return _leave_for(request, services, path)
        return go_to(request, services, path)
    return show(
        request,
        services,
        visitor,
        "message.html",
        status=403,
        title="Nobody can sign in yet",
        text="These pages are open to the machine that Voyager runs on. To see them from "
        "elsewhere, make an account there, with the command:",
        command="voyager users add NAME",
    )


def show(
    request: Request,
    services: Services,
    visitor: Visitor | None,
    template: str,
    *,
    status: int = 200,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    **values: Any,
) -> Response:
    """Returns a page with what its frame needs; a new visitor is given a cookie.

    Args:
        request: what is answered.
        services: of the application.
        visitor: None = unknown, since the catalog is not there.
        template: the page.
        status: of the response.
        headers: further ones.
        values: for the template.
    """
    frame = {
        "prefix": prefix_of(services),
        "page": request.scope["path"],
        "account": visitor.account.name if visitor is not None and visitor.account else "",
        "may_read": visitor is not None and visitor.may_read,
        "login": visitor is not None and visitor.login and visitor.has_accounts,
        "form_token": forms.form_token(visitor.cookie) if visitor is not None else "",
    }
    if visitor is not None and visitor.is_new:
        headers += (visit_cookie(request, services, visitor.cookie),)
    page = render(template, status=status, headers=headers, **(frame | values))
    return responses.respond(page, request.headers)


def unreachable(
    request: Request, services: Services, visitor: Visitor | None, error: VoyagerError
) -> Response:
    """Returns the page that says that the catalog is not there."""
    logger.warning("cannot answer %s: %s", request_line(request.scope), error)
    return show(
        request,
        services,
        visitor,
        "message.html",
        status=503,
        title=UNREACHABLE.title,
        text=UNREACHABLE.text,
        command="voyager doctor",
    )


def refused(request: Request, services: Services, visitor: Visitor) -> Response:
    """Returns the page for a form that may be another site's."""
    return show(
        request,
        services,
        visitor,
        "message.html",
        status=403,
        title="Nothing was changed",
        text=STALE_FORM,
        command="",
    )


def problem_page(
    request: Request, error: NewznabError, status: int, headers: tuple[tuple[bytes, bytes], ...]
) -> Response:
    """Returns the page for a failure that no route answered."""
    title, text = _PROBLEMS.get(status, (error.description, ""))
    services = get_services(request)
    return show(
        request,
        services,
        None,
        "message.html",
        status=status,
        headers=headers,
        title=title,
        text=text,
        command="",
    )


def go_to(
    request: Request, services: Services, path: str, headers: tuple[tuple[bytes, bytes], ...] = ()
) -> Response:
    """Returns a redirect to a path of this server that is read with GET."""
    location = (b"Location", _target(services, path))
    answer = responses.Answer(b"", responses.TEXT, status=303, headers=(*headers, location))
    return responses.respond(answer, request.headers)


def _leave_for(request: Request, services: Services, path: str) -> Response:
    """Makes a page that asked for a piece of itself go elsewhere as a whole."""
    answer = responses.Answer(
        b"", responses.TEXT, headers=((b"HX-Redirect", _target(services, path)),)
    )
    return responses.respond(answer, request.headers)


def _target(services: Services, path: str) -> bytes:
    return quote(prefix_of(services) + path, safe="/%?=&+-._~:!$'()*,;@").encode()


def is_own_form(request: Request, services: Services, visitor: Visitor, form: Parameters) -> bool:
    """Tells whether a form was sent from one of Voyager's own pages."""
    return forms.is_own_form(
        cookie="" if visitor.is_new else visitor.cookie,
        token=form.first("form_token"),
        origin=request.headers.get("origin", ""),
        fetch_site=request.headers.get("sec-fetch-site", ""),
        base=services.links(request).base,
    )


def session_cookie(
    request: Request, services: Services, token: str, *, days: int = SESSION_DAYS
) -> tuple[bytes, bytes]:
    """Returns the header that gives a session's cookie, or takes it away (0 days)."""
    return _cookie(request, services, forms.SESSION_COOKIE, token, days * _DAY_SECONDS)


def visit_cookie(request: Request, services: Services, token: str) -> tuple[bytes, bytes]:
    """Returns the header that gives a visitor's cookie."""
    return _cookie(request, services, forms.VISIT_COOKIE, token, _DAY_SECONDS)


def _cookie(
    request: Request, services: Services, name: str, token: str, seconds: int
) -> tuple[bytes, bytes]:
    value = forms.cookie_header(
        name,
        token,
        path=f"{prefix_of(services)}/",
        is_secure=bool(services.base and services.base.startswith("https:"))
        and not is_local(request),
        max_age_seconds=seconds,
    )
    return (b"Set-Cookie", value)


def prefix_of(services: Services) -> str:
    """Returns the path that all addresses of this server begin with, "" for none."""
    return urlsplit(services.base).path if services.base else ""
