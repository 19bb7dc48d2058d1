"""What the demo prints: progress while it indexes, and what was found in the end."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from voyager_core.catalog.progress import GroupStatus
from voyager_core.demo.client import Newznab
from voyager_core.demo.compare import FoundRelease, match
from voyager_core.demo.truth import Truth
from voyager_core.supervisor.dagster_web import DagsterWeb
from voyager_core.supervisor.installation import Addresses
from voyager_core.supervisor.terminal import Terminal, size
from voyager_core.supervisor.up import show_addresses

# The partitioned asset that tells best what was found.
ASSET = "releases"
_SHOWN_DIFFERENCES = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found, and every way in which it is not what was posted."""

    found: Sequence[FoundRelease]
    problems: Sequence[str]


def progress_text(groups: Sequence[GroupStatus], total: int) -> str:
    """Returns how far the ledger is, in one line; `total` counts overview lines."""
    lines = sum(group.lines for group in groups)
    ranges = sum(group.ranges for group in groups)
    done = sum(group.done for group in groups)
    current = sum(_ends_in_open_range(group) for group in groups)
    parked = sum(group.parked for group in groups)
    failed = f", {parked} failed" if parked else ""
    return (
        f"{lines:,} of {total:,} articles · {ranges} ranges: "
        f"{done} done, {current} read to their newest article{failed}"
    )


def _ends_in_open_range(group: GroupStatus) -> bool:
    """Tells whether the group is read as far as the server has articles, inside its last range."""
    return group.done < group.ranges and group.indexed_to is not None and group.lag == 0


def show_found(terminal: Terminal, truth: Truth, outcome: Outcome) -> None:
    """Writes the releases, what is in no file, and whether all of it is as posted."""
    matched = match(truth, outcome.found)
    rows = []
    for release in truth.releases:
        wanted = sum(file.parts for file in release.files)
        for one in matched[release.slug]:
            held = sum(len(file.segments) for file in one.files)
            numbers = (size(one.size_bytes), str(one.file_count), f"{held}/{wanted}")
            rows.append((one.title, release.style, one.category, *numbers))
    posted = sum(truth.lines.values())
    terminal.line()
    terminal.line(
        f"{len(outcome.found)} releases in {posted:,} articles of {len(truth.lines)} newsgroups"
    )
    if rows:
        header = ("RELEASE", "POSTED WITH", "CATEGORY", "SIZE", "FILES", "SEGMENTS")
        terminal.table(header, rows, right="lllrrr")
    terminal.line()
    for group, reasons in truth.counted.items():
        told = ", ".join(f"{count} {_reason_text(reason)}" for reason, count in reasons.items())
        terminal.step(f"in no file of {group}: {told}")
    terminal.line()
    if outcome.problems:
        terminal.line(f"NOT as posted, {len(outcome.problems)} differences:")
        for problem in outcome.problems[:_SHOWN_DIFFERENCES]:
            terminal.step(problem)
        return
    files = sum(len(release.files) for release in truth.releases)
    segments = sum(1 for release in truth.releases for _ in release.segments)
    terminal.line(
        f"Verified: {len(truth.releases)} releases, {files} files and {segments:,} segments "
        "are exactly those posted."
    )


def _reason_text(reason: str) -> str:
    """Returns a reason of the ledger in words."""
    kind, _, owner = reason.partition(":")
    return f"crossposts of {owner}" if owner else kind.replace("_", " ")


def show_materialised(terminal: Terminal, addresses: Addresses) -> None:
    """Writes how many of the ranges Dagster has materialised."""
    stats = DagsterWeb(addresses.dagster).materialised(ASSET)
    if stats is not None:
        done, total = stats
        terminal.line(
            f"Dagster has materialised {done} of {total} partitions of its asset `{ASSET}`."
        )


def show_use(
    terminal: Terminal,
    addresses: Addresses,
    api: Newznab,
    *,
    news: str,
    found: FoundRelease | None,
    data_dir: Path,
) -> None:
    """Writes where to look at it, and how to fetch an NZB."""
    terminal.line()
    show_addresses(terminal, addresses)
    terminal.line(f"  API key                         {api.key}")
    terminal.line(f"  News server for a downloader    {news} (no TLS, any login)")
    if found is not None:
        terminal.line()
        terminal.line("Fetch an NZB:")
        terminal.line(f"  curl -o demo.nzb '{api.url(t='get', id=found.public_id)}'")
        terminal.line("or on the command line, whose commands need to know the demo's data:")
        folder = shlex.quote(str(data_dir.absolute()))
        terminal.line(
            f"  VOYAGER_DATA_DIR={folder} .venv/bin/voyager nzb {found.public_id} > demo.nzb"
        )
    terminal.line()
