"""The entry point: parses arguments, runs a command, turns errors into messages."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from voyager_core.cli import admin, catalog, groups, indexing, services
from voyager_core.errors import VoyagerError
from voyager_core.logs import configure_logging

Command = Callable[[argparse.Namespace], int]

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of every command."""
    parser = argparse.ArgumentParser(
        prog="voyager",
        description="A Usenet indexer that finds releases from article headers alone.",
        epilog="Settings are environment variables VOYAGER_… or lines of a .env file; "
        "`voyager settings` lists them.",
    )
    parser.add_argument("--env-file", type=Path, help="read this file instead of .env")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is done")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (services, groups, catalog, indexing, admin):
        module.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage."""
    options = build_parser().parse_args(arguments)
    configure_logging(verbose=options.verbose)
    run: Command = options.run
    try:
        return run(options)
    except VoyagerError as error:
        print(f"voyager: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted; Python would complain again at exit.
        sys.stdout = open("/dev/null", "w")  # noqa: SIM115, PTH123
        return 0
    except KeyboardInterrupt:
        print("voyager: stopped", file=sys.stderr)
        return EXIT_INTERRUPTED

