"""Overview text to lines, lines to fields."""

from dataclasses import dataclass

_BLANKS = b" \t\n\r\f"


@dataclass(frozen=True)
class Line:
    """A line; `reason` tells why its form alone keeps it out of every file."""

    raw: bytes
    number: int | None = None
    subject: bytes = b""
    poster: bytes = b""
    date: bytes = b""
    message_id: bytes = b""
    size: int | None = None
    xref: bytes = b""
    reason: str | None = None


def split_lines(text: bytes) -> list[Line]:
    """Returns the lines of a text: no blank ones, none of a dot alone."""
    found = []
    for ended in text.split(b"\n"):
        raw = ended.removesuffix(b"\r")
        clean = raw.replace(b"\0", b"").replace(b"\r", b"")
        if clean in (b"", b"."):
            continue
        if clean.startswith(b".."):
            clean = clean[1:]
        found.append(_fields(raw, clean))
    return found


def _fields(raw: bytes, clean: bytes) -> Line:
    fields = clean.split(b"\t")[:64]
    number = _decimal(fields[0], 1, (1 << 64) - 1)
    subject = fields[1] if len(fields) > 1 else b""
    if len(fields) < 5:
        return Line(raw, number, subject, reason="bad_line")
    anchor = _anchor(fields)
    if anchor is None:
        return Line(raw, number, subject, reason="no_message_id")
    field = dict(enumerate(fields))
    message_id, reason = _message_id(field[anchor])
    if reason is None and number is None:
        reason = "bad_number"
    return Line(
        raw,
        number,
        # A tab in the subject moves everything after it.
        b"\t".join(fields[1 : anchor - 2]),
        field[anchor - 2],
        field[anchor - 1],
        message_id,
        _decimal(field.get(anchor + 2, b""), 1, 1 << 63),
        _xref(fields[anchor + 4 :]),
        reason,
    )


def _anchor(fields: list[bytes]) -> int | None:
    def is_id(at: int) -> bool:
        text = fields[at].strip(_BLANKS)
        return len(text) > 2 and text[:1] == b"<" and text[-1:] == b">"

    def fits(at: int) -> bool:
        after = [fields[i].strip(_BLANKS) if i < len(fields) else b"" for i in (at + 1, at + 2)]
        return after[0][:1] in (b"", b"<") and all(byte in b"0123456789-" for byte in after[1])

    ids = [at for at in range(4, len(fields)) if is_id(at)]
    if 4 in ids and (len(fields) <= 9 or fits(4)):
        return 4
    return next((at for at in ids if fits(at)), ids[0] if ids else None)


def _message_id(field: bytes) -> tuple[bytes, str | None]:
    if not (field[:1] == b"<" and field[-1:] == b">" and len(field) > 1):
        field = field.strip(_BLANKS)
    if not field:
        return b"", "no_message_id"
    inner = field[1:-1]
    allowed = all(byte > 0x20 and byte != 0x7F and byte not in b"<>" for byte in inner)
    framed = len(field) > 1 and field[:1] == b"<" and field[-1:] == b">"
    if framed and inner and len(field) <= 250 and allowed:
        return inner, None
    return b"", "bad_message_id"


def _xref(fields: list[bytes]) -> bytes:
    for field in fields:
        if field[:5].lower() == b"xref:":
            return field[5:].strip(_BLANKS)
    if fields and b": " not in fields[0] and b":" in fields[0]:
        return fields[0].strip(_BLANKS)
    return b""


def _decimal(field: bytes, low: int, high: int) -> int | None:
    digits = field.strip(_BLANKS)
    if not digits or any(byte not in b"0123456789" for byte in digits):
        return None
    value = int(digits.lstrip(b"0") or b"0") if len(digits) < 4000 else high + 1
    return value if low <= value <= high else None


def group_names(xref: bytes) -> list[bytes]:
    """Returns the newsgroups of an Xref: every word `name:1…`."""
    names = []
    for word in xref.split(b" "):
        name, colon, number = word.rpartition(b":")
        if colon and name and number[:1].isdigit():
            names.append(name)
    return names


def owner(own: str, groups: dict[str, int], xref: bytes) -> str:
    """Returns the newsgroup that files an article: of the indexed ones the one with the lowest
    priority number; a group that is not indexed owns whatever is read from it."""
    if own not in groups:
        return own
    listed = [name for name in groups if name == own or name.encode() in group_names(xref)]
    return min(listed, key=lambda name: (groups[name], name))
