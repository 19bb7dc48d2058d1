"""Whether a release can be used: what is announced against what is there.

Counting is not enough. A total that nobody states is not a share of nothing, more files than
announced are no fault (`[61/60]`, the `[00/60]` of an NZB), and what is missing may be made
good by parity files, whose names state how many blocks they hold (`.vol31+32.par2`).
"""

from enum import StrEnum
from typing import NamedTuple


class Completeness(StrEnum):
    """What becomes of a download.

    Attributes:
        UNKNOWN: the subjects do not say how much there should be.
        COMPLETE: all that is announced is there.
        REPAIRABLE: something is missing, and the parity files hold enough to make it good.
        INCOMPLETE: more is missing than can be made good.
    """

    UNKNOWN = "unknown"
    COMPLETE = "complete"
    REPAIRABLE = "repairable"
    INCOMPLETE = "incomplete"


class Counted(NamedTuple):
    """What was counted of a release; a tuple, since the facets of a search make thousands.

    Attributes:
        files: files found.
        files_expected: files announced by the counters, None when they have no total.
        segments: segments found.
        segments_expected: segments that the found files announce, None when none does.
        size_bytes: sum of the articles' sizes.
        content_missing: missing segments of found files that are no parity files.
        recovery_blocks: blocks in the parity files of which every segment is there.
        recovery_bytes: size of the articles of those.
        largest_file: most segments that a file of the release has.
    """

    files: int
    files_expected: int | None
    segments: int
    segments_expected: int | None
    size_bytes: int = 0
    content_missing: int = 0
    recovery_blocks: int = 0
    recovery_bytes: int = 0
    largest_file: int = 0


def completeness_of(counted: Counted) -> Completeness:
    """Returns the state of a release.

    Files that are missing altogether count as big as the biggest one that is there: of them
    nobody knows what they held.
    """
    files_missing = max(0, (counted.files_expected or 0) - counted.files)
    segments_missing = max(0, (counted.segments_expected or 0) - counted.segments)
    if files_missing or segments_missing:
        to_repair = counted.content_missing + files_missing * counted.largest_file
        return (
            Completeness.REPAIRABLE
            if _blocks_needed(counted, to_repair) <= counted.recovery_blocks
            and (not files_missing or counted.largest_file > 0)
            else Completeness.INCOMPLETE
        )
    # Files whose total nobody states may lack anything.
    if counted.segments_expected is None:
        return Completeness.UNKNOWN
    return Completeness.COMPLETE


def _blocks_needed(counted: Counted, segments: int) -> int:
    """Returns how many blocks are lost with so many segments.

    A segment bigger than a block takes several with it. The size of a block follows from that of
    the parity files, which hold little else.
    """
    if not (segments and counted.recovery_blocks and counted.segments):
        return segments
    block = max(1, counted.recovery_bytes // counted.recovery_blocks)
    segment = counted.size_bytes // counted.segments
    return segments * max(1, -(-segment // block))
