"""What an argument may be; argparse turns a refusal into a message and exit code 2."""

import argparse

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
    if not (argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= MAX_LIMIT):
        msg = f"{argument[:20]} is no number from 1 to {MAX_LIMIT}"
        raise argparse.ArgumentTypeError(msg)
    return int(argument)
