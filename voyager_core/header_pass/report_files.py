"""Reading and writing reports."""

from collections.abc import Iterable
from pathlib import Path

from voyager_core.errors import reason_of
from voyager_core.header_pass.report import Report, ReportError, Table, from_json, to_json
from voyager_core.header_pass.report_page import page_of
from voyager_core.storage.files import appearing


def read(path: Path) -> Report:
    """Returns a kept report.

    Raises:
        ReportError: the file cannot be read or is no report.
    """
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot read the report {path}: {reason_of(error, path)}"
        raise ReportError(msg) from error


def write(
    path: Path, report: Report, changed: Iterable[Table] = (), earlier: Report | None = None
) -> tuple[Path, Path]:
    """Writes a report as JSON and as a page beside it; returns both paths.

    Args:
        path: either of them; the other has the same name with the other ending.
        report: what to write.
        changed: what changed since an earlier report.
        earlier: that report.

    Raises:
        ReportError: the files cannot be written.
    """
    changed = tuple(changed)
    kept = path.with_suffix(".json") if path.suffix in (".html", "") else path
    page = kept.with_suffix(".html")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with appearing(kept) as file:
            file.write_text(to_json(report, changed), encoding="utf-8")
        with appearing(page) as file:
            file.write_text(page_of(report, changed, earlier), encoding="utf-8")
    except OSError as error:
        msg = f"cannot write the report {path}: {reason_of(error, path)}"
        raise ReportError(msg) from error
    return kept, page
