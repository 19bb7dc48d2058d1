//! What a span gives: its files, its articles when asked for, and what was left out.

/// Strings in one buffer, as a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextColumn {
    bytes: String,
    ends: Vec<usize>,
}

impl TextColumn {
    /// Appends a string.
    pub fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
    }

    /// Appends the string at `index` once more.
    ///
    /// # Panics
    /// When there is none.
    pub fn repeat(&mut self, index: usize) {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.extend_from_within(start..self.ends[index]);
        self.ends.push(self.bytes.len());
    }

    /// Makes room for so many more strings.
    pub fn reserve(&mut self, strings: usize) {
        self.ends.reserve_exact(strings);
    }

    /// Makes room for so many more bytes of strings, so that none of them moves when more come.
    pub fn reserve_bytes(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes);
    }

    /// Takes all strings out and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `index`.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// All strings in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All strings one after the other, and where each ends.
    #[must_use]
    pub fn into_parts(self) -> (String, Vec<usize>) {
        (self.bytes, self.ends)
    }
}

impl<'a> Extend<&'a str> for TextColumn {
    fn extend<I: IntoIterator<Item = &'a str>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.push(text));
    }
}

/// Byte strings in buffers that never move, so that they can be handed on without a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteStore {
    buffers: Vec<Vec<u8>>,
    size: usize,
}

/// Where a byte string is in a [`ByteStore`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Number of the buffer.
    pub buffer: u32,
    /// First byte in it.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
}

impl ByteStore {
    /// Size of a buffer, unless one byte string is larger.
    const BUFFER_SIZE: usize = 1 << 20;

    /// Stores a byte string of less than 2^31 bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Stored {
        let fits = self
            .buffers
            .last()
            .is_some_and(|buffer| buffer.capacity() - buffer.len() >= bytes.len());
        if !fits {
            self.buffers
                .push(Vec::with_capacity(Self::BUFFER_SIZE.max(bytes.len())));
        }
        let buffer = self.buffers.len() - 1;
        let last = &mut self.buffers[buffer];
        let start = last.len() as u32;
        last.extend_from_slice(bytes);
        self.size += bytes.len();
        Stored {
            buffer: buffer as u32,
            start,
            len: bytes.len() as u32,
        }
    }

    /// Stores what `write` appends to a buffer: about `size` bytes, and less than 2^31.
    ///
    /// # Errors
    /// As `write`.
    pub fn append<E>(
        &mut self,
        size: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Stored, E> {
        let last = self.buffers.last();
        if last.is_none_or(|buffer| buffer.capacity() - buffer.len() < size) {
            self.buffers
                .push(Vec::with_capacity(Self::BUFFER_SIZE.max(size)));
        }
        let buffer = self.buffers.len() - 1;
        let last = &mut self.buffers[buffer];
        let start = last.len();
        write(last)?;
        self.size += last.len() - start;
        Ok(Stored {
            buffer: buffer as u32,
            start: start as u32,
            len: (last.len() - start) as u32,
        })
    }

    /// Stores a byte string in place of another one, in its room where it fits.
    pub fn replace(&mut self, at: Stored, bytes: &[u8]) -> Stored {
        if at.len == 0 || bytes.len() > at.len as usize {
            return self.push(bytes);
        }
        let start = at.start as usize;
        self.buffers[at.buffer as usize][start..start + bytes.len()].copy_from_slice(bytes);
        Stored {
            len: bytes.len() as u32,
            ..at
        }
    }

    /// The byte string that was stored at `at`.
    #[must_use]
    pub fn get(&self, at: Stored) -> &[u8] {
        if at.len == 0 {
            return &[];
        }
        &self.buffers[at.buffer as usize][at.start as usize..][..at.len as usize]
    }

    /// Bytes of all that was stored.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The buffers, for handing them on.
    #[must_use]
    pub fn into_buffers(self) -> Vec<Vec<u8>> {
        self.buffers
    }
}

/// Bits of [`Files::flags`]. The lower sixteen are those of the grammar, [`crate::subject::flags`].
pub mod flags {
    /// No article of the file has a date that could be read.
    pub const UNDATED: u32 = 1 << 16;
    /// The size of some article is missing or beyond 32 bits; it counts as 0.
    pub const SIZE_UNKNOWN: u32 = 1 << 17;
    /// The subject has no segment counter: part and total come from the message-id.
    pub const COUNTED_BY_ID: u32 = 1 << 18;
    /// Nothing has a segment counter: one article with a clear file name.
    pub const SINGLE_BY_NAME: u32 = 1 << 19;
    /// The only counter is taken as the segment's, since the name stays the same while it runs.
    pub const COUNTER_IS_SEGMENTS: u32 = 1 << 20;
    /// The only counter is taken as the file's, since the name changes with it.
    pub const COUNTER_IS_FILES: u32 = 1 << 21;
    /// As [`COUNTER_IS_FILES`], but no other file of the set was seen. Without that flag: a fragment of which
    /// the lines of the span do not tell whose the counter is.
    pub const COUNTER_UNCERTAIN: u32 = 1 << 22;
    /// The subject is stored cut.
    pub const SUBJECT_CUT: u32 = 1 << 23;
    /// A repost of a file of the same span.
    pub const REPOST: u32 = 1 << 24;

    /// Every flag of this module with its name.
    pub const NAMES: [(&str, u32); 9] = [
        ("undated", UNDATED),
        ("size_unknown", SIZE_UNKNOWN),
        ("counted_by_id", COUNTED_BY_ID),
        ("single_by_name", SINGLE_BY_NAME),
        ("counter_is_segments", COUNTER_IS_SEGMENTS),
        ("counter_is_files", COUNTER_IS_FILES),
        ("counter_uncertain", COUNTER_UNCERTAIN),
        ("subject_cut", SUBJECT_CUT),
        ("repost", REPOST),
    ];
}

/// The files found in a span, one row each, in columns.
///
/// Times are seconds since 1970-01-01 UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Identity of the file; differs between generations.
    pub file_key: Vec<u64>,
    /// Identity of the file, the same for all its reposts.
    pub base_key: Vec<u64>,
    /// 0, and more for each repost within the span.
    pub generation: Vec<u16>,
    /// Subject of the lowest part, decoded.
    pub subject: TextColumn,
    /// File name, or nothing.
    pub name: TextColumn,
    /// Text before the file counter or the name.
    pub head: TextColumn,
    /// Text after the name.
    pub tail: TextColumn,
    /// The name in `[id]-[FULL]-[group]-[ Name ]`.
    pub request: TextColumn,
    /// Number of the file in its set.
    pub file_index: Vec<Option<u32>>,
    /// Number of files of the set.
    pub file_total: Vec<Option<u32>>,
    /// Number of segments that the poster claims; 0 when unknown.
    pub parts_total: Vec<u32>,
    /// Number of segments that were seen.
    pub parts_found: Vec<u32>,
    /// Sum of the sizes of the articles in bytes.
    pub size_bytes: Vec<u64>,
    /// From of the lowest part.
    pub poster: TextColumn,
    /// Whether all segments have the same From.
    pub poster_constant: Vec<bool>,
    /// The newsgroup that was indexed, which owns the file.
    pub group: TextColumn,
    /// Newsgroups of the lowest part of all generations, separated by blanks; the indexed one first.
    pub groups: TextColumn,
    /// Earliest date of a segment.
    pub first_posted_at: Vec<Option<i64>>,
    /// Latest date of a segment.
    pub last_posted_at: Vec<Option<i64>>,
    /// Lowest article number.
    pub first_number: Vec<u64>,
    /// Highest article number.
    pub last_number: Vec<u64>,
    /// Message-id of the lowest part, without angle brackets.
    pub first_message_id: TextColumn,
    /// Bits of [`flags`] and of [`crate::subject::flags`].
    pub flags: Vec<u32>,
    /// Whether missing parts may lie outside the span.
    pub is_fragment: Vec<bool>,
    /// Lowest number that a missing part may have.
    pub reach_low: Vec<u64>,
    /// Highest number that a missing part may have.
    pub reach_high: Vec<u64>,
    /// Where the record of the segments is in [`Files::payloads`].
    pub payload: Vec<Stored>,
    /// The records of segments.
    pub payloads: ByteStore,
}

impl Files {
    /// Number of files.
    #[must_use]
    pub fn len(&self) -> usize {
        self.file_key.len()
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.file_key.is_empty()
    }

    /// Makes room for so many more files.
    pub fn reserve(&mut self, files: usize) {
        for column in [
            &mut self.file_key,
            &mut self.base_key,
            &mut self.size_bytes,
            &mut self.first_number,
            &mut self.last_number,
            &mut self.reach_low,
            &mut self.reach_high,
        ] {
            column.reserve_exact(files);
        }
        for column in [
            &mut self.subject,
            &mut self.name,
            &mut self.head,
            &mut self.tail,
            &mut self.request,
            &mut self.poster,
            &mut self.group,
            &mut self.groups,
            &mut self.first_message_id,
        ] {
            column.reserve(files);
        }
        for column in [
            &mut self.parts_total,
            &mut self.parts_found,
            &mut self.flags,
        ] {
            column.reserve_exact(files);
        }
        for column in [&mut self.file_index, &mut self.file_total] {
            column.reserve_exact(files);
        }
        for column in [&mut self.first_posted_at, &mut self.last_posted_at] {
            column.reserve_exact(files);
        }
        for column in [&mut self.poster_constant, &mut self.is_fragment] {
            column.reserve_exact(files);
        }
        self.generation.reserve_exact(files);
        self.payload.reserve_exact(files);
    }

    /// Takes all files out and keeps the memory of their columns; the records go.
    pub fn clear(&mut self) {
        let Self {
            file_key,
            base_key,
            generation,
            subject,
            name,
            head,
            tail,
            request,
            file_index,
            file_total,
            parts_total,
            parts_found,
            size_bytes,
            poster,
            poster_constant,
            group,
            groups,
            first_posted_at,
            last_posted_at,
            first_number,
            last_number,
            first_message_id,
            flags,
            is_fragment,
            reach_low,
            reach_high,
            payload,
            payloads,
        } = self;
        for column in [
            file_key,
            base_key,
            size_bytes,
            first_number,
            last_number,
            reach_low,
            reach_high,
        ] {
            column.clear();
        }
        for column in [
            subject,
            name,
            head,
            tail,
            request,
            poster,
            group,
            groups,
            first_message_id,
        ] {
            column.clear();
        }
        for column in [parts_total, parts_found, flags] {
            column.clear();
        }
        for column in [file_index, file_total] {
            column.clear();
        }
        for column in [first_posted_at, last_posted_at] {
            column.clear();
        }
        for column in [poster_constant, is_fragment] {
            column.clear();
        }
        generation.clear();
        payload.clear();
        *payloads = ByteStore::default();
    }
}

/// All lines of a span, one row each, in the order in which they were fed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Articles {
    /// Article number; none when the field is no number.
    pub number: Vec<Option<u64>>,
    /// The file that the article is in.
    pub file_key: Vec<Option<u64>>,
    /// Part number in it.
    pub part: Vec<Option<u32>>,
    /// Message-id without angle brackets.
    pub message_id: Vec<Option<Stored>>,
    /// Size of the article in bytes.
    pub size_bytes: Vec<Option<u32>>,
    /// Why the article is in no file: index in [`Articles::reasons`].
    pub reason: Vec<Option<u16>>,
    /// The names of the reasons.
    pub reasons: Vec<String>,
    /// The message-ids.
    pub message_ids: ByteStore,
}

/// What was left out, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejects {
    /// Name of the reason; `crosspost:<group>` for articles that another group owns.
    pub reason: Vec<String>,
    /// Number of lines.
    pub count: Vec<u64>,
    /// A few of them, cut.
    pub samples: Vec<Vec<Vec<u8>>>,
}

/// Everything that a span gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The files.
    pub files: Files,
    /// The articles, when they were asked for.
    pub articles: Option<Articles>,
    /// What was left out.
    pub rejects: Rejects,
    /// Overview lines.
    pub lines: u64,
    /// Lines that are in no file.
    pub rejected: u64,
}
