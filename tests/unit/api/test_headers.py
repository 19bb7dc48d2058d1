"""Headers of a download, whose names posters choose."""

import re

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyager_api.newznab.headers import content_disposition, dnzb_headers

ANY_TEXT = st.text(alphabet=st.characters(), max_size=300)


def test_the_plain_name_precedes_the_extended_one():
    assert content_disposition("Show \u2013 Größe") == (
        b'attachment; filename="Show Groe.nzb"; '
        b"filename*=UTF-8''Show%20%E2%80%93%20Gr%C3%B6%C3%9Fe.nzb"
    )


def test_a_name_cannot_end_the_header_or_the_quotes():
    value = content_disposition('a"b\\c/d\r\nSet-Cookie: x=1;\x00e')
    assert value.startswith(b'attachment; filename="a b c d Set-Cookie x=1 e.nzb"; ')
    assert b"\r" not in value
    assert b"\n" not in value


def test_long_names_are_cut_between_characters():
    plain = content_disposition("a" * 500).split(b'"')[1]
    assert len(plain) == 200
    wide = content_disposition("ä" * 500).partition(b"UTF-8''")[2]
    assert wide == b"%C3%A4" * 98 + b".nzb"


def test_a_name_without_usable_characters_still_ends_in_nzb():
    assert b'filename="abc.nzb"' in content_disposition("日本の番組 05", fallback="abc")
    assert b'filename="download.nzb"' in content_disposition("日本")
    assert content_disposition("///").endswith(b"UTF-8''download.nzb")


def test_nz17_dnzb_headers_keep_their_case():
    names = [name for name, _ in dnzb_headers(name="a", category="TV > HD", details_url="http://x")]
    assert names == [
        b"X-DNZB-Name",
        b"X-DNZB-Category",
        b"X-DNZB-Details",
        b"X-DNZB-RCode",
        b"X-DNZB-RText",
    ]


def test_a_name_outside_latin_1_has_no_dnzb_name():
    headers = dict(dnzb_headers(name="日本", category="TV > HD", details_url="http://x"))
    assert b"X-DNZB-Name" not in headers
    assert headers[b"X-DNZB-Category"] == b"TV > HD"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("\\..\\..\\etc\\passwd.Film.2021", b"etc passwd.Film.2021"),
        ("../../etc/passwd", b"etc passwd"),
        ("C:\\Film: 100% <of> it?", b"C Film 100% of it"),
        ("Some.Show.S01E01 - A & B's [1080p]", b"Some.Show.S01E01 - A & B's [1080p]"),
    ],
)
def test_the_dnzb_name_is_no_path(name, told):
    headers = dict(dnzb_headers(name=name, category="TV > HD", details_url="http://x"))
    assert headers[b"X-DNZB-Name"] == told
    assert headers[b"X-DNZB-Category"] == b"TV > HD"


def test_a_name_of_signs_alone_has_no_dnzb_name():
    assert b"X-DNZB-Name" not in dict(
        dnzb_headers(name="../..", category="TV", details_url="http://x")
    )


def test_a_very_long_name_gives_no_header_that_a_proxy_would_refuse():
    headers = dict(
        dnzb_headers(name="a" * 999 + " b" * 5000, category="TV", details_url="http://x")
    )
    assert headers[b"X-DNZB-Name"] == b"a" * 999


@given(ANY_TEXT)
def test_any_name_gives_headers_that_are_legal_on_the_wire(name):
    disposition = content_disposition(name)
    plain = re.match(
        rb'attachment; filename="([^"\\/]{1,200}\.nzb)"; filename\*=UTF-8\'\'', disposition
    )
    assert plain is not None
    assert plain[1].isascii()
    headers = [
        (b"Content-Disposition", disposition),
        *dnzb_headers(name=name, category=name, details_url=name),
    ]
    # h11 refuses what a peer could take for another header.
    assert h11.Response(status_code=200, headers=headers).status_code == 200
