"""`voyager replay` and `voyager bench`: the header pass without a database or a server."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from voyager_core.cli.arguments import newsgroup, whole_number
from voyager_core.cli.output import json_text

MOST_LINES = 1_000_000_000


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    replay = commands.add_parser(
        "replay", help="the header pass over overview files; no database, no server"
    )
    replay.add_argument(
        "inputs",
        nargs="+",
        type=Path,
        metavar="INPUT",
        help="overview files (.over, .over.gz) or folders of captured ranges",
    )
    replay.add_argument(
        "--group", type=newsgroup, required=True, help="the newsgroup that the lines come from"
    )
    replay.add_argument("--out", type=Path, help="write Parquet into this folder")
    replay.add_argument("--json", action="store_true", help="print the totals as one JSON object")
    replay.add_argument(
        "--report",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="FILE",
        help="print what is suspect; into FILE as JSON, and beside it as a page with plots",
    )
    replay.add_argument(
        "--against", type=Path, metavar="EARLIER", help="an earlier report; print what changed"
    )
    replay.set_defaults(run=_replay)

    bench = commands.add_parser("bench", help="the header pass as ratios to inflate")
    bench.add_argument(
        "--mix",
        action="append",
        help="boneless, ath, modern, classic, or corpus with a folder; repeatable (default: the "
        "generated ones)",
    )
    bench.add_argument(
        "corpus", nargs="?", type=Path, help="folder of captured ranges or overview files"
    )
    bench.add_argument(
        "--lines",
        type=whole_number(1, MOST_LINES),
        default=2_000_000,
        help="overview lines of a mix (default: a range)",
    )
    bench.add_argument("--json", action="store_true", help="print one JSON object a mix")
    bench.add_argument(
        "--repeats",
        type=whole_number(1, 1_000),
        default=5,
        help="the least of so many times counts",
    )
    bench.add_argument("--budgets", type=Path, help="fail beyond these values + 15 %%")
    bench.add_argument(
        "--gate",
        default="required",
        choices=("required", "reached"),
        help="the table of the budgets beyond which to fail (default: required)",
    )
    bench.set_defaults(run=_bench)


def _replay(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.replay import replay

    if options.report is not None or options.against is not None:
        return _report(options)
    totals = replay(options.inputs, group=options.group, out=options.out)
    print(json_text(totals, indent=None if options.json else 2))
    return 0


def _report(options: argparse.Namespace) -> int:
    from voyager_core.header_pass import report_files
    from voyager_core.header_pass.replay import one_key, replayed
    from voyager_core.header_pass.report import report_of, shown
    from voyager_core.header_pass.report_changes import changes
    from voyager_core.header_pass.report_text import text_of

    # Before the work, which may be long.
    earlier = None if options.against is None else report_files.read(options.against)
    totals, built = replayed(options.inputs, group=options.group, out=options.out)
    report = report_of(
        one_key(built.files),
        one_key(built.releases),
        totals,
        made_at=datetime.now(UTC),  # noqa: TID251 - a command is where time begins
    )
    changed = () if earlier is None else changes(earlier, report)
    if options.json:
        print(json_text(shown(report, changed)))
    else:
        print(text_of(report, changed, earlier))
    if options.report is not None and options.report.name:
        report_files.write(options.report, report, changed, earlier)
    return 0


def _bench(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.bench import run_bench

    return run_bench(
        mixes=options.mix or (["corpus"] if options.corpus else None),
        lines=options.lines,
        repeats=options.repeats,
        as_json=options.json,
        budgets=options.budgets,
        gate=options.gate,
        corpus=options.corpus,
    )
