//! The articles of one file, in the order in which they came.

use crate::chunk::Segment;

/// One article of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) number: u64,
    pub(super) part: u32,
    /// Bytes; 0 when unknown.
    pub(super) size: u32,
    /// Seconds since 1970; 0 when undated.
    pub(super) posted: u32,
    /// Number of the From among the texts of the span.
    pub(super) poster: u32,
    /// Row of the articles table.
    pub(super) row: u32,
    id_len: u8,
    id_start: usize,
}

impl Head {
    /// The article as a segment; `ids` are those of its log.
    #[inline]
    pub(super) fn segment<'a>(&self, ids: &'a [u8]) -> Segment<'a> {
        Segment {
            part: self.part,
            size: self.size,
            id: self.id(ids),
        }
    }

    #[inline]
    fn id<'a>(&self, ids: &'a [u8]) -> &'a [u8] {
        &ids[self.id_start..self.id_start + usize::from(self.id_len)]
    }
}

/// Longest usual message-id.
const USUAL: usize = 64;

/// What is known of an article but its message-id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) number: u64,
    pub(super) part: u32,
    pub(super) size: u32,
    pub(super) posted: u32,
    pub(super) poster: u32,
    pub(super) row: u32,
}

/// Articles with their message-ids. Takes as much memory as was seen, whatever the counters claim.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) heads: Vec<Head>,
    /// Their message-ids one after the other.
    pub(super) ids: Vec<u8>,
}

impl Log {
    /// Appends an article; its id has at most 255 bytes.
    #[inline]
    pub(super) fn push(&mut self, facts: Facts, id: &[u8]) {
        let id_start = self.ids.len();
        self.ids.extend_from_slice(id);
        self.push_head(facts, id_start, id.len());
    }

    /// [`Self::push`] for the message-id at `start..end` of a text that may go on.
    #[inline]
    pub(super) fn push_from(&mut self, facts: Facts, text: &[u8], start: usize, end: usize) {
        let (id_start, len) = (self.ids.len(), end - start);
        match text[start..].first_chunk::<USUAL>() {
            // Copied whole, whatever its length: there is no loop then.
            Some(chunk) if len <= USUAL => {
                self.ids.extend_from_slice(chunk);
                self.ids.truncate(id_start + len);
            }
            _ => self.ids.extend_from_slice(&text[start..end]),
        }
        self.push_head(facts, id_start, len);
    }

    #[inline]
    fn push_head(&mut self, facts: Facts, id_start: usize, id_len: usize) {
        let Facts {
            number,
            part,
            size,
            posted,
            poster,
            row,
        } = facts;
        self.heads.push(Head {
            number,
            part,
            size,
            posted,
            poster,
            row,
            id_len: id_len as u8,
            id_start,
        });
    }

    /// Whether the next article needs more room.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.heads.len() == self.heads.capacity()
    }

    /// Makes room for more articles of a file that claims `total`: for four times those that were seen, or twice
    /// those of large files. `is_of_copies`: an eighth more, since each may be a row.
    #[cold]
    pub(super) fn make_room(&mut self, total: u32, is_of_copies: bool) {
        const LEAST: usize = 4;
        const LARGE: usize = 1024;
        let (len, total) = (self.heads.len(), total as usize);
        let more = match total.checked_sub(len) {
            _ if is_of_copies => (len / 8).max(LEAST),
            None | Some(0) => len.max(LEAST),
            Some(missing) if len < LARGE => missing.min((3 * len).max(LEAST)),
            Some(missing) => missing.min(len),
        };
        self.heads.reserve_exact(more);
        let each = match len {
            0 => USUAL,
            _ => self.ids.len().div_ceil(len) + 1,
        };
        let room = (len + more) * each + USUAL;
        self.ids.reserve_exact(room.saturating_sub(self.ids.len()));
    }

    /// How often the part is there that is there most often.
    pub(super) fn most_copies(&self, scratch: &mut Vec<u32>) -> usize {
        if self
            .heads
            .is_sorted_by(|left, right| left.part < right.part)
        {
            return 1;
        }
        scratch.clear();
        scratch.extend(self.heads.iter().map(|head| head.part));
        scratch.sort_unstable();
        let copies = scratch.chunk_by(|left, right| left == right);
        copies.map(<[u32]>::len).max().unwrap_or(1)
    }

    /// The message-id of an article of this log.
    #[inline]
    pub(super) fn id(&self, head: &Head) -> &[u8] {
        head.id(&self.ids)
    }

    /// Appends all articles of another log, with another part number if one is given.
    pub(super) fn append(&mut self, other: &Self, part: Option<u32>) {
        let start = self.ids.len();
        self.ids.extend_from_slice(&other.ids);
        self.heads.extend(other.heads.iter().map(|head| Head {
            id_start: start + head.id_start,
            part: part.unwrap_or(head.part),
            ..*head
        }));
    }

    /// Appends the articles of another log at these places.
    pub(super) fn append_some(&mut self, other: &Self, indices: &[usize]) {
        for index in indices {
            let head = &other.heads[*index];
            let id_start = self.ids.len();
            self.ids.extend_from_slice(other.id(head));
            self.heads.push(Head { id_start, ..*head });
        }
    }

    /// Takes all articles out and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.ids.clear();
    }

    /// Bytes that are held.
    pub(super) fn capacity(&self) -> usize {
        self.ids.capacity() + self.heads.capacity() * size_of::<Head>()
    }
}
