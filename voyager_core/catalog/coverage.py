"""Which article numbers of a newsgroup are indexed, as stretches."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

MOST_RANGES = 200_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """Article numbers in a row of which the same is known; both ends inclusive.

    Attributes:
        low: the first.
        high: the last.
        state: `indexed`, `planned` or `parked`.
    """

    low: int
    high: int
    state: str


def coverage_of(conn: Connection, group: str) -> list[Stretch]:
    """Returns the stretches of a newsgroup by number; between them nothing is planned.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    with catalog_errors(f"reading the coverage of {group}"):
        rows = conn.execute(
            "select r.low, r.high, r.resume_at, r.state from range r"
            " join newsgroup n using (newsgroup_id) where n.name = %s order by r.low limit %s",
            [group.replace("\0", ""), MOST_RANGES],
        ).fetchall()
    return joined(piece for row in rows for piece in _pieces(*row))


def joined(pieces: Iterable[Stretch]) -> list[Stretch]:
    """Returns stretches in order with neighbours of the same state made one."""
    found: list[Stretch] = []
    for piece in pieces:
        if found and found[-1].state == piece.state and found[-1].high + 1 == piece.low:
            found[-1] = replace(found[-1], high=piece.high)
        else:
            found.append(piece)
    return found


def _pieces(low: int, high: int, resume_at: int, state: str) -> list[Stretch]:
    pieces = []
    if resume_at > low:
        pieces.append(Stretch(low, resume_at - 1, "indexed"))
    if resume_at <= high:
        pieces.append(Stretch(resume_at, high, "parked" if state == "parked" else "planned"))
    return pieces
