"""NZBs are well-formed whatever was posted, and hold what downloaders need."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
import rnzb
from hypothesis import given
from hypothesis import strategies as st

from voyager_core.catalog.releases import Release
from voyager_core.nzb.files import CorruptChunkError
from voyager_core.nzb.writer import EmptyNzbError, build_nzb, write_nzb

NS = "{http://www.newzbin.com/DTD/2003/nzb}"
POSTED = datetime(2024, 3, 1, 12, tzinfo=UTC)


@dataclass
class FakeChunk:
    files: pl.DataFrame
    segments: pl.DataFrame


def decoder(*chunks: list[dict[str, Any]]):
    """Returns a decoder of the payloads b"0", b"1" … and the payloads."""

    def decode(payload: bytes) -> FakeChunk:
        rows = chunks[int(payload)]
        segments = [
            {"file": at, "part": part, "message_id": message_id, "size_bytes": size}
            for at, row in enumerate(rows)
            for part, message_id, size in row["segments"]
        ]
        return FakeChunk(
            pl.DataFrame(
                [{k: v for k, v in row.items() if k != "segments"} for row in rows],
                schema_overrides={"first_posted_at": pl.Datetime("ms", "UTC")},
                infer_schema_length=None,
            ),
            pl.DataFrame(
                segments,
                schema={
                    "file": pl.UInt32,
                    "part": pl.UInt32,
                    "message_id": pl.String,
                    "size_bytes": pl.UInt32,
                },
            ),
        )

    return decode, [str(at).encode() for at in range(len(chunks))]


def file(key: int = 1, **values: Any) -> dict[str, Any]:
    row = {
        "file_key": key,
        "base_key": key,
        "subject": f'[1/1] - "file{key}.bin" yEnc (1/2)',
        "name": f"file{key}.bin",
        "poster": "Joe <joe@example.test>",
        "groups": "alt.binaries.test alt.binaries.misc",
        "group": "alt.binaries.test",
        "first_posted_at": POSTED,
        "file_index": 1,
        "file_total": 1,
        "parts_total": 2,
        "segments": [(1, f"{key}.1@news.example", 700_000), (2, f"{key}.2@news.example", 4501)],
    }
    return row | values


def release(**values: Any) -> Release:
    row: dict[str, Any] = {
        "public_id": "00000000000000aa00",
        "release_id": 1,
        "name": "Some.Release",
        "poster": None,
        "groups": ("alt.binaries.test",),
        "posted_at": POSTED,
        "last_posted_at": POSTED,
        "listed_at": POSTED,
        "feed_at": POSTED,
        "settled_at": None,
        "files": 1,
        "files_expected": 1,
        "segments": 2,
        "segments_expected": 2,
        "size_bytes": 704_501,
        "has_par2": False,
        "is_readable": True,
        "category": 5040,
        "season": None,
        "season_last": None,
        "episode": None,
        "episode_last": None,
        "aired_on": None,
        "year": None,
        "resolution": None,
        "source": None,
        "language": None,
        "team": None,
        "password": -1,
        "grabs": 0,
    }
    return Release(**(row | values))


def write(*chunks: list[dict[str, Any]], **values: Any):
    decode, payloads = decoder(*chunks)
    return write_nzb(release(**values), payloads, decode=decode)


def parsed(*chunks: list[dict[str, Any]], **values: Any) -> list[rnzb.File]:
    return list(rnzb.Nzb.from_str(write(*chunks, **values).content.decode()).files)


def subjects(*chunks: list[dict[str, Any]]) -> list[str]:
    root = ET.fromstring(write(*chunks).content)
    return [element.attrib["subject"] for element in root.iter(f"{NS}file")]


def segments(*chunks: list[dict[str, Any]]) -> dict[int, str | None]:
    root = ET.fromstring(write(*chunks).content)
    return {int(element.attrib["number"]): element.text for element in root.iter(f"{NS}segment")}


def test_an_independent_parser_reads_every_field():
    (one,) = parsed([file()])
    assert one.subject == '[1/1] - "file1.bin" yEnc (1/2)'
    assert one.name == "file1.bin"
    assert one.poster == "Joe <joe@example.test>"
    assert set(one.groups) == {"alt.binaries.test", "alt.binaries.misc"}
    assert one.posted_at == POSTED
    assert [(s.number, s.message_id, s.size) for s in one.segments] == [
        (1, "1.1@news.example", 700_000),
        (2, "1.2@news.example", 4501),
    ]


@given(
    name=st.text(max_size=40),
    poster=st.text(max_size=40),
    group=st.text(max_size=20),
    password=st.text(max_size=40),
)
def test_any_name_poster_group_and_password_give_a_well_formed_nzb(name, poster, group, password):
    decode, payloads = decoder([file(poster=poster)])
    made = release(name=name, poster=poster, groups=(group,))
    content = build_nzb(made, payloads, passwords=[password], category="TV > HD", decode=decode)
    root = ET.fromstring(content)
    assert [child.tag for child in root] == [f"{NS}head", f"{NS}file"]
    assert len(rnzb.Nzb.from_str(content.decode()).files) == 1


def test_head_has_title_category_and_every_password():
    decode, payloads = decoder([file()])
    content = build_nzb(
        release(name="A & B"),
        payloads,
        passwords=["one", "t<w>o"],
        category="TV > HD",
        decode=decode,
    )
    meta = rnzb.Nzb.from_str(content.decode()).meta
    assert meta.title == "A & B"
    assert meta.passwords == ("one", "t<w>o")
    assert meta.category == "TV > HD"
    # NZBGet reads a meta only when its type comes first.
    assert b'<meta type="password">one</meta>' in content


def test_document_begins_with_the_declaration_and_the_doctype_and_ends_with_the_root():
    content = write([file()]).content
    assert content.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE nzb PUBLIC ')
    assert content.endswith(b"</nzb>\n")


def test_files_are_ordered_nfo_sfv_data_index_volumes():
    names = [
        "a.vol10+10.par2",
        "a.vol2+2.par2",
        "a.par2",
        "a.part10.rar",
        "a.part2.rar",
        "a.sfv",
        "a.nfo",
    ]
    rows = [file(at, name=name, subject=f'"{name}"') for at, name in enumerate(names, start=1)]
    assert subjects(rows) == [
        '"a.nfo"',
        '"a.sfv"',
        '"a.part2.rar"',
        '"a.part10.rar"',
        '"a.par2"',
        '"a.vol2+2.par2"',
        '"a.vol10+10.par2"',
    ]


@pytest.mark.parametrize(
    ("subject", "name", "expected"),
    [
        # Kept as posted: the first quoted text is the name.
        ('x "a.rar" yEnc (1/2)', "a.rar", 'x "a.rar" yEnc (1/2)'),
        ('x "a.rar" yEnc (1/2)', "", 'x "a.rar" yEnc (1/2)'),
        # Made anew: no quotes, or other text in the first ones.
        ("a.rar (1/2)", "a.rar", '[3/9] - "a.rar" yEnc (1/2)'),
        ('"A title" [3/9] "a.rar" (1/2)', "a.rar", '[3/9] - "a.rar" yEnc (1/2)'),
        ("x", 'a"b.rar', '[3/9] - "a\'b.rar" yEnc (1/2)'),
        ("just words yEnc (1/2)", "", '[3/9] - "just words" yEnc (1/2)'),
        ("", "", '[3/9] - "file 1" yEnc (1/2)'),
        ('""', "", "[3/9] - \"''\" yEnc (1/2)"),
        ("\x00\x01", "\x02", '[3/9] - "file 1" yEnc (1/2)'),
    ],
)
def test_first_quoted_text_of_a_subject_is_the_file_name(subject, name, expected):
    rows = [file(subject=subject, name=name, file_index=3, file_total=9)]
    assert subjects(rows) == [expected]


def test_subject_without_file_counter_has_none():
    rows = [file(subject="a.rar", name="a.rar", file_index=None, file_total=None, parts_total=0)]
    assert subjects(rows) == ['"a.rar" yEnc (1/2)']


def test_segments_keep_their_numbers_and_gaps_in_order():
    rows = [file(segments=[(7, "g@x", 10), (2, "b@x", 10), (3, "c@x", 10)])]
    assert list(segments(rows)) == [2, 3, 7]


def test_message_ids_are_escaped_and_lose_their_brackets():
    rows = [file(segments=[(1, "<part1of1.eu&DGL<h6>@x>", 10)])]
    assert segments(rows) == {1: "part1of1.eu&DGL<h6>@x"}


def test_file_of_two_chunks_is_put_together():
    low = file(segments=[(1, "a@x", 10), (2, "b@x", 10)])
    high = file(segments=[(3, "c@x", 10), (2, "b@x", 10)], subject='"file1.bin" (3/3)')
    assert segments([high], [low]) == {1: "a@x", 2: "b@x", 3: "c@x"}
    assert subjects([high], [low]) == [low["subject"]]


def test_postings_of_one_file_are_never_mixed_and_the_most_complete_is_taken():
    short = file(segments=[(1, "a@x", 10), (3, "c@x", 10)])
    long = file(file_key=99, segments=[(1, "A@x", 10), (2, "B@x", 10), (4, "D@x", 10)])
    nzb = write([short], [long])
    assert segments([short], [long]) == {1: "A@x", 2: "B@x", 4: "D@x"}
    assert nzb.report.omitted == {"another posting of the file": 2}
    assert (nzb.report.files, nzb.report.segments) == (1, 3)


def test_what_no_downloader_takes_is_left_out_and_counted():
    rows = [
        file(
            segments=[
                (0, "zero@x", 10),
                (200_001, "far@x", 10),
                (1, "", 10),
                (2, "bl ank@x", 10),
                (3, "null\0@x", 10),
                (4, "first@x", 10),
                (4, "second@x", 10),
                (5, "empty@x", 0),
                (6, "huge@x", 9_000_000),
            ]
        )
    ]
    report = write(rows).report
    assert report.omitted == {
        "segment number out of range": 2,
        "message-id that XML cannot hold": 3,
        "second segment of a number": 1,
    }
    assert report.changed == 2
    assert [(s.number, s.size) for s in parsed(rows)[0].segments] == [
        (4, 10),
        (5, 1),
        (6, (1 << 23) - 1),
    ]


def test_file_without_segments_is_left_out():
    nzb = write([file(1), file(2, segments=[(0, "x@y", 1)])])
    assert nzb.report.empty_files == 1
    assert nzb.report.files == 1


def test_release_without_any_segment_is_an_error():
    with pytest.raises(EmptyNzbError, match="00000000000000aa00"):
        write([file(segments=[])])


def test_release_that_keeps_no_chunk_is_an_error():
    with pytest.raises(EmptyNzbError):
        build_nzb(release(), [b""], decode=decoder()[0])


def test_corrupt_chunk_is_an_error():
    def decode(payload: bytes) -> FakeChunk:
        raise ValueError("checksum")

    with pytest.raises(CorruptChunkError, match="checksum"):
        build_nzb(release(), [b"x"], decode=decode)


@pytest.mark.parametrize(
    ("posted_at", "expected"),
    [
        (POSTED, int(POSTED.timestamp())),
        (datetime(1995, 1, 1, tzinfo=UTC), 946_684_800),
        (None, int(POSTED.timestamp())),
    ],
)
def test_date_is_the_posting_time_but_never_before_2000(posted_at, expected):
    root = ET.fromstring(write([file(first_posted_at=posted_at)]).content)
    assert [int(one.attrib["date"]) for one in root.iter(f"{NS}file")] == [expected]


def test_owner_group_comes_first():
    root = ET.fromstring(write([file(groups="alt.z alt.b alt.a alt.b")]).content)
    assert [one.text for one in root.iter(f"{NS}group")] == ["alt.z", "alt.b", "alt.a"]


def test_groups_come_from_the_release_when_the_file_has_none():
    assert parsed([file(groups="", group="")])[0].groups == ("alt.binaries.test",)


_any_text = st.text(max_size=60)


@given(subject=_any_text, name=_any_text, poster=_any_text, groups=_any_text, title=_any_text)
def test_any_posted_text_gives_a_well_formed_document(subject, name, poster, groups, title):
    rows = [file(subject=subject, name=name, poster=poster, groups=groups)]
    root = ET.fromstring(write(rows, name=title).content)
    (one,) = root.iter(f"{NS}file")
    # Both downloaders cut the name out of the first pair of quotes.
    quoted = one.attrib["subject"].split('"')
    assert len(quoted) >= 3
    assert quoted[1].strip()


@given(st.lists(st.tuples(st.integers(0, 300_000), _any_text, st.integers(0, 1 << 31)), max_size=9))
def test_every_segment_is_written_or_counted(found):
    good = (5, "good@x", 10)
    nzb = write([file(segments=[good, *found])])
    root = ET.fromstring(nzb.content)
    written = list(root.iter(f"{NS}segment"))
    assert len(written) == nzb.report.segments
    assert nzb.report.segments + sum(nzb.report.omitted.values()) == len(found) + 1
    assert all(1 <= int(one.attrib["bytes"]) < 1 << 23 for one in written)
