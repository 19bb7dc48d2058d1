//! Which lines of a block are of a span that begins or ends inside of it.
//!
//! Two spans read such a block, and each of its lines counts in one of them: by its article number, or by its place
//! where it has none that a span could have.

use super::{BlockCounts, Filer};

/// The article numbers of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    first: u64,
    last: u64,
}

impl Numbers {
    const NONE: Self = Self {
        first: u64::MAX,
        last: 0,
    };

    #[inline]
    pub(super) fn note(&mut self, number: u64) {
        self.first = self.first.min(number);
        self.last = self.last.max(number);
    }
}

/// Where a span is on its way through its blocks.
#[derive(Debug)]
pub(super) struct Bounds {
    /// Of the block that comes in.
    pub(super) block: Numbers,
    /// The highest article number of the blocks before it.
    highest: u64,
    /// The highest article number of the span when it began; 0 for none.
    until: u64,
    /// Where the span ended early.
    ended_at: Option<u64>,
    /// Whether another span ended in the block that comes in.
    is_begun: bool,
    /// Whether what comes next in the block is still what that span counted.
    is_before: bool,
    /// Whether what comes next in the block is left to the next span.
    is_behind: bool,
}

impl Bounds {
    pub(super) fn new(until: u64) -> Self {
        Self {
            block: Numbers::NONE,
            highest: 0,
            until,
            ended_at: None,
            is_begun: false,
            is_before: false,
            is_behind: false,
        }
    }
}

impl Filer {
    /// The lines so far, and those in no file.
    pub(super) fn begin_block(&mut self, is_begun: bool) -> (u64, u64) {
        self.bounds.block = Numbers::NONE;
        self.bounds.is_begun = is_begun;
        self.bounds.is_before = is_begun;
        self.bounds.is_behind = false;
        self.open_gate();
        (self.lines, self.rejected)
    }

    pub(super) fn end_block(&mut self, (lines, rejected): (u64, u64)) -> BlockCounts {
        if self.set.gate.take_due() {
            self.end_early();
        }
        self.bounds.highest = self.bounds.highest.max(self.bounds.block.last);
        // Numbers begin at 1.
        let is_any = self.bounds.block.last > 0;
        BlockCounts {
            lines: self.lines - lines,
            rejected: self.rejected - rejected,
            first_number: is_any.then_some(self.bounds.block.first),
            last_number: is_any.then_some(self.bounds.block.last),
            ended_at: self.bounds.ended_at,
        }
    }

    /// Lets usual lines pass that are of this span.
    fn open_gate(&mut self) {
        if self.bounds.is_before || self.set.gate.is_closed() {
            self.set.gate.shut();
        } else {
            self.set.gate.open(self.config.low, self.config.high);
        }
    }

    /// Ends the span behind the greatest number so far; where it has ended already, files nothing more.
    #[cold]
    pub(super) fn end_early(&mut self) {
        self.set.gate.advance();
        let last = self.bounds.highest.max(self.bounds.block.last);
        let until = match self.bounds.until {
            0 => u64::MAX,
            until => until,
        };
        if !self.set.gate.is_closed() && last < until {
            self.config.high = last;
            self.bounds.ended_at = Some(last);
        }
        self.open_gate();
    }

    /// Whether a line is counted by the span before or behind: by its number, or without one by its place.
    pub(super) fn is_elsewhere(&mut self, number: Option<u64>) -> bool {
        match number {
            Some(number) if number < self.config.low => self.bounds.is_begun,
            Some(number) if self.bounds.until == 0 || number <= self.bounds.until => {
                if self.bounds.is_before {
                    self.bounds.is_before = false;
                    self.open_gate();
                }
                let is_behind = self.bounds.ended_at.is_some_and(|last| number > last);
                self.bounds.is_behind |= is_behind;
                is_behind
            }
            _ => self.bounds.is_before || self.bounds.is_behind,
        }
    }
}
