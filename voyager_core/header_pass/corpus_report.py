"""The report on the whole corpus, as this build makes it, and the history of such reports."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from voyager_core.domain.rulesets import RuleSet
from voyager_core.header_pass import report_files
from voyager_core.header_pass.identity import IDENTITY_VERSION
from voyager_core.header_pass.replay import one_key, replayed
from voyager_core.header_pass.report import Report, ReportError, Table, report_of
from voyager_core.header_pass.report_changes import changes
from voyager_core.storage.corpus import CapturedRange

_PREFIX = "report-"
_SUMS = (
    *("lines", "kept", "files", "fragments", "releases", "readable_releases", "segments"),
    *("size_bytes", "candidates", "chunk_bytes", "undecodable_blocks"),
)
_VERSIONS = ("parser_version", "codec_version", "identity_version", "rules_digest")
_HEAVY = ("payload", "tok")


@dataclass(frozen=True, slots=True)
class CorpusReport:
    """A report and what it is held against.

    Attributes:
        report: on the corpus.
        earlier: the one before; None when this is the first.
        changed: what became of the releases of the earlier one; empty without one.
        page: where it is as a page.
    """

    report: Report
    earlier: Report | None
    changed: Sequence[Table]
    page: Path

    @property
    def is_same_build(self) -> bool:
        """Whether the earlier one was made of the same ranges with the same versions."""
        return self.earlier is not None and all(
            self.report.totals.get(name) == self.earlier.totals.get(name)
            for name in (*_VERSIONS, "ranges")
        )


def report_corpus(
    captured: Sequence[CapturedRange], folder: Path, *, rules: RuleSet, now: datetime
) -> CorpusReport:
    """Replays captured ranges with this build, compares with the last report, and keeps both.

    Args:
        captured: the ranges.
        folder: where reports are kept, `report-<time>.json` and `.html`.
        rules: the rule set in force.
        now: the time of the report.

    Raises:
        ReportError: the last report cannot be read, this one cannot be written, or nothing was
            captured.
        ReplayError: a captured range cannot be read.
    """
    if not captured:
        msg = "nothing was captured yet; mark ranges with `voyager corpus mark`"
        raise ReportError(msg)
    earlier = last_report(folder)
    report = _replayed(captured, rules=rules, now=now)
    changed = () if earlier is None else changes(earlier, report)
    place = folder / f"{_PREFIX}{now:%Y%m%dT%H%M%SZ}.json"
    _, page = report_files.write(place, report, changed, earlier)
    return CorpusReport(report, earlier, changed, page)


def last_report(folder: Path) -> Report | None:
    """Returns the newest report of a folder; None when there is none.

    Raises:
        ReportError: it cannot be read.
    """
    kept = sorted(folder.glob(f"{_PREFIX}*.json"))
    return report_files.read(kept[-1]) if kept else None


def _replayed(captured: Sequence[CapturedRange], *, rules: RuleSet, now: datetime) -> Report:
    files: list[pl.DataFrame] = []
    releases: list[pl.DataFrame] = []
    sums, rejected, dropped = Counter[str](), Counter[str](), Counter[str]()
    totals: dict[str, Any] = {}
    for each in captured:
        found, built = replayed([each.folder], group=each.span.group, rules=rules)
        totals.update(found)
        sums.update({name: int(str(found[name])) for name in _SUMS})
        rejected.update(_counts(found["rejected"]))
        dropped.update(_counts(found["dropped"]))
        files.append(_light(one_key(built.files)))
        releases.append(_light(one_key(built.releases)))
    totals |= {
        **sums,
        "group": f"{len({each.span.group for each in captured})} newsgroups",
        "rejected": dict(rejected),
        "dropped": dict(dropped),
        "identity_version": IDENTITY_VERSION,
        "ranges": [str(each.span) for each in captured],
    }
    return report_of(pl.concat(files), pl.concat(releases), totals, made_at=now)


def _counts(found: object) -> dict[str, int]:
    if not isinstance(found, dict):
        return {}
    return {str(name): int(count) for name, count in found.items()}


def _light(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop(name for name in _HEAVY if name in frame.columns)
