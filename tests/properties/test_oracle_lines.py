"""The engine and its slow twin agree on every field of every line, however mangled."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import voyager_native
from tests.properties.mutations import LINES, mangled
from tests.reference.dates import parse_date
from tests.reference.lines import split_lines
from tests.reference.subjects import FLAGS, parse
from tests.reference.text import decode_header, to_text


def engine_fields(text):
    rows = pl.DataFrame(voyager_native.parse_lines(text)).to_dicts()
    return [
        (
            row["number"],
            row["message_id"],
            row["size_bytes"],
            row["xref"],
            row["reason"],
            row["posted_at"] and int(row["posted_at"].timestamp()),
        )
        for row in rows
    ]


def oracle_fields(text):
    return [
        (
            line.number,
            to_text(line.message_id),
            line.size,
            to_text(line.xref),
            line.reason,
            parse_date(line.date),
        )
        for line in split_lines(text)
    ]


def engine_subject(raw):
    found = voyager_native.parse_subject(raw)
    names = (
        "part",
        "total",
        "name",
        "file_index",
        "file_total",
        "head",
        "tail",
        "request",
        "flags",
    )
    return {name: found[name] for name in ("subject", *names)}


def oracle_subject(raw):
    text = decode_header(raw)
    said = parse(text.encode())
    segment = said.segment
    return {
        "subject": text,
        "part": segment.part if segment.counted else None,
        "total": segment.total if segment.counted else None,
        "name": said.of(said.name).decode("utf-8", "replace"),
        "file_index": said.file_index,
        "file_total": said.file_total,
        "head": said.of(said.head).decode("utf-8", "replace"),
        "tail": said.of(said.tail).decode("utf-8", "replace"),
        "request": said.of(said.request).decode("utf-8", "replace"),
        "flags": said.flags,
    }


@given(mangled(LINES))
def test_fields_agree(text):
    assert engine_fields(text) == oracle_fields(text)


@given(mangled([line.split(b"\t")[1] for line in LINES if line.count(b"\t") > 3]))
def test_subjects_agree(raw):
    raw = raw.replace(b"\n", b" ")
    assert engine_subject(raw) == oracle_subject(raw)


@given(st.text(alphabet='[](){}<>"/|_-. 0123456789ofvnyEcaz\u00fc\u201c\u201d', max_size=60))
def test_subjects_out_of_their_own_marks_agree(text):
    raw = text.encode()
    assert engine_subject(raw) == oracle_subject(raw)


_DATE_PIECES = st.sampled_from(
    [
        *("Sun, ", "25 ", "1 ", "Sep ", "september ", "Mai ", "2022 ", "22 ", "113 ", "03:03:36 "),
        *("24:00:60 ", "12.31.30 ", "9:05 ", "PM ", "GMT", "EST", "+0100", "-0500 (EST)", "00200"),
        *(
            "+2400",
            "2013-11-09",
            "T",
            "Z",
            "20131109",
            "1700000000",
            "-",
            "/",
            ",",
            " ",
            "09.11.2013 ",
        ),
        *("+01:00", "mercredi, ", "29 Feb ", "31 Apr "),
    ]
)


@given(st.lists(_DATE_PIECES, max_size=8))
def test_dates_agree(pieces):
    date = "".join(pieces)
    line = f"5\ts (1/1)\tp\t{date}\t<a@b>\t\t1\t1\tXref: h g:5\r\n".encode("latin-1")
    assert engine_fields(line) == oracle_fields(line)


def test_flags_have_the_same_bits():
    assert {name: voyager_native.FILE_FLAGS[name] for name in FLAGS} == FLAGS
