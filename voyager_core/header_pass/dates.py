"""When articles were posted, read from a block of overview lines."""

from datetime import datetime

import polars as pl

import voyager_native
from voyager_core.nntp.overview import OverviewBlock


def usual_posted_at(block: OverviewBlock) -> datetime | None:
    """Returns the middle one of the posting times of a block, None without one.

    A few posters' clocks are years off; of many articles the middle one is not.
    """
    if not block.lines:
        return None
    lines = pl.DataFrame(voyager_native.parse_lines(voyager_native.inflate(block.raw)))
    dated = lines["posted_at"].drop_nulls().sort()
    moment: datetime | None = dated[len(dated) // 2] if len(dated) else None
    return moment


def first_posted_at(block: OverviewBlock) -> datetime | None:
    """Returns the posting time of the first dated article of a block, None without one."""
    if not block.lines:
        return None
    lines = pl.DataFrame(voyager_native.parse_lines(voyager_native.inflate(block.raw)))
    dated = lines["posted_at"].drop_nulls()
    moment: datetime | None = dated[0] if len(dated) else None
    return moment
