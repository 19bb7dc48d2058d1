"""Makes small real files: a silent film, a tune, a picture, a book, a text.

Everything is computed with integers from the seed, so that each start makes the same bytes.
"""

import binascii
import io
import struct
import wave
import zlib
from array import array
from random import Random

from voyager_core.demo.archives import zip_archive

_WIDTH, _HEIGHT, _FRAMES_A_SECOND = 128, 72, 12
_RATE = 8000
_WORDS = (
    *("harbour", "lantern", "copper", "meadow", "signal", "northern", "paper", "window"),
    *("quiet", "engine", "silver", "river", "garden", "winter", "station", "orchard"),
    *("feather", "compass", "morning", "ladder", "marble", "thunder", "ribbon", "anchor"),
)


def film(seed: str, *, frames: int) -> bytes:
    """Returns an AVI of uncompressed pictures: a gradient that moves under film grain."""
    random = Random(seed)  # noqa: S311 - sample content, not a secret
    row_bytes = _WIDTH * 3
    gradient = bytes((index * 5 + index // 3) % 256 for index in range(row_bytes * 3))
    pictures = []
    for frame in range(frames):
        rows = []
        for row in range(_HEIGHT):
            shift = (frame * 7 + row * 3) % row_bytes
            rows.append(gradient[shift : shift + row_bytes])
        # Grain in the lower third, so that no two frames share a byte sequence.
        grain = random.randbytes(row_bytes * (_HEIGHT // 3))
        pictures.append(b"".join(rows)[: -len(grain)] + grain)
    return _avi(pictures)


def _avi(pictures: list[bytes]) -> bytes:
    size = _WIDTH * _HEIGHT * 3
    period = 1_000_000 // _FRAMES_A_SECOND
    main = struct.pack(
        "<14I", period, size * _FRAMES_A_SECOND, 0, 0x10, len(pictures), 0, 1, size,
        _WIDTH, _HEIGHT, 0, 0, 0, 0,
    )  # fmt: skip
    stream = struct.pack(
        "<4s4sIHHIIIIIIIIHHHH", b"vids", b"DIB ", 0, 0, 0, 0, 1, _FRAMES_A_SECOND, 0,
        len(pictures), size, 0xFFFFFFFF, 0, 0, 0, _WIDTH, _HEIGHT,
    )  # fmt: skip
    bitmap = struct.pack("<IiiHHIIiiII", 40, _WIDTH, _HEIGHT, 1, 24, 0, size, 0, 0, 0, 0)
    streams = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", bitmap))
    header = _list(b"hdrl", _chunk(b"avih", main) + streams)
    movie = _list(b"movi", b"".join(_chunk(b"00db", picture) for picture in pictures))
    entries = (
        struct.pack("<4sIII", b"00db", 0x10, 4 + at * (size + 8), size)
        for at in range(len(pictures))
    )
    body = b"AVI " + header + movie + _chunk(b"idx1", b"".join(entries))
    return _chunk(b"RIFF", body)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return kind + struct.pack("<I", len(data)) + data + b"\x00" * (len(data) % 2)


def _list(kind: bytes, data: bytes) -> bytes:
    return _chunk(b"LIST", kind + data)


def tune(seed: str, *, seconds: int) -> bytes:
    """Returns a WAV (mono, 16 bit, 8 kHz) of triangle notes."""
    random = Random(seed)  # noqa: S311
    samples = array("h")
    for _ in range(seconds * 4):
        period = random.choice((16, 18, 20, 24, 27, 30, 32, 36))
        step = 24000 // (period // 2)
        half = [-12000 + step * at for at in range(period // 2)]
        note = half + half[::-1]
        samples.extend((note * (_RATE // 4 // len(note) + 1))[: _RATE // 4])
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_RATE)
        sound.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return buffer.getvalue()


def picture(seed: str, *, width: int, height: int) -> bytes:
    """Returns a PNG in grey of random blocks."""
    random = Random(seed)  # noqa: S311
    rows: list[bytes] = []
    for _ in range(-(-height // 8)):
        tones = random.randbytes(-(-width // 8))
        rows += [b"\x00" + b"".join(bytes((tone,)) * 8 for tone in tones)[:width]] * 8
    del rows[height:]
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(b"".join(rows), 0)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", binascii.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def text(seed: str, *, sentences: int) -> str:
    """Returns invented sentences, eight words each."""
    random = Random(seed)  # noqa: S311
    made = (" ".join(random.choices(_WORDS, k=8)).capitalize() + "." for _ in range(sentences))
    return "\n".join(made)


def nfo(title: str, *, note: str) -> bytes:
    """Returns the text file that goes with a release."""
    width = 64
    lines = [title, "", note, "", "Made by the Voyager sample posts. Free to copy."]
    body = "".join(f"| {line:<{width - 4}} |\r\n" for line in lines)
    frame = "+" + "-" * (width - 2) + "+\r\n"
    return (frame + body + frame).encode()


def book(title: str, author: str, *, seed: str, chapters: int) -> bytes:
    """Returns an EPUB 2 book of invented chapters."""
    names = [f"chapter{number:02d}.xhtml" for number in range(1, chapters + 1)]
    pages = []
    for number, name in enumerate(names, start=1):
        paragraphs = "".join(
            f"<p>{line}</p>" for line in text(f"{seed}:{number}", sentences=40).splitlines()
        )
        pages.append(
            (
                name,
                (
                    '<?xml version="1.0" encoding="utf-8"?>\n'
                    f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title></head>'
                    f"<body><h1>Chapter {number}</h1>{paragraphs}</body></html>"
                ),
            )
        )
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(names)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(names)))
    package = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="id">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
        f'<dc:language>en</dc:language><dc:identifier id="id">{seed}</dc:identifier></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?>\n'
        '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="content.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    return zip_archive(
        [
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", container.encode()),
            ("content.opf", package.encode()),
            *((name, page.encode()) for name, page in pages),
        ]
    )
