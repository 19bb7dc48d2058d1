"""`voyager demo` and `voyager up`: everything running together."""

import argparse
from pathlib import Path

from voyager_core.settings import load_settings


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands."""
    demo = commands.add_parser("demo", help="index bundled sample posts with everything running")
    demo.add_argument(
        "--once", action="store_true", help="index, verify against what was posted, print, exit"
    )
    demo.add_argument(
        "--data-dir", type=Path, help="where the demo keeps its data (default: <data dir>/demo)"
    )
    demo.set_defaults(run=_demo)
    up = commands.add_parser("up", help="run Voyager with your news account")
    up.set_defaults(run=_up)


def _demo(options: argparse.Namespace) -> int:
    from voyager_core.demo.run import run_demo

    settings = load_settings(options.env_file)
    data_dir = options.data_dir or settings.data_dir / "demo"
    return run_demo(
        settings.model_copy(update={"data_dir": data_dir.absolute()}), once=options.once
    )


def _up(options: argparse.Namespace) -> int:
    from voyager_core.header_pass.sharing import Shares
    from voyager_core.nntp.account import NewsAccount
    from voyager_core.supervisor.fetching import spool_of
    from voyager_core.supervisor.up import run_up

    settings = load_settings(options.env_file)
    if settings.news.url is not None:
        # Else every run would fail on it, in a log that nobody reads yet.
        account = NewsAccount.from_url(settings.news.url, connections=settings.news.connections)
        Shares.of(account.connections, settings.news.shares)
    spool_of(settings)
    return run_up(settings)
