"""What the pages of the operator show."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from voyager_api.newznab.links import is_loopback
from voyager_api.web.pages import age_text
from voyager_core.catalog.keys import ApiKey
from voyager_core.catalog.rulecounts import RuleSample
from voyager_core.settings import ApiSettings, Settings

MAX_LIMIT: Final = 1_000_000_000
"""Most requests a day that a limit can be; beyond it none is meant."""

_SAMPLE_CHARACTERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of the API, without the key."""

    number: int
    label: str
    made: str
    used: str
    requests: int
    grabs: int
    max_requests: int
    max_grabs: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A release that a rule left out, with what is known of it as readable JSON."""

    group: str
    low: int
    title: str
    detail: str


def key_row(
    key: ApiKey, *, requests: int, grabs: int, settings: ApiSettings, now: datetime
) -> KeyRow:
    """Returns a key with its uses in the last 24 hours; limits of 0 are none."""
    own_requests, own_grabs = key.requests_per_day, key.grabs_per_day
    return KeyRow(
        number=key.api_key_id,
        label=key.label,
        made=age_text(key.created_at, now),
        used=age_text(key.last_used_at, now) if key.last_used_at else "never",
        requests=requests,
        grabs=grabs,
        max_requests=settings.requests_per_day if own_requests is None else own_requests,
        max_grabs=settings.grabs_per_day if own_grabs is None else own_grabs,
    )


def samples_of(samples: Sequence[RuleSample]) -> list[Sample]:
    """Returns what a rule left out, for reading."""
    return [
        Sample(
            group=sample.group,
            low=sample.low,
            title=_title(sample.detail),
            detail=json.dumps(sample.detail, indent=1, ensure_ascii=False)[:_SAMPLE_CHARACTERS],
        )
        for sample in samples
    ]


def _title(detail: Any) -> str:
    """Returns the name of a sample, or its first subject."""
    if not isinstance(detail, dict):
        return "sample"
    for name in ("name", "release_name", "subject"):
        if detail.get(name):
            return str(detail[name])
    files = detail.get("files")
    if isinstance(files, list) and files:
        return _title(files[0])
    return "sample"


def dagster_address(settings: Settings) -> str:
    """Returns where the Dagster UI is, "" where a browser elsewhere could not reach it."""
    if settings.dagster.external_url:
        return settings.dagster.external_url.rstrip("/")
    host = settings.dagster.host
    if not is_loopback(host) or not is_loopback(settings.api.host):
        return ""
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.dagster.port}"
