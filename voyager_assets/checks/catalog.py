"""The whole catalog is compared with what it was made from, once a day or on demand."""

from collections.abc import Callable

import dagster as dg

from voyager_assets.assets.pass_checks import check_result
from voyager_assets.assets.settled_catalog import settled_catalog
from voyager_assets.resources import Catalog
from voyager_core.catalog import checks
from voyager_core.catalog.checks import Finding
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.errors import catalog_errors

# Newest first; decoding everything is `voyager check catalog`.
CHUNKS_DECODED = 1_000

Look = Callable[[Connection], list[Finding]]


def _look(catalog: Catalog, look: Look) -> dg.AssetCheckResult:
    with catalog.connect() as conn, catalog_errors("checking the catalog"):
        return check_result(look(conn), checked={})


@dg.asset_check(
    asset=settled_catalog,
    description="The planned ranges of each newsgroup follow one another without hole or overlap.",
)
def ranges_have_no_gap(catalog: Catalog) -> dg.AssetCheckResult:
    """Looks at every range."""
    return _look(catalog, checks.check_ranges)


@dg.asset_check(
    asset=settled_catalog,
    description="Every overview line ever read is in a chunk, in a fragment, dropped or rejected.",
)
def all_lines_are_accounted_for(catalog: Catalog) -> dg.AssetCheckResult:
    """Looks at every range."""
    return _look(catalog, checks.check_lines)


@dg.asset_check(
    asset=settled_catalog,
    description="Every release is the sum of its chunks, and every chunk has its release.",
)
def releases_match_chunks(catalog: Catalog) -> dg.AssetCheckResult:
    """Looks at every release."""
    return _look(catalog, checks.check_sums)


@dg.asset_check(
    asset=settled_catalog,
    description="Two postings of one upload that count as two releases are apart in time.",
)
def reposts_are_apart(catalog: Catalog) -> dg.AssetCheckResult:
    """Looks at every release that was posted more than once."""
    return _look(catalog, checks.check_generations)


@dg.asset_check(
    asset=settled_catalog,
    description=f"The newest {CHUNKS_DECODED} chunks decode to what the catalog says of them.",
)
def chunks_decode(catalog: Catalog) -> dg.AssetCheckResult:
    """Decodes the newest chunks."""
    return _look(catalog, lambda conn: checks.check_payloads(conn, sample=CHUNKS_DECODED))


catalog_checks = (
    ranges_have_no_gap,
    all_lines_are_accounted_for,
    releases_match_chunks,
    reposts_are_apart,
    chunks_decode,
)
