//! Columns of texts in which the same text stands many times.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::hash::Seeded;
use crate::tables::TextColumn;

/// A number for a text, the same for the same text in every process: the order of rows may depend on it.
///
/// Who makes two texts with one number puts them together, as the same text would have done.
pub type TextId = u64;

/// The number of a text.
#[must_use]
fn id_of(text: &str) -> TextId {
    xxh3_64(text.as_bytes())
}

/// The row in which each text was first met.
pub(super) struct Seen<'a> {
    rows: HashMap<&'a str, u32, Seeded>,
}

impl<'a> Seen<'a> {
    pub(super) fn with_capacity(rows: usize) -> Self {
        let rows = HashMap::with_capacity_and_hasher(rows, Seeded::default());
        Self { rows }
    }

    /// The earlier row of a text; none when this is the first.
    pub(super) fn before(&mut self, row: usize, text: &'a str) -> Option<usize> {
        let first = *self.rows.entry(text).or_insert(row as u32) as usize;
        (first != row).then_some(first)
    }
}

/// A column of texts with their numbers.
#[derive(Debug, Default)]
pub struct Texts {
    /// The texts.
    pub texts: TextColumn,
    /// The number of each.
    pub ids: Vec<TextId>,
}

impl Texts {
    pub(super) fn push(&mut self, text: &str) {
        self.texts.push(text);
        self.ids.push(id_of(text));
    }

    /// Appends what an earlier row has.
    pub(super) fn repeat(&mut self, row: usize) {
        self.texts.repeat(row);
        self.ids.push(self.ids[row]);
    }
}
