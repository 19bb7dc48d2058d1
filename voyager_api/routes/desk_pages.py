"""The pages of whoever runs it: newsgroups, rules, and settings."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import APIRouter, Request, Response

from voyager_api.deps import PAGE_METHODS, FormDep, ParametersDep, Services, ServicesDep
from voyager_api.newznab.errors import NewznabError
from voyager_api.newznab.parameters import Form
from voyager_api.routes.login_pages import HASHING
from voyager_api.routes.visitors import (
    Visitor,
    go_to,
    is_own_form,
    refused,
    session_cookie,
    show,
    turned_away,
    unreachable,
    visitor_of,
)
from voyager_api.throttle import TooManyWaitError
from voyager_api.web import desk_views, group_views, views
from voyager_core.catalog.accounts import (
    Account,
    check_password,
    close_other_sessions,
    open_session,
    set_password,
    stored_password,
)
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import AccountError
from voyager_core.catalog.keys import GRAB, REQUEST, create_key, list_keys, revoke_key, uses
from voyager_core.catalog.progress import coverage, group_status
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.rulecounts import (
    reject_totals,
    rule_groups,
    rule_samples,
    rule_totals,
)
from voyager_core.catalog.rulesets import list_retractions
from voyager_core.domain.rulesets import RULE_TEXTS
from voyager_core.errors import VoyagerError

router = APIRouter()
_MAX_LABEL: Final = 100
_KEY_FIELDS: Final = ("label", "requests_per_day", "grabs_per_day")
_MAX_NAME: Final = 255
_SAMPLES: Final = 50

Show = Callable[[Connection, Visitor], Response]


@router.api_route("/groups", methods=PAGE_METHODS)
def groups(request: Request, services: ServicesDep) -> Response:
    """Sends how far each newsgroup is indexed."""

    def page(conn: Connection, visitor: Visitor) -> Response:
        now = services.now()
        spans = services.coverages(conn)
        rows = [
            group_views.row_of(status, spans.get(status.group, ()), now)
            for status in services.group_status(conn)
        ]
        return show(request, services, visitor, "groups.html", rows=rows)

    return _with_catalog(request, services, page)


@router.api_route("/groups/{name}", methods=PAGE_METHODS)
def group(request: Request, services: ServicesDep, name: str) -> Response:
    """Sends what is known of one newsgroup, with a picture of what is indexed."""

    def page(conn: Connection, visitor: Visitor) -> Response:
        now = services.now()
        found = group_status(conn, at=now, group=name[:_MAX_NAME])
        if not found:
            return show(
                request,
                services,
                visitor,
                "message.html",
                status=404,
                title="No such newsgroup",
                text="It is not indexed here.",
                command="voyager groups list",
            )
        (status,) = found
        return show(
            request,
            services,
            visitor,
            "group.html",
            name=status.group,
            facts=group_views.facts_of(status, now),
            picture=group_views.picture_of(status, coverage(conn, status.group)),
            troubles=group_views.troubles_of(ranges_of(conn, status.group))
            if status.parked
            else [],
        )

    return _with_catalog(request, services, page)


@router.api_route("/rules", methods=PAGE_METHODS)
def rules(request: Request, services: ServicesDep, parameters: ParametersDep) -> Response:
    """Sends what the rules left out, and samples of one rule."""
    chosen = parameters.first("rule")[:200]

    def page(conn: Connection, visitor: Visitor) -> Response:
        return show(
            request,
            services,
            visitor,
            "rules.html",
            chosen=chosen,
            rules=rule_totals(conn),
            rejects=reject_totals(conn),
            retracted={one.rule for one in list_retractions(conn)},
            texts=RULE_TEXTS,
            rule_groups=rule_groups(conn, chosen) if chosen else [],
            samples=desk_views.samples_of(rule_samples(conn, chosen, limit=_SAMPLES))
            if chosen
            else [],
            dagster=desk_views.dagster_address(services.settings),
        )

    return _with_catalog(request, services, page)


@router.api_route("/settings", methods=PAGE_METHODS)
def settings(request: Request, services: ServicesDep) -> Response:
    """Sends the keys of the API and the account's own settings."""

    def page(conn: Connection, visitor: Visitor) -> Response:
        return _settings(request, services, conn, visitor)

    return _with_catalog(request, services, page)


# Where a form's answer stands in the address line, and somebody opens that address.
@router.api_route("/settings/keys", methods=PAGE_METHODS)
@router.api_route("/settings/keys/revoke", methods=PAGE_METHODS)
@router.api_route("/settings/password", methods=PAGE_METHODS)
@router.api_route("/settings/sessions", methods=PAGE_METHODS)
def back(request: Request, services: ServicesDep) -> Response:
    """Leads back to the forms."""
    return go_to(request, services, "/settings")


@router.post("/settings/keys")
def make_key(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Makes a key and shows it, this once."""

    def act(conn: Connection, visitor: Visitor) -> Response:
        label = form.first("label")[:_MAX_LABEL]
        limits = _limits(form)
        if not label or limits is None:
            problem = "A limit is a number, or nothing." if label else "A key needs a label."
            typed = {name: form.first(name) for name in _KEY_FIELDS}
            return _settings(
                request, services, conn, visitor, problem=problem, status=400, typed=typed
            )
        requests, grabs = limits
        key = create_key(conn, label, requests_per_day=requests, grabs_per_day=grabs)
        return _settings(request, services, conn, visitor, made=key, label=label)

    return _with_form(request, services, form, act)


@router.post("/settings/keys/revoke")
def drop_key(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Refuses a key from now on."""

    def act(conn: Connection, _: Visitor) -> Response:
        number = form.first("number")
        if number.isascii() and number.isdecimal() and len(number) < 10:
            revoke_key(conn, int(number))
        return go_to(request, services, "/settings")

    return _with_form(request, services, form, act)


@router.post("/settings/password")
def change_password(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Gives the account another password and signs it out everywhere else."""

    def act(conn: Connection, visitor: Visitor) -> Response:
        if visitor.account is None:
            return go_to(request, services, "/settings")
        try:
            token = _changed(conn, services, visitor.account, form)
        except (AccountError, TooManyWaitError) as error:
            text = views.sentence(str(error))
            return _settings(request, services, conn, visitor, problem=text, status=400)
        return go_to(request, services, "/settings", (session_cookie(request, services, token),))

    return _with_form(request, services, form, act)


@router.post("/settings/sessions")
def end_sessions(request: Request, services: ServicesDep, form: FormDep) -> Response:
    """Signs the account out everywhere but here."""

    def act(conn: Connection, visitor: Visitor) -> Response:
        if visitor.account is not None:
            close_other_sessions(conn, visitor.account, visitor.cookie)
        return go_to(request, services, "/settings")

    return _with_form(request, services, form, act)


def _limits(form: Form) -> tuple[int | None, int | None] | None:
    """Returns the limits of requests and NZBs, or None when one is no number."""
    try:
        limits = (form.integer("requests_per_day"), form.integer("grabs_per_day"))
    except NewznabError:
        return None
    is_usable = all(limit is None or limit <= desk_views.MAX_LIMIT for limit in limits)
    return limits if is_usable else None


def _changed(conn: Connection, services: Services, account: Account, form: Form) -> str:
    with HASHING.one():
        if check_password(stored_password(conn, account.name), form.raw("old")) is None:
            msg = "the present password is wrong"
            raise AccountError(msg)
        if form.raw("password") != form.raw("again"):
            msg = "the two passwords differ"
            raise AccountError(msg)
        set_password(conn, account.name, form.raw("password"))
        return open_session(conn, account, form.raw("password"), now=services.now())


def _settings(
    request: Request,
    services: Services,
    conn: Connection,
    visitor: Visitor,
    *,
    status: int = 200,
    problem: str = "",
    made: str = "",
    label: str = "",
    typed: Mapping[str, str] | None = None,
) -> Response:
    now = services.now()
    keys = [
        desk_views.key_row(
            key,
            requests=uses(conn, key.api_key_id, REQUEST, now=now).used,
            grabs=uses(conn, key.api_key_id, GRAB, now=now).used,
            settings=services.settings.api,
            now=now,
        )
        for key in list_keys(conn)
        if key.revoked_at is None
    ]
    values: dict[str, Any] = {
        "keys": keys,
        "problem": problem,
        "made": made,
        "label": label,
        "typed": typed or dict.fromkeys(_KEY_FIELDS, ""),
        "base": services.links(request).base,
        "signed_in": visitor.account is not None,
        "may_set_up": visitor.may_set_up,
    }
    return show(request, services, visitor, "settings.html", status=status, **values)


def _with_form(request: Request, services: Services, form: Form, act: Show) -> Response:
    def checked(conn: Connection, visitor: Visitor) -> Response:
        if is_own_form(request, services, visitor, form):
            return act(conn, visitor)
        return refused(request, services, visitor)

    return _with_catalog(request, services, checked)


def _with_catalog(request: Request, services: Services, page: Show) -> Response:
    """Returns a page to somebody who may see it, or why there is none."""
    visitor = None
    try:
        with services.catalog.connection() as conn:
            visitor = visitor_of(request, services, conn)
            return turned_away(request, services, visitor) or page(conn, visitor)
    except VoyagerError as error:
        return unreachable(request, services, visitor, error)
