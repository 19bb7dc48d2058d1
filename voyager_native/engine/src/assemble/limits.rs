//! What a span may hold: beyond it the span ends early, before numbers that another one goes on with.
//!
//! A row of the files table takes 450 bytes and more, and files are known to be whole only at the end of a span. So
//! an overview of one file a line costs gigabytes unless there is an end before. A span ends behind the greatest
//! number that was filed; which one that is depends on the lines alone, not on the blocks that they come in.

/// The most that a span may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of the files table.
    pub files: usize,
    /// Bytes of what was filed and of the rows that are made of it.
    pub bytes: usize,
}

impl Limits {
    /// Ranges of 2,000,000 lines have 10,000 to 30,000 files and hold 30 to 90 MB.
    pub const USUAL: Self = Self {
        files: 64_000,
        bytes: 100 << 20,
    };
}

/// Bytes of a row of the files table with so many bytes of texts.
pub(super) const fn row_bytes(texts: usize) -> usize {
    /// Fixed columns.
    const FIXED: usize = 450;
    /// Columns of longer texts than usual leave unused memory behind as they grow.
    const USUAL: usize = 512;
    FIXED + texts + texts.saturating_sub(USUAL) / 2
}

/// How near the limits a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Below them.
    Open,
    /// Beyond them: it ended early. Only lines out of order still belong to it.
    Ended,
    /// Far beyond them: nothing more is filed.
    Closed,
}

/// Article numbers that lines may have to be filed without a further look, and why there are not more.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) low: u64,
    pub(super) high: u64,
    limits: Option<Limits>,
    stage: Stage,
    is_due: bool,
}

impl Gate {
    pub(super) fn new(limits: Option<Limits>) -> Self {
        Self {
            low: 0,
            high: 0,
            limits,
            stage: Stage::Open,
            is_due: false,
        }
    }

    /// Lets lines with these numbers pass; 0 for no upper bound.
    pub(super) fn open(&mut self, low: u64, high: u64) {
        self.low = low.max(1);
        self.high = high;
    }

    /// Lets no line pass without a further look.
    pub(super) fn shut(&mut self) {
        self.low = u64::MAX;
        self.high = 1;
    }

    /// Shuts the gate if the limits allow no more: bytes are held now, and others made of them at the end.
    pub(super) fn weigh(&mut self, files: usize, held: usize, made: usize) {
        let Some(limits) = self.limits else { return };
        // The text of a block is there while lines come in, but not at the end.
        let beyond = |value: usize, limit: usize| match self.stage {
            Stage::Open => value >= limit,
            Stage::Ended | Stage::Closed => value >= limit + limit / 8,
        };
        self.is_due |= beyond(files, limits.files)
            || beyond(held + made, limits.bytes)
            || beyond(held, limits.bytes / 5 * 4);
        if self.is_due {
            self.shut();
        }
    }

    /// Whether the limits were passed since this was asked last.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Goes on to the next stage.
    pub(super) fn advance(&mut self) {
        self.stage = match self.stage {
            Stage::Open => Stage::Ended,
            Stage::Ended | Stage::Closed => Stage::Closed,
        };
    }

    pub(super) fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }
}
