"""When articles were posted, read from a block of overview lines."""

from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.nntp.overview import OverviewBlock


def usual_posted_at(block: OverviewBlock) -> datetime | None:
    """Returns the middle one of the posting times of a block, None without one.

    A few posters' clocks are years off; of many articles the middle one is not.
    """
    dated = sorted(_dates(block))
    return dated[len(dated) // 2] if dated else None


def first_posted_at(block: OverviewBlock) -> datetime | None:
    """Returns the posting time of the first dated article of a block, None without one."""
    return next(iter(_dates(block)), None)


def _dates(block: OverviewBlock) -> list[datetime]:
    if not block.lines:
        return []
    lines = pl.DataFrame(voyager_native.parse_lines(voyager_native.inflate(block.raw)))
    dated: list[datetime] = lines["posted_at"].drop_nulls().to_list()
    return dated
