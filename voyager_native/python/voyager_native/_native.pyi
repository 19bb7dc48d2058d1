"""Types of the compiled half of `voyager_native`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, final

__all__ = [
    "CODEC_VERSION",
    "DEBUG_BUILD",
    "FILE_FLAGS",
    "PARSER_VERSION",
    "REJECT_REASONS",
    "SPAN_LIMITS",
    "ArrowStream",
    "BlockList",
    "BlockReport",
    "ChunkError",
    "DecodedChunk",
    "FactRules",
    "HeadRules",
    "ReadableRules",
    "SpanIndexer",
    "SpanTables",
    "StemRules",
    "SyntheticOverview",
    "TokenRules",
    "decode_chunk",
    "decode_segments",
    "distinct_words",
    "encode_chunk",
    "encode_chunks",
    "encode_releases",
    "encode_segments",
    "follow_runs",
    "inflate",
    "inflate_ns",
    "last_segments",
    "merge_records",
    "parse_lines",
    "parse_subject",
    "records_ns",
    "stages_ns",
    "synthesize_overview",
    "text_keys",
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
SPAN_LIMITS: Final[tuple[int, int]]
"""What a span may usually hold before it ends early: files, and bytes."""

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
        ended_at: last article number of the span if it ended early, within this block or right
            behind it: it holds what its limits allow. Lines with higher numbers were not counted.
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
    @property
    def ended_at(self) -> int | None: ...

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
            nanoseconds of the feeding threads: inflate_ns, parse_ns, finish_ns (of it arrow_ns for
            the tables as such), total_ns. `lines == kept + rejected`, and `rejected` is the sum
            of the counts of `rejects`.
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
        limits: tuple[int, int] | None = None,
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
            limits: files and bytes (of the articles table none) that the span may hold; beyond
                them it ends early, see `BlockReport.ended_at`. None: it holds whatever comes.

        Raises:
            ValueError: `high` is below `low`.
        """

    def feed(self, block: bytes, *, is_begun: bool = False) -> BlockReport:
        """Files the lines of a block as it was received: zlib, gzip, raw deflate or plain.
        Releases the GIL.

        Args:
            block: the block.
            is_begun: the span before this one ended in the block: what it counted is passed over.

        Raises:
            RuntimeError: the indexer was finished before, or the span has ended early.
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

def encode_releases(files: _ArrowTable) -> ArrowStream:
    """Returns a chunk for each release and session: columns `release_key u64` and `session u32`
    (ascending), and `payload binary`.

    Rows may be in any order; within a chunk they are ordered by file index (without one first),
    name, first number and file key, as in an NZB.

    Raises:
        ChunkError: a payload is damaged.
        ValueError: a column is missing or of another type, or a key is null.
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

def last_segments(table: _ArrowTable, column: str) -> ArrowStream:
    """Returns the segment with the highest part of each record: `part`, `message_id`,
    `size_bytes`.

    Raises:
        ChunkError: a record is damaged or has no segment.
        ValueError: the table has no such column of bytes.
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

def stages_ns(
    blocks: Sequence[bytes], group: str, *, groups: Mapping[str, int], repeats: int = 1
) -> list[list[int]]:
    """Returns the CPU nanoseconds of the stages of each block, least of `repeats` times.

    The first is inflating. The others go over the text once for each, and every pass does what
    the one before it did and one thing more: lines and their fields, dates, segment counters of
    subjects, owner groups.

    Raises:
        ValueError: a block cannot be inflated.
    """

def records_ns(files: _ArrowTable) -> int:
    """Returns the CPU nanoseconds of encoding the records of a files table anew.

    Raises:
        ValueError: a payload is damaged, or there is no such column.
    """

def distinct_words(table: _ArrowTable, column: str) -> list[str]:
    """Returns the distinct words of a column of texts, in no order: runs of a-z in lower case.

    Digits are left out as if they were not there: `w0rd` holds `wrd`.

    Raises:
        ValueError: there is no such column, or it holds no texts.
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

@final
class StemRules:
    """What file names say, by tables of patterns: stems that the files of one upload share, and
    kinds of files.

    Patterns are those of the Rust regex engine. Endings are looked for at the end of a name,
    whatever the case of their letters. Thread safe; releases the GIL; the time for a name grows
    with its length only.
    """

    def __new__(
        cls,
        *,
        endings: Mapping[str, str],
        patterns: Mapping[str, str],
        around: str,
        transient: str,
        members: Sequence[str],
        volumes: Sequence[str],
        cuts: Sequence[str],
        edges: str,
        separators: str,
        specific_length: int,
        kinds: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    ) -> StemRules:
        """Compiles the tables.

        Args:
            endings: patterns by name.
            patterns: patterns over a whole name; their first group is what stays of it, without
                one all but the match.
            around: characters at both ends of a name that do not belong to it.
            transient: the ending without which a name is asked whether it is a member of a set.
            members: endings and patterns of such members.
            volumes: endings of which the longest is cut first.
            cuts: endings and patterns cut after each other; nothing is cut of which nothing
                would be left.
            edges: characters taken off both ends at last.
            separators: what is one dot in the form in which stems are compared.
            specific_length: letters and digits of a stem that identifies an upload.
            kinds: for each column of flags, endings that a name has one of, and endings of which
                it has none.

        Raises:
            ValueError: a pattern is none, or a rule names a pattern that is not there.
        """

    def describe(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns `_shown` (names without endings), `_stem` (the form in which they are
        compared), `_shown_id` and `_stem_id` (UInt64, a number for each text), `_is_specific`,
        `_is_member` and the flags of `kinds`, one row a name.

        Raises:
            ValueError: the table has no such column of strings.
        """

@final
class HeadRules:
    """What the texts before a file's counter are worth, by tables of patterns.

    Thread safe; releases the GIL; each distinct text is looked at once.
    """

    def __new__(
        cls,
        *,
        nothing: Sequence[str],
        kinds: str,
        least_letters: int,
        named: str,
        named_bare: str,
        separators: str,
        edges: str,
        no_request: str,
    ) -> HeadRules:
        """Compiles the tables.

        Args:
            nothing: patterns that say nothing about a release, taken out in turn.
            kinds: what says of what kind a release is.
            least_letters: letters and digits that must be left of a head that is no banner.
            named: what names one release in a head as it stands.
            named_bare: the same in a head without `nothing`.
            separators: what is one blank in the form in which heads are compared.
            edges: characters taken off both ends of that form.
            no_request: a request that is none.

        Raises:
            ValueError: a pattern is none.
        """

    def grades(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns `grade` (UInt8): 0 for a banner, 1 for plain words, 2 for a name.

        Raises:
            ValueError: the table has no such column of strings.
        """

    def squeezed(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns `text`, the form in which heads are compared, and `id`, a number for it.

        Raises:
            ValueError: the table has no such column of strings.
        """

    def requests(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns what `squeezed` does; a request that is none is empty.

        Raises:
            ValueError: the table has no such column of strings.
        """

@final
class ReadableRules:
    """Which names say anything about their content, by tables of letters and patterns."""

    def __new__(
        cls,
        *,
        surprise: Sequence[str],
        patterns: Mapping[str, str],
        ids: Sequence[str],
        marks: Sequence[str],
    ) -> ReadableRules:
        """Compiles the tables.

        Args:
            surprise: 27 rows of 27 digits: how surprising each letter is after each other.
            patterns: `surely`, `may_hold_id`, `extension`, `year`.
            ids: what stands in random names only.
            marks: what stands in readable names only.

        Raises:
            ValueError: a pattern is none or missing, or `surprise` has another size.
        """

    def readable(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns `readable` (Boolean), null for names beyond printable ASCII.

        Raises:
            ValueError: the table has no such column of strings.
        """

@final
class FactRules:
    """What readable release names state, by tables of words and patterns."""

    def __new__(
        cls,
        *,
        patterns: Mapping[str, str],
        words: Mapping[str, Sequence[int]],
        shapes: tuple[
            Sequence[tuple[str, int]], Sequence[tuple[str, int]], Sequence[tuple[str, int]]
        ],
        bracketed: int,
        shown: int,
        game_groups: tuple[str, frozenset[str], int],
        own_case: tuple[str, int],
        teams: Sequence[tuple[bool, str]],
    ) -> FactRules:
        """Compiles the tables.

        Args:
            patterns: over a name in lower case `dated`, `usual`, `range`, `other`, `last_year`;
                over its plain form `after_title`; over the name `ending`, `reposted`, `no_team`.
            words: plain texts with four sets of bits: features, resolution, source, language.
            shapes: patterns over a name in lower case with the bit of each: of all names, of
                names with the bit `bracketed`, of names without the bits `shown` of words.
            bracketed: see `shapes`.
            shown: see `shapes`.
            game_groups: the pattern of a group, those that count, and their bit.
            own_case: a pattern over the name in its own case, and its bit.
            teams: places of the team in their order: whether the name is asked with its marks of
                a repost, and a pattern whose first group is the team.

        Raises:
            ValueError: a pattern is none or missing.
        """

    def facts(self, table: _ArrowTable, column: str, readable: str) -> ArrowStream:
        """Returns what each name states, nothing of one that is not readable.

        Args:
            table: the names.
            column: the column of the names.
            readable: a column of flags.

        Returns:
            `asks_episode` (whether season, episode and year have to be read by themselves),
            `is_dated` (whether such a name may hold a date), `season`, `episode`, `year` (Int32),
            `words`, `forms`, `resolution`, `source`, `language` (UInt64, bits), `team`.

        Raises:
            ValueError: a column is missing or of another type.
        """

@final
class TokenRules:
    """The words by which names are found, as hashes."""

    def __new__(
        cls, *, pairs: Mapping[tuple[str, str], str], contracted: Sequence[str], most_words: int
    ) -> TokenRules:
        """Takes the tables.

        Args:
            pairs: two words that are one, and that word.
            contracted: what is left of a word when its apostrophe became a separator.
            most_words: names of so many words are not cut.
        """

    def hashes(self, table: _ArrowTable, column: str) -> ArrowStream:
        """Returns `tok` (List(Int32)), sorted and distinct.

        Null for a name with other characters than ASCII, an apostrophe or what is left of one,
        or very many words.

        Raises:
            ValueError: the table has no such column of strings.
        """

@final
class BlockList:
    """Blocked words and pairs of words, known by salted digests only."""

    def __new__(cls, *, salt: str, digests: Sequence[str], halves: Sequence[str]) -> BlockList:
        """Takes digests of 16 hexadecimal digits; anything else blocks nothing.

        Args:
            salt: stands before each text that a digest is made of.
            digests: of words, and of pairs with a blank between.
            halves: of the first words of these pairs.
        """

    def suspects(self, table: _ArrowTable, column: str) -> list[str]:
        """Returns the words of a column (`distinct_words`) that are blocked or may begin a pair.

        They are sorted.

        Raises:
            ValueError: the table has no such column of strings.
        """

    def blocked(self, texts: Sequence[str]) -> list[bool | None]:
        """Tells for each text whether it has a blocked word or pair, however it is spelt.

        None for a text beyond ASCII, which has to be folded first.
        """

def text_keys(table: _ArrowTable, column: str) -> ArrowStream:
    """Returns `key` (UInt64): the BLAKE2b of 8 bytes of each text; the same for ever.

    Raises:
        ValueError: the table has no such column of strings.
    """

def follow_runs(
    files: _ArrowTable,
    *,
    pause_ms: int,
    swapped_files: int,
    open_runs: int,
    edge_numbers: int,
    clearly_nearer: int,
) -> ArrowStream:
    """Returns which run of numbers each file continues, one row a file.

    Args:
        files: sorted by `_counter` and place, with `_set`, `_index` (integers), `first_number`,
            `last_number`, `parts_total`, `first_posted_at` and `last_posted_at`.
        pause_ms: a longer silence ends a run.
        swapped_files: numbers may be this far from the next one.
        open_runs: so many of the latest runs of a counter are looked at.
        edge_numbers: distances of article numbers below it are alike.
        clearly_nearer: a file is of a run that it is so many times nearer to than to another.

    Returns:
        `_run` (UInt32), numbers within a counter, and `_doubtful` (Boolean), whether a file might
        as well be of another run.

    Raises:
        ValueError: a column is missing, null or of another type.
    """
