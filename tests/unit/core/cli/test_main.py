"""What every command has in common: usage, errors, pipes, terminals."""

import subprocess
import sys
from pathlib import Path

import pytest

from voyager_core.cli import main
from voyager_core.cli.program import build_parser
from voyager_core.settings import known_variables

COMMAND = (sys.executable, "-m", "voyager_core.cli")


@pytest.mark.parametrize(
    "arguments", [(), ("frobnicate",), ("groups",), ("keys", "revoke", "x"), ("check", "all")]
)
def test_wrong_usage_is_exit_code_2_and_a_message(run, arguments):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("usage: voyager")


@pytest.mark.parametrize(
    "number", ["1_0", "\uff11", "+1", " 1", "0", "-1", "9" * 30, "\x1b[31m1", "x" * 99]
)
@pytest.mark.parametrize(
    "command",
    [
        ("keys", "revoke"),
        ("folds", "undo"),
        ("bench", "--lines"),
        ("bench", "--repeats"),
        ("search", "x", "--limit"),
        ("corpus", "sweep"),
    ],
)
def test_a_number_is_written_in_digits_and_within_bounds(run, command, number):
    head, last = command[:-1], command[-1]
    ran = run(*head, f"{last}={number}") if last.startswith("-") else run(*command, "--", number)
    assert (ran.code, ran.out) == (2, "")
    assert "is no number from 1 to " in ran.err
    assert "\x1b" not in ran.err
    assert len(ran.err.splitlines()[-1]) < 200


def test_help_names_every_command(run):
    ran = run("--help")
    assert ran.code == 0
    for name in ("demo", "up", "groups", "ranges", "keys", "search", "nzb", "doctor", "replay"):
        assert name in ran.out


def test_settings_are_shown_with_their_values_and_without_secrets(run, monkeypatch):
    monkeypatch.setenv("VOYAGER_NEWS__URL", "nntps://me:hunter2@host")
    monkeypatch.setenv("VOYAGER_API__PORT", "9000")
    ran = run("settings")
    assert ran.code == 0
    assert "hunter2" not in ran.out
    lines = {line.split()[0]: line for line in ran.out.splitlines()[2:]}
    assert set(lines) == set(known_variables())
    assert "9000" in lines["VOYAGER_API__PORT"]


@pytest.mark.parametrize(
    "command",
    [
        ("groups", "list"),
        ("groups", "add", "alt.one"),
        ("ranges",),
        ("keys", "list"),
        ("rules",),
        ("search", "x"),
        ("nzb", "x"),
        ("check", "catalog"),
        ("migrate",),
    ],
)
def test_every_command_says_that_the_database_is_down(run, monkeypatch, command):
    monkeypatch.setenv("VOYAGER_DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/catalog")
    ran = run(*command)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("voyager: ")
    assert "127.0.0.1:1" in ran.err
    assert "hunter2" not in ran.err


def test_a_settings_typo_stops_every_command(run, monkeypatch):
    monkeypatch.setenv("VOYAGER_NEWS_URL", "nntps://me:hunter2@host")
    for command in (("groups", "list"), ("settings",), ("up",), ("demo", "--once")):
        ran = run(*command)
        assert (ran.code, ran.out) == (1, "")
        assert "unknown setting VOYAGER_NEWS_URL" in ran.err
        assert "hunter2" not in ran.err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nntsp://me:hunter2@host", "nntps"),
        ("nntps://me:hun#ter2@host", "percent-encode"),
        ("nntps://me:hunter2@host?conections=5", "did you mean connections"),
        ("nntps://me@host", "no password"),
    ],
)
def test_nothing_starts_with_a_news_url_that_cannot_be_used(run, monkeypatch, url, said):
    monkeypatch.setenv("VOYAGER_NEWS__URL", url)
    ran = run("up")
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert "hun" not in ran.err


def test_a_data_folder_that_is_none_is_an_error(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VOYAGER_DATA_DIR", str(tmp_path / "file"))
    ran = run("groups", "list")
    assert ran.code == 1
    assert str(tmp_path / "file") in ran.err


@pytest.mark.postgres
def test_migrating_twice_says_that_nothing_is_left(run, monkeypatch, empty_database):
    monkeypatch.setenv("VOYAGER_DATABASE_URL", empty_database)
    first = run("migrate")
    assert first.code == 0
    assert first.out.startswith("applied ")
    assert run("migrate").out == "the catalog is up to date\n"


def test_an_interrupted_command_is_exit_code_130(run, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("voyager_core.cli.admin.load_settings", interrupted)
    ran = run("settings")
    assert (ran.code, ran.err) == (130, "voyager: stopped\n")


def test_an_interrupt_before_the_commands_are_there_is_exit_code_130(tmp_path):
    # As when Ctrl-C comes while modules are imported.
    (tmp_path / "argparse.py").write_text("raise KeyboardInterrupt\n")
    ran = subprocess.run(
        COMMAND,
        capture_output=True,
        env={"PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (130, b"voyager: stopped\n")


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    script = '"$@" settings | true; echo "${PIPESTATUS[0]}"'
    ran = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND], capture_output=True, cwd=tmp_path, check=False
    )
    assert ran.stderr == b""
    assert ran.stdout == b"0\n"


def test_a_full_disk_behind_the_output_is_a_message(tmp_path):
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*COMMAND, "settings"], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False
        )
    assert ran.returncode == 1
    assert ran.stderr == b"voyager: No space left on device\n"


def test_a_terminal_without_the_characters_gets_something_else(tmp_path):
    ran = subprocess.run(
        [*COMMAND, "settings"],
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii", "VOYAGER_DATA_DIR": "daten-ü"},
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"daten-?" in ran.stdout


def test_every_command_has_a_function_to_run():
    subparsers = build_parser()._subparsers._group_actions[0].choices
    leaves = []
    for name, parser in subparsers.items():
        nested = parser._subparsers
        leaves += list(nested._group_actions[0].choices.items()) if nested else [(name, parser)]
    assert len(leaves) > 15
    assert all(callable(parser.get_default("run")) for _, parser in leaves)


def test_the_engine_is_not_loaded_for_help():
    code = (
        "import sys; from voyager_core.cli.program import build_parser; build_parser();"
        "sys.exit(bool({'voyager_native', 'polars', 'psycopg', 'dagster'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_replay_reads_a_file_and_says_what_it_cannot_read(run, tmp_path):
    line = '7\t"a.bin" yEnc (1/1)\tP <p@e.x>\tFri, 1 Mar 2024 00:00:00 +0000\t<a@b>\t\t99\t9\n'
    (tmp_path / "a.over").write_text(line)
    ran = run("replay", "a.over", "--group", "alt.binaries.test", "--json")
    assert ran.code == 0
    assert ran.out.count("\n") == 1
    assert '"lines": 1' in ran.out
    missing = run("replay", "none.over", "--group", "alt.binaries.test")
    assert (missing.code, missing.out) == (1, "")
    assert "none.over" in missing.err
    assert run("replay", "a.over", "--group", "\udcff").code == 2


@pytest.mark.parametrize(("verbose", "more"), [((), "; `voyager -v …` shows where"), (("-v",), "")])
def test_an_unexpected_fault_is_one_line(capfd, monkeypatch, verbose, more):
    def broken(*_arguments):
        raise RuntimeError("the drum is flat\nand more")

    monkeypatch.setattr("voyager_core.cli.admin.load_settings", broken)
    assert main([*verbose, "settings"]) == 1
    said = "this is a fault of Voyager, please report it: RuntimeError: the drum is flat"
    assert capfd.readouterr().err.splitlines()[-1] == f"voyager: {said}{more}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("corpus", "mark", "alt.x", "9223372036854775808"),
        ("corpus", "mark", "alt.x", "--", "-1"),
        ("corpus", "sweep", "0"),
        ("corpus", "sweep", "9" * 5000),
        ("backup", "here", "--keep", "0"),
        ("groups", "import", "list", "--most", "0"),
        ("groups", "add", "alt.x", "--days", "9" * 5000),
        ("replay", "a.over", "--group", ""),
        ("replay", "a.over", "--group", "two words"),
    ],
)
def test_a_number_or_name_that_cannot_be_is_wrong_usage(run, arguments):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err) < 1000
    assert "is no number from" in ran.err or "no name of a newsgroup" in ran.err


@pytest.mark.parametrize("kind", ["folder", "binary", "missing"])
@pytest.mark.parametrize(
    "command",
    [
        ("bench", "--lines", "10", "--repeats", "1", "--budgets", "FILE"),
        ("replay", "a.over", "--group", "alt.x", "--against", "FILE"),
        ("restore", "FILE"),
    ],
)
def test_a_file_of_another_kind_is_a_line_without_error_numbers(run, tmp_path, command, kind):
    file = tmp_path / "given"
    if kind == "folder":
        file.mkdir()
    elif kind == "binary":
        file.write_bytes(b"\x7fELF\xd0\xff")
    ran = run(*(str(file) if each == "FILE" else each for each in command))
    assert (ran.code, ran.out) == (1, "")
    assert str(file) in ran.err
    assert ran.err.count("\n") == 1
    assert "Errno" not in ran.err
    assert "codec" not in ran.err


@pytest.mark.parametrize(
    ("option", "written"), [(("--out", "."), "articles.parquet"), (("--report", "r"), "r.json")]
)
def test_a_full_disk_leaves_the_earlier_file_and_nothing_half_written(
    run, tmp_path, option, written
):
    line = '7\t"a.bin" yEnc (1/1)\tP <p@e.x>\tFri, 1 Mar 2024 00:00:00 +0000\t<a@b>\t\t99\t9\n'
    (tmp_path / "a.over").write_text(line)
    (tmp_path / written).write_text("earlier")
    (tmp_path / f".{written}.new").symlink_to("/dev/full")
    ran = run("replay", "a.over", "--group", "alt.x", *option)
    assert ran.code == 1
    assert ran.err.startswith("voyager: cannot write")
    assert "No space left on device" in ran.err
    assert (tmp_path / written).read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.over", written])
