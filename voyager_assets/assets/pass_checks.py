"""The header pass checks itself: what it just stored is compared with what it was made from."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import dagster as dg

from voyager_assets.assets import stages
from voyager_core.catalog.checks import Finding
from voyager_core.catalog.connect import Connection
from voyager_core.catalog.ranges import ranges_of
from voyager_core.catalog.stretch_checks import (
    line_findings,
    number_findings,
    payload_findings,
    sum_findings,
)
from voyager_core.header_pass.run import StretchReport

NO_GAP = "article_numbers_have_no_gap"
ALL_LINES = "every_line_is_accounted_for"
SUMS = "releases_are_the_sum_of_their_chunks"
ROUND_TRIP = "chunks_decode_to_what_they_say"

CHUNKS_DECODED = 25
MOST_FINDINGS_SHOWN = 20

_ASSETS = {
    NO_GAP: stages.SPOOLED_OVERVIEW,
    ALL_LINES: stages.PARSED_HEADERS,
    SUMS: stages.RELEASES,
    ROUND_TRIP: stages.CHUNKS,
}
_DESCRIPTIONS = {
    NO_GAP: "The ranges of each stretch follow one another, and each is indexed up to its resume "
    "point and no further.",
    ALL_LINES: "Every overview line that the server sent was read, and is in a chunk, in a "
    "fragment, dropped by a named rule or rejected for a named reason.",
    SUMS: "Files, segments, size and date of each release are those of its chunks together.",
    ROUND_TRIP: f"{CHUNKS_DECODED} chunks of each stretch decode to as many files, segments and "
    "bytes as the catalog says.",
}


def check_specs() -> list[dg.AssetCheckSpec]:
    """Returns the checks that a run of the pass reports on."""
    return [
        dg.AssetCheckSpec(name, asset=asset, description=_DESCRIPTIONS[name])
        for name, asset in _ASSETS.items()
    ]


class PassChecks:
    """Gathers what is wrong in the stretches of a run; a sound run has no finding."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._stretches = 0
        self._findings: dict[str, list[Finding]] = {name: [] for name in _ASSETS}

    def add(self, report: StretchReport) -> None:
        """Looks at a stretch.

        Raises:
            CatalogUnavailable: the database does not answer.
        """
        rows = ranges_of(self._conn, report.group, report.index)
        ids = [row.range_id for row in rows]
        self._stretches += 1
        self._findings[NO_GAP] += number_findings(rows)
        self._findings[ALL_LINES] += line_findings(self._conn, ids) + unbalanced(report)
        self._findings[SUMS] += sum_findings(self._conn, ids)
        self._findings[ROUND_TRIP] += payload_findings(self._conn, ids, sample=CHUNKS_DECODED)

    def results(self, selected: AbstractSet[dg.AssetCheckKey]) -> Iterator[dg.AssetCheckResult]:
        """Yields a result for each check that the run was asked for."""
        for name, asset in _ASSETS.items():
            if dg.AssetCheckKey(dg.AssetKey(asset), name) in selected:
                yield check_result(
                    self._findings[name], checked={"stretches": self._stretches}, name=name
                )._replace(asset_key=dg.AssetKey(asset))


def unbalanced(report: StretchReport) -> list[Finding]:
    """Returns the spans of a pass of which lines were lost between server, engine and counts."""
    findings: list[Finding] = []
    for each in report.outcomes:
        counted = each.kept + sum(each.rejected.values())
        if each.error is None and each.lines and each.lines != counted:
            detail = f"{each.lines} lines read, {counted} kept or counted"
            findings.append(Finding("lines", str(each.span), detail))
        if each.error is None and each.lines and each.lines != each.fetched_lines:
            detail = f"{each.fetched_lines} lines fetched, {each.lines} read"
            findings.append(Finding("lines", str(each.span), detail))
    return findings


def check_result(
    findings: list[Finding], *, checked: dict[str, int], name: str | None = None
) -> dg.AssetCheckResult:
    """Returns a check's result with the findings as a table.

    Args:
        findings: what is wrong.
        checked: how much was looked at, by what it is.
        name: the check's name where the step has several.
    """
    shown = findings[:MOST_FINDINGS_SHOWN]
    table = dg.MetadataValue.table(
        [dg.TableRecord({"where": each.subject, "what": each.detail}) for each in shown],
        schema=dg.TableSchema([dg.TableColumn("where"), dg.TableColumn("what")]),
    )
    return dg.AssetCheckResult(
        check_name=name,
        passed=not findings,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{len(findings)} findings" if findings else "no finding",
        metadata={"findings": len(findings), **checked, **({"shown": table} if shown else {})},
    )
