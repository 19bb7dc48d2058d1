"""What reaches a terminal."""

from voyager_core.cli.output import printable, readable_size, table


def test_names_cannot_send_escape_sequences_or_turn_the_line():
    hostile = "a\x1b[31mred\x07\N{RIGHT-TO-LEFT OVERRIDE}b\x00\nc"
    shown = printable(hostile)
    assert "\x1b" not in shown
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown
    assert "\n" not in shown
    assert shown.startswith("a")


def test_sizes_use_decimal_units():
    assert [readable_size(n) for n in (0, 999, 1000, 4_288_754_174)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "4.3 GB",
    ]


def test_numbers_are_set_right_and_words_left():
    lines = table(("name", "lines"), [("a", "1,000"), ("long name", "7")]).splitlines()
    assert lines[2] == "a          1,000"
    assert lines[3] == "long name      7"


def test_a_table_without_rows_has_its_headings():
    assert table(("a", "b"), []).splitlines()[0] == "a  b"
