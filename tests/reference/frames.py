"""The oracle's files as the frame that the engine gives, for tests that need no engine."""

import polars as pl

from tests.reference.files import Oracle
from voyager_core.header_pass.schemas import FILES, conform


def files_of(
    text: bytes, group: str = "alt.binaries.test", *, low: int = 0, high: int = 0
) -> pl.DataFrame:
    """Returns the files of overview lines, without payloads."""
    oracle = Oracle(group, low, high, groups={}, now=(1 << 32) - 1)
    oracle.feed(text)
    oracle.finish()
    rows = [{**row, "flags": 0, "payload": b""} for row in oracle.files]
    schema = {**FILES, "first_posted_at": pl.Datetime("us", "UTC")}
    schema["last_posted_at"] = pl.Datetime("us", "UTC")
    frame = pl.DataFrame(
        [{name: row[name] for name in FILES} for row in rows], schema=schema, orient="row"
    )
    return conform(frame, FILES, what="oracle files")
