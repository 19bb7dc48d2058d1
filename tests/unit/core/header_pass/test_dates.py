"""Of many articles the middle date counts, of the first ones the first."""

import zlib
from datetime import UTC, datetime

import pytest

from voyager_core.header_pass.dates import first_posted_at, usual_posted_at
from voyager_core.nntp.inflating import Encoding
from voyager_core.nntp.overview import OverviewBlock, empty_block


def block(years):
    lines = [
        f'{number}\t"a.rar" yEnc ({number}/9)\tp@example.net\t'
        f"{'no date' if year is None else f'01 Mar {year} 00:00:00 GMT'}"
        f"\t<{number}@example.net>\t\t500000\t3000\t\r\n"
        for number, year in enumerate(years, 1)
    ]
    raw = zlib.compress("".join(lines).encode())
    return OverviewBlock("alt.a", 1, 9, raw, Encoding.ZLIB, len(lines))


def in_march(year):
    return datetime(year, 3, 1, tzinfo=UTC)


def test_a_few_wrong_clocks_do_not_date_a_block():
    assert usual_posted_at(block([2037, 2012, 2011, 2013, 1999])) == in_march(2012)


def test_the_first_date_is_that_of_the_first_dated_article():
    assert first_posted_at(block([None, 2012, 2011])) == in_march(2012)


@pytest.mark.parametrize("read", [usual_posted_at, first_posted_at])
@pytest.mark.parametrize("made", [empty_block("alt.a", 1, 9), block([None])])
def test_a_block_without_dates_has_none(read, made):
    assert read(made) is None
