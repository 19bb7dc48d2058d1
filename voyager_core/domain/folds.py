"""Folds: releases that a later look shows to be parts of one upload.

The header pass sees one span of one newsgroup. What it had to leave apart is put together
here, by two rules that nzbfast proved on twenty million rows:

- *session*: releases of one newsgroup under names that say nothing, posted by one tool in
  files of one size, one after the other, whose counters cover 1 … P exactly, each number once;
  or, whatever the names, sets of one poster that do (an album, a disc, a season that the edge
  of a span cut). Single files under names stay apart: books are posted in floods;
- *shatter*: releases that have a long stem and the same number of files in common, from
  whatever poster and newsgroup, no number twice. A stem that is a name may be posted to two
  newsgroups, so there the counters must cover 1 … P as well.

A fold is entered into a ledger and can be taken back. Where two folds are possible there is
none.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

SESSION = "session"
SHATTER = "shatter"

FOLD_VERSIONS = {SESSION: 1, SHATTER: 1}
"""Raised with every change of what a rule folds; the ledger records it."""

STEM_LENGTH = 16
"""A shorter stem may be that of different uploads."""

_SESSION_PAUSE = timedelta(minutes=15)
_SHATTER_PAUSE = timedelta(hours=48)
_SESSION_FILES = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A release that may be part of an upload.

    Attributes:
        release_id: its number in the catalog.
        release_key: its key: of equals the lower one takes the others in.
        group: the newsgroup.
        total: the N of its counters.
        indexes: the numbers of its files.
        files: how many files it has.
        stems: the stems of their names.
        is_readable: whether its name says something.
        since: when its first article was posted.
        until: when its last one was.
        tool: what posted it, by its message-ids (`posting_tools`).
        volume: the number of segments that most of its files have.
        poster: the From, where all its files have one.
    """

    release_id: int
    release_key: int
    group: str
    total: int
    indexes: frozenset[int]
    files: int
    stems: frozenset[str]
    is_readable: bool
    since: datetime
    until: datetime
    tool: str = ""
    volume: int = 0
    poster: str | None = None

    @property
    def is_countable(self) -> bool:
        """Whether every file has a number of its own within the total, and some are missing."""
        return (
            self.total >= _SESSION_FILES
            and 0 < len(self.indexes) == self.files < self.total
            and min(self.indexes) >= 1
            and max(self.indexes) <= self.total
        )


@dataclass(frozen=True, slots=True)
class Fold:
    """Releases that are one upload: the winner takes the others in."""

    rule: str
    winner: Member
    losers: tuple[Member, ...]


def find_folds(members: Iterable[Member], rule: str) -> list[Fold]:
    """Returns what a rule folds of these releases; the outcome does not depend on their order.

    Raises:
        KeyError: there is no such rule.
    """
    return _RULES[rule]([each for each in members if each.is_countable])


def _sessions(members: Sequence[Member]) -> list[Fold]:
    dark = [each for each in members if not each.is_readable]
    folds = [*_covers(dark, lambda each: (each.group, each.total, each.tool, each.volume))]
    done = {each for fold in folds for each in (fold.winner, *fold.losers)}
    sets = [each for each in members if each.poster and each.files > 1 and each not in done]
    return folds + list(
        _covers(sets, lambda each: (each.group, each.total, each.tool, each.poster))
    )


def _covers(
    members: Sequence[Member], key: Callable[[Member], tuple[object, ...]]
) -> Iterator[Fold]:
    """Yields the sessions among members that have a key in common."""
    for cluster in _clusters(members, key, _SESSION_PAUSE):
        if _is_cover(cluster):
            yield _fold(SESSION, cluster)
        else:
            yield from (_fold(SESSION, chain) for chain in _chains(cluster))


def _chains(cluster: Sequence[Member]) -> Iterator[list[Member]]:
    """Yields sets of releases that follow each other from 1 to P in one way only."""
    runs = [each for each in cluster if _is_run(each)]
    begins: dict[int, list[Member]] = defaultdict(list)
    ends: dict[int, list[Member]] = defaultdict(list)
    for each in runs:
        begins[min(each.indexes)].append(each)
        ends[max(each.indexes)].append(each)
    for first in begins[1]:
        chain = [first]
        while (last := max(chain[-1].indexes)) < first.total:
            following = begins[last + 1]
            # Two that end here, or two that go on: either may be of the other upload.
            if len(following) != 1 or len(ends[last]) != 1:
                break
            following_one = following[0]
            if following_one.since - chain[-1].until > _SESSION_PAUSE:
                break
            chain.append(following_one)
        else:
            if len(chain) > 1:
                yield chain


def _shatters(members: Sequence[Member]) -> list[Fold]:
    long = [
        each
        for each in members
        if len(each.stems) == 1 and len(next(iter(each.stems))) >= STEM_LENGTH
    ]
    folds: list[Fold] = []
    for cluster in _clusters(long, lambda each: (*each.stems, each.total), _SHATTER_PAUSE):
        if not _is_disjoint(cluster):
            continue
        if any(each.is_readable for each in cluster) and not _is_cover(cluster):
            continue
        folds.append(_fold(SHATTER, cluster))
    return folds


_RULES: dict[str, Callable[[Sequence[Member]], list[Fold]]] = {
    SESSION: _sessions,
    SHATTER: _shatters,
}


def _clusters(
    members: Iterable[Member], key: Callable[[Member], tuple[object, ...]], pause: timedelta
) -> Iterator[list[Member]]:
    """Yields members of one key without a longer pause between them, where there are several."""
    ordered = sorted(
        members, key=lambda each: (str(key(each)), each.since, each.until, each.release_key)
    )
    for _, same in groupby(ordered, key=key):
        cluster: list[Member] = []
        end: datetime | None = None
        for each in same:
            if end is not None and each.since - end > pause:
                if len(cluster) > 1:
                    yield cluster
                cluster, end = [], None
            cluster.append(each)
            end = each.until if end is None else max(end, each.until)
        if len(cluster) > 1:
            yield cluster


def _is_run(member: Member) -> bool:
    return max(member.indexes) - min(member.indexes) + 1 == len(member.indexes)


def _is_disjoint(members: Sequence[Member]) -> bool:
    return sum(each.files for each in members) == len(
        frozenset().union(*(each.indexes for each in members))
    )


def _is_cover(members: Sequence[Member]) -> bool:
    total = members[0].total
    return _is_disjoint(members) and sum(each.files for each in members) == total


def _fold(rule: str, members: Sequence[Member]) -> Fold:
    ordered = sorted(members, key=lambda each: (-each.files, each.release_key, each.release_id))
    return Fold(rule, ordered[0], tuple(ordered[1:]))
