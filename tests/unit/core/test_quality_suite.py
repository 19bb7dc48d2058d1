"""The quality suite finds data by its layout, and fails when something is below its bar."""

import gzip
import json

import pytest

from tests.quality.__main__ import main
from tests.quality.data import QualityData
from tests.support.uploads import Upload, interleaved, volumes

FILES = volumes("Great.Show.S01E01.720p.HDTV.x264-GRP", 3)


@pytest.fixture
def folder(tmp_path):
    """A post alone, and the same beside another in a group, under names of no meaning."""
    nested = tmp_path / "any" / "where"
    nested.mkdir(parents=True)
    upload = Upload("one", FILES)
    text, _ = interleaved([upload])
    (nested / "x.over.gz").write_bytes(gzip.compress(text))
    files = [
        {
            "name": name,
            "parts_total": parts,
            "parts_present": parts,
            "bytes": 740_000 * parts - (370_000 if parts > 1 else 0),
        }
        for name, parts in FILES
    ]
    truth = {"expected_name": "Great.Show.S01E01.720p.HDTV.x264-GRP", "files": files}
    (nested / "x.truth.json").write_text(json.dumps(truth), encoding="utf-8")
    other = Upload("two", volumes("Other.Show.S02E02.720p.HDTV.x264-GRP", 2))
    text, keys = interleaved([upload, other])
    rows = ["article\trelease\tfile\tpart\tstate"]
    for line in text.splitlines():
        number, subject = line.split(b"\t")[:2]
        name = subject.split(b'"')[1].decode()
        part = subject.rpartition(b"(")[2].partition(b"/")[0].decode()
        rows.append(f"{number.decode()}\t{keys[int(number)]}\t{name}\t{part}\tok")
    (nested / "y.over.gz").write_bytes(gzip.compress(text))
    (nested / "y.truth.tsv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    return tmp_path


@pytest.mark.parametrize("subject", ["files", "releases"])
def test_data_of_the_layout_is_found_and_right(folder, capsys, subject):
    assert main(["--data", str(folder), "--only", subject]) == 0
    out = capsys.readouterr().out
    assert "ok " in out
    assert "skip" not in out


def test_a_wrong_file_fails_with_its_name(folder, capsys):
    truth = next(folder.rglob("x.truth.json"))
    post = json.loads(truth.read_text(encoding="utf-8"))
    post["files"][0]["bytes"] += 1
    truth.write_text(json.dumps(post), encoding="utf-8")
    assert main(["--data", str(folder), "--only", "files"]) == 1
    out = capsys.readouterr().out
    assert "FAIL" in out
    assert post["files"][0]["name"] in out


def test_a_torn_release_fails(folder, capsys):
    truth = next(folder.rglob("y.truth.tsv.gz"))
    text = gzip.decompress(truth.read_bytes()).replace(b"\ttwo\t", b"\tone\t")
    truth.write_bytes(gzip.compress(text))
    assert main(["--data", str(folder), "--only", "releases"]) == 1
    assert "in 2 pieces" in capsys.readouterr().out


def test_absent_data_is_skipped_with_a_reason(tmp_path, capsys):
    assert main(["--data", str(tmp_path / "none")]) == 0
    assert "there are no real headers" in capsys.readouterr().out
    assert main(["--data", str(tmp_path), "--only", "files"]) == 0
    assert "the data holds no such case" in capsys.readouterr().out


def test_tables_are_known_by_their_columns(tmp_path):
    (tmp_path / "a.tsv").write_text('name\tlabel\nA "b"\treadable\n', encoding="utf-8")
    (tmp_path / "b.tsv").write_text("label\tname\nrandom\tx\n", encoding="utf-8")
    (tmp_path / "c.tsv").write_text("name\tother\nno\tno\n", encoding="utf-8")
    rows = QualityData(tmp_path).rows_with("name", "label")
    assert [row["name"] for row in rows] == ['A "b"', "x"]
