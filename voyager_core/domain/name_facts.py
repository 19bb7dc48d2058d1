"""What release names say: everything that is stored about a name, for many of them at once.

The native core asks the patterns of all names; only a name with an uncommon mark of an episode is
read by itself (`episodes.parse_thoroughly`).
"""

from collections.abc import Callable
from dataclasses import astuple
from functools import lru_cache

import polars as pl

import voyager_native
from voyager_core.domain import attributes
from voyager_core.domain.attribute_words import LANGUAGES, RESOLUTIONS, SOURCES
from voyager_core.domain.categories import category_from
from voyager_core.domain.category_names import HASHED
from voyager_core.domain.category_words import BRACKET_SHAPES, PLAIN_SHAPES, SHAPES
from voyager_core.domain.episodes import COLUMNS, SERIES_PATTERNS, parse_thoroughly
from voyager_core.domain.name_features import (
    ANIME_GROUP,
    BITS,
    GAME_GROUPS,
    MARKS,
    SHOWN,
    TEAM,
    word_table,
)
from voyager_core.domain.names import readable

FACTS: dict[str, pl.DataType] = {
    "is_readable": pl.Boolean(),
    "category": pl.UInt16(),
    **COLUMNS,
    "resolution": pl.Int16(),
    "source": pl.String(),
    "language": pl.String(),
    "team": pl.String(),
}
"""The columns of `facts_of`; null where a name does not say it."""

_MOST_OF_SERIES = 512
_FORM_BITS = 64
_HEIGHTS, _SOURCES, _LANGUAGES = RESOLUTIONS[::-1], tuple(SOURCES), tuple(LANGUAGES)


def facts_of(names: pl.Series, groups: pl.Series, *, last_year: int) -> pl.DataFrame:
    """Returns the facts of each name, one row for each (`FACTS`).

    Args:
        names: release names.
        groups: the newsgroup of each; asked for the category of a name that says nothing.
        last_year: years after this one are no years.
    """
    asked = pl.DataFrame({"name": names, "is_readable": readable(names)})
    told = pl.DataFrame(_rules().facts(asked, "name", "is_readable"))
    series = _series(names, told).with_columns(
        year=pl.when(pl.col("year") <= last_year).then("year")
    )
    rows = told.select("words", "forms").hstack([groups.alias("group"), asked["is_readable"]])
    rows = rows.with_columns(forms=rows["forms"] | _marks(series))
    category = [
        category_from(words | forms << _FORM_BITS, group) if is_readable else HASHED
        for words, forms, group, is_readable in rows.iter_rows()
    ]
    facts = series.with_columns(
        is_readable=asked["is_readable"],
        category=pl.Series(category, dtype=pl.UInt16),
        resolution=_named(told["resolution"], lambda bits: _HEIGHTS[_lowest(bits)], pl.Int16()),
        source=_named(told["source"], lambda bits: _SOURCES[_lowest(bits)], pl.String()),
        language=_named(told["language"], _languages, pl.String()),
        team=told["team"],
    )
    return facts.select(pl.col(name).cast(dtype) for name, dtype in FACTS.items())


def _series(names: pl.Series, told: pl.DataFrame) -> pl.DataFrame:
    """Returns the place of each name in a series (`episodes.COLUMNS`)."""
    series = told.select(
        "season",
        pl.col("season").alias("season_last"),
        "episode",
        pl.col("episode").alias("episode_last"),
        pl.lit(None, pl.Date).alias("aired_on"),
        "year",
    )
    rest = told["asks_episode"].arg_true()
    if not len(rest):
        return series
    dated = told["is_dated"].gather(rest).to_list()
    read = [
        astuple(parse_thoroughly(name[:_MOST_OF_SERIES], is_dated=is_dated))
        for name, is_dated in zip(names.gather(rest).to_list(), dated, strict=True)
    ]
    thorough = pl.DataFrame(read, schema=COLUMNS, orient="row")
    return pl.DataFrame([series[name].scatter(rest, thorough[name]) for name in COLUMNS])


def _marks(series: pl.DataFrame) -> pl.Series:
    """Returns the bits of `MARKS` for each name."""
    stated = zip(MARKS, ("season", "episode", "aired_on"), strict=True)
    bits = [
        pl.when(pl.col(column).is_not_null()).then(pl.lit(_form(mark), pl.UInt64))
        for mark, column in stated
    ]
    return series.select(pl.sum_horizontal(bits)).to_series()


def _named(
    bits: pl.Series, name_of: Callable[[int], str | int | None], dtype: pl.DataType
) -> pl.Series:
    """Returns what a function says of each value but 0, asked once for a distinct one."""
    values = bits.to_list()
    named = {value: name_of(value) if value else None for value in set(values)}
    return pl.Series([named[value] for value in values], dtype=dtype)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _languages(bits: int) -> str | None:
    names = [name for place, name in enumerate(_LANGUAGES) if bits >> place & 1]
    return attributes.SEPARATOR.join(names) or None


@lru_cache(maxsize=1)
def _rules() -> voyager_native.FactRules:
    asked = (SHAPES, BRACKET_SHAPES, PLAIN_SHAPES)
    every, bracketed, silent = (
        [(pattern, _form(name)) for name, pattern in shapes.items()] for shapes in asked
    )
    return voyager_native.FactRules(
        patterns={
            **SERIES_PATTERNS,
            "after_title": attributes.AFTER_TITLE,
            "ending": attributes.ENDING,
            "reposted": attributes.REPOSTED,
            "no_team": attributes.NO_TEAM,
        },
        words=word_table(),
        shapes=(every, bracketed, silent),
        bracketed=_form("bracketed"),
        shown=SHOWN,
        game_groups=(TEAM, GAME_GROUPS, _form("game_group")),
        own_case=(ANIME_GROUP, _form("anime_group")),
        teams=[
            (True, attributes.IN_FRONT),
            (False, attributes.AFTER_HYPHEN),
            (True, attributes.FRAMED),
            (False, attributes.LAST_IN_BRACKETS),
        ],
    )


def _form(name: str) -> int:
    return 1 << (BITS[name] - _FORM_BITS)
