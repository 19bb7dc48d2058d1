"""The probe queue: articles worth reading, with the release that they tell about."""

from dataclasses import dataclass

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors
from voyager_core.catalog.parts import unsigned

KINDS = ("lone_random", "par2_index", "archive_first", "sevenz_last")
"""In the order in which they are worth reading: random names before readable ones."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An article to read.

    Attributes:
        candidate_id: its number in the queue.
        release_id: the release.
        kind: why (see `KINDS`).
        message_id: without angle brackets.
        file_key: the file, unsigned.
        part: the segment's number in the file.
    """

    candidate_id: int
    release_id: int
    kind: str
    message_id: str
    file_key: int
    part: int


def candidates_of_release(conn: Connection, release_id: int) -> list[Candidate]:
    """Returns a release's candidates, the most telling first.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the candidates of release {release_id}"):
        rows = conn.execute(
            "select candidate_id, release_id, kind, message_id, file_key, part from candidate"
            " where release_id = %s order by array_position(%s::text[], kind), candidate_id"
            " limit 10000",
            [release_id, list(KINDS)],
        ).fetchall()
    return [_candidate(row) for row in rows]


def count_candidates(conn: Connection) -> dict[str, int]:
    """Returns how many candidates of each kind are queued.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors("counting candidates"):
        return dict(
            conn.execute(
                "select kind, count(*) from candidate group by kind order by kind limit 100"
            ).fetchall()
        )


def _candidate(row: tuple[int, int, str, str, int, int]) -> Candidate:
    candidate_id, release_id, kind, message_id, file_key, part = row
    return Candidate(candidate_id, release_id, kind, message_id, unsigned(file_key), part)
