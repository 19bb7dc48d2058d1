//! The grammar of binary subjects: which file, which part of it, which file of how many.

mod brackets;
mod counter;
mod details;
mod extension;
mod files;
mod names;
mod request;
mod segment;
pub mod uncounted;
mod words;

/// A stretch of the subject, as offsets into the bytes that were parsed. Empty means that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span32 {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span32 {
    /// The stretch from `start` to `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// Whether the stretch has no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The bytes of the stretch.
    #[must_use]
    pub fn of(self, subject: &[u8]) -> &[u8] {
        subject
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Bits of [`Subject::flags`].
pub mod flags {
    /// File counter and segment counter are equal and not 1/1: one of them is a copy of the other.
    pub const AMBIGUOUS: u32 = 1;
    /// The segment counter gives no total (`n/0`).
    pub const UNKNOWN_TOTAL: u32 = 1 << 1;
    /// The part number is greater than the total.
    pub const PART_OVER_TOTAL: u32 = 1 << 2;
    /// The file number is greater than the number of files.
    pub const INDEX_OVER_TOTAL: u32 = 1 << 3;
    /// Part 0 of N: the poster's description of the file.
    pub const PART_ZERO: u32 = 1 << 4;
    /// A posted list of what is on Usenet.
    pub const INDEX_SPAM: u32 = 1 << 5;
    /// The segment counter stands more than once.
    pub const DOUBLED: u32 = 1 << 6;
    /// The name stands in quotes.
    pub const QUOTED_NAME: u32 = 1 << 7;
    /// The name comes from a square bracket before empty quotes.
    pub const BRACKET_NAME: u32 = 1 << 8;
    /// The word `yEnc` is there.
    pub const YENC: u32 = 1 << 9;
    /// The name has a file extension.
    pub const EXTENSION: u32 = 1 << 10;
    /// The text given as tail stands between the file counter and the name.
    pub const TAIL_BETWEEN: u32 = 1 << 11;
}

/// The segment counter of a subject: all that changes from article to article of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Part number; 0 when not counted, or for a description.
    pub part: u32,
    /// Number of parts; 0 when unknown.
    pub total: u32,
    /// Whether a segment counter was found.
    pub counted: bool,
    /// Whether this is the only counter and may be the file's as well.
    pub either: bool,
    /// The counter and its doubled copies, ascending, unused ones empty. What is left without them
    /// is the same for all parts of a file.
    pub cuts: [Span32; 3],
}

/// A parsed subject. Offsets are into the bytes given to [`parse`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Part number; 0 when not counted, or for a description.
    pub part: u32,
    /// Number of parts; 0 when unknown.
    pub total: u32,
    /// Whether a segment counter was found.
    pub counted: bool,
    /// Bits of [`flags`].
    pub flags: u32,
    /// File name.
    pub name: Span32,
    /// Number of the file in its set.
    pub file_index: Option<u32>,
    /// Number of files of the set.
    pub file_total: Option<u32>,
    /// Free text before the file counter or the name.
    pub head: Span32,
    /// Free text between a head with a file counter and the name, else after the name: no size, no counter and
    /// no `yEnc`.
    pub tail: Span32,
    /// The name in `[id]-[FULL]-[group]-[ Name ]`.
    pub request: Span32,
    /// The segment counter and its doubled copies, ascending, unused ones empty.
    pub cuts: [Span32; 3],
    /// The file counter with its brackets. Equals `cuts[0]` when one counter may be either.
    pub file_counter: Span32,
}

/// Finds the segment counter alone: all that has to be done for every article.
#[must_use]
pub fn segment(subject: &[u8]) -> Segment {
    segment::find(subject)
}

/// The segment counter of a subject that ends with its only one, perhaps with a number after it.
///
/// Every subject that differs from it in nothing but the digits of its part has it as well.
pub(crate) fn counter_at_end(subject: &[u8]) -> Option<Segment> {
    segment::at_end(subject)
}

/// Whether [`details`] could give a file counter of as many files as the segment counter has parts.
///
/// Each number of a counter is a run of digits.
pub(crate) fn may_count_alike(subject: &[u8], segment: &Segment) -> bool {
    let mut from = 0;
    let mut rest = |cut: Span32| {
        let found = subject.get(from..cut.start as usize).unwrap_or_default();
        from = from.max(cut.end as usize);
        holds_number(found, segment.total)
    };
    let end = Span32::new(subject.len(), subject.len());
    let cuts = segment.cuts.into_iter().filter(|cut| !cut.is_empty());
    segment.either || segment.total == 0 || cuts.chain([end]).any(&mut rest)
}

/// Whether a run of digits is this number.
fn holds_number(text: &[u8], number: u32) -> bool {
    let mut value = 0_u64;
    let mut is_run = false;
    for byte in text.iter().chain(b" ") {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = (value * 10 + u64::from(digit)).min(1 << 40);
            is_run = true;
        } else if is_run {
            if value == u64::from(number) {
                return true;
            }
            (value, is_run) = (0, false);
        }
    }
    false
}

/// Whether a subject is of a posted list of what is on Usenet.
pub(crate) fn is_index_spam(subject: &[u8]) -> bool {
    details::is_index_spam(subject)
}

/// Parses the rest of a subject whose segment counter is known: needed once per file.
///
/// Apart from `part` and the flags that compare numbers, the outcome is the same for every part of a file.
#[must_use]
pub fn details(subject: &[u8], segment: &Segment) -> Subject {
    details::parse(subject, segment)
}

/// Parses a subject (decoded, see [`crate::text::decode_header`]).
#[must_use]
pub fn parse(subject: &[u8]) -> Subject {
    details(subject, &segment(subject))
}
