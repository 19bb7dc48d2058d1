"""Reports: suspects, changes by membership, and the forms they are kept and shown in."""

import json
from datetime import UTC, datetime

import pytest

from tests.support.uploads import Upload, interleaved, volumes
from voyager_core.cli import main
from voyager_core.header_pass import report_files
from voyager_core.header_pass.replay import one_key, replayed
from voyager_core.header_pass.report import ReportError, from_json, report_of, to_json
from voyager_core.header_pass.report_changes import changes
from voyager_core.header_pass.report_page import page_of
from voyager_core.header_pass.report_text import size_of, text_of

GROUP = "alt.binaries.test"
MADE = datetime(2026, 11, 30, tzinfo=UTC)
SHOW = "Some.Show.S01E02.720p.HDTV.x264-GRP"


def frames(tmp_path, *uploads):
    path = tmp_path / "some.over"
    path.write_bytes(interleaved(list(uploads))[0])
    totals, built = replayed([path], group=GROUP)
    return one_key(built.files), one_key(built.releases), totals


def report(tmp_path, *uploads):
    return report_of(*frames(tmp_path, *uploads), made_at=MADE)


def table(found, title):
    return next(each for each in found if each.title == title)


UPLOADS = (
    Upload("a", volumes(SHOW, 4)),
    Upload("b", [("Some.Film.2010.mkv", 9)]),
    Upload("c", [("Some.Film.2010.mkv", 9)]),
)


def test_releases_are_counted(tmp_path):
    found = report(tmp_path, *UPLOADS)
    assert found.figures["releases"] == len(found.names)
    assert sum(count for _, count in found.plots[0].bars) == len(found.names)
    assert table(found.tables, "Biggest releases").count == len(found.names)


def test_release_with_more_files_than_announced_is_suspect(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    few = releases.with_columns(files_expected=releases["files_expected"].clip(None, 2))
    found = table(report_of(files, few, totals, made_at=MADE).tables, "More files than announced")
    assert [row[:3] for row in found.rows] == [(SHOW, 8, 2)]


def test_one_file_more_than_announced_is_ordinary(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    few = releases.with_columns(files_expected=releases["files_expected"].clip(None, 7))
    found = report_of(files, few, totals, made_at=MADE)
    assert table(found.tables, "More files than announced").count == 0


def test_single_file_beside_an_unfinished_set_is_suspect(tmp_path):
    name = "9842b7f07ed502f9c1c3dba5b7dba5d9.bin"
    lone = Upload("b", [(name, 2)], '[3/9] - "{name}" yEnc ({p}/{parts})', poster="o <o@b.c>")
    whole = Upload("a", volumes(SHOW, 4), '[{i}/9] - "{name}" yEnc ({p}/{parts})')
    found = table(
        report(tmp_path, whole, lone).tables, "Single files beside a set of the same counter"
    )
    assert [(row[1], row[2], row[3]) for row in found.rows] == [("3/9", SHOW, "8 of 9")]


def test_several_rows_of_one_release_add_up(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    twice = releases.vstack(releases)
    found = report_of(files, twice, totals, made_at=MADE)
    assert found.figures["releases"] == releases.height
    assert table(found.tables, "Biggest releases").rows[0][1] == 2 * releases["files"].max()


def test_report_is_read_back_as_it_was(tmp_path):
    found = report(tmp_path, *UPLOADS)
    again = from_json(to_json(found))
    assert again.figures == found.figures
    assert again.names == found.names
    assert again.members.equals(found.members)
    assert [each.count for each in changes(found, again)] == [0, 0, 0, 0, 0]


def test_empty_report_has_no_suspects(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    found = report_of(files.clear(), releases.clear(), totals, made_at=MADE)
    assert all(each.count == 0 for each in found.tables)
    assert from_json(to_json(found)).names == {}
    assert "</html>" in page_of(found)


def test_changes_are_told_by_the_files(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    later = report_of(files, releases, totals, made_at=MADE)
    keys = releases.sort("size_bytes")["release_key"]
    torn = files.with_columns(
        release_key=files["release_key"]
        .hash()
        .zip_with(
            (files["release_key"] == keys[-1]) & (files["first_number"] % 2 == 0),
            files["release_key"],
        )
    )
    one = files.with_columns(release_key=files["release_key"].clip(keys[0], keys[0]))
    renamed = releases.with_columns(name=releases["name"] + ".old")

    def told(*earlier):
        return {
            each.title: each.count
            for each in changes(report_of(*earlier, totals, made_at=MADE), later)
        }

    assert told(one, releases)["Split"] == 1
    assert told(torn, releases)["Merged"] <= 1
    assert told(files, renamed)["Renamed"] == releases.height
    assert told(files.head(1), releases)["New in a release"] >= 1


def test_names_cannot_write_into_the_page_or_the_terminal(tmp_path):
    files, releases, totals = frames(tmp_path, *UPLOADS)
    evil = releases.with_columns(name=releases["name"] + "<script>alert(1)</script>\x1b[2J")
    found = report_of(files, evil, totals, made_at=MADE)
    found.totals["group"] = "</title><script>alert(2)</script>"
    page = page_of(found, changes(found, found), found)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(2)") == 2
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "\x1b" not in text_of(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"version": 99}',
        '{"version": 1, "members": "!!"}',
        '{"version": 1, "members": "QUJD", "made_at": "x"}',
        "\udc80",
    ],
)
def test_other_files_are_no_reports(text):
    with pytest.raises(ReportError):
        from_json(text)


def test_missing_report_is_an_error(tmp_path):
    with pytest.raises(ReportError, match="cannot read"):
        report_files.read(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["r.json", "r.html", "r"])
def test_report_is_written_in_both_forms(tmp_path, name):
    kept, page = report_files.write(tmp_path / "new" / name, report(tmp_path, *UPLOADS))
    assert (kept.name, page.name) == ("r.json", "r.html")
    assert report_files.read(kept).figures["releases"]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_sizes_have_three_digits():
    assert [size_of(size) for size in (0, 999, 1_000, 123_456, 4_288_754_174)] == [
        "0 B",
        "999 B",
        "1 kB",
        "123 kB",
        "4.29 GB",
    ]


def test_command_reports_and_compares(tmp_path, capsys):
    path = tmp_path / "a.over"
    path.write_bytes(interleaved(list(UPLOADS))[0])
    kept = tmp_path / "first.json"
    asked = ["replay", str(path), "--group", GROUP]
    assert main([*asked, "--report", str(kept)]) == 0
    assert "Biggest releases" in capsys.readouterr().out
    assert main([*asked, "--report", "--against", str(kept)]) == 0
    assert "Merged: 0" in capsys.readouterr().out
    assert main([*asked, "--json", "--against", str(kept)]) == 0
    assert len(json.loads(capsys.readouterr().out)["changes"]) == 5
    assert main([*asked, "--against", str(path)]) != 0
    assert "no report" in capsys.readouterr().err
