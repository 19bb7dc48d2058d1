"""Parses arguments, runs a command, turns errors into messages."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper, UnsupportedOperation
from pathlib import Path

from voyager_core.cli import (
    accounts,
    admin,
    analysis,
    backup,
    catalog,
    fetching,
    folds,
    groups,
    indexing,
    rules,
    services,
)
from voyager_core.cli.output import printable_lines
from voyager_core.errors import VoyagerError, reason_of
from voyager_core.logs import configure_logging

logger = logging.getLogger(__name__)

Command = Callable[[argparse.Namespace], int]

EXIT_ERROR = 1


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
    modules = (services, groups, rules, catalog, folds, accounts, indexing, fetching)
    for module in (*modules, analysis, backup, admin):
        module.register(commands)
    return parser


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrong usage.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    _accept_any_terminal()
    options = build_parser().parse_args(arguments)
    configure_logging(verbose=options.verbose)
    command: Command = options.run
    try:
        code = command(options)
        # What is still buffered must fail here and not at exit, where nobody catches it.
        if sys.stdout is not None:
            sys.stdout.flush()
    except VoyagerError as error:
        return _failed(str(error))
    except BrokenPipeError:
        # The reader (`| head`) has what it wanted.
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        place = f"{error.filename}: " if error.filename is not None else ""
        return _failed(f"{place}{error.strerror or error}")
    except Exception as error:
        # A fault of Voyager's own: a person gets a line, and a developer the traceback.
        logger.info("unexpected", exc_info=True)
        more = "" if options.verbose else "; `voyager -v …` shows where"
        why = f"{type(error).__name__}: {reason_of(error)}"
        return _failed(f"this is a fault of Voyager, please report it: {why}{more}")
    return code


def _failed(message: str) -> int:
    print(f"voyager: {printable_lines(message)}", file=sys.stderr)
    return EXIT_ERROR


def _accept_any_terminal() -> None:
    """Lets a terminal without a character show a `?` in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Sends what is still buffered nowhere, else Python complains about it at exit."""
    with suppress(OSError, UnsupportedOperation, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
