"""The comparison finds every way in which an index can be wrong."""

from dataclasses import replace

import pytest

from voyager_core.demo.client import read_nzb
from voyager_core.demo.compare import FoundFile, FoundRelease, differences, match
from voyager_core.demo.truth import ExpectedFile, ExpectedRelease, Segment, Truth
from voyager_core.supervisor.http import ClientError


def segments(name: str, count: int) -> tuple[Segment, ...]:
    return tuple(Segment(part, f"{name}.{part}@x", 100 + part) for part in range(1, count + 1))


def release(slug: str, *, title: str | None, files: tuple[ExpectedFile, ...]) -> ExpectedRelease:
    return ExpectedRelease(slug, title, "Nyuu", ("alt.a", "alt.b"), files)


TRUTH = Truth(
    releases=(
        release(
            "one",
            title="Some.Title-X",
            files=(
                ExpectedFile("a.rar", 3, segments("a", 3)),
                ExpectedFile("b.nfo", 1, segments("b", 1)),
            ),
        ),
        release("two", title=None, files=(ExpectedFile("c.bin", 3, segments("c", 2)),)),
    ),
    lines={"alt.a": 6},
    counted={},
)


def found_file(file: ExpectedFile) -> FoundFile:
    return FoundFile(f'[1/2] "{file.name}" yEnc (1/3)', ("alt.a", "alt.b"), file.segments)


def found(expected: ExpectedRelease) -> FoundRelease:
    return FoundRelease(
        public_id="0" * 18,
        title=expected.title or "whatever",
        category="TV",
        group="alt.a",
        size_bytes=sum(segment.size_bytes for segment in expected.segments),
        file_count=len(expected.files),
        completion=66 if expected.missing else 100,
        files=tuple(found_file(file) for file in expected.files),
    )


ONE, TWO = (found(one) for one in TRUTH.releases)


def test_the_same_is_no_difference():
    assert differences(TRUTH, [TWO, ONE]) == []


def test_separators_and_case_of_a_title_do_not_matter():
    assert differences(TRUTH, [replace(ONE, title="some title x"), TWO]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": "Other"}, "is called 'Other'"),
        ({"group": "alt.b"}, "is filed in alt.b"),
        ({"file_count": 3}, "states 3 files"),
        ({"size_bytes": 1}, "states 1 bytes"),
        ({"completion": 50}, "50 % complete"),
        ({"files": ONE.files[:1]}, "b.nfo is not in the NZB"),
        ({"files": (*ONE.files, ONE.files[1])}, "b.nfo is 2 files in the NZB"),
    ],
)
def test_a_wrong_release_is_told(change, message):
    assert any(message in text for text in differences(TRUTH, [replace(ONE, **change), TWO]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segments": segments("a", 2)}, "missing 3:<a.3@x>:103"),
        ({"segments": (*segments("a", 3), Segment(3, "a.3@x", 103))}, "wrong 3:<a.3@x>:103"),
        (
            {"segments": (*segments("a", 2), Segment(3, "a.3@x", 1))},
            "missing 3:<a.3@x>:103; wrong 3:<a.3@x>:1",
        ),
        ({"segments": (*segments("a", 2), Segment(4, "a.3@x", 103))}, "wrong 4:<a.3@x>:103"),
        ({"groups": ("alt.a",)}, "is in alt.a, not alt.a alt.b"),
        ({"subject": "nothing"}, "has the subject 'nothing'"),
    ],
)
def test_a_wrong_file_is_told(change, message):
    wrong = replace(ONE, files=(replace(ONE.files[0], **change), ONE.files[1]))
    texts = differences(TRUTH, [wrong, TWO])
    assert any(message in text for text in texts), texts


def test_a_release_that_is_absent_split_or_mixed_is_told():
    assert differences(TRUTH, [TWO]) == ["Some.Title-X: not found"]
    halves = [replace(ONE, files=ONE.files[:1]), replace(ONE, files=ONE.files[1:])]
    assert "found in 2 releases" in differences(TRUTH, [*halves, TWO])[0]
    mixed = replace(ONE, files=(*ONE.files, *TWO.files))
    assert "Some.Title-X: mixes the uploads one, two" in differences(TRUTH, [mixed])


def test_articles_that_belong_to_no_file_are_told():
    extra = FoundFile("junk", ("alt.a",), segments("junk", 2))
    texts = differences(TRUTH, [ONE, TWO, replace(ONE, title="Junk", files=(extra,))])
    assert texts == ["Junk: holds 2 articles that belong to no file"]


def test_an_empty_nzb_is_told():
    texts = differences(TRUTH, [ONE, TWO, replace(ONE, title="Hollow", files=())])
    assert texts == ["Hollow: its NZB is empty"]


def test_match_tells_which_release_is_which():
    matched = match(TRUTH, [TWO, ONE])
    assert matched == {"one": [ONE], "two": [TWO]}


@pytest.mark.parametrize(
    "document", [b"", b"<html>", b'<error code="300"/>', b"\xff\xfe", b"<nzb></nzb>"]
)
def test_what_is_no_nzb_is_refused(document):
    with pytest.raises(ClientError):
        list(read_nzb(document))


def test_an_nzb_is_read():
    document = b"""<?xml version="1.0"?>
<nzb xmlns="http://www.newzbin.com/DTD/2003/nzb"><file subject="&quot;a&quot;" poster="p" date="1">
<groups><group>alt.a</group></groups>
<segments><segment bytes="7" number="2">x&amp;y@z</segment></segments></file></nzb>"""
    assert list(read_nzb(document)) == [
        FoundFile('"a"', ("alt.a",), (Segment(2, "x&y@z", 7),)),
    ]
