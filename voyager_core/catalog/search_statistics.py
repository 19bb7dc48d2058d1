"""How common words, groups, categories and episodes are, as the planner's statistics tell.

They are read once in some minutes, not at every search.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from voyager_core.catalog.connect import Connection

# Until a catalog has grown, its statistics change by the minute.
_YOUNG_RELEASES = 1_000_000
_YOUNG_SECONDS = 10.0
_KEPT_SECONDS = 300.0
_MOST_CATALOGS = 16


@dataclass(frozen=True, slots=True)
class Statistics:
    """Shares of all releases; what is not listed is rarer than every listed one.

    Attributes:
        releases: how many there are.
        words: by token hash.
        groups: by group number.
        categories: by category number.
        seasons: by season number.
        episodes: by episode number.
        times: of posting, ascending; between two neighbours lie equal shares of all releases.
    """

    releases: float
    words: Mapping[int, float] = field(default_factory=dict)
    groups: Mapping[int, float] = field(default_factory=dict)
    categories: Mapping[int, float] = field(default_factory=dict)
    seasons: Mapping[int, float] = field(default_factory=dict)
    episodes: Mapping[int, float] = field(default_factory=dict)
    times: tuple[datetime, ...] = ()

    def within(self, spans: Iterable[tuple[int, int]]) -> float:
        """Returns the share of releases in spans of category numbers."""
        ends = list(spans)
        return sum(
            share
            for number, share in self.categories.items()
            if any(low <= number <= high for low, high in ends)
        )


_kept: OrderedDict[tuple[str, int, str], tuple[float, Statistics]] = OrderedDict()
_lock = threading.Lock()


def statistics_of(conn: Connection) -> Statistics:
    """Returns the statistics of a catalog, at most some minutes old."""
    name = (conn.info.host, conn.info.port, conn.info.dbname)
    now = time.monotonic()
    with _lock:
        kept = _kept.get(name)
    if kept is not None and now < kept[0]:
        return kept[1]
    found = _read(conn)
    young = found.releases < _YOUNG_RELEASES
    with _lock:
        _kept[name] = (now + (_YOUNG_SECONDS if young else _KEPT_SECONDS), found)
        _kept.move_to_end(name)
        while len(_kept) > _MOST_CATALOGS:
            _kept.popitem(last=False)
    return found


def forget() -> None:
    """Makes the next search read the statistics again."""
    with _lock:
        _kept.clear()


def _read(conn: Connection) -> Statistics:
    row = conn.execute("select reltuples from pg_class where oid = 'release'::regclass").fetchone()
    releases = max(0.0, float(row[0])) if row is not None else 0.0
    shares: dict[str, dict[int, float]] = {}
    rows = conn.execute(
        "select attname, most_common_vals::text::text[], most_common_freqs,"
        " most_common_elems::text::text[], most_common_elem_freqs from pg_stats"
        " where schemaname = current_schema() and tablename = 'release'"
        " and attname in ('tok', 'group_ids', 'category', 'season', 'episode') limit 100"
    ).fetchall()
    for attribute, values, frequencies, elements, element_frequencies in rows:
        is_array = attribute in {"tok", "group_ids"}
        # The frequencies of elements end in the least, the greatest and that of null.
        pairs = (elements, element_frequencies) if is_array else (values, frequencies)
        numbers, parts = (part or [] for part in pairs)
        shares[attribute] = {
            int(number): float(part) for number, part in zip(numbers, parts, strict=False)
        }
    bounds = conn.execute(
        "select histogram_bounds::text::timestamptz[] from pg_stats"
        " where schemaname = current_schema() and tablename = 'release'"
        " and attname = 'posted_at' and histogram_bounds is not null"
    ).fetchone()
    return Statistics(
        releases=releases,
        words=shares.get("tok", {}),
        groups=shares.get("group_ids", {}),
        categories=shares.get("category", {}),
        seasons=shares.get("season", {}),
        episodes=shares.get("episode", {}),
        times=tuple(bounds[0]) if bounds is not None else (),
    )
