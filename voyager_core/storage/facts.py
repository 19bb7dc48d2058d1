"""What the manifest of a block that came unread does not say."""

import re
from dataclasses import replace

import voyager_native
from voyager_core.storage.blocks import BlockFacts

_NUMBER = re.compile(rb"(\d{1,20})\t")


def read_facts(data: bytes, facts: BlockFacts) -> BlockFacts:
    """Returns what is known of a block once it is inflated.

    A block that does not inflate has no lines.

    Args:
        data: the block.
        facts: of its manifest; returned as they are where the block was read when it came.
    """
    if not facts.unread:
        return facts
    try:
        text = voyager_native.inflate(data)
    except ValueError:
        text = b""
    last = text.rfind(b"\n", 0, max(0, len(text) - 1)) + 1
    return replace(
        facts,
        lines=text.count(b"\n") + (bool(text) and not text.endswith(b"\n")),
        first_number=_number(text, 0),
        last_number=_number(text, last),
        text_bytes=len(text),
        unread=False,
    )


def _number(text: bytes, line: int) -> int | None:
    match = _NUMBER.match(text, line)
    return int(match[1]) if match else None
