"""The XML writer: well-formed whatever it is given."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from voyager_api.newznab.xml import XmlWriter, clean_line, escape


def _document(text: str) -> bytes:
    writer = XmlWriter()
    with writer.element("root", [("name", text), ("value", 7)]):
        writer.leaf("text", text)
        writer.empty("empty")
    return writer.to_bytes()


# Every code point, also those that no encoder takes, which bad decoders leave behind.
ANY_TEXT = st.text(alphabet=st.characters(), max_size=60)


@given(ANY_TEXT)
def test_nz3_any_text_survives_as_well_formed_xml(text):
    root = ET.fromstring(_document(text))
    assert root.get("name") == clean_line(text)
    assert (root.findtext("text") or "") == clean_line(text)


def test_nz3_declaration_is_at_byte_zero_without_a_byte_order_mark():
    assert _document("x").startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<root')


def test_nz3_control_characters_are_stripped():
    assert escape("a\x00b\x08c\x0bd\x1fe\x7ff\x9fg\ufffeh\uffffi\ud800j") == "abcdefghij"


def test_what_turns_the_text_around_it_is_stripped():
    turning = "".join(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
    assert escape(f"Film{turning}gpj.exe") == "Filmgpj.exe"


def test_nz3_lone_surrogates_do_not_break_the_encoding():
    assert b"<text>ab</text>" in _document("a\udcffb")


def test_nz3_the_five_special_characters_are_escaped_once():
    assert escape("""<a & "b" 'c'>""") == "&lt;a &amp; &quot;b&quot; &apos;c&apos;&gt;"
    assert escape("&amp;") == "&amp;amp;"


def test_nz3_characters_above_ffff_are_numeric_references():
    document = _document("a😀b")
    assert b"a&#128512;b" in document
    assert ET.fromstring(document).findtext("text") == "a😀b"


def test_line_breaks_become_one_space():
    assert clean_line("a\r\n\tb\x85c\u2028d") == "a b c d"


def test_nz4_attributes_keep_the_order_given():
    writer = XmlWriter()
    writer.empty("newznab:attr", [("name", "size"), ("value", "5")])
    assert b'<newznab:attr name="size" value="5"/>' in writer.to_bytes()
