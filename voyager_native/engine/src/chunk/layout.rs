//! How the digits of one family are laid out, and work space for coding them.

use std::sync::{Arc, OnceLock};

use super::column::Column;
use super::grid::{CELLS, spots_of};
use super::lanes::Lanes;
use super::mixed::Mix;
use super::pieces::Family;
use super::rows::{Columns, Digits, Kernel, Texts};
use super::transpose::ROWS;

/// Rows that go through each step of coding together where they are coded row by row.
pub(super) const BATCH: usize = 8;
/// Layouts that are kept: a record has few families, and few kinds of files are uploaded at once.
const KEPT: usize = 8;

/// Work space for a batch of rows: characters at fixed positions and their ranks.
///
/// A few rows go through each step together: what one step stores in small pieces the next one loads in large
/// ones, which stalls when it follows at once.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) cells: [[u8; CELLS]; BATCH],
    pub(super) texts: Texts,
    pub(super) columns: Columns,
    pub(super) digits: Digits,
    pub(super) mix: Option<Box<Mix>>,
    /// Sizes that are coded apart.
    pub(super) sizes: Vec<i64>,
    wanted: Key,
    /// The one used last comes first.
    layouts: Vec<Layout>,
}

/// What a layout is made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Key {
    radices: Vec<u32>,
    /// Varying positions, their alphabets, and the symbols of those that are listed.
    spots: Vec<(u8, u8, u16)>,
    listed: Vec<u8>,
    /// Positions, also those that do not vary.
    len: usize,
}

/// The layout of the digits of a segment.
#[derive(Debug)]
pub(super) struct Layout {
    key: Key,
    pub(super) lanes: Arc<Lanes>,
    /// Made when it is first asked for; none where there are too many words.
    kernel: OnceLock<Option<Arc<Kernel>>>,
}

impl Layout {
    /// What codes the rows of this family column by column.
    pub(super) fn kernel(&self, family: &Family) -> Option<Arc<Kernel>> {
        self.kernel
            .get_or_init(|| Kernel::of(family, &self.lanes).map(Arc::new))
            .clone()
    }

    /// Number of the wide digits of a segment.
    pub(super) fn wide_len(&self) -> usize {
        self.key.radices.len()
    }
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Self {
            cells: [[0; CELLS]; BATCH],
            texts: [[0; CELLS]; ROWS],
            columns: Columns::new(),
            digits: Vec::new(),
            mix: None,
            sizes: Vec::new(),
            wanted: Key {
                radices: Vec::new(),
                spots: Vec::new(),
                listed: Vec::new(),
                len: 0,
            },
            layouts: Vec::new(),
        }
    }

    /// The layout of the segments of a family.
    pub(super) fn layout(&mut self, family: &Family, sizes: &Column) -> &Layout {
        let Self {
            wanted, layouts, ..
        } = self;
        wanted.set(family, sizes);
        if let Some(found) = layouts.iter().position(|layout| layout.key == *wanted) {
            layouts[..=found].rotate_right(1);
        } else {
            layouts.truncate(KEPT - 1);
            let spots = wanted.spots.iter().map(|(at, _, radix)| (*at, *radix));
            let lanes = Arc::new(Lanes::of(&wanted.radices, spots));
            let layout = Layout {
                key: wanted.clone(),
                lanes,
                kernel: OnceLock::new(),
            };
            layouts.insert(0, layout);
        }
        &layouts[0]
    }
}

impl Key {
    fn set(&mut self, family: &Family, sizes: &Column) {
        self.spots.clear();
        spots_of(family, &mut self.spots);
        self.len = family.fixed().map(|fixed| fixed.template.len()).sum();
        self.listed.clear();
        for symbols in family.listed() {
            self.listed.push(symbols.len() as u8);
            self.listed.extend_from_slice(symbols);
        }
        self.radices.clear();
        self.radices.extend(sizes.radices());
        family.wide_radices(&mut self.radices);
        if self.radices.is_empty() && self.spots.is_empty() && !sizes.is_nothing() {
            // No segment without a bit: so the length of a body bounds the number of its segments. Sizes that are
            // coded apart have bits.
            self.radices.push(2);
        }
    }
}
