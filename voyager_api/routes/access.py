"""Lets a key in and counts what it uses (NZ-2, NZ-15)."""

import hashlib
from dataclasses import dataclass, replace

from fastapi import Request

from voyager_api.deps import Services, client_of
from voyager_api.newznab.errors import limit_reached, missing_parameter, wrong_credentials
from voyager_api.newznab.results import ApiLimits
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.keys import (
    GRAB,
    REQUEST,
    ApiKey,
    count_grab,
    count_use,
    uses,
    verify_key,
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        key: as presented, for the links of the answer.
        limits: what is used up, this request included.
    """

    key: str
    api_key: ApiKey
    limits: ApiLimits


def identify(conn: Connection, services: Services, request: Request, presented: str) -> ApiKey:
    """Returns the key that a request presents.

    Raises:
        NewznabError: 200 without a key, 100 for an unknown or revoked one, 500 from a client
            that presented too many of those.
    """
    if not presented:
        raise missing_parameter("apikey")
    client = client_of(request)
    digest = hashlib.sha256(presented.encode("utf-8", "replace")).hexdigest()
    now = services.now().timestamp()
    # A key that is known to be good is let in whoever else has the same address.
    if digest not in services.good_keys and (wait := services.wrong_keys.wait(client, now)):
        raise limit_reached(wait)
    api_key = verify_key(conn, presented)
    if api_key is None:
        services.good_keys.discard(digest)
        services.wrong_keys.take(client, now)
        raise wrong_credentials()
    services.good_keys.add(digest)
    return api_key


def admit(conn: Connection, services: Services, request: Request, presented: str) -> Caller:
    """Identifies the caller of a search or feed and counts the request.

    Raises:
        NewznabError: 200 or 100 as `identify`, 500 when the key's requests are used up.
    """
    api_key = identify(conn, services, request, presented)
    _take_burst(services, api_key)
    max_requests, max_grabs = limits_of(api_key, services)
    now = services.now()
    use = count_use(conn, api_key.api_key_id, REQUEST, limit=max_requests, now=now)
    if not use.allowed:
        raise limit_reached(use.retry_after_seconds)
    limits = ApiLimits(use.used, 0)
    if max_requests:
        limits = replace(limits, max_requests=max_requests, oldest_request_at=use.oldest_at)
    if max_grabs:
        grabs = uses(conn, api_key.api_key_id, GRAB, now=now)
        limits = replace(
            limits, grabs=grabs.used, max_grabs=max_grabs, oldest_grab_at=grabs.oldest_at
        )
    return Caller(presented, api_key, limits)


def admit_grab(conn: Connection, services: Services, api_key: ApiKey, release_id: int) -> None:
    """Counts a download, and the release's grab once a key and day.

    Raises:
        NewznabError: 500 when the key's downloads are used up.
    """
    _take_burst(services, api_key)
    _, max_grabs = limits_of(api_key, services)
    use = count_use(conn, api_key.api_key_id, GRAB, limit=max_grabs, now=services.now())
    if not use.allowed:
        raise limit_reached(use.retry_after_seconds)
    count_grab(conn, api_key.api_key_id, release_id, now=services.now())


def _take_burst(services: Services, api_key: ApiKey) -> None:
    now = services.now().timestamp()
    if wait := services.bursts.take(str(api_key.api_key_id), now):
        raise limit_reached(wait)


def limits_of(api_key: ApiKey, services: Services) -> tuple[int, int]:
    """Returns the requests and downloads that a key may make in 24 hours; 0 = any number."""
    settings = services.settings.api
    requests, grabs = api_key.requests_per_day, api_key.grabs_per_day
    return (
        settings.requests_per_day if requests is None else requests,
        settings.grabs_per_day if grabs is None else grabs,
    )
