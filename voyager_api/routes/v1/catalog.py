"""`/api/v1/groups`, `/rules` and `/health`: how far the catalog is, and what it left out."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from voyager_api.newznab.errors import no_such_item
from voyager_api.routes.v1.common import MISSING, AskedDep, read
from voyager_api.schemas import (
    CatalogHealth,
    CoverageOut,
    GroupOut,
    GroupsOut,
    RangeOut,
    RangePage,
    RejectOut,
    RuleOut,
    RulesOut,
    SampleOut,
    SamplesOut,
    StretchOut,
)
from voyager_core.catalog.candidates import count_candidates
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.coverage import coverage_of
from voyager_core.catalog.groups import Newsgroup, get_group
from voyager_core.catalog.ranges import ranges_before
from voyager_core.catalog.releases import counts
from voyager_core.catalog.rulecounts import reject_totals, rule_samples, rule_totals

router = APIRouter()
_NAME: Final = Path(max_length=255)
_NUMBER: Final = (1 << 62) - 1


@read(router, "/groups", response_model=GroupsOut, tags=["groups"])
def groups(asked: AskedDep) -> Response:
    """Returns how far each newsgroup is indexed, some seconds old at most."""
    with asked.admitted() as conn:
        status = asked.services.group_status(conn)
    items = [GroupOut.model_validate(one) for one in status]
    return asked.answer(GroupsOut(items=items))


@read(
    router,
    "/groups/{group}/coverage",
    response_model=CoverageOut,
    responses=MISSING,
    tags=["groups"],
)
def coverage(asked: AskedDep, group: Annotated[str, _NAME]) -> Response:
    """Returns which article numbers of a newsgroup are indexed."""
    with asked.admitted() as conn:
        found = _group(conn, group)
        stretches = coverage_of(conn, group)
    document = CoverageOut(
        group=found.name,
        low=found.low,
        high=found.high,
        stretches=[StretchOut.model_validate(one) for one in stretches],
    )
    return asked.answer(document)


@read(
    router, "/groups/{group}/ranges", response_model=RangePage, responses=MISSING, tags=["groups"]
)
def ranges(
    asked: AskedDep,
    group: Annotated[str, _NAME],
    before: Annotated[int | None, Query(ge=0, le=_NUMBER)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Returns the ranges of a newsgroup, the newest first."""
    with asked.admitted() as conn:
        _group(conn, group)
        rows = ranges_before(conn, group, before=before, limit=limit)
    more = rows[-1].low if len(rows) == limit else None
    document = RangePage(items=[RangeOut.model_validate(one) for one in rows], next=more)
    return asked.answer(document)


@read(router, "/rules", response_model=RulesOut, tags=["rules"])
def rules(asked: AskedDep, group: Annotated[str | None, Query(max_length=255)] = None) -> Response:
    """Returns what rules and parser left out, in one newsgroup or in all."""
    name = None if group is None else group.replace("\0", "")
    with asked.admitted() as conn:
        totals, rejects = rule_totals(conn, name), reject_totals(conn, name)
    document = RulesOut(
        rules=[RuleOut.model_validate(one) for one in totals],
        rejects=[RejectOut.model_validate(one) for one in rejects],
    )
    return asked.answer(document)


@read(router, "/rules/{rule}/samples", response_model=SamplesOut, tags=["rules"])
def samples(
    asked: AskedDep,
    rule: Annotated[str, Path(max_length=200)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Returns samples of what a rule dropped, the newest first."""
    name = rule.replace("\0", "")
    with asked.admitted() as conn:
        found = rule_samples(conn, name, limit=limit)
    items = [
        SampleOut(
            group=one.group,
            low=one.low,
            release_key=None if one.release_key is None else f"{one.release_key:016x}",
            detail=one.detail,
        )
        for one in found
    ]
    return asked.answer(SamplesOut(rule=name, items=items))


@read(router, "/health", response_model=CatalogHealth, tags=["health"])
def health(asked: AskedDep) -> Response:
    """Returns what the catalog holds, and what waits in it."""
    with asked.admitted() as conn:
        held = counts(conn)
        candidates = count_candidates(conn)
        status = asked.services.group_status(conn)
    document = CatalogHealth(
        releases=held.releases,
        lines=held.lines,
        segments=held.segments,
        candidates=candidates,
        stored_at=held.stored_at,
        groups=len(status),
        ranges_parked=sum(one.parked for one in status),
    )
    return asked.answer(document)


def _group(conn: Connection, name: str) -> Newsgroup:
    found = get_group(conn, name)
    if found is None:
        raise no_such_item()
    return found
