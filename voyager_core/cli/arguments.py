"""What an argument may be; argparse turns a refusal into a message and exit code 2."""

import argparse
from collections.abc import Callable

from voyager_core.cli.output import shortened
from voyager_core.domain.newsgroups import name_problem

MAX_ID = 2**63 - 1
"""The largest number that the catalog gives to anything."""

# What one page of the catalog can have.
MAX_LIMIT = 1_000


def text(argument: str) -> str:
    """Returns an argument that is text: names and words, not paths.

    Raises:
        argparse.ArgumentTypeError: its bytes are no UTF-8.
    """
    try:
        argument.encode()
    except UnicodeEncodeError:
        shown = argument.encode("utf-8", "backslashreplace").decode()
        msg = f"{shown} is no UTF-8 text"
        raise argparse.ArgumentTypeError(msg) from None
    return argument


def newsgroup(argument: str) -> str:
    """Returns an argument that names a newsgroup.

    Raises:
        argparse.ArgumentTypeError: no newsgroup can have that name.
    """
    if problem := name_problem(text(argument)):
        msg = f"no name of a newsgroup ({problem})"
        raise argparse.ArgumentTypeError(msg)
    return argument


def label(argument: str) -> str:
    """Returns an argument that names something for a person to read.

    Raises:
        argparse.ArgumentTypeError: it is empty, too long, or holds control characters.
    """
    found = text(argument).strip()
    if not found or len(found) > 100 or not found.isprintable():
        msg = "a label is 1 to 100 printable characters"
        raise argparse.ArgumentTypeError(msg)
    return found


def limit(argument: str) -> int:
    """Returns how many rows to show at most.

    Raises:
        argparse.ArgumentTypeError: it is no number from 1 to MAX_LIMIT.
    """
    return whole_number(1, MAX_LIMIT)(argument)


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Returns a type of argument: a whole number within bounds, both included."""

    def number(argument: str) -> int:
        digits = argument if argument.isascii() and argument.isdigit() else ""
        # A number of thousands of digits takes Python minutes.
        if not (digits and len(digits) <= 20 and least <= int(digits) <= most):
            msg = f"{shortened(text(argument), 20)} is no number from {least} to {most}"
            raise argparse.ArgumentTypeError(msg)
        return int(digits)

    return number
