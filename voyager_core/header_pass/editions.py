"""Posts of one release whose files are the same and whose counters are not.

Somebody posts a release again, or somebody else does: the files have the names that they had, but
other counters of files, or other numbers of parts. Few subjects are there twice then, and yet there
are two posts. Most names of the release must be there twice, so that neither a file that was
replaced nor a counter of its own for a sample makes a post.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import polars as pl

_LEAST_NAMES = 2


class Named(NamedTuple):
    """A file of a release.

    Attributes:
        name: in lower case, or a number for it; empty where there is none.
        file: of one file and all its reposts the same, and which of these it is.
        total: the number of files that its counter announces; 0 without one.
        place: its number among these.
        poster: None where it says nothing.
        first: its first article.
    """

    name: Hashable
    file: tuple[Hashable, int]
    total: int
    place: int
    poster: Hashable | None
    first: int


def editions(files: Sequence[Named]) -> list[int]:
    """Returns the post that each file is of, numbered by their first articles.

    Args:
        files: of one release and session, in any order.
    """
    firsts: dict[Hashable, Named] = {}
    for each in sorted(files, key=lambda each: each.first):
        firsts.setdefault(each.file, each)
    by_name: dict[Hashable, list[Named]] = defaultdict(list)
    for each in firsts.values():
        by_name[each.name].append(each)
    by_name.pop("", None)
    twice = [same for same in by_name.values() if len(same) > 1]
    least = max(min(_LEAST_NAMES, len(by_name)), (len(by_name) + 1) // 2)
    # Where all that is there twice are reposts of files, these are numbered already.
    recounted = any(each.file[0] != same[0].file[0] for same in twice for each in same)
    if not recounted or len(twice) < least:
        return [0] * len(files)
    post_of = _posts(twice)
    if not post_of:
        return [0] * len(files)
    begins: dict[Hashable, int] = {}
    totals: dict[int, Hashable] = {}
    for each in firsts.values():
        if (post := post_of.get(each.file)) is not None:
            begins.setdefault(post, each.first)
            totals[each.total] = post if totals.get(each.total, post) == post else None
    numbers = {post: number for number, post in enumerate(begins)}
    found: dict[Hashable, int] = {}
    for each in firsts.values():
        # What is there once is of the post with its counter, or else of that which began last.
        post = post_of.get(each.file, totals.get(each.total))
        begun = sum(first <= each.first for first in begins.values())
        found[each.file] = max(begun - 1, 0) if post is None else numbers[post]
    return [found[each.file] for each in files]


def numbered_posts(files: pl.DataFrame, key: str) -> pl.DataFrame:
    """Returns the `_edition` of each file and how many there are, of releases of several.

    Args:
        files: with a row number, the key, the session, and what `Named` has of each; a null name
            is none. What was merely sent again (`_sent_again`) is of no edition.
        key: the column of release keys.
    """
    by = [key, "session"]
    posted = files.filter(~pl.col("_sent_again"))
    names = posted.drop_nulls("_name_id").group_by(*by, "_name_id").len("posts")
    # Hardly any release has most of its names twice.
    twice = (pl.col("posts") > 1).sum()
    most = (twice * 2 >= pl.len()) & (twice >= pl.min_horizontal(pl.len(), _LEAST_NAMES))
    several = names.group_by(by).agg(several=most).filter("several").select(by)
    posted = posted.join(several, on=by, how="semi")
    found = []
    for posts in posted.partition_by(by):
        columns = posts.select(
            pl.col("_name_id").fill_null(0),
            *("_file", "generation", "_total", "_index", "_from_id", "first_number"),
        )
        numbers = editions(
            [
                Named(name or "", (file, post), *rest)
                for name, file, post, *rest in columns.iter_rows()
            ]
        )
        if any(numbers):
            of_each = posts.select("_row", _edition=pl.Series(numbers, dtype=pl.UInt32))
            release = posts.select(by).head(1).with_columns(_editions=max(numbers) + 1)
            release = files.join(release, on=by).select("_row", "_editions")
            found.append(release.join(of_each, on="_row", how="left"))
    return pl.concat(found) if found else pl.DataFrame()


def _posts(twice: Sequence[Sequence[Named]]) -> dict[Hashable, Hashable]:
    """Returns which post each of the files is of; nothing where they do not say it."""
    for feature in (lambda each: (each.total, each.poster), lambda each: each.total):
        told: dict[Hashable, Hashable] = {}
        places: set[tuple[Hashable, Hashable, int]] = set()
        for same in twice:
            before: Counter[Hashable] = Counter()
            for each in same:
                about = feature(each)
                told[each.file] = (about, before[about])
                before[about] += 1
                places.add((each.name, about, each.place))
        # Several files of one post may have one name, but not one number.
        one_place = len(places) == len({place[:2] for place in places})
        if one_place and len(set(told.values())) == max(map(len, twice)):
            return told
    return {}
