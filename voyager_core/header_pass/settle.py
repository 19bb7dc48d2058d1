"""After the pass: put cut files together, and settle releases that nothing is added to."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from voyager_core.catalog.connect import Connection
from voyager_core.catalog.fragments import (
    Fragment,
    SetAside,
    count_fragments,
    groups_with_fragments,
    ready_fragments,
    store_merged,
)
from voyager_core.catalog.settle import read_periods, settle
from voyager_core.domain.rulesets import REPOST_REMNANT, RuleSet
from voyager_core.errors import PermanentError
from voyager_core.header_pass.build import build_files
from voyager_core.header_pass.folds import fold_releases
from voyager_core.header_pass.fragments import fragments_frame, merge_fragments, split_remnants
from voyager_core.header_pass.reposts import part_reposts
from voyager_core.header_pass.retries import dropped_share
from voyager_core.header_pass.run import versions_of

logger = logging.getLogger(__name__)

# Fragments and releases of one transaction: a few seconds of work.
FRAGMENTS_AT_A_TIME = 5_000
RELEASES_AT_A_TIME = 100_000


class DamagedFragmentError(PermanentError):
    """A stored fragment cannot be read."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What merging brought.

    Attributes:
        merged: fragments that were put together and are gone.
        files: files that they made.
        segments: segments in those.
        releases_added: releases that are new because of it.
        releases_updated: releases that grew.
        waiting: fragments that wait for ranges still to be read.
    """

    merged: int
    files: int
    segments: int
    releases_added: int
    releases_updated: int
    waiting: int


@dataclass(frozen=True, slots=True)
class SettleReport:
    """What settling brought: releases settled, and how many of them have all their segments.

    `parted` are keys whose posts turned out to be several, `folded` releases that turned out to
    be parts of others, by the rule that showed it.
    """

    settled: int
    complete: int
    incomplete: int
    folded: Mapping[str, int] = field(default_factory=dict)
    parted: int = 0


def merge_ready_fragments(
    conn: Connection, *, now: datetime, patience_seconds: float, rules: RuleSet | None = None
) -> MergeReport:
    """Puts every cut file together whose missing segments can no longer come.

    Args:
        conn: the catalog, outside any transaction.
        now: the time.
        patience_seconds: how long a fragment waits for numbers that are not posted yet.
        rules: those in force; absent: those built in.

    Raises:
        DamagedFragmentError: a stored fragment cannot be read.
        CatalogUnavailable: the database does not answer; what was merged stays merged.
    """
    rules = rules or RuleSet()
    share = dropped_share(rules)
    merged = files = segments = added = updated = 0
    for group in groups_with_fragments(conn):
        for ready in _batches(conn, group, now=now, patience_seconds=patience_seconds):
            fragments = [each for pieces in ready for each in pieces]
            whole, remnants = split_remnants(_merge(group, fragments), share)
            built = build_files(whole, now=now)
            ids = [each.fragment_id for each in fragments]
            aside = SetAside(remnants, REPOST_REMNANT, versions_of(rules))
            outcome = store_merged(conn, group, ids, built, aside=aside)
            if not outcome.stored:
                # Somebody else merges this group at the same moment.
                break
            merged += len(ids)
            files += len(built.files)
            segments += outcome.segments
            added += outcome.releases_added
            updated += outcome.releases_updated
            logger.info("%s: %d fragments made %d files", group, len(ids), len(built.files))
    return MergeReport(
        merged=merged,
        files=files,
        segments=segments,
        releases_added=added,
        releases_updated=updated,
        waiting=count_fragments(conn),
    )


def fragments_are_ready(conn: Connection, *, now: datetime, patience_seconds: float) -> bool:
    """Tells whether there is anything for `merge_ready_fragments` to do.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    return any(
        ready_fragments(conn, group, limit=1, patience_seconds=patience_seconds, now=now)
        for group in groups_with_fragments(conn)
    )


def settle_releases(
    conn: Connection, *, now: datetime, settle_after_seconds: float, rules: RuleSet | None = None
) -> SettleReport:
    """Settles every release that is finished, and folds those that are parts of one upload.

    What was posted twice under one key is told apart before.

    Args:
        conn: the catalog, outside any transaction.
        now: the time.
        settle_after_seconds: how long nothing may have arrived.
        rules: those in force; absent: those built in.

    Raises:
        CatalogUnavailable: the database does not answer; what was settled stays settled.
    """
    # What is read meanwhile would settle without having been looked at.
    periods = read_periods(conn)
    parted = part_reposts(
        conn,
        settle_after_seconds=settle_after_seconds,
        now=now,
        rules=rules or RuleSet(),
        periods=periods,
    )
    settled = complete = 0
    times: list[datetime] = []
    while True:
        part = settle(
            conn,
            settle_after_seconds=settle_after_seconds,
            now=now,
            limit=RELEASES_AT_A_TIME,
            periods=periods,
        )
        settled += part.settled
        complete += part.complete
        times += [moment for moment in (part.posted_from, part.posted_to) if moment is not None]
        if not part.more:
            break
    # What a span could not tell shows when the releases beside it are finished as well.
    folds = fold_releases(conn, first=min(times), last=max(times)) if times else None
    folded = folds.folded if folds is not None else {}
    return SettleReport(settled, complete, settled - complete, folded, parted)


def _batches(
    conn: Connection, group: str, *, now: datetime, patience_seconds: float
) -> Iterator[list[list[Fragment]]]:
    while ready := ready_fragments(
        conn, group, limit=FRAGMENTS_AT_A_TIME, patience_seconds=patience_seconds, now=now
    ):
        yield ready


def _merge(group: str, fragments: Sequence[Fragment]) -> pl.DataFrame:
    try:
        return merge_fragments(fragments_frame(each.file for each in fragments))
    except ValueError as error:
        first, last = fragments[0].fragment_id, fragments[-1].fragment_id
        msg = f"a fragment of {group} between numbers {first} and {last} is damaged: {error}"
        raise DamagedFragmentError(msg) from error
