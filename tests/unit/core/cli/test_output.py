"""What reaches a terminal."""

from voyager_core.cli.output import printable, printable_lines, readable_size, shortened, table


def test_names_cannot_send_escape_sequences_or_turn_the_line():
    hostile = "a\x1b[31mred\x07\N{RIGHT-TO-LEFT OVERRIDE}b\x00\nc"
    shown = printable(hostile)
    assert "\x1b" not in shown
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown
    assert "\n" not in shown
    assert shown.startswith("a")


def test_sizes_use_decimal_units():
    assert [readable_size(n) for n in (0, 999, 1000, 999_960, 4_288_754_174, 10**20)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.0 MB",
        "4.3 GB",
        "100000.0 PB",
    ]


def test_numbers_are_set_right_and_words_left():
    lines = table(("name", "lines"), [("a", "1,000"), ("long name", "7")]).splitlines()
    assert lines[2] == "a          1,000"
    assert lines[3] == "long name      7"


def test_a_table_without_rows_has_its_headings():
    assert table(("a", "b"), []).splitlines()[0] == "a  b"


def test_columns_stay_in_line_behind_wide_and_combining_characters():
    rows = [("漢字", "x"), ("e\N{COMBINING ACUTE ACCENT}", "y"), ("abcd", "z")]
    lines = table(("name", "mark"), rows).splitlines()
    assert lines[2:] == ["漢字  x", "e\N{COMBINING ACUTE ACCENT}     y", "abcd  z"]


def test_long_and_hostile_texts_are_cut_for_messages():
    assert shortened("short") == "short"
    assert shortened("\x1b" + "a" * 100) == "\N{REPLACEMENT CHARACTER}" + "a" * 58 + "…"


def test_lines_of_a_message_stay_apart():
    assert printable_lines("a\x07\nb") == "a\N{REPLACEMENT CHARACTER}\nb"
