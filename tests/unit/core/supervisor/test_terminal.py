"""What is written, on a terminal and into a file."""

import io
import subprocess
import sys

import pytest

from voyager_core.supervisor.terminal import Terminal, cut, size


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_into_a_file_is_a_line_for_each_change():
    output = io.StringIO()
    terminal = Terminal(output)
    for text in ("1 of 2", "1 of 2", "2 of 2"):
        terminal.progress(text)
    terminal.line("done")
    assert output.getvalue() == "  1 of 2\n  2 of 2\ndone\n"


def test_progress_on_a_terminal_overwrites_itself():
    output = Screen()
    terminal = Terminal(output)
    terminal.progress("10 of 20 articles")
    terminal.progress("done")
    terminal.line("next")
    assert output.getvalue() == "\r  10 of 20 articles\r  done             \nnext\n"


def test_a_table_is_aligned_and_fits(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    output = io.StringIO()
    Terminal(output).table(
        ("NAME", "SIZE"), [("short", "1"), ("x" * 100 + "end", "12345")], right="lr"
    )
    lines = output.getvalue().splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].endswith("    1")
    assert "…" in lines[2]
    assert "end  12345" in lines[2]


@pytest.mark.parametrize("width", [5, 6, 20])
def test_a_cut_text_has_the_width_and_both_ends(width):
    assert cut("abcdefghijklmnopqrstuvwxyz", width)[0] == "a"
    assert cut("abcdefghijklmnopqrstuvwxyz", width)[-1] == "z"
    assert len(cut("abcdefghijklmnopqrstuvwxyz", width)) == width


def test_sizes_are_read_by_people():
    assert [size(n) for n in (0, 999, 1500, 2_340_000, 5_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.3 MB",
        "5.0 GB",
    ]


def test_a_reader_that_has_left_changes_nothing_else():
    code = """
import sys
from voyager_core.supervisor.terminal import Terminal
terminal = Terminal()
terminal.line("first")
sys.stdin.readline()
for _ in range(3):
    terminal.line("x" * 100_000)
    terminal.progress("x")
print("done", file=sys.stderr)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "first\n"
    process.stdout.close()
    process.stdout = None
    errors = process.communicate("go\n", timeout=60)[1]
    assert (process.returncode, errors) == (0, "done\n")
