"""`/api/v1/releases`: searches with facets, and everything about one release."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Response

import voyager_native
from voyager_api.newznab.errors import no_such_item
from voyager_api.newznab.requests import parse_release_id
from voyager_api.routes.v1.common import MISSING, AskedDep, cursor_of, place_of, read
from voyager_api.schemas import (
    CandidateOut,
    FacetsOut,
    FileOut,
    MergeOut,
    OriginOut,
    ReleaseDetail,
    ReleaseOut,
    ReleasePage,
)
from voyager_core.catalog.candidates import candidates_of_release
from voyager_core.catalog.facets import facets_of
from voyager_core.catalog.provenance import merges_of, origins_of
from voyager_core.catalog.releases import chunks, get_release
from voyager_core.catalog.search import SearchQuery, search
from voyager_core.domain.tokens import query_terms
from voyager_core.nzb.files import (
    MOST_LISTED_SEGMENTS,
    CorruptChunkError,
    NzbFile,
    Report,
    files_of,
)

router = APIRouter(prefix="/releases", tags=["releases"])
MAX_LIMIT: Final = 100
MAX_FILES: Final = 20_000
_INT: Final = (1 << 31) - 1
_SIZE: Final = (1 << 62) - 1
_DAYS: Final = 36_500


def wanted(
    *,
    q: Annotated[str, Query(max_length=4000, description="Words, as at /api")] = "",
    category: Annotated[
        list[Annotated[int, Query(ge=0, le=_INT)]] | None,
        Query(max_length=100, description="A parent covers its children"),
    ] = None,
    group: Annotated[
        list[str] | None, Query(max_length=100, description="Exact names of newsgroups")
    ] = None,
    poster: Annotated[str | None, Query(max_length=1000, description="Part of the From")] = None,
    season: Annotated[int | None, Query(ge=0, le=_INT)] = None,
    episode: Annotated[int | None, Query(ge=0, le=_INT)] = None,
    aired_on: date | None = None,
    min_age: Annotated[int | None, Query(ge=0, le=_DAYS, description="Days")] = None,
    max_age: Annotated[int | None, Query(ge=0, le=_DAYS, description="Days")] = None,
    min_size: Annotated[int | None, Query(ge=0, le=_SIZE, description="Bytes")] = None,
    max_size: Annotated[int | None, Query(ge=0, le=_SIZE, description="Bytes")] = None,
    min_completion: Annotated[int | None, Query(ge=0, le=100, description="Percent")] = None,
    password: Annotated[
        bool, Query(description="False leaves out what is known to be encrypted")
    ] = True,
    state: Literal["open", "settled"] | None = None,
) -> SearchQuery:
    """Returns what a search asks for."""
    return SearchQuery(
        text=q,
        categories=tuple(category or ()),
        season=season,
        episode=episode,
        airdate=aired_on,
        groups=tuple(group or ()),
        poster=poster or None,
        min_age=min_age,
        max_age=max_age,
        min_size=min_size,
        max_size=max_size,
        password=None if password else 0,
        min_completion=min_completion,
        state=state,
    )


Wanted = Annotated[SearchQuery, Depends(wanted)]


@read(router, "", response_model=ReleasePage)
def releases(
    asked: AskedDep,
    query: Wanted,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
    cursor: Annotated[str | None, Query(description="`next` of the page before")] = None,
) -> Response:
    """Returns the releases that match, newest first.

    With words the list goes by `posted_at`, without by `feed_at`.
    """
    order = "posted_at" if query_terms(query.text).required else "feed_at"
    before = place_of(cursor, order) if cursor else None
    with asked.admitted() as conn:
        page = search(conn, replace(query, before=before, limit=limit))
    # A search that looked no further goes on from what it found.
    goes_on = page.is_least or page.total > len(page.items)
    last = page.items[-1] if page.items and goes_on else None
    document = ReleasePage(
        total=page.total if before is None else None,
        total_is_least=page.is_least if before is None else None,
        items=[ReleaseOut.model_validate(one) for one in page.items],
        next=cursor_of(order, getattr(last, order), last.release_id) if last else None,
    )
    return asked.answer(document)


@read(router, "/facets", response_model=FacetsOut)
def facets(asked: AskedDep, query: Wanted) -> Response:
    """Returns what a search finds, counted by category, newsgroup, state, age and completeness."""
    with asked.admitted() as conn:
        found = facets_of(conn, query)
    return asked.answer(FacetsOut.model_validate(found))


@read(router, "/{release_id}", response_model=ReleaseDetail, responses=MISSING)
def release(
    *,
    asked: AskedDep,
    release_id: Annotated[str, Path(max_length=200)],
    files: Annotated[bool, Query(description="Whether its files are listed")] = True,
) -> Response:
    """Returns everything that is known of a release."""
    public_id = parse_release_id(release_id)
    with asked.admitted() as conn:
        found = get_release(conn, public_id) if public_id else None
        if found is None:
            raise no_such_item()
        candidates = candidates_of_release(conn, found.release_id)
        origins = origins_of(conn, found)
        merges = merges_of(conn, found.release_id)
        is_listed = files and found.segments <= MOST_LISTED_SEGMENTS
        payloads = chunks(conn, found.release_id) if is_listed else []
    rows, problem = _files(payloads) if is_listed else (None, None)
    if files and not is_listed:
        problem = "it has too many articles to list its files"
    document = ReleaseDetail(
        release=ReleaseOut.model_validate(found),
        files=rows,
        problem=problem,
        candidates=[CandidateOut.model_validate(one) for one in candidates],
        origins=[OriginOut.model_validate(one) for one in origins],
        merges=[MergeOut.model_validate(one) for one in merges],
    )
    return asked.answer(document)


def _files(payloads: list[bytes]) -> tuple[list[FileOut] | None, str | None]:
    try:
        files = files_of(payloads, voyager_native.decode_chunk, Report())
    except CorruptChunkError:
        return None, "what is stored of it is damaged"
    problem = None
    if len(files) > MAX_FILES:
        problem = f"the first {MAX_FILES} of {len(files)} files are listed"
    return [_file(file) for file in files[:MAX_FILES]], problem


def _file(file: NzbFile) -> FileOut:
    posted = file.posted_at
    return FileOut(
        name=file.name,
        subject=file.subject,
        poster=file.poster,
        groups=list(file.groups),
        posted_at=None if posted is None else datetime.fromtimestamp(posted, UTC),
        index=file.file_index,
        total=file.file_total,
        size_bytes=file.size_bytes,
        segments_found=len(file.segments),
        segments_expected=file.expected,
    )
