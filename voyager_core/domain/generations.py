"""Which posts under one release key are one release, and which are a repost.

Posts of one key belong together when no more than the window lies between them, directly or
through posts in between; what lies further apart is the next generation. So the outcome is
the same in whatever order the parts arrive: a part that closes a gap joins the generations
on both sides, and the one with the lower number keeps its public id.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

REPOST_WINDOW = timedelta(hours=48)
"""The longest pause inside one release; the same key after a longer one is a repost."""

MAX_GENERATION = 32_767


def repost_text(release_key: int, number: int) -> str:
    """Returns the text whose hash is the key of what was posted again within the window.

    Args:
        release_key: the key of the first post, unsigned.
        number: from 1, in the order of posting.
    """
    return f"{release_key:016x}\nagain\n{number}"


def repost_key(release_key: int, number: int) -> int:
    """Returns the key of a repost within the window; number 0 is the first post itself."""
    if number == 0:
        return release_key
    text = repost_text(release_key, number).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Posted:
    """A stretch of posting time, both ends included."""

    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Generation:
    """A release of the key that exists already.

    Attributes:
        number: its generation, from 0.
        posted: when its parts were posted.
    """

    number: int
    posted: Posted


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where new parts go.

    Attributes:
        numbers: the generation of each new part, in the order given.
        created: generations that did not exist before.
        merged: generations that end, with the one that takes them over.
    """

    numbers: tuple[int, ...]
    created: tuple[int, ...]
    merged: tuple[tuple[int, int], ...]


def resolve(
    existing: Iterable[Generation],
    parts: Sequence[Posted],
    *,
    used: Iterable[int] = (),
    window: timedelta = REPOST_WINDOW,
) -> Resolution:
    """Returns the generation of each new part of one release key.

    Args:
        existing: the key's releases.
        parts: posting times of the new parts.
        used: further generation numbers that are taken (public ids that lead elsewhere).
        window: the longest pause inside one release.

    Raises:
        ValueError: the key has had more generations than a public id can name.
    """
    generations = list(existing)
    taken = {generation.number for generation in generations} | set(used)
    following = max(taken, default=-1) + 1
    numbers = [0] * len(parts)
    created: list[int] = []
    merged: list[tuple[int, int]] = []
    for members, news in _joined(generations, parts, window):
        if not news:
            continue
        if members:
            number = min(members)
            merged.extend((member, number) for member in sorted(members) if member != number)
        else:
            number = following
            following += 1
            if number > MAX_GENERATION:
                msg = f"a release key has more than {MAX_GENERATION} generations"
                raise ValueError(msg)
            created.append(number)
        for at in news:
            numbers[at] = number
    return Resolution(tuple(numbers), tuple(created), tuple(merged))


def _joined(
    generations: Sequence[Generation], parts: Sequence[Posted], window: timedelta
) -> Iterable[tuple[list[int], list[int]]]:
    """Yields what belongs together, oldest first: generation numbers and places of parts."""
    # A generation before a part of the same time, so that the order of parts plays no role.
    marks = [(g.posted.first, g.posted.last, 0, g.number) for g in generations]
    marks += [(part.first, part.last, 1, at) for at, part in enumerate(parts)]
    marks.sort()
    members: list[int] = []
    news: list[int] = []
    end: datetime | None = None
    for first, last, kind, number in marks:
        if end is not None and first - end > window:
            yield members, news
            members, news, end = [], [], None
        (news if kind else members).append(number)
        end = last if end is None else max(end, last)
    if end is not None:
        yield members, news
