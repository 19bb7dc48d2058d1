"""Types of the compiled half of `voyager_native`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, final

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

class _ArrowTable(Protocol):
    """Anything that hands a table over by the Arrow PyCapsule interface: polars, pyarrow,
    duckdb."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

PARSER_VERSION: Final[int]
"""Version of the grammar and of the rules by which lines become files."""
CODEC_VERSION: Final[int]
"""Version in which chunks and records are written; every older one can be read."""
DEBUG_BUILD: Final[bool]
"""Whether this is an unoptimised build."""
FILE_FLAGS: Final[dict[str, int]]
"""The bits of the column `flags` of the files table, by name."""
REJECT_REASONS: Final[list[str]]
"""Why a line can be in no file. `crosspost` appears as `crosspost:<owner group>`."""

@final
class ArrowStream:
    """A table for any Arrow consumer (`pl.DataFrame(stream)`, `pa.table(stream)`); can be taken
    once.

    Taking it a second time raises `ValueError`.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

@final
class BlockReport:
    """What one block gave.

    Attributes:
        lines: overview lines; an undecodable block counts as one line.
        kept: lines that are in a file so far. A repeated message-id is found out in `finish`.
        rejected: lines that are in no file.
        first_number: lowest article number, None when the block has none inside the span.
        last_number: highest article number.
        text_bytes: length of the inflated text.
        error: why the block could not be inflated, else None. The rest of the span goes on.
    """

    @property
    def lines(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def first_number(self) -> int | None: ...
    @property
    def last_number(self) -> int | None: ...
    @property
    def text_bytes(self) -> int: ...
    @property
    def error(self) -> str | None: ...

@final
class SpanTables:
    """What a span gave.

    Attributes:
        files: one row per file, see `SpanIndexer`.
        articles: one row per line in the order of feeding, None unless they were kept: `number
            u64?` (null when the field is no number), `file_key u64?`, `part u32?`, `message_id
            str?`, `size_bytes u32?`, `reason str?` (null when the article is in a file).
        rejects: `reason str`, `count u64`, `samples list<binary>` (at most five, cut at 500
            bytes).
        stats: lines, articles, files, kept, rejected, blocks, block_bytes, text_bytes, and CPU
            nanoseconds of the feeding threads: inflate_ns, parse_ns, finish_ns, total_ns. `lines
            == kept + rejected`, and `rejected` is the sum of the counts of `rejects`.
    """

    @property
    def files(self) -> ArrowStream: ...
    @property
    def articles(self) -> ArrowStream | None: ...
    @property
    def rejects(self) -> ArrowStream: ...
    @property
    def stats(self) -> dict[str, int]: ...

@final
class SpanIndexer:
    """Articles of one span to files.

    What is in a file depends on the lines of the span alone, not on their order. Columns of the
    files table:

    - `file_key u64` identity (subject without segment counter, number of parts, owner group,
      generation); `base_key u64` the same for all reposts; `generation u16` 0, more for each
      repost within the span
    - `subject`, `name`, `head`, `tail`, `request` strings of the lowest part, "" for none
    - `file_index u32?`, `file_total u32?` the file counter; `parts_total u32` 0 when unknown;
      `parts_found u32`
    - `size_bytes u64` sum of the overview sizes; `poster str` of the lowest part;
      `poster_constant bool`
    - `group str` the indexed newsgroup; `groups str` all newsgroups separated by blanks, the
      indexed one first
    - `first_posted_at`, `last_posted_at` timestamp[s, UTC]?, null when no article is dated
    - `first_number`, `last_number u64`; `first_message_id str` of the lowest part; `flags u32`
      see `FILE_FLAGS`
    - `is_fragment bool` missing parts may lie outside the span; `reach_low`, `reach_high u64`
      where they may lie
    - `payload binary` the record of the segments, see `decode_segments`
    """

    def __new__(
        cls,
        group: str,
        low: int,
        high: int,
        *,
        groups: Mapping[str, int],
        now: int,
        keep_articles: bool = False,
    ) -> SpanIndexer:
        """Makes an indexer for the numbers `low..high` of `group`.

        Args:
            group: the newsgroup that is indexed.
            low: lowest article number, 0 for no bound.
            high: highest article number, 0 for no bound.
            groups: indexed newsgroups and their priority numbers; the lowest number owns a
                crosspost. A `group` that is not in it owns all its articles.
            now: epoch seconds; later dates are taken as now.
            keep_articles: also make the articles table.

        Raises:
            ValueError: `high` is below `low`.
        """

    def feed(self, block: bytes) -> BlockReport:
        """Files the lines of a block as it was received: zlib, gzip, raw deflate or plain.
        Releases the GIL.

        Raises:
            RuntimeError: the indexer was finished before.
        """

    def finish(self) -> SpanTables:
        """Gives the tables and uses the indexer up. Releases the GIL.

        Raises:
            RuntimeError: the indexer was finished before.
        """

class ChunkError(ValueError):
    """Bytes that are no whole chunk or record, or files that cannot be one."""

@final
class DecodedChunk:
    """A chunk taken apart.

    Attributes:
        files: the files table, as it was encoded.
        segments: `file u32` (row in files), `part u32`, `message_id str`, `size_bytes u32` (0
            when unknown).
    """

    @property
    def files(self) -> ArrowStream: ...
    @property
    def segments(self) -> ArrowStream: ...

def encode_chunk(files: _ArrowTable) -> bytes:
    """Returns the chunk of all rows of a files table; further columns are left out.

    Raises:
        ChunkError: a payload is damaged.
        ValueError: a column is missing or of another type.
    """

def encode_chunks(files: _ArrowTable, *, by: str = "release_key") -> ArrowStream:
    """Returns a chunk for each value of an integer column: columns `<by> u64` (ascending) and
    `payload binary`.

    Rows may be in any order and keep theirs within a chunk; rows where the column is null are
    left out.

    Raises:
        ChunkError: a payload is damaged.
        ValueError: a column is missing or of another type.
    """

def decode_chunk(payload: bytes) -> DecodedChunk:
    """Returns the files and segments of a chunk of any version.

    Raises:
        ChunkError: the bytes are damaged or of an unknown version.
    """

def decode_segments(payload: bytes) -> ArrowStream:
    """Returns the segments of one record: `part u32`, `message_id str`, `size_bytes u32` (0 when
    unknown).

    Raises:
        ChunkError: the bytes are damaged or of an unknown version.
    """

def encode_segments(segments: _ArrowTable) -> bytes:
    """Returns the record of segments with the columns of `decode_segments`, in any order.

    Raises:
        ChunkError: a part is there twice, or a message-id is empty or longer than 255 bytes.
        ValueError: a column is missing or of another type.
    """

def merge_records(payloads: Sequence[bytes]) -> bytes:
    """Returns the record of all segments of several records; of one part the earlier record's
    segment stays.

    Raises:
        ChunkError: a record is damaged.
    """

def inflate(block: bytes) -> bytes:
    """Returns the text of a block without its terminator line. Plain text comes back as it is.

    Raises:
        ValueError: the block is neither a whole compressed stream nor text.
    """

def inflate_ns(blocks: Sequence[bytes], *, repeats: int = 1) -> list[int]:
    """Returns the CPU nanoseconds that inflating each block alone takes, least of `repeats` times.

    One buffer is used for all, as in a `SpanIndexer`: this is the unit of the targets of the
    header pass.

    Raises:
        ValueError: a block cannot be inflated.
    """

def parse_lines(text: bytes) -> ArrowStream:
    """Returns the fields of every line of an overview text.

    Columns: `number u64?`, `subject`, `poster`, `posted_at` timestamp[s, UTC]?, `message_id`
    (without angle brackets), `size_bytes u64?`, `lines u64?`, `xref`, `reason str?` (why the line
    can be in no file).
    """

def parse_subject(subject: bytes | str) -> dict[str, Any]:
    """Returns what the grammar finds in one subject.

    Keys: `subject` (decoded), `part` and `total` (None without a segment counter), `name`,
    `file_index`, `file_total`, `ambiguous`, `head`, `tail`, `request`, `flags` (see `FILE_FLAGS`).
    """

@final
class SyntheticOverview:
    """A made-up overview, for benchmarks and tests. No real article is behind a line.

    Attributes:
        group: the newsgroup that it is of.
        groups: the indexed newsgroups with their priority numbers, for `SpanIndexer`.
        blocks: zlib blocks, as a news server sends them.
        truth: where each line belongs: `number u64`, `upload u64?`, `file u64?`, `part u32?` (null
            where the headers do not tell), and `entropy_bits f64` of its message-id and size.
    """

    @property
    def group(self) -> str: ...
    @property
    def groups(self) -> dict[str, int]: ...
    @property
    def blocks(self) -> list[bytes]: ...
    @property
    def truth(self) -> ArrowStream: ...

def synthesize_overview(
    mix: str, lines: int, *, seed: int = 1, block_lines: int = 100_000, lost: float = 0.0
) -> SyntheticOverview:
    """Returns a made-up overview; the same arguments give the same bytes.

    Args:
        mix: `classic` (eight old ways of writing subjects), `modern` (random subjects, random
            Froms), `boneless` (a large group of 2026), `ath` (a group of 2013).
        lines: number of lines.
        seed: any number.
        block_lines: lines of a block.
        lost: probability that an article is missing, where it is more than that of the mix.

    Raises:
        ValueError: an argument is out of its range.
    """
