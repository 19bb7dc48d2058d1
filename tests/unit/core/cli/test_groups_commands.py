"""`voyager groups` and `voyager ranges`."""

import pytest

from tests.support.spans import GROUP, add_ranges
from voyager_core.catalog.groups import get_group, list_groups, record_water_marks
from voyager_core.catalog.ranges import mark_failed, ranges_of
from voyager_core.cli.group_list import read_group_list

pytestmark = pytest.mark.postgres


def names_in(catalog):
    return [group.name for group in list_groups(catalog)]


def test_groups_are_added_listed_and_removed(voyager, catalog):
    added = voyager("groups", "add", "alt.binaries.b", "alt.binaries.a")
    assert added.code == 0
    assert added.out.splitlines() == [
        "alt.binaries.b is indexed with priority 1",
        "alt.binaries.a is indexed with priority 2",
    ]
    assert names_in(catalog) == ["alt.binaries.b", "alt.binaries.a"]
    removed = voyager("groups", "remove", "alt.binaries.b")
    assert (removed.code, removed.out) == (
        0,
        "alt.binaries.b gets no new work; what is indexed stays\n",
    )
    assert "alt.binaries.b" not in voyager("groups", "list").out
    everything = voyager("groups", "list", "--all").out.splitlines()
    assert [line.split()[1:3] for line in everything[2:]] == [
        ["alt.binaries.b", "removed"],
        ["alt.binaries.a", "new"],
    ]


def test_water_marks_are_listed_with_separators(voyager, catalog):
    voyager("groups", "add", GROUP)
    group = get_group(catalog, GROUP)
    record_water_marks(catalog, {GROUP: (1_000, 16_895_106_475)}, group.added_at)
    line = voyager("groups", "list").out.splitlines()[2]
    assert line.split() == ["1", GROUP, "ok", "1,000", "16,895,106,475"]


def test_an_empty_list_says_what_to_do(voyager):
    for command in (("groups", "list"), ("ranges",)):
        ran = voyager(*command)
        assert ran.code == 0
        assert "voyager groups add" in ran.out


@pytest.mark.parametrize("name", ["", " ", "a b", "alt.binaries.*", "a." * 200, "alt.\x1b[31mred"])
def test_no_nonsense_becomes_a_group_and_the_others_are_added(voyager, catalog, name):
    ran = voyager("groups", "add", "alt.one", name, "alt.two")
    assert ran.code == 1
    assert ran.err.startswith("not added: ")
    assert len(ran.err) < 200
    assert "\x1b" not in ran.err
    assert names_in(catalog) == ["alt.one", "alt.two"]


def test_an_argument_that_is_no_utf_8_is_wrong_usage(voyager, catalog):
    for command in (
        ("groups", "add", "alt.one", "alt.\udcff"),
        ("groups", "remove", "alt.\udcff"),
        ("ranges", "alt.\udcff"),
    ):
        ran = voyager(*command)
        assert ran.code == 2
        assert r"alt.\xff" in ran.err or r"alt.\udcff" in ran.err
    assert names_in(catalog) == []


def test_removing_a_group_that_is_not_there_fails_readably(voyager):
    ran = voyager("groups", "remove", "alt.none", "\x1b[31m")
    assert ran.code == 1
    assert "alt.none is not indexed" in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_a_file_of_names_is_imported_in_its_order(voyager, catalog, tmp_path):
    file = tmp_path / "names.txt"
    file.write_bytes(b"\xef\xbb\xbfalt.b\r\n# a comment\r\n\r\nalt.a\r\nalt.b\r\n")
    assert voyager("groups", "import", str(file)).code == 0
    assert names_in(catalog) == ["alt.b", "alt.a"]


def test_a_reply_to_list_active_is_imported(voyager, catalog, tmp_path):
    file = tmp_path / "active.txt"
    file.write_text(
        "215 list of newsgroups follows\n"
        "alt.b 0000000100 0000000001 y\nalt.a 16895106475 2256535552 m\nalt.old 1 2 =alt.new\n.\n"
    )
    ran = voyager("groups", "import", str(file))
    assert ran.code == 1
    assert ran.err.startswith("1 lines refused: renamed by the server")
    # The largest has the lowest priority number; a renamed group has no articles of its own.
    assert names_in(catalog) == ["alt.a", "alt.b"]


def test_a_group_named_again_without_its_size_keeps_its_place(voyager, catalog, tmp_path):
    file = tmp_path / "active.txt"
    file.write_text("alt.b 50 1 y\nalt.a 100 1 y\nalt.b 9 1 y\nalt.a\nalt.c 20 1 y\n")
    ran = voyager("groups", "import", str(file))
    assert ran.code == 0
    assert "2 lines named a group again" in ran.out
    assert names_in(catalog) == ["alt.a", "alt.b", "alt.c"]


def test_lines_of_another_form_are_counted_and_not_taken_for_groups(voyager, catalog, tmp_path):
    file = tmp_path / "groups.tsv"
    file.write_bytes(
        b"alt.one\nrank\tgroup\thigh\n1\talt.two\t10\t5\ty\nalt.\xff\nalt..x\nalt.\x1b[31m\n"
        + "alt.bin\u200baries\nalt.\u202ered\n.alt\nalt/x\nalt.one\nalt.*\n".encode()
        + b"x" * 300
        + b"\nalt.\x85y 5 1 y\nalt.six 00000000009 1 y\r\n"
    )
    ran = voyager("groups", "import", str(file))
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "2 newsgroups added, 0 indexed again, 0 kept",
        "1 lines named a group again",
    ]
    refused = {line for line in ran.err.splitlines() if "lines refused" in line}
    assert refused == {
        "2 lines refused: neither a name nor a line of LIST ACTIVE",
        "2 lines refused: no UTF-8",
        "2 lines refused: an empty part between dots",
        "3 lines refused: control or invisible characters",
        "2 lines refused: blanks, slashes or wildcards",
        "1 lines refused: too long",
    }
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err
    assert names_in(catalog) == ["alt.six", "alt.one"]


def test_a_second_list_comes_after_the_first_and_takes_nothing_from_it(voyager, catalog, tmp_path):
    file = tmp_path / "active.txt"
    file.write_text("alt.small 10 1 y\nalt.large 100 1 y\n")
    assert voyager("groups", "import", str(file)).code == 0
    voyager("groups", "remove", "alt.small")
    file.write_text("alt.huge 9000 1 y\nalt.large 100 1 y\nalt.small 10 1 y\nalt.tiny 1 1 y\n")
    ran = voyager("groups", "import", "--most", "3", str(file))
    assert ran.out.splitlines() == [
        "1 newsgroups added, 1 indexed again, 1 kept",
        "1 smaller ones left out",
    ]
    assert [(group.name, group.priority) for group in list_groups(catalog)] == [
        ("alt.large", 1),
        ("alt.huge", 3),
        ("alt.small", 4),
    ]


def test_the_history_that_is_wanted_is_set_by_days_or_date(voyager, catalog):
    voyager("groups", "add", "alt.one", "--days", "30")
    voyager("groups", "add", "alt.two")
    assert get_group(catalog, "alt.one").backfill_days == 30
    assert voyager("groups", "backfill", "--since", "2020-12-31").code == 0
    shown = voyager("groups", "list").out.splitlines()[2:]
    assert [line.split()[-2:] for line in shown] == [["since", "2020-12-31"]] * 2
    assert voyager("groups", "backfill", "alt.two").code == 0
    assert get_group(catalog, "alt.two").backfill_since is None
    assert voyager("groups", "backfill", "alt.none", "--days", "3").code == 1
    for wrong in (["--days", "-1"], ["--days", "x"], ["--since", "soon"], ["--days", "\u0661"]):
        assert voyager("groups", "backfill", *wrong).code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither names"),
        (b"# nothing\n\n", "neither names"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is no text"),
        (b"rank\tgroup\n1\talt.two\n", "line 1"),
        ("alt.one\n".encode("utf-16"), "is no text"),
    ],
)
def test_a_file_without_groups_is_refused(voyager, catalog, tmp_path, content, said):
    file = tmp_path / "file"
    file.write_bytes(content)
    ran = voyager("groups", "import", str(file))
    assert ran.code == 1
    assert said in ran.err
    assert names_in(catalog) == []


def test_a_group_list_that_cannot_be_read_is_named(voyager, tmp_path):
    for path in (tmp_path, tmp_path / "none", "nul\0byte"):
        ran = voyager("groups", "import", str(path))
        assert ran.code == 1
        assert "the group list" in ran.err


def test_the_recorded_group_lists_are_read_whole(shared_data):
    folder = shared_data / "groups"
    if not folder.is_dir():
        pytest.skip("no recorded group lists")
    data = (folder / "list_active_2016_sample.txt").read_bytes()
    found = read_group_list(data)
    assert found is not None
    spans = {
        name: int(high) - int(low) + 1
        for name, high, low, _ in (line.decode("latin-1").split() for line in data.splitlines())
    }
    assert len(found.names) + sum(found.refused.values()) == len(spans)
    assert set(found.names) <= set(spans)
    sizes = [max(0, spans[name]) for name in found.names]
    assert sizes == sorted(sizes, reverse=True)
    assert len(found.names) > 0.99 * len(spans)


def test_progress_is_shown_by_group_and_by_range(voyager, catalog):
    first, _ = add_ranges(catalog, 2)
    mark_failed(catalog, first, "the \x1b[31mserver\nsaid no", max_attempts=1)
    by_group = voyager("ranges").out.splitlines()
    assert by_group[0].split() == ["group", "ranges", "done", "parked", "indexed", "lines"]
    assert by_group[2].split() == [GROUP, "2", "0", "1", "0.0", "%", "0"]
    by_range = voyager("ranges", GROUP).out.splitlines()
    assert len(by_range) == 4
    assert "parked" in by_range[2]
    assert "said no" in by_range[2]
    assert "\x1b" not in by_range[2]


def test_parked_ranges_get_another_chance(voyager, catalog):
    (number,) = add_ranges(catalog)
    mark_failed(catalog, number, "no", max_attempts=1)
    ran = voyager("ranges", GROUP, "--retry")
    assert ran.out.startswith("1 parked ranges are planned again\n")
    assert [row.state for row in ranges_of(catalog, GROUP)] == ["planned"]


def test_the_ranges_of_an_unknown_group_are_an_error(voyager):
    ran = voyager("ranges", "alt.none", "--retry")
    assert (ran.code, ran.out) == (1, "")
    assert "alt.none is not indexed" in ran.err


def test_a_group_without_ranges_says_so(voyager):
    voyager("groups", "add", "alt.one")
    assert "no ranges yet" in voyager("ranges", "alt.one").out
