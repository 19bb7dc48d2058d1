"""A slow yEnc decoder, written from the draft; it knows nothing of the encoder."""


def decode_lines(text: bytes) -> bytes:
    """Returns the bytes of encoded lines (without the =y lines)."""
    out = bytearray()
    escaped = False
    for byte in text:
        if byte in b"\r\n":
            continue
        if escaped:
            out.append((byte - 64 - 42) % 256)
            escaped = False
        elif byte == ord("="):
            escaped = True
        else:
            out.append((byte - 42) % 256)
    assert not escaped
    return bytes(out)
