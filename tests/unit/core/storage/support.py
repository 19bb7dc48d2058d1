"""Blocks and spans for the tests of this folder."""

import zlib

from voyager_core.domain.ranges import Span
from voyager_core.storage.blocks import BlockFacts

GROUP = "alt.binaries.test"
SERVER = "news.test.invalid"


def span(low, high, group=GROUP):
    return Span(group, low, high)


def facts(low, high, *, server=SERVER, lines=None, **kwargs):
    return BlockFacts(
        encoding="zlib",
        lines=high - low + 1 if lines is None else lines,
        first_number=low,
        last_number=high,
        text_bytes=1000,
        server=server,
        fetched_at=1_900_000_000,
        **kwargs,
    )


def data(low, size=1000):
    """Returns bytes that differ from block to block, `size` long."""
    return (zlib.compress(b"%d" % low) * (size // 8 + 1))[:size]


def put(spool, low, high, *, size=1000, group=GROUP, **kwargs):
    return spool.write(span(low, high, group), data(low, size), facts(low, high, **kwargs))


def tree(root):
    """Returns the files below a folder, relative."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
