"""`voyager sql` and `notebook`: statements, values as JSON, what is refused."""

import io
import json

import pytest

from voyager_core.cli.analysis import _statements
from voyager_core.errors import PermanentError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("select 1;\nselect 2\n", 2),
        ("select ';\n', 2;\nselect 3;\n", 2),
        ("select 1 -- a;\n;\n", 1),
        ("select 1; -- done\nselect 2;\n", 2),
        ("/* ; \n;\n */ select 1;\n", 1),
        ('select 1 as "a;\nb";\n', 1),
        ("select $$ ;\n $$;\n", 1),
        ("select 'it''s;\n';\n", 1),
    ],
)
def test_a_statement_ends_with_a_semicolon_outside_of_quotes_and_comments(text, count):
    assert len(list(_statements(io.StringIO(text), prompt=False))) == count


def test_input_that_is_no_text_is_a_message():
    with pytest.raises(PermanentError, match="no UTF-8"):
        list(_statements(io.StringIO("select '\udcff';\n"), prompt=False))


def test_json_of_a_query_is_json_whatever_the_values(run):
    ran = run(
        "sql", "--json", "select 'nan'::double a, [1/0] b, '\\xff'::blob c, {'d': 1::hugeint} e"
    )
    assert ran.code == 0
    assert json.loads(ran.out, parse_constant=None) == {
        "a": None,
        "b": [None],
        "c": "ff",
        "e": {"d": 1},
    }
    assert "NaN" not in ran.out


def test_a_name_of_no_table_is_not_looked_for_in_the_program(run):
    ran = run("sql", "select * from rows")
    assert (ran.code, ran.out) == (1, "")
    assert "Table with name rows does not exist" in ran.err


def test_a_notebook_is_not_written_over_a_folder(run, tmp_path):
    ran = run("notebook", "--export", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert "is a folder" in ran.err


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_what_strangers_wrote_does_not_act_on_a_terminal(run, monkeypatch, form):
    query = "select '\x1b[31m' as \"a\x1b[2J\", ['\u202e'] as b, 7 as c"
    screen = Screen()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", screen)
        assert run("sql", query, *form).code == 0
    assert "7" in screen.getvalue()
    assert not {"\x1b", "\u202e"} & set(screen.getvalue())


def test_values_are_as_they_are_where_a_program_reads_them(run):
    ran = run("sql", "select '\x1b\u202e' as a", "--csv")
    assert ran.out == "a\n\x1b\u202e\n"
    ran = run("sql", "select '\x1b\u202e' as a", "--json")
    assert json.loads(ran.out) == {"a": "\x1b\u202e"}


def test_a_wrong_statement_of_several_cannot_act_on_a_terminal(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('select "\x1b[31m";\n'))
    ran = run("sql")
    assert ran.code == 1
    assert ran.err.startswith("voyager: ")
    assert "\x1b" not in ran.err
