"""`voyager fetch`: bring overview blocks into the spool, ahead of whoever indexes them."""

import argparse
import re
import sys

from voyager_core.cli.output import printable
from voyager_core.errors import SettingsError
from voyager_core.settings import load_settings

_SHARD = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})", re.ASCII)


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command."""
    fetch = commands.add_parser("fetch", help="fetch ahead of the header pass, until Ctrl-C")
    fetch.add_argument(
        "--shard", type=_shard, default=(1, 1), metavar="I/N", help="the I-th of N fetchers"
    )
    fetch.set_defaults(run=_fetch)


def _shard(argument: str) -> tuple[int, int]:
    match = _SHARD.fullmatch(argument)
    if match is None or int(match[1]) > int(match[2]):
        msg = f"{printable(argument)[:40]!r} looks like 1/2, the first of two"
        raise argparse.ArgumentTypeError(msg)
    return int(match[1]), int(match[2])


def _fetch(options: argparse.Namespace) -> int:
    from voyager_core.supervisor.fetching import run_fetcher
    from voyager_core.supervisor.interrupts import Interrupts

    settings = load_settings(options.env_file)
    if settings.news.url is None:
        msg = "no news account: set VOYAGER_NEWS__URL=nntps://user:password@host:563"
        raise SettingsError(msg)
    with Interrupts() as stopping:
        run_fetcher(
            settings,
            stopping,
            lambda line: print(f"voyager fetch: {printable(line)}", file=sys.stderr, flush=True),
            shard=options.shard,
        )
    return 0
