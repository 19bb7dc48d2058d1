"""What log lines look like, whatever is in them."""

import logging
import sys

import pytest

from voyager_core.logs import OneLineFormatter


def line(message, *arguments, exc_info=None):
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, message, arguments, exc_info)
    return OneLineFormatter("%(levelname)s %(name)s: %(message)s").format(record)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("größe 日本 \U0001f600 'a' \"b\" \\ \x20", "größe 日本 \U0001f600 'a' \"b\" \\ \x20"),
        ("a\n2026-11-30 ERROR forged", r"a\n2026-11-30 ERROR forged"),
        ("a\r\x1b[31mred\x00\x7f\x9b", r"a\r\x1b[31mred\x00\x7f\x9b"),
        ("exe.\u202egnp \u2028 \udc80", r"exe.\u202egnp \u2028 \udc80"),
    ],
)
def test_a_name_cannot_begin_a_line_or_act_on_a_terminal(name, shown):
    assert line("lost %s", name) == f"ERROR x: lost {shown}"


def test_a_traceback_keeps_its_lines():
    try:
        int("x")
    except ValueError:
        told = line("failed", exc_info=sys.exc_info())
    assert told.startswith("ERROR x: failed\nTraceback")
