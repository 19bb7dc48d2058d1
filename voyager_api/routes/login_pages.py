"""Signing in and out, and the first account."""

import logging
import math
from functools import partial
from typing import Final

from fastapi import APIRouter, Request, Response

from voyager_api.deps import PAGE_METHODS, FormDep, ParametersDep, Services, ServicesDep, client_of
from voyager_api.routes.visitors import (
    STALE_FORM,
    Visitor,
    go_to,
    is_own_form,
    refused,
    session_cookie,
    show,
    unreachable,
    visitor_of,
)
from voyager_api.throttle import TooManyWaitError, Turns
from voyager_api.web import views
from voyager_api.web.forms import safe_path
from voyager_core.catalog.accounts import (
    check_password,
    close_session,
    create_account,
    open_session,
    stored_password,
)
from voyager_core.catalog.errors import AccountError
from voyager_core.errors import VoyagerError

logger = logging.getLogger(__name__)
router = APIRouter()

_WRONG: Final = "The name or the password is wrong."
# Hashing takes 64 MB and a core for a moment; strangers may not have more of it than this, nor of
# the threads that answer everybody else.
HASHING: Final = Turns(at_once=2, waiting=6)
_BUSY_SECONDS: Final = 5
_MAX_NAME: Final = 64


@router.api_route("/login", methods=PAGE_METHODS)
def login_page(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends the form that signs in."""
    following = safe_path(parameters.first("next"))
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    if visitor.may_read and visitor.has_accounts:
        return go_to(request, services, following)
    if visitor.may_set_up:
        return go_to(request, services, "/setup")
    return _login(request, services, visitor, following)


@router.post("/login")
def login(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Signs in, or shows the form again with what was wrong."""
    name, password, following = form.first("name"), form.raw("password"), form.first("next")
    client, now = client_of(request), services.now().timestamp()
    tried = f"{client} {name[:_MAX_NAME]}"
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
            known = stored_password(conn, name)
        again = partial(_login, request, services, visitor, following, name=name)
        if not is_own_form(request, services, visitor, form):
            return again(problem=STALE_FORM, status=403)
        # Counted before it is looked at, so that trying many at once gains nothing.
        if wait := _take_a_try(services, client, tried, now):
            minutes = math.ceil(wait / 60)
            text = f"Too many wrong passwords. Please try again in {minutes} min."
            return again(problem=text, status=429, wait=wait)
        try:
            with HASHING.one():
                account = check_password(known, password)
        except TooManyWaitError as error:
            _give_back(services, client, tried, now)
            return again(problem=views.sentence(str(error)), status=503, wait=_BUSY_SECONDS)
        if account is None:
            logger.warning("a wrong password from %s", client)
            return again(problem=_WRONG, status=403)
        _give_back(services, client, tried, now)
        with services.catalog.connection() as conn:
            token = open_session(conn, account, password, now=services.now())
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    cookie = session_cookie(request, services, token)
    return go_to(request, services, safe_path(following), (cookie,))


@router.api_route("/setup", methods=PAGE_METHODS)
def setup_page(request: Request, services: ServicesDep) -> Response:
    """Sends the form that makes the first account."""
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    if not visitor.may_set_up:
        return go_to(request, services, "/")
    return show(request, services, visitor, "setup.html", name="", problem="")


@router.post("/setup")
def setup(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Makes the first account and signs it in."""
    name, password = form.first("name"), form.raw("password")
    problem = ""
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    if not visitor.may_set_up:
        return go_to(request, services, "/login")
    try:
        if not is_own_form(request, services, visitor, form):
            problem = STALE_FORM
        elif password != form.raw("again"):
            problem = "The two passwords differ."
        else:
            token = _first_account(services, name, password)
            return go_to(request, services, "/", (session_cookie(request, services, token),))
    except (AccountError, TooManyWaitError) as error:
        problem = views.sentence(str(error))
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    return show(request, services, visitor, "setup.html", status=400, name=name, problem=problem)


@router.api_route("/logout", methods=PAGE_METHODS)
def logout_page(request: Request, services: ServicesDep) -> Response:
    """Leads to the start page; only a form of its own ends a session."""
    return go_to(request, services, "/")


@router.post("/logout")
def logout(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Ends the session, unless another site sent the form."""
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
            if visitor.account is None:
                return go_to(request, services, "/login")
            if not is_own_form(request, services, visitor, form):
                return refused(request, services, visitor)
            close_session(conn, visitor.cookie)
    except VoyagerError as error:
        return unreachable(request, services, None, error)
    return go_to(request, services, "/login", (session_cookie(request, services, "-", days=0),))


def _take_a_try(services: Services, client: str, tried: str, now: float) -> float:
    """Counts a try for its name and its client; returns 0, or the seconds until both let one."""
    of_name, of_client = services.passwords_of_name, services.passwords_of_client
    if wait := of_name.take(tried, now):
        return max(wait, of_client.wait(client, now))
    if wait := of_client.take(client, now):
        of_name.give_back(tried, now)
    return wait


def _give_back(services: Services, client: str, tried: str, now: float) -> None:
    services.passwords_of_name.give_back(tried, now)
    services.passwords_of_client.give_back(client, now)


def _first_account(services: Services, name: str, password: str) -> str:
    with HASHING.one(), services.catalog.connection() as conn:
        account = create_account(conn, name, password, first=True)
        return open_session(conn, account, password, now=services.now())


def _login(
    request: Request,
    services: Services,
    visitor: Visitor,
    following: str,
    *,
    name: str = "",
    problem: str = "",
    status: int = 200,
    wait: float = 0,
) -> Response:
    headers = ((b"Retry-After", str(math.ceil(wait)).encode()),) if wait else ()
    return show(
        request,
        services,
        visitor,
        "login.html",
        status=status,
        headers=headers,
        following=safe_path(following),
        name=name,
        problem=problem,
    )
