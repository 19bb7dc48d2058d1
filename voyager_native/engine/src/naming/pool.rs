//! Columns of texts in which the same text stands many times.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::tables::TextColumn;

/// A number for a text, the same for the same text in every process.
pub type TextId = u64;

/// Takes hashes as they are.
#[derive(Clone, Default)]
pub(crate) struct Given(u64);

impl Hasher for Given {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map by hashes.
pub(super) type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Given>>;

/// The number of a text.
#[must_use]
pub(super) fn id_of(text: &str) -> TextId {
    xxh3_64(text.as_bytes())
}

/// The row in which each text was first met.
pub(super) struct Seen<'a> {
    rows: ByHash<(u32, &'a str)>,
}

impl<'a> Seen<'a> {
    pub(super) fn with_capacity(rows: usize) -> Self {
        let rows = HashMap::with_capacity_and_hasher(rows, BuildHasherDefault::default());
        Self { rows }
    }

    /// The earlier row of a text; none when this is the first.
    pub(super) fn before(&mut self, row: usize, text: &'a str) -> Option<usize> {
        let first = self.rows.entry(id_of(text)).or_insert((row as u32, text));
        // Texts that only share their hash are taken as new each time.
        (first.0 as usize != row && first.1 == text).then_some(first.0 as usize)
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
