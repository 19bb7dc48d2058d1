//! The articles of one file, in the order in which they came.

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
    ids: Vec<u8>,
}

impl Log {
    /// Appends an article; its id has at most 255 bytes.
    #[inline]
    pub(super) fn push(&mut self, facts: Facts, id: &[u8]) {
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
            id_len: id.len() as u8,
            id_start: self.ids.len(),
        });
        self.ids.extend_from_slice(id);
    }

    /// The message-id of an article of this log.
    #[inline]
    pub(super) fn id(&self, head: &Head) -> &[u8] {
        &self.ids[head.id_start..head.id_start + usize::from(head.id_len)]
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
