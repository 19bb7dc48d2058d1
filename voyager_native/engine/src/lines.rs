//! Overview text to lines, lines to fields.

use crate::reason::Reason;

/// One overview line, its fields as slices of the text.
///
/// Dot-stuffing is undone; NUL and CR are taken out of the fields (`raw` keeps them).
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The line as it came, without its line end.
    pub raw: &'a [u8],
    /// Article number; `None` when the field is no number in 1..2^64.
    pub number: Option<u64>,
    /// Subject, still encoded as posted. May hold tabs.
    pub subject: &'a [u8],
    /// From header.
    pub poster: &'a [u8],
    /// Date header.
    pub date: &'a [u8],
    /// Message-id without its angle brackets.
    pub message_id: &'a [u8],
    /// Size of the article in bytes; `None` when missing, 0, negative or above 2^63.
    pub size: Option<u64>,
    /// Number of lines of the article; `None` like `size`.
    pub lines: Option<u64>,
    /// Newsgroups and numbers, without the `Xref:` label; empty when missing.
    pub xref: &'a [u8],
    /// Why the line can be in no file, found from its form alone.
    pub reason: Option<Reason>,
}

/// Splits text into overview lines; keeps its work buffers from block to block.
#[derive(Debug, Default)]
pub struct Scanner {
    scratch: Vec<u8>,
}

impl Scanner {
    /// A scanner with empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `sink` once for every line of `text`, in order. Blank lines and a lone `.` are no lines.
    pub fn scan(&mut self, text: &[u8], sink: &mut impl FnMut(Line<'_>)) {
        self.scratch.clear();
        for raw in text.split(|&b| b == b'\n') {
            let raw = raw.strip_suffix(b"\r").unwrap_or(raw);
            if raw.is_empty() || raw == b"." {
                continue;
            }
            let f: Vec<&[u8]> = raw.split(|&b| b == b'\t').collect();
            let g = |i: usize| f.get(i).copied().unwrap_or_default();
            let num = |b: &[u8]| std::str::from_utf8(b).ok().and_then(|s| s.parse().ok());
            sink(Line {
                raw,
                number: num(g(0)),
                subject: g(1),
                poster: g(2),
                date: g(3),
                message_id: g(4)
                    .strip_prefix(b"<")
                    .and_then(|m| m.strip_suffix(b">"))
                    .unwrap_or_default(),
                size: num(g(6)),
                lines: num(g(7)),
                xref: g(8).strip_prefix(b"Xref: ").unwrap_or(g(8)),
                reason: (f.len() < 5).then_some(Reason::BadLine),
            });
        }
    }
}

/// [`Scanner::scan`] with buffers of its own.
pub fn scan(text: &[u8], sink: &mut impl FnMut(Line<'_>)) {
    Scanner::new().scan(text, sink);
}
