"""`voyager replay` and `voyager bench`: the header pass without a database or a server."""

import argparse
import json
from pathlib import Path

from voyager_core.cli.arguments import text


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
        "--group", type=text, required=True, help="the newsgroup that the lines come from"
    )
    replay.add_argument("--out", type=Path, help="write Parquet into this folder")
    replay.add_argument("--json", action="store_true", help="print the totals as one JSON object")
    replay.set_defaults(run=_replay)

    bench = commands.add_parser("bench", help="the header pass as ratios to inflate")
    bench.add_argument("--mix", action="append", help="a generated mix; repeatable (default: all)")
    bench.add_argument(
        "--lines", type=int, default=2_000_000, help="overview lines of a mix (default: a range)"
    )
    bench.add_argument("--json", action="store_true", help="print one JSON object a mix")
    bench.add_argument("--budgets", type=Path, help="fail beyond these values + 15 %%")
    bench.set_defaults(run=_bench)


def _replay(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.replay import replay

    totals = replay(options.inputs, group=options.group, out=options.out)
    print(json.dumps(totals, ensure_ascii=False, indent=None if options.json else 2))
    return 0


def _bench(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.bench import run_bench

    return run_bench(
        mixes=options.mix, lines=options.lines, as_json=options.json, budgets=options.budgets
    )
