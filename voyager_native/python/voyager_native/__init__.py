"""The Rust core of Voyager as Python sees it: blocks to files, files to chunks and back."""

import warnings

from voyager_native import _native
from voyager_native._native import (
    CODEC_VERSION,
    DEBUG_BUILD,
    FILE_FLAGS,
    PARSER_VERSION,
    REJECT_REASONS,
    ArrowStream,
    BlockReport,
    ChunkError,
    DecodedChunk,
    SpanIndexer,
    SpanTables,
    SyntheticOverview,
    decode_chunk,
    decode_segments,
    encode_chunk,
    encode_chunks,
    encode_segments,
    inflate,
    inflate_ns,
    merge_records,
    parse_lines,
    parse_subject,
    synthesize_overview,
)

__all__ = [
    "CODEC_VERSION",
    "DEBUG_BUILD",
    "FILE_FLAGS",
    "PARSER_VERSION",
    "REJECT_REASONS",
    "ArrowStream",
    "BlockReport",
    "ChunkError",
    "DecodedChunk",
    "SpanIndexer",
    "SpanTables",
    "SyntheticOverview",
    "decode_chunk",
    "decode_segments",
    "encode_chunk",
    "encode_chunks",
    "encode_segments",
    "inflate",
    "inflate_ns",
    "merge_records",
    "parse_lines",
    "parse_subject",
    "synthesize_overview",
]

if _native.DEBUG_BUILD:
    warnings.warn(
        "voyager_native is a debug build: correct, but many times slower. Build it with --release.",
        RuntimeWarning,
        stacklevel=2,
    )
