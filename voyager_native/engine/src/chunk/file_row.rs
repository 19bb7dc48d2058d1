//! One file as it goes into a chunk.

use crate::tables::Files;

/// A row of [`Files`] with its record.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are those of `Files`")]
pub struct FileRow<'a> {
    pub file_key: u64,
    pub base_key: u64,
    pub generation: u16,
    pub subject: &'a str,
    pub name: &'a str,
    pub head: &'a str,
    pub tail: &'a str,
    pub request: &'a str,
    pub poster: &'a str,
    pub group: &'a str,
    pub groups: &'a str,
    pub first_message_id: &'a str,
    pub numbers: Numbers,
    pub payload: &'a [u8],
}

/// The numbers of a row of [`Files`] that are no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of `Files`")]
pub struct Numbers {
    pub file_index: Option<u32>,
    pub file_total: Option<u32>,
    pub parts_total: u32,
    pub parts_found: u32,
    pub size_bytes: u64,
    pub flags: u32,
    pub poster_constant: bool,
    pub is_fragment: bool,
    pub first_posted_at: Option<i64>,
    pub last_posted_at: Option<i64>,
    pub first_number: u64,
    pub last_number: u64,
    pub reach_low: u64,
    pub reach_high: u64,
}

impl<'a> FileRow<'a> {
    /// A row of a table, with a record that may stand elsewhere.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn of(files: &'a Files, row: usize, payload: &'a [u8]) -> Self {
        Self {
            file_key: files.file_key[row],
            base_key: files.base_key[row],
            generation: files.generation[row],
            subject: files.subject.get(row),
            name: files.name.get(row),
            head: files.head.get(row),
            tail: files.tail.get(row),
            request: files.request.get(row),
            poster: files.poster.get(row),
            group: files.group.get(row),
            groups: files.groups.get(row),
            first_message_id: files.first_message_id.get(row),
            numbers: Numbers {
                file_index: files.file_index[row],
                file_total: files.file_total[row],
                parts_total: files.parts_total[row],
                parts_found: files.parts_found[row],
                size_bytes: files.size_bytes[row],
                flags: files.flags[row],
                poster_constant: files.poster_constant[row],
                is_fragment: files.is_fragment[row],
                first_posted_at: files.first_posted_at[row],
                last_posted_at: files.last_posted_at[row],
                first_number: files.first_number[row],
                last_number: files.last_number[row],
                reach_low: files.reach_low[row],
                reach_high: files.reach_high[row],
            },
            payload,
        }
    }
}
