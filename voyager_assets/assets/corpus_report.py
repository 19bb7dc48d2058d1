"""The report on the corpus: what the current build makes of captured ranges, and what changed."""

from collections.abc import Iterator

import dagster as dg

from voyager_assets.assets.corpus import GROUP
from voyager_assets.assets.stages import OWNERS
from voyager_assets.resources import Catalog, Clock, OverviewSpool
from voyager_assets.retries import core_errors
from voyager_core.catalog.rulesets import rules_in_force
from voyager_core.header_pass.corpus_report import CorpusReport, report_corpus
from voyager_core.header_pass.report import Plot, Table

NAME = "corpus_report"
ACCOUNTED = "every_line_is_accounted_for"
SAME_BUILD = "the_same_build_finds_the_same"
SUSPECTS = "suspects_do_not_grow"

# Growth of a suspect's count, beside what a changed corpus explains, that somebody should look at.
_GROWTH = 1.1
_ROWS = 10
_BAR = 30


@dg.asset(
    name=NAME,
    group_name=GROUP,
    kinds={"polars", "duckdb"},
    owners=OWNERS,
    deps=["captured_ranges", "rule_set"],
    code_version="1",
    check_specs=[
        dg.AssetCheckSpec(
            ACCOUNTED,
            asset=NAME,
            description="Every overview line of the corpus is in a file or counted under a reason.",
        ),
        dg.AssetCheckSpec(
            SAME_BUILD,
            asset=NAME,
            description="Without a new version of the parser, the release identity or the rules, "
            "and on the same ranges, no release is split, merged or renamed. If one is, something "
            "was changed without raising its version, and nobody's ranges become stale.",
        ),
        dg.AssetCheckSpec(
            SUSPECTS,
            asset=NAME,
            description="No kind of suspect release became more frequent by a tenth since the "
            "last report.",
        ),
    ],
    description="The header pass of this build over all captured ranges: figures over time, "
    "suspect releases, and what became of the releases of the last report. Each run keeps a page "
    "beside the corpus.",
)
def corpus_report(
    context: dg.AssetExecutionContext, catalog: Catalog, spool: OverviewSpool, clock: Clock
) -> dg.MaterializeResult:  # type: ignore[type-arg] # with checks Dagster wants it bare
    """Replays the corpus and holds it against the last report."""
    corpus = spool.open().corpus
    ranges = list(corpus.ranges()) if corpus is not None else []
    with core_errors(context), catalog.connect() as conn:
        rules = rules_in_force(conn)
        found = report_corpus(ranges, spool.reports_path, rules=rules, now=clock.now())
    return dg.MaterializeResult(metadata=_metadata(found), check_results=list(_checks(found)))


def _metadata(found: CorpusReport) -> dict[str, dg.MetadataValue]:
    report = found.report
    figures = {
        name.replace(" ", "_"): dg.MetadataValue.float(value)
        for name, value in report.figures.items()
    }
    numbers = {
        name: dg.MetadataValue.int(int(report.totals[name]))
        for name in ("lines", "kept", "files", "segments", "chunk_bytes")
    }
    return {
        **numbers,
        **figures,
        **{f"changed_{_key(each)}": dg.MetadataValue.int(each.count) for each in found.changed},
        **{_key(each): _table(each) for each in (*report.tables, *found.changed) if each.rows},
        "plots": dg.MetadataValue.md("\n\n".join(_drawn(each) for each in report.plots)),
        "page": dg.MetadataValue.path(str(found.page)),
    }


def _key(table: Table) -> str:
    return table.title.lower().replace(" ", "_")


def _table(table: Table) -> dg.MetadataValue:
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    column: value if isinstance(value, int | float | str) else str(value)
                    for column, value in zip(table.columns, row, strict=True)
                }
            )
            for row in table.rows[:_ROWS]
        ],
        schema=dg.TableSchema([dg.TableColumn(name) for name in table.columns]),
    )


def _drawn(plot: Plot) -> str:
    """Returns a plot as bars of text, which Dagster's pages show as they are."""
    most = max((count for _, count in plot.bars), default=0) or 1
    width = max((len(label) for label, _ in plot.bars), default=0)
    lines = [
        f"{label:<{width}} {'█' * round(_BAR * count / most)} {count:,}"
        for label, count in plot.bars
    ]
    return "\n".join([f"**{plot.title}**", "```", *lines, "```"])


def _checks(found: CorpusReport) -> Iterator[dg.AssetCheckResult]:
    totals = found.report.totals
    accounted = int(totals["kept"]) + sum(totals["rejected"].values())
    yield dg.AssetCheckResult(
        passed=accounted == totals["lines"],
        check_name=ACCOUNTED,
        metadata={"lines": int(totals["lines"]), "accounted_for": accounted},
    )
    counts = {_key(each): each.count for each in found.changed}
    yield dg.AssetCheckResult(
        passed=not (found.is_same_build and any(counts.values())),
        check_name=SAME_BUILD,
        metadata={"same_build": found.is_same_build, **counts},
    )
    grown = _grown(found)
    yield dg.AssetCheckResult(
        passed=not grown,
        check_name=SUSPECTS,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"grown": grown},
    )


def _grown(found: CorpusReport) -> list[str]:
    """Returns the suspects that became more frequent among the releases."""
    if found.earlier is None:
        return []
    before, now = found.earlier.figures, found.report.figures
    releases = max(before["releases"], 1), max(now["releases"], 1)
    return [
        _key(table)
        for table in found.report.tables[:-1]
        if (name := table.title.lower()) in before
        and now[name] / releases[1] > _GROWTH * before[name] / releases[0]
    ]
