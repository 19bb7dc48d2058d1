//! Why an overview line or a block is in no file: the closed list behind every count of rejects.

/// The reason for which a line (or a whole block) was left out.
///
/// The names are stable: they are stored, counted per range and shown to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// Too few fields for an overview line.
    BadLine,
    /// Enough fields, but none of them is a `<message-id>`.
    NoMessageId,
    /// A message-id is there but longer than 250 octets, empty, or holds blanks, controls or angle brackets.
    BadMessageId,
    /// The article number is no decimal number in 1..2^64.
    BadNumber,
    /// The article number lies outside the span that was asked for.
    OutsideSpan,
    /// Another indexed newsgroup of the Xref owns the article.
    Crosspost,
    /// Nothing in the headers says which file the article belongs to: text that people wrote.
    NoCounter,
    /// The same, and the subject is one random word: every article got its own.
    RandomSubject,
    /// The same, and all words of the subject are random.
    ObfuscatedSubject,
    /// The same message-id was seen before in the same file.
    Duplicate,
    /// Part 0 of N: the poster's description of a file, not a segment.
    Description,
    /// A posted list of what is on Usenet, not content.
    IndexSpam,
    /// The block could not be inflated.
    UndecodableBlock,
    /// Out of order in a span that holds as much as it may, so that it cannot be left to the next one.
    SpanFull,
    /// The file cannot be encoded: a fault of Voyager's.
    Unencodable,
}

impl Reason {
    /// Every reason, in the order of their discriminants.
    pub const ALL: [Self; 15] = [
        Self::BadLine,
        Self::NoMessageId,
        Self::BadMessageId,
        Self::BadNumber,
        Self::OutsideSpan,
        Self::Crosspost,
        Self::NoCounter,
        Self::RandomSubject,
        Self::ObfuscatedSubject,
        Self::Duplicate,
        Self::Description,
        Self::IndexSpam,
        Self::UndecodableBlock,
        Self::SpanFull,
        Self::Unencodable,
    ];

    /// The stable name under which the reason is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadLine => "bad_line",
            Self::NoMessageId => "no_message_id",
            Self::BadMessageId => "bad_message_id",
            Self::BadNumber => "bad_number",
            Self::OutsideSpan => "outside_span",
            Self::Crosspost => "crosspost",
            Self::NoCounter => "no_counter",
            Self::RandomSubject => "random_subject",
            Self::ObfuscatedSubject => "obfuscated_subject",
            Self::Duplicate => "duplicate",
            Self::Description => "description",
            Self::IndexSpam => "index_spam",
            Self::UndecodableBlock => "undecodable_block",
            Self::SpanFull => "span_full",
            Self::Unencodable => "unencodable",
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
