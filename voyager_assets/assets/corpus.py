"""The corpus: captured ranges, byte for byte, and as Parquet for DuckDB."""

import dagster as dg
from pydantic import Field

from voyager_assets.assets.stages import OWNERS
from voyager_assets.automation import HISTORY_POOL
from voyager_assets.resources import Catalog, Clock, NewsServer, OverviewSpool, open_pass
from voyager_assets.retries import core_errors, raise_for
from voyager_core.catalog.capture import sweep
from voyager_core.header_pass.capture import Captured, capture_marked, uncaptured
from voyager_core.header_pass.run import PassTools
from voyager_core.header_pass.sharing import HISTORY

GROUP = "corpus"


class CaptureConfig(dg.Config):
    """What a run of the capture does."""

    sweep: int = Field(
        default=0,
        ge=0,
        description="Mark so many more ranges first, spread over newsgroups and eras.",
    )


@dg.asset(
    group_name=GROUP,
    kinds={"nntp", "gzip"},
    owners=OWNERS,
    deps=["newsgroups"],
    code_version="1",
    pool=HISTORY_POOL,
    description="Ranges marked for the corpus whose blocks were not kept when they were read are "
    "fetched again and kept as the server sends them, up to the corpus's size.",
)
def captured_ranges(  # noqa: PLR0917 - Dagster gives each resource by name
    context: dg.AssetExecutionContext,
    config: CaptureConfig,
    news: NewsServer,
    catalog: Catalog,
    spool: OverviewSpool,
    clock: Clock,
) -> dg.MaterializeResult[None]:
    """Marks more ranges when asked to, and fetches what is marked and not there."""
    with core_errors(context), open_pass(news, catalog, spool, clock, lane=HISTORY) as tools:
        marked = sweep(tools.conn, config.sweep) if config.sweep else []
        found = list(capture_marked(tools))
        told = _told(tools, found)
    raise_for(context, [(str(each.span), each.error) for each in found if each.error])
    return dg.MaterializeResult(metadata={**told, "marked_by_this_run": len(marked)})


def _told(tools: PassTools, found: list[Captured]) -> dict[str, int]:
    corpus = tools.spool.corpus
    if corpus is None:
        return {}
    held = list(corpus.ranges())
    return {
        "folders": len(held),
        "lines": sum(each.lines for each in held),
        "bytes": corpus.blocks.usage.used(),
        "captured_by_this_run": sum(each.is_kept for each in found),
        "not_captured": len(uncaptured(tools, corpus)),
    }


@dg.asset(
    group_name=GROUP,
    kinds={"parquet", "duckdb"},
    owners=OWNERS,
    deps=["captured_ranges"],
    code_version="1",
    description="Every overview line of captured ranges with the file it is in or the reason why "
    "it is in none, and their files and releases, as Parquet in hive folders by newsgroup and "
    "range. `voyager sql` asks them.",
)
def corpus_parquet(
    context: dg.AssetExecutionContext, spool: OverviewSpool
) -> dg.MaterializeResult[None]:
    """Writes the captured ranges that are new or were read by another build."""
    # pyarrow takes a second to load, which no other run should wait for.
    from voyager_core.analysis.parquet import write_parquet  # noqa: PLC0415

    corpus = spool.open().corpus
    ranges = list(corpus.ranges()) if corpus is not None else []
    with core_errors(context):
        written = [write_parquet(each, spool.parquet_path) for each in ranges]
    return dg.MaterializeResult(
        metadata={
            "ranges": len(written),
            "ranges_written": sum(bool(each.rows) for each in written),
            "lines_written": sum(each.rows.get("parsed_headers", 0) for each in written),
            "bytes_written": sum(each.bytes_written for each in written),
            "folder": dg.MetadataValue.path(str(spool.parquet_path)),
        }
    )
