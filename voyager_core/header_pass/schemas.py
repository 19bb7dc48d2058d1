"""The columns of every frame that the header pass hands on, and the check of them.

These are contracts: the catalog writes them, `replay` exports them, and other people's
DuckDB queries read them. A frame that differs is a bug here and never the data's fault.
"""

from collections.abc import Mapping

import polars as pl

from voyager_core.domain.name_facts import FACTS
from voyager_core.errors import PermanentError

Schema = Mapping[str, pl.DataType]

_SECOND = pl.Datetime("ms", "UTC")
"""Polars has no whole seconds; the values are."""

FILES: Schema = {
    "file_key": pl.UInt64(),
    "base_key": pl.UInt64(),
    "generation": pl.UInt16(),
    "subject": pl.String(),
    "name": pl.String(),
    "head": pl.String(),
    "tail": pl.String(),
    "request": pl.String(),
    "file_index": pl.UInt32(),
    "file_total": pl.UInt32(),
    "parts_total": pl.UInt32(),
    "parts_found": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "poster": pl.String(),
    "poster_constant": pl.Boolean(),
    "group": pl.String(),
    "groups": pl.String(),
    "first_posted_at": _SECOND,
    "last_posted_at": _SECOND,
    "first_number": pl.UInt64(),
    "last_number": pl.UInt64(),
    "first_message_id": pl.String(),
    "flags": pl.UInt32(),
    "is_fragment": pl.Boolean(),
    "reach_low": pl.UInt64(),
    "reach_high": pl.UInt64(),
    "payload": pl.Binary(),
}
"""One row a file found in a span, as the engine gives it."""

ARTICLES: Schema = {
    "number": pl.UInt64(),
    "file_key": pl.UInt64(),
    "part": pl.UInt32(),
    "message_id": pl.String(),
    "size_bytes": pl.UInt32(),
    "reason": pl.String(),
}
"""One row an overview line; the reason is null exactly when the line is in a file."""

REJECTS: Schema = {
    "reason": pl.String(),
    "count": pl.UInt64(),
    "samples": pl.List(pl.Binary()),
}

IDENTIFIED: Schema = {
    **FILES,
    "release_key": pl.UInt64(),
    "session": pl.UInt32(),
    "release_rank": pl.UInt8(),
    "release_name": pl.String(),
}
"""Files with the release that each belongs to, and how sure that is (more is surer).

One key may have several sessions in a span, from 0 in order of time: what was posted again
after the window is another release under the same key, and the catalog numbers these.
"""

BUILT_FILES: Schema = {
    **IDENTIFIED,
    "dropped_by": pl.String(),
}
"""Every file of a span; `release_key` is null and `dropped_by` names the rule when dropped."""

RELEASES: Schema = {
    "release_key": pl.UInt64(),
    "session": pl.UInt32(),
    "name": pl.String(),
    "is_readable": pl.Boolean(),
    "poster": pl.String(),
    "group": pl.String(),
    "groups": pl.List(pl.String()),
    "posted_at": _SECOND,
    "last_posted_at": _SECOND,
    "files": pl.UInt32(),
    "files_expected": pl.UInt32(),
    "segments": pl.UInt32(),
    "segments_expected": pl.UInt32(),
    "size_bytes": pl.UInt64(),
    "has_par2": pl.Boolean(),
    "content_missing": pl.UInt32(),
    "recovery_blocks": pl.UInt32(),
    "recovery_bytes": pl.UInt64(),
    "largest_file": pl.UInt32(),
    **{name: kind for name, kind in FACTS.items() if name != "is_readable"},
    "tok": pl.List(pl.Int32()),
}
"""One row a release of which the span holds whole files. `poster` is null unless constant."""

CHUNKS: Schema = {
    "release_key": pl.UInt64(),
    "session": pl.UInt32(),
    "payload": pl.Binary(),
}
"""One row a release: its files of the span, encoded (`voyager_native.encode_chunk`)."""

FRAGMENTS: Schema = {
    **IDENTIFIED,
}
"""Files that a span's edge may have cut; they are in no release aggregate of the span."""

CANDIDATES: Schema = {
    "release_key": pl.UInt64(),
    "session": pl.UInt32(),
    "kind": pl.String(),
    "message_id": pl.String(),
    "file_key": pl.UInt64(),
    "part": pl.UInt32(),
}
"""Articles worth reading later; kinds: archive_first, par2_index, lone_random, sevenz_last."""

RULE_COUNTS: Schema = {
    "rule": pl.String(),
    "signature": pl.String(),
    "owner_group": pl.String(),
    "articles": pl.UInt64(),
    "files": pl.UInt64(),
}
"""What each rule kept out; `signature` and `owner_group` are empty where they say nothing."""

RULE_SAMPLES: Schema = {
    "rule": pl.String(),
    "release_key": pl.UInt64(),
    "detail": pl.String(),
}
"""About one percent of what each rule dropped, with the file's details as JSON."""


class SchemaMismatchError(PermanentError):
    """A frame does not have the columns that its contract names."""


def conform(frame: pl.DataFrame, schema: Schema, *, what: str) -> pl.DataFrame:
    """Returns the frame with exactly the columns of a schema, in its order and types.

    Raises:
        SchemaMismatchError: a column is missing, or a value does not fit its type.
    """
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        msg = f"{what}: missing columns {', '.join(missing)}"
        raise SchemaMismatchError(msg)
    if all(frame.schema[name] == dtype for name, dtype in schema.items()):
        return frame.select(list(schema))
    try:
        return frame.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    except pl.exceptions.PolarsError as error:
        msg = f"{what}: a value does not fit its column: {error}"
        raise SchemaMismatchError(msg) from error


def empty(schema: Schema) -> pl.DataFrame:
    """Returns a frame of a schema without rows."""
    return pl.DataFrame(schema=dict(schema))
