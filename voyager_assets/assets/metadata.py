"""What Dagster shows of a stretch: numbers that it can plot, and small tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import dagster as dg

from voyager_assets.assets import stages
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.progress import GroupStatus
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.stretches import (
    StretchTotals,
    stretch_drops,
    stretch_rejects,
    stretch_totals,
)
from voyager_core.header_pass.plan import GroupPlan
from voyager_core.header_pass.run import Stage, StretchReport

# Metadata is stored with every event, so tables stay small.
MOST_ROWS = 20

_STAGES = {
    Stage.FETCH: (stages.SPOOLED_OVERVIEW,),
    Stage.PARSE: (stages.SPOOLED_OVERVIEW, stages.PARSED_HEADERS),
    Stage.STORE: stages.STAGES,
}


def tell_stretch(
    conn: Connection, report: StretchReport, stage: Stage
) -> tuple[dict[str, dict[str, dg.MetadataValue]], str]:
    """Returns the metadata of each stage that a pass went through, and how far the stretch is.

    Numbers come from the ledger, so that a resumed pass tells of the whole stretch; what only
    this pass knows begins with `this_pass_`.

    Raises:
        CatalogUnavailable: the database does not answer.
    """
    ids = [row.range_id for row in ranges_of(conn, report.group, report.index)]
    totals = stretch_totals(conn, ids)
    if stage == Stage.STORE:
        rejects = stretch_rejects(conn, ids, limit=MOST_ROWS)
        drops = stretch_drops(conn, ids, limit=MOST_ROWS)
    else:
        rejects, drops = report.rejected, {}
    told = {
        stages.SPOOLED_OVERVIEW: _spooled(totals, report),
        stages.PARSED_HEADERS: _parsed(totals, report, rejects, stage),
        stages.RELEASES: _releases(totals, drops),
        stages.CHUNKS: _chunks(totals),
        stages.PROBE_CANDIDATES: _candidates(totals),
    }
    return {name: without_nulls(told[name]) for name in _STAGES[stage]}, _resume(totals)


def without_nulls(told: Mapping[str, dg.MetadataValue]) -> dict[str, dg.MetadataValue]:
    """Returns the entries that say something."""
    return {name: value for name, value in told.items() if value.value is not None}


def counts_table(counts: Mapping[str, int], *, what: str) -> dg.MetadataValue:
    """Returns a table of the largest counts, at most `MOST_ROWS` rows; a null without any."""
    if not counts:
        return dg.MetadataValue.null()
    largest = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_ROWS]
    return dg.MetadataValue.table(
        [dg.TableRecord({what: name, "articles": count}) for name, count in largest],
        schema=_schema({what: "string", "articles": "int"}),
    )


def plans_table(plans: Sequence[GroupPlan]) -> dg.MetadataValue:
    """Returns a table of newsgroups: those that need a look first, then the largest."""
    if not plans:
        return dg.MetadataValue.null()
    shown = sorted(plans, key=lambda each: (not each.note, -(each.high or 0)))[:MOST_ROWS]
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "newsgroup": each.group,
                    "low": each.low or 0,
                    "high": each.high or 0,
                    "new ranges": each.new_ranges,
                    "note": each.note,
                }
            )
            for each in shown
        ],
        schema=_schema(
            {
                "newsgroup": "string",
                "low": "int",
                "high": "int",
                "new ranges": "int",
                "note": "string",
            }
        ),
    )


def lag_table(statuses: Sequence[GroupStatus]) -> dg.MetadataValue:
    """Returns a table of the newsgroups that are furthest behind; a null when none is."""
    behind = sorted((each for each in statuses if each.lag), key=lambda each: -each.lag)
    if not behind:
        return dg.MetadataValue.null()
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "newsgroup": each.group,
                    "lag": each.lag,
                    "behind": duration(each.lag_seconds),
                    "backlog": each.backlog,
                    "numbers a second": round(each.rate or 0.0, 1),
                    "done in": duration(each.eta_seconds),
                }
            )
            for each in behind[:MOST_ROWS]
        ],
        schema=_schema(
            {
                "newsgroup": "string",
                "lag": "int",
                "behind": "string",
                "backlog": "int",
                "numbers a second": "float",
                "done in": "string",
            }
        ),
    )


def duration(seconds: float | None) -> str:
    """Returns a time as people say it: `3 d 4 h`, `12 min`; `-` when it is not known."""
    if seconds is None:
        return "-"
    minutes = int(seconds // 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h" if days < 10_000 else "years"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def duration_or_none(seconds: float | None) -> dg.MetadataValue:
    """Returns a duration as text; a null when it is not known."""
    return dg.MetadataValue.null() if seconds is None else dg.MetadataValue.text(duration(seconds))


def time_or_none(moment: datetime | None) -> dg.MetadataValue:
    """Returns a time as Dagster shows it."""
    return dg.MetadataValue.null() if moment is None else dg.MetadataValue.timestamp(moment)


def _spooled(totals: StretchTotals, report: StretchReport) -> dict[str, dg.MetadataValue]:
    return {
        "numbers": _int(totals.numbers),
        "numbers_indexed": _int(totals.indexed),
        "ranges": _int(totals.ranges),
        "ranges_done": _int(totals.done),
        "ranges_parked": _int(totals.parked),
        "resume_at": _int(totals.resume_at),
        "this_pass_lines": _int(sum(each.fetched_lines for each in report.outcomes)),
        "this_pass_block_bytes": _int(report.block_bytes),
    }


def _parsed(
    totals: StretchTotals, report: StretchReport, rejects: Mapping[str, int], stage: Stage
) -> dict[str, dg.MetadataValue]:
    stored = stage == Stage.STORE
    lines = totals.lines if stored else report.lines
    kept = totals.lines - totals.rejected if stored else report.kept
    seconds = report.cpu_seconds
    return {
        "dagster/row_count": _int(lines),
        "lines": _int(lines),
        "kept": _int(kept),
        "rejected": _int(lines - kept),
        "rejected_by_reason": counts_table(rejects, what="reason"),
        "posted_from": time_or_none(totals.posted_from),
        "posted_to": time_or_none(totals.posted_to),
        "parser_version": _int(totals.parser_version),
        "this_pass_lines": _int(report.lines),
        "this_pass_cpu_seconds": dg.MetadataValue.float(round(seconds, 3)),
        "this_pass_headers_per_cpu_second": _int(round(report.lines / seconds) if seconds else 0),
    }


def _releases(totals: StretchTotals, drops: Mapping[str, int]) -> dict[str, dg.MetadataValue]:
    return {
        "dagster/row_count": _int(totals.releases),
        "releases": _int(totals.releases),
        "files": _int(totals.files),
        "dropped": _int(totals.dropped),
        "dropped_by_rule": counts_table(drops, what="rule"),
        "rules_version": _int(totals.rules_version),
    }


def _chunks(totals: StretchTotals) -> dict[str, dg.MetadataValue]:
    segments = totals.chunked_segments
    each = totals.chunk_bytes / segments if segments else 0.0
    return {
        "dagster/row_count": _int(totals.chunks),
        "chunks": _int(totals.chunks),
        "segments": _int(segments),
        "chunk_bytes": _int(totals.chunk_bytes),
        "bytes_per_segment": dg.MetadataValue.float(round(each, 2)),
        "fragment_segments": _int(totals.fragment_segments),
        "codec_version": _int(totals.codec_version),
    }


def _candidates(totals: StretchTotals) -> dict[str, dg.MetadataValue]:
    return {
        "dagster/row_count": _int(totals.candidates),
        "candidates": _int(totals.candidates),
    }


def _resume(totals: StretchTotals) -> str:
    return "done" if totals.resume_at is None else f"up to {totals.resume_at}"


def _int(value: int | None) -> dg.MetadataValue:
    return dg.MetadataValue.null() if value is None else dg.MetadataValue.int(value)


def _schema(columns: Mapping[str, str]) -> dg.TableSchema:
    return dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns.items()])
