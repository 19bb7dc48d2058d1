"""Header bytes to text."""

import binascii
import codecs
import re
import unicodedata
from html.entities import html5

_WORD = re.compile(r"=\?(?P<charset>[A-Za-z0-9\-_.:+*]{1,40})\?(?P<how>[QqBb])\?")
_WORD_END = re.compile(r"\?=(?![0-9A-Fa-f]{2})")
_ENTITY = re.compile(r"&([^;&]{1,8});")
_LATIN_NAMES = {
    name[:-1]
    for name, char in html5.items()
    if name.endswith(";") and len(char) == 1 and 0xA0 <= ord(char) <= 0xFF
}
_OTHER_NAMES = {
    "quot": '"',
    "QUOT": '"',
    "amp": "&",
    "AMP": "&",
    "lt": "<",
    "LT": "<",
    "gt": ">",
    "GT": ">",
    "apos": "'",
    "ldquo": "\u201c",
    "rdquo": "\u201d",
    "bdquo": "\u201e",
    "lsquo": "\u2018",
    "rsquo": "\u2019",
    "ndash": "\u2013",
    "mdash": "\u2014",
    "hellip": "\u2026",
    "bull": "\u2022",
    "euro": "\u20ac",
    "trade": "\u2122",
}
_BLANKS = " \t\r\n\0"


def to_text(raw: bytes) -> str:
    """UTF-8 when it is, else latin-1; no NUL."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\0", "")


def subject_text(raw: bytes) -> str:
    """The subject as it is parsed and stored."""
    return decode_header(raw) if needs_decoding(raw) else to_text(raw)


def needs_decoding(raw: bytes) -> bool:
    """Whether anything but the character set must be decoded."""
    if not raw:
        return False
    if raw[:1] in b" \t" or raw[-1:] in b" \t" or raw[:3].lower() == b"re:":
        return True
    return b"=?" in raw or any(_entity(match) for match in _ENTITY.finditer(raw.decode("latin-1")))


def decode_header(raw: bytes) -> str:
    """RFC 2047 words, then entities, then `Re:` and outer blanks off, NUL, CR and LF out."""
    text = _entities(_words(to_text(raw))).strip(_BLANKS)
    while text[:3].lower() == "re:" and text[:3].isascii():
        text = text[3:].lstrip(_BLANKS)
    return text.translate({0: None, 10: None, 13: None})


def _words(text: str) -> str:
    out, at = [], 0
    # Runs of words of one character set are decoded as one, blanks between words vanish.
    run: list[tuple[str, bytes]] = []
    while True:
        start = text.find("=?", at)
        if start < 0:
            break
        word = _word(text, start)
        if word is None:
            out += [_decoded(run), text[at : start + 2]]
            run, at = [], start + 2
            continue
        charset, content, end = word
        between = text[at:start]
        if not run or between.strip(" \t"):
            out += [_decoded(run), between]
            run = []
        if run and run[-1][0].lower() == charset.lower():
            run[-1] = (run[-1][0], run[-1][1] + content)
        else:
            out.append(_decoded(run))
            run = [(charset, content)]
        at = end
    return "".join([*out, _decoded(run), text[at:]])


def _word(text: str, start: int) -> tuple[str, bytes, int] | None:
    head = _WORD.match(text, start)
    if head is None:
        return None
    end = _WORD_END.search(text, head.end())
    body = text[head.end() : end.start() if end else len(text)].encode()
    if head["how"] in "Qq":
        content = re.sub(
            rb"=([0-9A-Fa-f]{2})|_", lambda m: bytes([int(m[1], 16)]) if m[1] else b" ", body
        )
    else:
        kept = re.sub(rb"[= \t]", b"", body)
        if not re.fullmatch(rb"[A-Za-z0-9+/]*", kept):
            return None
        whole = kept[: len(kept) - (len(kept) % 4 == 1)]
        content = binascii.a2b_base64(whole + b"=" * (-len(whole) % 4))
    return head["charset"].split("*")[0], content, end.end() if end else len(text)


def _decoded(run: list[tuple[str, bytes]]) -> str:
    return "".join(_in_charset(charset, content) for charset, content in run)


def _in_charset(charset: str, content: bytes) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return to_text(content)
    if name == "utf-8":
        return to_text(content)
    if name in ("iso8859-1", "ascii", "cp1252"):
        try:
            return content.decode().replace("\0", "")
        except UnicodeDecodeError:
            # What calls itself latin-1 is Windows-1252 on the web; undefined bytes are controls.
            return "".join(_windows(byte) for byte in content)
    return content.decode(name, "replace")


def _windows(byte: int) -> str:
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


def _entities(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        found = _entity(match)
        return match[0] if found is None else "" if unicodedata.category(found) == "Cc" else found

    return _ENTITY.sub(character, text) if "&" in text else text


def _entity(match: re.Match[str]) -> str | None:
    name = match[1]
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    if name in _LATIN_NAMES:
        return html5[name + ";"]
    number = re.fullmatch(r"#(?:[xX]([+]?[0-9A-Fa-f]+)|([+]?[0-9]+))", name)
    if number is None:
        return None
    value = int(number[1], 16) if number[1] else int(number[2])
    if 128 <= value <= 159:
        return _windows(value)
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        return None
    return chr(value)
